// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/lldp"
)

func TestSameName(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want match
	}{
		{"Ethernet12", "ethernet12", same},
		{"Ethernet12", "Ethernet16", different},
		{"Ethernet12", "Et12", same}, // Arista
		{"Ethernet12/1", "Et12/1", same},
		{"Ethernet12/1", "Ethernet12/2", different},
		{"Ethernet12", "Ethernet12/1", unknown},
		{"Eth1/12", "Ethernet1/12", same}, // Nexus
		{"Eth1/12", "Ethernet1/13", different},
		{"Eth1/12", "Ethernet12", unknown},
		{"Eth4(Port4)", "Ethernet4", unknown}, // SONiC's alias of Ethernet12
		{"Eth4(Port4)", "Eth4", same},
		{"etp4", "Ethernet12", unknown},
		{"etp4a", "etp4b", different},
		{"etp4", "etp4a", unknown},
		{"fortyGigE0/8", "Fo0/8", same},
		{"fortyGigE0/8", "fortyGigE0/12", different},
		{"swp12", "swp12", same}, // Cumulus
		{"swp12", "swp13", different},
		{"swp12s0", "swp12s1", different},
		{"swp12s0", "swp12", unknown},
		{"swp12", "12", unknown},
		{"1/1/12", "1/1/12", same},
		{"1/1/12", "1/1/13", different},
		{"1/1/12", "ethernet1/1/12", unknown},
		{"ethernet1/1/12:1", "Eth 1/1/12:1", same}, // OS10
		{"xe-0/0/38", "xe-0/0/38.0", same},         // Juniper
		{"xe-0/0/38", "xe-0/0/39.0", different},
		{"xe-0/0/38", "et-0/0/38", unknown},
		{"et-0/0/12", "Ethernet0/0/12", unknown},
		{"et-0/0/12:0", "et-0/0/12:1", different},
		{"526", "xe-0/0/38", unknown}, // SNMP's number
		{"621", "622", different},
		{"Te1/0/12", "TenGigabitEthernet1/0/12", same},
		{"Ten-GigabitEthernet1/0/12", "Te1/0/13", different}, // H3C
		{"TenGigE0/0/0/12", "Te0/0/0/12", same},              // IOS XR
		{"100GE1/0/12", "HundredGigE1/0/12", same},           // Huawei
		{"100GE1/0/12", "40GE1/0/12", unknown},
		{"Port 12", "port12", same},
		{"Eth1/01", "Eth1/1", same},
		{"ethernet-1/12", "Ethernet1/12", same}, // SR Linux
		{"ethernet-1/12", "ethernet-1/12.0", same},
		{"ethernet-1/12", "ethernet-1/13.0", different},
		{"ethernet-1/12", "ethernet-1/12/1", unknown},
		{"ethernet-1/12/1", "ethernet-1/12/2", different},
		{"ethernet-1/12", "Ethernet12", unknown},
		{"ethernet-1/12", "et-1/12", unknown},
		{"ethernet-1/12.1", "ethernet-1/12/1", unknown}, // a unit is no port
		{"xe-0/0/38.1", "xe-0/0/38.2", same},            // units of one port
		{"Ethernet12.100", "Ethernet12.200", same},
		{"Ethernet12.100", "Ethernet12", same},
		{"Ethernet12.100", "Ethernet16.100", different},
		{"eth1.100.7", "eth1.200", same},
		{"swp1.100", "swp1.200", same},
		{"swp1.100", "swp2", different},
		{"Ethernet1/1.1", "Ethernet1/1/1", unknown},
		{"Et1/1.1", "Ethernet1/1/1", unknown},
		{"Et1/1.1", "Et1/2/1", unknown},
		{"swp1.2", "swp1s2", unknown},
		{"et-0/0/12:0.0", "et-0/0/12:0", same},
		{"et-0/0/12:0", "et-0/0/12/0", unknown},
		{"Ethernet1:1", "Ethernet1/1", unknown}, // a lane; a slot's port
		{"swp1s2", "swp1/2", unknown},
		{"port1.0.12", "port1.0.13", different}, // where a dot is no unit's
		{"port1.0.12", "port1/0/12", unknown},
		{"leaf-1.1", "leaf-1.2", different},
		{"Ethernet1/1a", "Ethernet1/1/1", unknown}, // a lane's letter and a number
		{"Ethernet1/1a", "Ethernet1/1b", different},
		{"etp4a", "etp4/1", unknown},
		{"swp1a", "swp1s0", unknown},
		{"swp1b", "swp1s1", unknown},
		{"etp4a", "etp4:a", unknown},
		{"Slot 1(Port 3)", "Slot 1(Port 4)", different},
		{"Slot 1(Port 3)", "Slot 1 (port3)", same},
		{"Slot 1(Port 3)", "Slot 2(Port 3)", different},
		{"Eth1(Port3)", "Eth1(Port4)", different},
		{"Eth1(Port3)", "Slot1(Port4)", unknown},
		{"Eth1(Port3)", "Eth1(to gpu-07)", unknown},
		{"Eth1(Port3)", "Eth1()", same},
		{"Ethernet12 (to gpu-07)", "Ethernet12", same},
		{"Ethernet12 (to gpu-07)", "Ethernet16", different},
		{`1/1/c12/1, 100-Gig Ethernet, "gpu-07 (rail 3)"`, "1/1/c12/1", same},
		{`1/1/c12/1, 100-Gig Ethernet, "gpu-07 (rail 3)"`, "1/1/c13/1", different},
		{`1/1/12, 10/100/Gig Ethernet SFP, "to (x)"`, "1/1/12", same},
		{"e1-12", "ethernet-1/12", same}, // as Linux has it there
		{"e1-3-1", "ethernet-1/3/2", different},
		{"e12", "Ethernet12", unknown},
		{"1/1/c12/1", "1/1/c12/1", same}, // SR OS
		{"1/1/c12/1", "1/1/C012/1", same},
		{"1/1/c12/1", "1/1/c12/2", different},
		{"1/1/c12/1", "1/1/c13/1", different},
		{"1/1/c12/1", "1/1/c12", unknown},
		{"1/1/c12/1", "1/1/12/1", unknown},
		{"1/1/c12/1", "1/c1/12/1", unknown},
		{"1/x1/1/c3/1", "1/x2/1/c3/1", different},
		{"1/x1/1/c3/1", "1/1/c3/1", unknown},
		{"1/1/c12/1", "1/1/cc12/1", unknown},
		{"1/1/c12/1", `1/1/c12/1, 100-Gig Ethernet, "to gpu-07"`, same},
		{"1/1/c12/1", "1/1/c12/2, 100-Gig Ethernet", different},
		{"1/1/12", "1/1/13, 10-Gig Ethernet SFP", different},
		{"1/1/12", "1/1/13, spare", unknown}, // somebody's text
		{"1/1/c12/1", "35684352", unknown},
		{"to rack 12", "Ethernet12", unknown},
		{"", "Ethernet12", unknown},
		{"Ethernet", "Ethernet1", unknown},
		{"Ethernet99999999999999999999999", "Ethernet1", different},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			if got := sameName(pair[0], pair[1]); got != test.want {
				t.Errorf("%q and %q: %d, want %d", pair[0], pair[1], got, test.want)
			}
		}
	}
}

func neighbourOf(f lldp.Frame) *lldp.Neighbour { return &lldp.Neighbour{Frame: &f} }

func TestSamePort(t *testing.T) {
	mac := lldp.PortID{Subtype: lldp.PortMAC, Value: "\x02\x00\x00\x00\x00\x01"}
	local := func(s string) lldp.PortID { return lldp.PortID{Subtype: lldp.PortLocal, Value: s} }
	for _, test := range []struct {
		plan        string
		id          lldp.PortID
		description string
		want        match
	}{
		{"Ethernet12", local("Ethernet12"), "", same},
		{"Ethernet12", local("etp4"), "Ethernet12", same},
		{"etp4", local("Ethernet12"), "etp4", same},
		{"Ethernet12", local("Ethernet5"), "Ethernet12", same}, // an alias of the same form
		{"Ethernet12", local("Ethernet16"), "to gpu-12", different},
		{"Ethernet12", local("526"), "Ethernet16", different},
		{"Ethernet12", local("526"), "", unknown},
		{"Ethernet12", mac, "Ethernet12", same},
		{"Ethernet12", mac, "Ethernet16", different},
		{"Ethernet12", mac, "", unknown},
		{"02:00:00:00:00:01", mac, "Ethernet12", same},
		{"0200.0000.0002", mac, "Ethernet12", different},
		{"02:00:00:00:00:01", local("Ethernet12"), "", unknown},
		{"12", local("513"), "", unknown}, // SNMP's number
		{" 12", local("513"), "et-0/0/12", unknown},
		{"12", local("12"), "", same},
		{"12", local("513"), "13", different},
		{"12", lldp.PortID{Subtype: lldp.PortName, Value: "13"}, "", different},
		{"1/1/c12/1", local("35684352"), `1/1/c12/1, 100-Gig Ethernet, "1/1/c9/1"`, same}, // SR OS as it comes
		{"1/1/12", local("35684352"), "1/1/13, 10-Gig Ethernet", different},
		{"1/1/12", local("35684352"), "to gpu-07", unknown},
		{"1", lldp.PortID{Subtype: lldp.PortAddress, Value: "\x01\x0a\x00\x00\x01"}, "", unknown},
	} {
		n := neighbourOf(lldp.Frame{Port: test.id, PortDescription: test.description})
		if got := samePort(test.plan, n); got != test.want {
			t.Errorf("%s against %s (%s): %d, want %d", test.plan, test.id, test.description, got, test.want)
		}
	}
}

func TestSameSystem(t *testing.T) {
	mac := lldp.ChassisID{Subtype: lldp.ChassisMAC, Value: "\x02\x00\x00\x00\x00\x01"}
	local := func(s string) lldp.ChassisID { return lldp.ChassisID{Subtype: lldp.ChassisLocal, Value: s} }
	ip := lldp.ChassisID{Subtype: lldp.ChassisAddress, Value: "\x01\x0a\x00\x00\x01"}
	six := []lldp.TLV{lldp.Management{Family: 2, Address: "\xfd" + strings.Repeat("\x00", 14) + "\x02"}.TLV()}
	address := []lldp.TLV{lldp.Management{Family: 1, Address: "\x0a\x00\x00\x01"}.TLV()}
	for _, test := range []struct {
		plan  string
		frame lldp.Frame
		want  match
	}{
		{"leaf-01", lldp.Frame{Chassis: mac, SystemName: "LEAF-01"}, same},
		{"leaf-01", lldp.Frame{Chassis: mac, SystemName: "leaf-01.dc1.example.com"}, same},
		{"leaf-01.dc1.example.com", lldp.Frame{Chassis: mac, SystemName: "leaf-01"}, same},
		{"leaf-01.dc1", lldp.Frame{Chassis: mac, SystemName: "leaf-01.dc2"}, different},
		{"leaf-01", lldp.Frame{Chassis: mac, SystemName: "leaf-011"}, different},
		{"leaf-01", lldp.Frame{Chassis: mac}, unknown},
		{"leaf-01", lldp.Frame{Chassis: lldp.ChassisID{Subtype: lldp.ChassisLocal, Value: "leaf-01"}}, same},
		{"leaf-01", lldp.Frame{Chassis: lldp.ChassisID{Subtype: lldp.ChassisLocal, Value: "x"}, SystemName: "leaf-01"}, same},
		{"leaf-01.dc1", lldp.Frame{Chassis: mac, SystemName: "Leaf-01.dc1.example.com."}, same},
		{"leaf-01.dc", lldp.Frame{Chassis: mac, SystemName: "leaf-01.dc1.example.com"}, different},
		{"leaf-01", lldp.Frame{Chassis: local("leaf-02")}, different},
		{"leaf-01", lldp.Frame{Chassis: local("8c:85:90")}, unknown},
		{"leaf-01", lldp.Frame{Chassis: lldp.ChassisID{Subtype: lldp.ChassisComponent, Value: "FOX1234ABCD"}}, unknown},
		{"leaf-01", lldp.Frame{Chassis: lldp.ChassisID{Subtype: lldp.ChassisName, Value: "mgmt0"}}, unknown},
		{"mgmt1", lldp.Frame{Chassis: lldp.ChassisID{Subtype: lldp.ChassisName, Value: "mgmt0"}}, unknown},
		{"02:00:00:00:00:01", lldp.Frame{Chassis: mac, SystemName: "leaf-01"}, same},
		{"02:00:00:00:00:02", lldp.Frame{Chassis: mac, SystemName: "leaf-01"}, different},
		{"02:00:00:00:00:02", lldp.Frame{SystemName: "leaf-01"}, unknown},
		{"10.0.0.1", lldp.Frame{Chassis: mac, Others: address}, same},
		{"10.0.0.2", lldp.Frame{Chassis: mac, Others: address}, different},
		{"10.0.0.2", lldp.Frame{Chassis: mac, SystemName: "leaf-01"}, unknown},
		{"10.0.0.1", lldp.Frame{Chassis: mac, Others: six}, unknown},
		{"fd00::1", lldp.Frame{Chassis: mac, Others: six}, different},
		{"10.0.0.1", lldp.Frame{Chassis: ip, Others: six}, same},
		{"10.0.0.2", lldp.Frame{Chassis: ip}, unknown}, // it may have both
	} {
		if got := sameSystem(test.plan, neighbourOf(test.frame)); got != test.want {
			t.Errorf("%s against %+v: %d, want %d", test.plan, test.frame, got, test.want)
		}
	}
}

func FuzzSameName(f *testing.F) {
	f.Add("Ethernet12", "Et12")
	f.Add("Eth4(Port4)", "xe-0/0/38.0")
	f.Add("1/1/c12/1, 100-Gig Ethernet", "1/x1/1/c3/1")
	f.Fuzz(func(t *testing.T, a, b string) {
		if sameName(a, b) != sameName(b, a) {
			t.Error("the order matters")
		}
	})
}

// Neighbours of one port whose ids look alike have each a row of their own.
func TestNeighboursApart(t *testing.T) {
	local := func(s string) lldp.ChassisID { return lldp.ChassisID{Subtype: lldp.ChassisLocal, Value: s} }
	named := func(s string) lldp.ChassisID { return lldp.ChassisID{Subtype: lldp.ChassisName, Value: s} }
	for _, pair := range [][2]lldp.ChassisID{
		{local("leaf"), named("leaf")},
		{local("leaf"), local("leaf ")},
		{local("leaf"), local("leaf\x00")},
		{local("6162ff"), {Subtype: lldp.ChassisMAC, Value: "ab\xff"}},
		{local("a\u202eb"), local("a\u202db")},
		{local("\x01" + strings.Repeat("x", 200) + "1"), local("\x01" + strings.Repeat("x", 200) + "2")},
	} {
		n := &probes.Netdev{Name: "eth0", Function: &probes.Function{}, Port: true, Type: 1}
		heard := &lldp.State{Neighbours: []lldp.Neighbour{*neighbourOf(lldp.Frame{Chassis: pair[0]}), *neighbourOf(lldp.Frame{Chassis: pair[1]})}}
		v := &collectors.View{Inventory: &probes.Inventory{Netdevs: []*probes.Netdev{n}}}
		seen := map[string]bool{}
		for _, row := range neighbourRows(v, []collectors.Unit[Reading]{{Name: "eth0", Reading: &Reading{State: heard}}}) {
			key := ""
			for _, label := range neighbourColumns().Labels {
				key += label.Get(&row) + "\n"
			}
			seen[key] = true
		}
		if len(seen) != len(pair) {
			t.Errorf("%q and %q: %v", pair[0].Value, pair[1].Value, seen)
		}
	}
}
