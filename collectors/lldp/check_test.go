// SPDX-License-Identifier: Apache-2.0

package lldp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"github.com/fabricd/fabricd/probes/lldp"
)

// A said is what a switch says on one port.
type said struct {
	name, port, description string
	ttl                     uint16
}

func (s said) hex(change ...func(*lldp.Frame)) string {
	f := &lldp.Frame{
		Destination: lldp.Destinations()[0], Source: lldp.MAC{2, 0, 0, 0, 0, 1}, TTL: s.ttl,
		Chassis: lldp.ChassisID{Subtype: lldp.ChassisLocal, Value: s.name}, SystemName: s.name,
		Port: lldp.PortID{Subtype: lldp.PortName, Value: s.port}, PortDescription: s.description,
	}
	for _, c := range change {
		c(f)
	}
	return hosttest.Hex(f.Append(nil))
}

var (
	right = said{"leaf-01", "Ethernet12", "", 120}
	wrong = said{"leaf-01", "Ethernet16", "", 120}
	other = said{"leaf-02", "Ethernet12", "", 120}

	remembered = said{"leaf-01", "Ethernet12", "", 3600}
)

const plan = `plan: {cabling: [{port: eth0, switch: leaf-01, switch_port: Ethernet12}]}`

// machine has one port, eth0.
func machine(t *testing.T) *hosttest.Host {
	h := hosttest.New(t)
	h.Port("0000:15:01.0", "", "16x16")
	h.NIC("0000:16:00.0", "0000:15:01.0", "16x16").Netdev("eth0", 100)
	return h
}

// hear makes eth0 hear frames at a mark: "" is the start.
func hear(h *hosttest.Host, mark string, frames ...string) {
	if mark != "" {
		h = h.At(mark)
	}
	h.Set("lldp/eth0.hex", "# frames\n"+strings.Join(frames, "\n"))
}

// quiet makes the film last until a mark.
func quiet(h *hosttest.Host, mark string) { h.At(mark).Set("rm", "") }

// flap notes that the link was lost and came back before a mark; changes are
// those since the start.
func flap(h *hosttest.Host, mark string, changes int) {
	h.Dev("0000:16:00.0").Set("net/eth0/carrier_changes", "3")
	h.At(mark).Dev("0000:16:00.0").At(mark).Set("net/eth0/carrier_changes", fmt.Sprint(3+changes))
}

// crowd is what many neighbours say who are remembered for an hour.
func crowd(n int) (frames []string) {
	for i := range n {
		frames = append(frames, said{fmt.Sprint("x", i), "y", "", 3600}.hex())
	}
	return frames
}

func listened(h *hosttest.Host, what string) {
	h.Set("manifest.json", fmt.Sprintf(`{"sources": {"lldp": %q}}`, what))
}

func TestSilent(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*hosttest.Host)
		expect string
	}{
		{"a picture", func(h *hosttest.Host) {}, "expect: unknown lldp_silent eth0\nsays: nothing heard"},
		{"a picture after a minute", func(h *hosttest.Host) { listened(h, "listened 1m0s") }, "expect: unknown lldp_silent eth0"},
		{"a picture after long", func(h *hosttest.Host) { listened(h, "listened 150s") }, "expect: warn lldp_silent eth0\nsays: 2m30s"},
		{"nobody could listen", func(h *hosttest.Host) { listened(h, "refused: EPERM"); quiet(h, "200s") }, "expect: unknown lldp_silent eth0\nsays: EPERM\nsays: CAP_NET_RAW"},
		{"nobody listened", func(h *hosttest.Host) { listened(h, "not asked"); quiet(h, "200s") }, "expect: unknown lldp_silent eth0"},
		{"two minutes", func(h *hosttest.Host) { quiet(h, "2m") }, "expect: warn lldp_silent eth0\nsays: 2m0s\nsays: LLDP_NB_RX_MODE"},
		{"not quite", func(h *hosttest.Host) { quiet(h, "119s") }, "expect: unknown lldp_silent eth0"},
		{"another limit", func(h *hosttest.Host) {
			h.Set("fabricd.yaml", "thresholds: {lldp_silent: {silent_seconds: 60}}")
			quiet(h, "61s")
		}, "expect: warn lldp_silent eth0"},
		{"link came late", func(h *hosttest.Host) {
			h.Dev("0000:16:00.0").Set("net/eth0/carrier", "0")
			h.At("1m").Dev("0000:16:00.0").At("1m").Set("net/eth0/carrier", "1")
			quiet(h, "150s")
		}, "expect: unknown lldp_silent eth0\nsays: 1m30s"},
		{"no link", func(h *hosttest.Host) { h.Dev("0000:16:00.0").Set("net/eth0/carrier", "0"); quiet(h, "3m") }, "never: ok|unknown|warn lldp_silent *"},
		{"switched off", func(h *hosttest.Host) { h.Dev("0000:16:00.0").Fail("net/eth0/carrier", "EINVAL"); quiet(h, "3m") }, "never: ok|unknown|warn lldp_silent *"},
		{"a virtual machine", func(h *hosttest.Host) { h.Guest(); quiet(h, "3m") }, "expect: unknown lldp_silent eth0\nsays: virtual"},
		{"ice's agent", func(h *hosttest.Host) {
			h.Set("ethtool/eth0/private-flags", "Private flags for eth0:\nlink-down-on-close : off\nfw-lldp-agent      : on")
			quiet(h, "3m")
		}, "expect: warn lldp_silent eth0\nsays: fw-lldp-agent off"},
		{"i40e's agent", func(h *hosttest.Host) {
			h.Set("ethtool/eth0/private-flags", "Private flags for eth0:\ndisable-fw-lldp: off")
			quiet(h, "3m")
		}, "expect: warn lldp_silent eth0\nsays: disable-fw-lldp on"},
		{"no agent", func(h *hosttest.Host) {
			h.Set("ethtool/eth0/private-flags", "Private flags for eth0:\ndisable-fw-lldp: on\nfw-lldp-agent: off")
			quiet(h, "3m")
		}, "expect: warn lldp_silent eth0\nsays: switch LLDP on"},
		{"Open vSwitch", func(h *hosttest.Host) {
			h.Link(h.Dev("0000:16:00.0").Dir+"/net/eth0/master", "sys/devices/virtual/net/ovs-system")
			quiet(h, "3m")
		}, "expect: warn lldp_silent eth0\nsays: Open vSwitch"},
		{"a BlueField", func(h *hosttest.Host) { h.Dev("0000:16:00.0").ID("15b3:a2dc"); quiet(h, "3m") }, "expect: warn lldp_silent eth0\nsays: DPU"},
		{"heard at the start", func(h *hosttest.Host) { hear(h, "", right.hex()) }, "expect: ok lldp_silent eth0\nsays: leaf-01"},
		{"heard, and then no more", func(h *hosttest.Host) { hear(h, "", right.hex()); quiet(h, "2m") }, "expect: warn lldp_silent eth0"},
		{"a short TTL", func(h *hosttest.Host) { hear(h, "", said{"a", "b", "", 20}.hex()); quiet(h, "30s") }, "expect: unknown lldp_silent eth0"},
		{"a long TTL", func(h *hosttest.Host) { hear(h, "", said{"a", "b", "", 600}.hex()); quiet(h, "5m") }, "expect: warn lldp_silent eth0\nsays: 5m0s"},
		{"a long TTL, not long ago", func(h *hosttest.Host) { hear(h, "", said{"a", "b", "", 600}.hex()); quiet(h, "119s") }, "expect: ok lldp_silent eth0\nsays: 1m59s"},
		{"malformed frames", func(h *hosttest.Host) {
			for _, mark := range []string{"", "60s", "120s"} {
				hear(h, mark, right.hex()[:60], "zz")
			}
		}, "expect: warn lldp_silent eth0\nsays: 6 malformed"},
		{"a crowd was heard, and now others are refused", func(h *hosttest.Host) {
			hear(h, "", crowd(16)...)
			hear(h, "150s", right.hex())
		}, "expect: warn lldp_silent eth0\nsays: 1 frames of other neighbours were refused\nsays: so many names"},
		{"link cannot be read", func(h *hosttest.Host) { h.Dev("0000:16:00.0").Fail("net/eth0/carrier", "EACCES"); quiet(h, "3m") }, "expect: unknown lldp_silent eth0\nsays: link cannot be read"},
		{"a bond's leg", func(h *hosttest.Host) {
			h.Link(h.Dev("0000:16:00.0").Dir+"/net/eth0/master", "sys/devices/virtual/net/bond0")
			h.Set("sys/devices/virtual/net/bond0/bonding/mode", "802.3ad 4")
			hear(h, "", right.hex())
		}, "expect: ok lldp_silent eth0"},
		{"a virtual function", func(h *hosttest.Host) {
			h.NIC("0000:16:00.1", "0000:15:01.0", "").VirtualOf("0000:16:00.0").Netdev("eth0v0", 100)
			quiet(h, "3m")
		}, "expect: warn lldp_silent eth0\nnever: ok|unknown|warn lldp_silent eth0v0"},
		{"InfiniBand", func(h *hosttest.Host) { h.Dev("0000:16:00.0").Set("net/eth0/type", "32"); quiet(h, "3m") }, "never: ok|unknown|warn lldp_silent *"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := machine(t)
			test.change(h)
			h.Expect(test.expect + "\nnever: fail lldp_silent *")
		})
	}
}

func TestCabling(t *testing.T) {
	mac := func(f *lldp.Frame) { f.Port = lldp.PortID{Subtype: lldp.PortMAC, Value: "\x02\x00\x00\x00\x00\x01"} }
	for _, test := range []struct {
		name   string
		change func(*hosttest.Host)
		expect string
	}{
		{"as planned", func(h *hosttest.Host) { hear(h, "", right.hex()) }, "expect: ok lldp_cabling eth0"},
		{"by address", func(h *hosttest.Host) {
			h.Set("fabricd.yaml", `plan: {cabling: [{address: "0000:16:00.0", switch: leaf-01, switch_port: Ethernet12}]}`)
			hear(h, "", wrong.hex())
		}, "expect: fail lldp_cabling eth0"},
		{"another port", func(h *hosttest.Host) { hear(h, "", wrong.hex()) }, "expect: fail lldp_cabling eth0\nsays: Ethernet16\nsays: Ethernet12"},
		{"another switch", func(h *hosttest.Host) { hear(h, "", other.hex()) }, "expect: fail lldp_cabling eth0\nsays: leaf-02"},
		{"only the switch is planned", func(h *hosttest.Host) {
			h.Set("fabricd.yaml", `plan: {cabling: [{port: eth0, switch: leaf-01}]}`)
			hear(h, "", wrong.hex())
		}, "expect: ok lldp_cabling eth0"},
		{"not planned", func(h *hosttest.Host) {
			h.Set("fabricd.yaml", `plan: {cabling: [{port: eth1, switch: leaf-01}]}`)
			hear(h, "", wrong.hex())
		}, "expect: warn lldp_cabling eth1\nsays: no such port\nnever: ok|unknown|warn|fail lldp_cabling eth0"},
		{"not there, by address", func(h *hosttest.Host) {
			h.Set("fabricd.yaml", `plan: {cabling: [{address: "0000:99:00.0", switch: leaf-01}]}`)
		}, "expect: warn lldp_cabling 0000:99:00.0"},
		{"not seen", func(h *hosttest.Host) {
			h.Set("fabricd.yaml", `{plan: {cabling: [{port: eth1, switch: leaf-01}]}, devices: {exclude: ["0000:99:*"]}}`)
		}, "expect: unknown lldp_cabling eth1"},
		{"by its name without the port", func(h *hosttest.Host) {
			h.NIC("0000:17:00.0", "0000:15:01.0", "16x16").Netdev("enp23s0np0", 100)
			h.Set("lldp/enp23s0np0.hex", wrong.hex())
			h.Set("fabricd.yaml", `plan: {cabling: [{port: enp23s0, switch: leaf-01, switch_port: Ethernet12}]}`)
		}, "expect: fail lldp_cabling enp23s0np0\nsays: Ethernet16\nnever: ok|unknown|warn|fail lldp_cabling enp23s0"},
		{"one of two, by their name without the port", func(h *hosttest.Host) {
			h.NIC("0000:17:00.0", "0000:15:01.0", "16x16").Netdev("enp23s0np0", 100).Netdev("enp23s0np1", 100)
			h.Set("fabricd.yaml", `plan: {cabling: [{port: enp23s0, switch: leaf-01}]}`)
		}, "expect: unknown lldp_cabling enp23s0\nsays: enp23s0np0 or enp23s0np1"},
		{"without LLDP", func(h *hosttest.Host) { h.Dev("0000:16:00.0").Set("net/eth0/type", "32") }, "never: ok|unknown|warn|fail lldp_cabling *"},
		{"not there, of a rail", func(h *hosttest.Host) { h.Set("fabricd.yaml", `plan: {cabling: [{port: eth1, rail: 1}]}`) }, "never: ok|unknown|warn|fail lldp_cabling *"},
		{"two words on one port", func(h *hosttest.Host) {
			h.Set("fabricd.yaml", `plan: {cabling: [{address: "0000:16:00.0", switch: leaf-01}, {port: eth0, switch: leaf-02}]}`)
			hear(h, "", right.hex())
		}, "expect: unknown lldp_cabling eth0\nsays: contradicts itself"},
		{"the same word twice, and a rail", func(h *hosttest.Host) {
			h.Set("fabricd.yaml", `plan: {cabling: [{port: mlx5_0, rail: 0}, {address: "0000:16:00.0", switch: leaf-01}, {port: eth0, switch: leaf-01}]}`)
			hear(h, "", right.hex())
		}, "expect: ok lldp_cabling eth0"},
		{"a MAC address without a description", func(h *hosttest.Host) { hear(h, "", right.hex(mac)) }, "expect: unknown lldp_cabling eth0\nsays: ports' names"},
		{"a MAC address with one", func(h *hosttest.Host) { hear(h, "", said{"leaf-01", "", "Ethernet16", 120}.hex(mac)) }, "expect: fail lldp_cabling eth0"},
		{"another form", func(h *hosttest.Host) { hear(h, "", said{"leaf-01", "etp4", "", 120}.hex()) }, "expect: unknown lldp_cabling eth0"},
		{"another form on another switch", func(h *hosttest.Host) { hear(h, "", said{"leaf-02", "etp4", "", 120}.hex()) }, "expect: fail lldp_cabling eth0"},
		{"two neighbours", func(h *hosttest.Host) { hear(h, "", right.hex(), other.hex()) }, "expect: unknown lldp_cabling eth0\nexpect: info lldp_many eth0"},
		{"nothing yet", func(h *hosttest.Host) {}, "expect: unknown lldp_cabling eth0"},
		{"nothing", func(h *hosttest.Host) { quiet(h, "2m") }, "expect: warn lldp_cabling eth0\nsays: Ethernet12"},
		{"nobody could listen", func(h *hosttest.Host) { listened(h, "refused: EPERM"); quiet(h, "200s") }, "expect: unknown lldp_cabling eth0\nsays: EPERM"},
		{"no link", func(h *hosttest.Host) { h.Dev("0000:16:00.0").Set("net/eth0/carrier", "0") }, "expect: warn lldp_cabling eth0\nsays: no link"},
		{"moved just now", func(h *hosttest.Host) {
			hear(h, "", right.hex())
			h.At("70s").Set("lldp/eth0.hex", other.hex())
			quiet(h, "90s")
		}, "expect: info lldp_cabling eth0\nsays: judged after 30 s\nnever: info lldp_many *"},
		{"moved", func(h *hosttest.Host) {
			hear(h, "", right.hex())
			hear(h, "70s", other.hex())
			hear(h, "100s", other.hex())
		}, "expect: fail lldp_cabling eth0\nsays: leaf-02\nnever: info lldp_many *"},
		{"moved, the link was down", func(h *hosttest.Host) {
			carrier := func(mark, up string) { h.At(mark).Dev("0000:16:00.0").At(mark).Set("net/eth0/carrier", up) }
			hear(h, "", right.hex())
			carrier("5s", "0")
			carrier("8s", "1")
			hear(h, "10s", other.hex())
			quiet(h, "40s")
		}, "expect: fail lldp_cabling eth0\nsays: leaf-02\nnever: info lldp_many *"},
		{"moved so quickly that nobody saw the link down", func(h *hosttest.Host) {
			hear(h, "", right.hex())
			h.Dev("0000:16:00.0").Set("net/eth0/carrier_changes", "3")
			h.At("8s").Dev("0000:16:00.0").At("8s").Set("net/eth0/carrier_changes", "5")
			hear(h, "10s", other.hex())
			quiet(h, "40s")
		}, "expect: fail lldp_cabling eth0\nsays: leaf-02\nnever: info lldp_many *"},
		{"moved on the same switch", func(h *hosttest.Host) {
			hear(h, "", right.hex())
			hear(h, "30s", wrong.hex())
			hear(h, "60s", wrong.hex())
		}, "expect: fail lldp_cabling eth0\nsays: Ethernet16\nnever: info lldp_many *"},
		{"pulled, and still remembered", func(h *hosttest.Host) {
			hear(h, "", remembered.hex())
			h.At("10s").Dev("0000:16:00.0").At("10s").Set("net/eth0/carrier", "0")
			quiet(h, "30s")
		}, "expect: warn lldp_cabling eth0\nsays: no link\nnever: ok|info lldp_many eth0\nnever: ok lldp_silent eth0"},
		{"no link at once", func(h *hosttest.Host) { hear(h, "", right.hex()); h.Dev("0000:16:00.0").Set("net/eth0/carrier", "0") }, "expect: warn lldp_cabling eth0\nsays: no link"},
		{"silent, and still remembered", func(h *hosttest.Host) {
			hear(h, "", remembered.hex())
			quiet(h, "10m")
		}, "expect: warn lldp_cabling eth0\nsays: 10m0s"},
		{"the link was down, and nobody was heard since", func(h *hosttest.Host) {
			hear(h, "", remembered.hex())
			flap(h, "10s", 2)
			quiet(h, "60s")
		}, "expect: unknown lldp_cabling eth0\nsays: nothing heard for 50s\nexpect: unknown lldp_silent eth0"},
		{"moved and put back, the wrong one is still remembered", func(h *hosttest.Host) {
			hear(h, "", right.hex())
			hear(h, "10s", said{"leaf-02", "Ethernet12", "", 3600}.hex())
			flap(h, "10s", 2)
			hear(h, "60s", right.hex())
			flap(h, "60s", 4)
			quiet(h, "70s")
		}, "expect: ok lldp_cabling eth0\nexpect: ok lldp_many eth0"},
		{"moved to where it was before", func(h *hosttest.Host) {
			hear(h, "", said{"leaf-02", "Ethernet12", "", 3600}.hex())
			hear(h, "10s", right.hex())
			flap(h, "10s", 2)
			hear(h, "60s", other.hex())
			flap(h, "60s", 4)
			quiet(h, "70s")
		}, "expect: info lldp_cabling eth0\nsays: since 10s"},
		{"the wrong one is back after its time was over", func(h *hosttest.Host) {
			hear(h, "", said{"leaf-02", "Ethernet12", "", 20}.hex())
			hear(h, "40s", said{"leaf-02", "Ethernet12", "", 20}.hex())
			quiet(h, "45s")
		}, "expect: fail lldp_cabling eth0"},
		{"a long memory, and another since", func(h *hosttest.Host) {
			hear(h, "", remembered.hex())
			for _, mark := range []string{"30s", "60s", "90s", "120s"} {
				hear(h, mark, other.hex())
			}
		}, "expect: fail lldp_cabling eth0\nsays: leaf-02"},
		{"moved with a full table", func(h *hosttest.Host) {
			hear(h, "", crowd(16)...)
			flap(h, "10s", 2)
			hear(h, "20s", right.hex())
		}, "expect: ok lldp_cabling eth0\nexpect: ok lldp_silent eth0"},
		{"put right", func(h *hosttest.Host) {
			hear(h, "", wrong.hex())
			hear(h, "30s", right.hex())
		}, "expect: ok lldp_cabling eth0"},
		{"a new id and the old one, both for long", func(h *hosttest.Host) {
			for _, mark := range []string{"", "30s", "60s", "90s", "120s", "150s"} {
				hear(h, mark, right.hex(), wrong.hex())
			}
		}, "expect: info lldp_many eth0\nexpect: unknown lldp_cabling eth0"},
		{"goodbye", func(h *hosttest.Host) {
			hear(h, "", right.hex())
			hear(h, "100s", said{"leaf-01", "Ethernet12", "", 0}.hex())
			quiet(h, "130s")
		}, "expect: warn lldp_cabling eth0\nsays: goodbye\nexpect: warn lldp_silent eth0"},
		{"a stranger's goodbye", func(h *hosttest.Host) {
			hear(h, "", right.hex())
			hear(h, "30s", said{"leaf-09", "Ethernet12", "", 0}.hex())
		}, "expect: ok lldp_cabling eth0"},
		{"forgotten after its TTL", func(h *hosttest.Host) {
			hear(h, "", said{"leaf-02", "Ethernet12", "", 30}.hex())
			hear(h, "60s", right.hex())
		}, "expect: ok lldp_cabling eth0\nnever: info lldp_many *"},
		{"a flood of names", func(h *hosttest.Host) {
			hear(h, "", append([]string{right.hex()}, crowd(1000)...)...)
		}, "expect: info lldp_many eth0\nsays: 16 neighbours\nnever: fail lldp_cabling *"},
		{"hostile names", func(h *hosttest.Host) {
			hear(h, "", said{"leaf\"\n\x1b[2J\xff", `a"} 1\`, strings.Repeat("x", 511), 120}.hex())
		}, "expect: fail lldp_cabling eth0\nsays: leaf\"??[2J?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := machine(t)
			h.Set("fabricd.yaml", plan)
			test.change(h)
			h.Expect(test.expect)
		})
	}
}

// A plan that only says which rail a port is of says nothing of cables.
func TestRailOfPlan(t *testing.T) {
	for _, test := range []struct{ plan, expect string }{
		{"plan: {cabling: [{port: eth0, rail: 0}]}", "expect: warn lldp_rail eth7\nsays: leaf-02"},
		{"plan: {cabling: [{port: eth0, switch: leaf-01}]}", "never: ok|info|warn|unknown lldp_rail *"},
	} {
		h := hosttest.New(t)
		roles := ""
		for i, leaf := range []said{right, right, right, right, other, other, other, right} {
			bus, name := 0x15+2*i, fmt.Sprint("eth", i)
			h.Port(fmt.Sprintf("0000:%02x:01.0", bus), "", "16x16")
			h.NIC(fmt.Sprintf("0000:%02x:00.0", bus+1), fmt.Sprintf("0000:%02x:01.0", bus), "16x16").Netdev(name, 400)
			h.Set("lldp/"+name+".hex", leaf.hex())
			roles += name + ": compute, "
		}
		h.Set("fabricd.yaml", strings.TrimSuffix(test.plan, "}")+", roles: {"+roles+"}}")
		h.Expect(test.expect)
	}
}
