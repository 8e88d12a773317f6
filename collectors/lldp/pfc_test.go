// SPDX-License-Identifier: Apache-2.0

package lldp_test

import (
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"github.com/fabricd/fabricd/probes/lldp"
)

// The host: PFC on 3, priority 3 in a class of its own with half of the
// bandwidth, DSCP 26 and RoCE v2 on 3.
const dcbnl = `{"dcbx": ["host", "ieee"], "pfc": {"cap": 8, "enabled": [3]},
 "ets": {"cap": 8, "tc_bandwidth": [50, 50, 0, 0, 0, 0, 0, 0], "tc_algorithm": ["ets", "ets", "strict", "strict", "strict", "strict", "strict", "strict"], "priority_tc": [0, 0, 0, 1, 0, 0, 0, 0]},
 "app": [{"selector": "dscp", "protocol": 26, "priority": 3}, {"selector": "udp", "protocol": 4791, "priority": 3}]}`

func TestPFC(t *testing.T) {
	pfc := func(mask uint8) func(*lldp.Frame) {
		return func(f *lldp.Frame) { f.PFC = lldp.PFC{Capability: 8, Enabled: mask, Present: true} }
	}
	ets := func(change func(*lldp.ETS)) func(*lldp.Frame) {
		return func(f *lldp.Frame) {
			f.ETS = lldp.ETS{PriorityTC: [8]uint8{3: 1}, Bandwidth: [8]uint8{50, 50}, Algorithm: [8]uint8{lldp.TSAETS, lldp.TSAETS, lldp.TSAVendor}, Present: true}
			change(&f.ETS)
		}
	}
	apps := func(list ...lldp.App) func(*lldp.Frame) {
		return func(f *lldp.Frame) { f.Apps = lldp.NewApps(list...) }
	}
	feature := lldp.Feature{Enabled: true, Present: true}
	cee := func(f lldp.Feature, mask uint8, list ...lldp.CEEApp) func(*lldp.Frame) {
		return func(frame *lldp.Frame) {
			c := lldp.CEE{PFC: lldp.CEEPFC{Feature: f, Priorities: mask, TCs: 8}, Apps: lldp.NewCEEApps(f, list...), Present: true}
			frame.Others = append(frame.Others, c.TLV())
		}
	}
	asItIs := ets(func(*lldp.ETS) {})
	for _, test := range []struct {
		name, dcb string
		says      []func(*lldp.Frame)
		expect    string
	}{
		{"agrees", dcbnl, []func(*lldp.Frame){pfc(8), asItIs, apps(lldp.App{Priority: 3, Selector: lldp.SelectDSCP, Protocol: 26})}, "expect: ok lldp_pfc eth0"},
		{"the switch has more", dcbnl, []func(*lldp.Frame){pfc(0x18)}, "expect: fail lldp_pfc eth0\nsays: pauses on 4"},
		{"the switch has none", dcbnl, []func(*lldp.Frame){pfc(0)}, "expect: fail lldp_pfc eth0\nsays: the switch ignores the host's pauses on 3"},
		{"another class", dcbnl, []func(*lldp.Frame){pfc(8), ets(func(e *lldp.ETS) { e.PriorityTC[5] = 2 })}, "expect: warn lldp_pfc eth0\nsays: priority 5 is in traffic class 2"},
		{"another share", dcbnl, []func(*lldp.Frame){pfc(8), ets(func(e *lldp.ETS) { e.Bandwidth = [8]uint8{30, 70} })}, "expect: warn lldp_pfc eth0\nsays: 70 %"},
		{"another algorithm", dcbnl, []func(*lldp.Frame){pfc(8), ets(func(e *lldp.ETS) { e.Algorithm[1] = lldp.TSAStrict })}, "expect: warn lldp_pfc eth0\nsays: strict"},
		{"as recommended", dcbnl, []func(*lldp.Frame){pfc(8), asItIs, func(f *lldp.Frame) { f.Recommended = f.ETS; f.ETS.PriorityTC[5] = 2 }}, "expect: ok lldp_pfc eth0"},
		{"another priority", dcbnl, []func(*lldp.Frame){pfc(8), apps(lldp.App{Priority: 4, Selector: lldp.SelectDSCP, Protocol: 26})}, "expect: warn lldp_pfc eth0\nsays: dscp 26 has priority 4"},
		{"by any port", dcbnl, []func(*lldp.Frame){pfc(8), apps(lldp.App{Priority: 4, Selector: lldp.SelectPort, Protocol: 4791})}, "expect: warn lldp_pfc eth0\nsays: 4791"},
		{"an application of the switch alone", dcbnl, []func(*lldp.Frame){pfc(8), apps(lldp.App{Priority: 4, Selector: lldp.SelectEtherType, Protocol: 0x8906})}, "expect: ok lldp_pfc eth0"},
		{"no PFC but classes", dcbnl, []func(*lldp.Frame){asItIs}, "expect: unknown lldp_pfc eth0\nsays: not its priority flow control"},
		{"nothing announced", dcbnl, nil, "expect: unknown lldp_pfc eth0\nsays: no DCBX"},
		{"no dcbnl", "", []func(*lldp.Frame){pfc(8)}, "expect: unknown lldp_pfc eth0\nsays: dcbnl"},
		{"CEE agrees", dcbnl, []func(*lldp.Frame){cee(feature, 8, lldp.CEEApp{Protocol: 4791, Selector: 1, Priorities: 8})}, "expect: ok lldp_pfc eth0"},
		{"CEE differs", dcbnl, []func(*lldp.Frame){cee(feature, 0x10)}, "expect: fail lldp_pfc eth0"},
		{"CEE is switched off", dcbnl, []func(*lldp.Frame){cee(lldp.Feature{Present: true}, 8)}, "expect: fail lldp_pfc eth0\nsays: none at the switch"},
		{"CEE's application differs", dcbnl, []func(*lldp.Frame){cee(feature, 8, lldp.CEEApp{Protocol: 4791, Selector: 1, Priorities: 16})}, "expect: warn lldp_pfc eth0"},
		{"the standard counts before CEE", dcbnl, []func(*lldp.Frame){pfc(8), cee(feature, 0)}, "expect: ok lldp_pfc eth0\nsays: by CEE it has priority flow control on none"},
		{"both differ, and not in the same", dcbnl, []func(*lldp.Frame){pfc(0x18), cee(feature, 0x10)}, "expect: fail lldp_pfc eth0\nsays: pauses on 4\nsays: by CEE it has priority flow control on 4"},
		{"CEE has what the standard does not say", dcbnl, []func(*lldp.Frame){apps(lldp.App{Priority: 3, Selector: lldp.SelectDSCP, Protocol: 26}), cee(feature, 0x10)}, "expect: fail lldp_pfc eth0\nsays: pauses on 4"},
		{"the driver does not tell algorithms", `{"pfc": {"cap": 8, "enabled": [3]}, "ets": {"cap": 8, "priority_tc": [0, 0, 0, 1, 0, 0, 0, 0]}}`, []func(*lldp.Frame){pfc(8), asItIs}, "expect: ok lldp_pfc eth0"},
		{"firmware speaks", `{"dcbx": ["lld_managed"], "pfc": {"cap": 8, "enabled": [3]}, "peer": {"pfc": {"cap": 8, "enabled": [4]}}}`, nil, "expect: fail lldp_pfc eth0\nsays: 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := machine(t)
			if test.dcb != "" {
				h.Set("dcb/eth0.json", test.dcb)
			}
			hear(h, "", right.hex(test.says...))
			h.Expect(test.expect)
		})
	}
}

// A management port that wants no lossless network is no fault.
func TestPFCManagement(t *testing.T) {
	for _, test := range []struct{ name, ets, expect string }{
		{"flow control", "", "expect: info lldp_pfc eth0\nsays: flow control is on for 3"},
		{"traffic classes", `, "ets": {"priority_tc": [0, 1, 2, 3, 4, 5, 6, 7]}`, "expect: info lldp_pfc eth0\nsays: traffic class"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := hosttest.New(t)
			h.Port("0000:15:01.0", "", "16x16")
			h.NIC("0000:16:00.0", "0000:15:01.0", "16x16").Netdev("eth0", 10)
			h.Set("dcb/eth0.json", `{"pfc": {"cap": 8, "enabled": []}`+test.ets+`}`)
			hear(h, "", right.hex(func(f *lldp.Frame) {
				f.PFC, f.ETS.Present = lldp.PFC{Enabled: 8, Present: true}, true
				if test.ets != "" {
					f.PFC.Enabled = 0
				}
			}))
			h.Expect(test.expect)
		})
	}
}

// What was announced is not held to be so for longer than it is known.
func TestPFCOfBefore(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*hosttest.Host)
		expect string
	}{
		{"pulled", func(h *hosttest.Host) {
			h.At("10s").Dev("0000:16:00.0").At("10s").Set("net/eth0/carrier", "0")
			quiet(h, "60s")
		}, "never: ok|fail|unknown lldp_pfc eth0"},
		{"the link was down", func(h *hosttest.Host) { flap(h, "10s", 2); quiet(h, "60s") }, "expect: unknown lldp_pfc eth0\nsays: before the link was lost"},
		{"silent", func(h *hosttest.Host) { quiet(h, "10m") }, "expect: unknown lldp_pfc eth0\nsays: last heard 10m0s ago"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := machine(t)
			h.Set("dcb/eth0.json", dcbnl)
			hear(h, "", remembered.hex(func(f *lldp.Frame) { f.PFC = lldp.PFC{Capability: 8, Enabled: 8, Present: true} }))
			test.change(h)
			h.Expect(test.expect)
		})
	}
}
