// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
)

func TestParseProcessor(t *testing.T) {
	tests := []struct {
		name, cpuinfo string
		want          processor
		complete      bool
	}{
		{"Intel", wholeCPUInfo, processor{"x86_64", "GenuineIntel", "6", "143"}, true},
		// families as topology files of these machines have them
		{"Rome", "vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\n", processor{"x86_64", "AuthenticAMD", "143", "49"}, true},
		{"Milan", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n", processor{"x86_64", "AuthenticAMD", "175", "1"}, true},
		{"no family", "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n", processor{arch: "x86_64", vendor: "AuthenticAMD"}, false},
		{"odd numbers", "vendor_id\t: GenuineIntel\ncpu family\t: 1e9\nmodel\t\t: x\n", processor{arch: "x86_64", vendor: "GenuineIntel"}, false},
		{"hostile vendor", "vendor_id\t: \"/><gpu\ncpu family\t: 6\nmodel\t\t: 1\n", processor{arch: "x86_64", family: "6", model: "1"}, false},
		{"Arm", "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n\n", processor{arch: "arm64"}, true},
		{"POWER", "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n\nmodel\t\t: 8335-GTW\n", processor{arch: "ppc64"}, true},
		{"nothing", "", processor{}, false},
	}
	for _, test := range tests {
		if got := parseProcessor([]byte(test.cpuinfo)); got != test.want || got.complete() != test.complete {
			t.Errorf("%s: %+v, complete %v", test.name, got, got.complete())
		}
	}
}

func TestAffinity(t *testing.T) {
	m := &Machine{inventory: &probes.Inventory{Nodes: []probes.Node{
		{ID: 0, CPUList: "0-23,72"}, {ID: 2, CPUList: ""}, {ID: 8, CPUList: "24-71,73-95"},
	}}}
	for id, want := range map[int]string{
		0: "00000100,00000000,00ffffff", 2: "00000000,00000000,00000000", 8: "fffffeff,ffffffff,ff000000", 1: "", -1: "",
	} {
		if got := m.affinity(id); got != want {
			t.Errorf("node %d: %q, want %q", id, got, want)
		}
	}
	m.inventory.Nodes = append(m.inventory.Nodes, probes.Node{ID: 9, CPUList: "1000"})
	if got := m.affinity(0); got != "" {
		t.Errorf("%d characters are too many for NCCL: %s", len(got), got)
	}
	m.inventory.Nodes = []probes.Node{{ID: 0, CPUList: "0-x"}}
	if got := m.affinity(0); got != "" {
		t.Errorf("a list that is none: %s", got)
	}
}

// NCCL reads the eight bytes as a number of a little-endian machine:
// 0c42:a103:009c:0fae is 0xae0f9c0003a1420c in its files.
func TestGUID(t *testing.T) {
	for guid, want := range map[string]string{
		"0c42:a103:009c:0fae": "0xae0f9c0003a1420c", "0c42:a103:000b:f70c": "0xcf70b0003a1420c",
		"": "", "0000:0000:0000:0000": "", "x": "", strings.Repeat("ffff:", 5): "",
	} {
		if got := ncclGUID(guid); got != want {
			t.Errorf("%s: %s, want %s", guid, got, want)
		}
	}
}
