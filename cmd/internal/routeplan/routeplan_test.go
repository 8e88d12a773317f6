// SPDX-License-Identifier: Apache-2.0

package routeplan

import (
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes/route"
	"gopkg.in/yaml.v3"
)

func state(addresses ...string) *route.State {
	s := &route.State{}
	for _, a := range addresses {
		netdev, prefix, _ := strings.Cut(a, " ")
		s.Addresses = append(s.Addresses, route.Address{Netdev: netdev, Prefix: netip.MustParsePrefix(prefix)})
	}
	return s
}

func written(t *testing.T, rails []Rail, s *route.State) (ip, networkd, netplan string) {
	t.Helper()
	p, err := New(rails, s, Default())
	if err != nil {
		t.Fatal(err)
	}
	var b [3]strings.Builder
	for i, err := range []error{p.WriteIP(&b[0]), p.WriteNetworkd(&b[1]), p.WriteNetplan(&b[2])} {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	return b[0].String(), b[1].String(), b[2].String()
}

func TestFormats(t *testing.T) {
	s := state("eth0 10.0.0.2/31", "bond0 10.1.0.7/24", "eth0 fe80::1/64", "lo 127.0.0.1/8")
	s.Routes = []route.Route{{Table: route.MainTable, To: netip.MustParsePrefix("10.0.0.0/8"), Gateway: netip.MustParseAddr("10.1.0.254"), Netdev: "bond0"}}
	ip, networkd, netplan := written(t, []Rail{{Number: 0, Netdev: "eth0"}, {Number: 3, Netdev: "bond0", Bond: true}}, s)
	for text, all := range map[string][]string{
		ip: {"6 of 6", "#   103 rail3", "ip route replace default via 10.0.0.3 dev eth0 src 10.0.0.2 table 100", "ip rule add from 10.0.0.2/32 lookup 100 priority 1000",
			"ip route replace 10.1.0.0/24 dev bond0 src 10.1.0.7 table 103", "via 10.1.0.254 dev bond0", "priority 1003"},
		networkd: {"[RoutingPolicyRule]\nFrom=10.0.0.2/32\nTable=100\nPriority=1000\n", "[Route]\nDestination=0.0.0.0/0\nGateway=10.1.0.254\nPreferredSource=10.1.0.7\nTable=103\n", "Destination=10.1.0.0/24\nScope=link\n"},
	} {
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	var file struct {
		Network struct {
			Ethernets, Bonds map[string]struct {
				Routes []struct {
					To, Via, From, Scope string
					Table                int
				}
				Policy []struct {
					From            string
					Table, Priority int
				} `yaml:"routing-policy"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(netplan), &file); err != nil {
		t.Fatal(err, netplan)
	}
	bond := file.Network.Bonds["bond0"]
	if len(file.Network.Ethernets) != 1 || len(bond.Routes) != 2 || bond.Routes[1].Via != "10.1.0.254" || bond.Routes[0].Scope != "link" || bond.Policy[0].Priority != 1003 {
		t.Errorf("%+v\n%s", file, netplan)
	}
}

func TestNotes(t *testing.T) {
	for _, test := range []struct {
		name  string
		rails []Rail
		s     *route.State
		says  string
	}{
		{"no next hop", []Rail{{Netdev: "eth0"}}, state("eth0 10.0.0.2/24"), "no next hop is known for 10.0.0.0/24"},
		{"a switch in another network", []Rail{{Netdev: "eth0", Offered: []netip.Addr{netip.MustParseAddr("192.168.0.1")}}}, state("eth0 10.0.0.2/24"), "no next hop"},
		{"no address", []Rail{{Netdev: "eth0"}}, state("eth1 10.0.0.2/24"), "# Nothing is planned"},
		{"rails in one network", []Rail{{Netdev: "eth0"}, {Number: 1, Netdev: "eth1"}}, state("eth0 10.0.0.2/24", "eth1 10.0.0.3/24"), "arp_ignore"},
		{"an operator's next hop", []Rail{{Netdev: "eth0", Gateways: []netip.Addr{netip.MustParseAddr("10.0.0.99")}}}, state("eth0 10.0.0.2/24"), "default via 10.0.0.99"},
	} {
		if ip, _, _ := written(t, test.rails, test.s); !strings.Contains(ip, test.says) {
			t.Errorf("%s: no %q in\n%s", test.name, test.says, ip)
		}
	}
	if _, err := New([]Rail{{Netdev: "eth0"}, {Netdev: "eth1"}}, state(), Default()); err == nil {
		t.Error("two rails of one number")
	}
}

// An operator's next hop is taken, or refused; it is not passed by.
func TestGateway(t *testing.T) {
	s := state("eth0 10.0.0.2/24", "eth0 10.0.0.3/24", "eth0 fd00::2/64", "eth1 10.0.1.2/24", "eth0 fe80::1/64")
	for gateway, says := range map[string]string{
		"10.0.0.1": "", "fd00::1": "", "fe80::99": "",
		"10.0.1.1": "no next hop in the port's networks (10.0.0.0/24, fd00::/64)", "::ffff:10.0.0.1": "no next hop", "224.0.0.1": "no next hop", "ff02::1": "no next hop",
		"10.0.0.0": "no next hop", "10.0.0.255": "no next hop", "10.0.0.254": "", "fd00::": "no next hop",
		"10.0.0.2": "own address", "fe80::1": "own address", "0.0.0.0": "no next hop", "127.0.0.1": "no next hop",
	} {
		_, err := New([]Rail{{Netdev: "eth0", Gateways: []netip.Addr{netip.MustParseAddr(gateway)}}}, s, Default())
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", gateway, err, says)
		}
	}
}

// What stands in the plan's way is deleted in its own family.
func TestSurplus(t *testing.T) {
	s := state("eth0 fd00::2/64")
	s.Rules = []route.Rule{{Priority: 7, From: netip.MustParsePrefix("::/0"), Table: 100}, {Priority: 8, From: netip.MustParsePrefix("0.0.0.0/0"), Table: 100}, {Priority: 9, From: netip.MustParsePrefix("fd01::/64"), Table: 100}}
	ip, _, _ := written(t, []Rail{{Netdev: "eth0"}}, s)
	for _, want := range []string{"\nip -6 rule del from all lookup 100 priority 7\n", "\nip rule del from all lookup 100 priority 8\n", "\nip -6 rule del from fd01::/64 lookup 100 priority 9\n"} {
		if !strings.Contains(ip, want) {
			t.Errorf("no %q in\n%s", want, ip)
		}
	}
}

// In the kernel's own tables all rules would be in the plan's way.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		Options
		rail int
		ok   bool
	}{
		{Options{1, 1}, 0, true}, {Options{252, 1}, 0, true}, {Options{256, 1}, 0, true}, {Options{1<<32 - 1, 1}, 0, true}, {Options{1, 32765}, 0, true},
		{Options{0, 1}, 0, false}, {Options{253, 1}, 0, false}, {Options{254, 1}, 0, false}, {Options{255, 1}, 0, false}, {Options{252, 1}, 1, false}, {Options{250, 1}, 4, false},
		{Options{1 << 32, 1}, 0, false}, {Options{1<<32 - 1, 1}, 1, false}, {Options{math.MaxInt, 1}, math.MaxInt, false},
		{Options{1, 0}, 0, false}, {Options{1, 32766}, 0, false}, {Options{1, 32765}, 1, false},
	} {
		if _, err := New([]Rail{{Number: test.rail, Netdev: "eth0"}}, state("eth0 10.0.0.2/24"), test.Options); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
