// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

func TestCards(t *testing.T) {
	t.Parallel()
	const ports = "00/00:01.0 port\n00/00:02.0 port\n40/40:01.0 port node=1\n80/80:01.0 port\n"
	tests := []struct {
		name, machine string
		want          []string // functions, Gb/s
	}{
		{"one slot, two functions", "00/00:01.0/01:00.0 nic eth=a:200000 guid=1:1\n00/00:01.0/01:00.1 nic eth=b:200000 guid=1:1", []string{"01:00.0 01:00.1 = 400"}},
		{"two slots", "00/00:01.0/01:00.0 nic rdma=a:200 guid=1:1\n00/00:02.0/02:00.0 nic rdma=b:200 guid=2:2", []string{"01:00.0 = 200", "02:00.0 = 200"}},
		{"socket direct: one cable at two slots", "00/00:01.0/01:00.0 nic rdma=a:200 guid=1:1\n40/40:01.0/41:00.0 nic rdma=b:200 guid=1:1", []string{"01:00.0 41:00.0 = 200"}},
		{"socket direct, two cables", `00/00:01.0/01:00.0 nic rdma=a:200 guid=1:1
			00/00:01.0/01:00.1 nic rdma=b:100 guid=1:1
			40/40:01.0/41:00.0 nic rdma=c:200 guid=1:1
			40/40:01.0/41:00.1 nic rdma=d:100 guid=1:1`, []string{"01:00.0 01:00.1 41:00.0 41:00.1 = 300"}},
		{"socket direct, one half down", "00/00:01.0/01:00.0 nic rdma=a guid=1:1\n40/40:01.0/41:00.0 nic rdma=b:200 guid=1:1", []string{"01:00.0 41:00.0 = 200"}},
		{"zero is no identity", "00/00:01.0/01:00.0 nic rdma=a:200 guid=0000:0000:0000:0000\n40/40:01.0/41:00.0 nic rdma=b:200 guid=0000:0000:0000:0000", []string{"01:00.0 = 200", "41:00.0 = 200"}},
		{"none is none", "00/00:01.0/01:00.0 nic rdma=a:200\n40/40:01.0/41:00.0 nic rdma=b:200", []string{"01:00.0 = 200", "41:00.0 = 200"}},
		{"bond: the second function has no RDMA device", "00/00:01.0/01:00.0 nic rdma=bond_0:200 eth=a:100000 guid=1:1\n00/00:01.0/01:00.1 nic eth=b:100000", []string{"01:00.0 01:00.1 = 200"}},
		{"bond over socket direct", `00/00:01.0/01:00.0 nic eth=a:100000
			00/00:01.0/01:00.1 nic rdma=b:100 guid=1:1
			40/40:01.0/41:00.0 nic rdma=c:100 guid=1:1`, []string{"01:00.0 01:00.1 41:00.0 = 200"}},
		{"found by slot before its identity was seen", `00/00:01.0/01:00.0 nic rdma=a:100 guid=1:1
			40/40:01.0/41:00.0 nic eth=b:100000
			40/40:01.0/41:00.1 nic rdma=c:100 guid=1:1`, []string{"01:00.0 41:00.0 41:00.1 = 200"}},
		{"identities that chain", `00/00:01.0/01:00.0 nic rdma=a:100 guid=1:1
			00/00:02.0/02:00.0 nic rdma=b:100 guid=2:2
			00/00:02.0/02:00.1 nic rdma=c:50 guid=1:1
			40/40:01.0/41:00.0 nic rdma=d:100 guid=2:2`, []string{"01:00.0 02:00.0 02:00.1 41:00.0 = 150"}},
		{"one bus number below two ports of two domains", "00/00:01.0/01:00.0 nic rdma=a:100\n0001:00/0001:00:01.0 port\n0001:00/0001:00:01.0/0001:01:00.0 nic rdma=b:100", []string{"01:00.0 = 100", "0001:01:00.0 = 100"}},
		{"virtual functions do not count", "00/00:01.0/01:00.0 nic rdma=a:100 guid=1:1\n00/00:01.0/01:00.1 nic vf=01:00.0 rdma=b:100 guid=1:1", []string{"01:00.0 = 100"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := tree(t, ports+test.machine, config.Plan{})
			var got []string
			members := 0
			for _, c := range tree.Cards {
				got = append(got, short(c.Functions)+" = "+strconv.FormatFloat(c.ActiveGbps(), 'f', -1, 64))
				members += len(c.Functions)
				for _, f := range c.Functions {
					if tree.CardOf(f) != c {
						t.Errorf("%s is on another card", f.Address)
					}
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if members != len(tree.NICs) {
				t.Errorf("%d functions on cards, %d NICs", members, len(tree.NICs))
			}
		})
	}
}

// ends takes links by the addresses of their lower ends to what they are in.
func ends(speeds map[string]pci.Link) func(*Link) pci.Link {
	return func(l *Link) pci.Link {
		if state, ok := speeds[short([]*probes.Function{l.Lower})]; ok {
			return state
		}
		return pci.Link{Speed: pci.Gen5, Width: 16}
	}
}

func TestThroughput(t *testing.T) {
	t.Parallel()
	const text = box + `
		40/40:01.0 port
		40/40:01.0/41:00.0 amd class=060400
		40/40:01.0/41:00.0/42:00.0 amd class=060400
		40/40:01.0/41:00.0/42:00.0/43:00.0 amd
		00/00:04.0 nic`
	const lane5, lane4, lane3 = 31.507, 15.753, 7.876
	links := func(pairs ...any) map[string]pci.Link {
		m := map[string]pci.Link{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1].(pci.Link)
		}
		return m
	}
	tests := []struct {
		name      string
		functions string
		state     map[string]pci.Link
		gbps      float64 // negative: not known
		narrowest string
	}{
		{"one", "98:00.0", nil, 16 * lane5, "98:00.0"},
		{"its own link is narrowest", "18:00.0", links("18:00.0", pci.Link{Speed: pci.Gen5, Width: 8}), 8 * lane5, "18:00.0"},
		{"the switch's is", "18:00.0", links("16:00.0", pci.Link{Speed: pci.Gen3, Width: 16}), 16 * lane3, "16:00.0"},
		{"two functions of one link", "19:00.0 19:00.1", nil, 16 * lane5, "16:00.0"},
		{"two links that share one", "18:00.0 19:00.0", nil, 16 * lane5, "16:00.0"},
		{"two links that do not fill it", "18:00.0 1a:00.0", links("18:00.0", pci.Link{Speed: pci.Gen4, Width: 8}, "1a:00.0", pci.Link{Speed: pci.Gen4, Width: 4}), 12 * lane4, "1a:00.0"},
		{"two roots", "19:00.0 98:00.0", nil, 32 * lane5, "16:00.0"},
		{"two roots, one slower", "19:00.0 98:00.0", links("98:00.0", pci.Link{Speed: pci.Gen4, Width: 16}), 16*lane5 + 16*lane4, "98:00.0"},
		{"one twice", "98:00.0 98:00.0", nil, 16 * lane5, "98:00.0"},
		{"the inside of a card does not limit", "43:00.0", links("43:00.0", pci.Link{Speed: pci.Gen1, Width: 1}), 16 * lane5, "41:00.0"},
		{"a link that is not known", "18:00.0", links("16:00.0", pci.Link{}), -1, ""},
		{"a link that is lost", "18:00.0 98:00.0", links("98:00.0", pci.Link{Width: pci.WidthLost}), -1, ""},
		{"no port above", "00:04.0", nil, -1, ""},
		{"no link", "00:1f.0", nil, -1, ""},
		{"one of two without", "98:00.0 00:04.0", nil, -1, ""},
		{"nothing", "", nil, -1, ""},
	}
	tree := tree(t, text, config.Plan{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var functions []*probes.Function
			for address := range strings.FieldsSeq(test.functions) {
				functions = append(functions, fn(t, tree, address))
			}
			bits, narrowest, known := tree.Throughput(functions, ends(test.state))
			if known != (test.gbps >= 0) {
				t.Fatalf("known %v", known)
			}
			if !known {
				return
			}
			if d := bits/1e9 - test.gbps; d > 1e-6 || d < -1e-6 || narrowest == nil || narrowest.Lower != fn(t, tree, test.narrowest) {
				t.Errorf("%v Gb/s, narrowest %s; want %v, %s", bits/1e9, narrowest.text(), test.gbps, test.narrowest)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	h, err := probes.OpenRecording("../../collectors/testdata/hosts/hgx-h100-8gpu.txtar", probes.Options{})
	if err != nil {
		b.Fatal(err)
	}
	inv := h.Inventory()
	b.ReportAllocs()
	for b.Loop() {
		New(inv, config.Plan{})
	}
}
