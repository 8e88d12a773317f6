// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, machine string
		exclude       string
		want          []string
	}{
		{"switches, cards of several functions, disks", box, "", []string{
			"01:00.0 < 00:02.0 (01:00.0) [01:00.0] 8 GT/s x8",
			"16:00.0 < 15:01.0 (16:00.0) [18:00.0 19:00.0 19:00.1] 32 GT/s x16",
			"18:00.0 < 17:00.0 (18:00.0) [18:00.0] 32 GT/s x16",
			"19:00.0 < 17:01.0 (19:00.0 19:00.1) [19:00.0 19:00.1] 32 GT/s x16",
			"1a:00.0 < 17:02.0 (1a:00.0) [] 16 GT/s x4",
			"27:00.0 < 26:01.0 (27:00.0) [29:00.0] 32 GT/s x16",
			"29:00.0 < 28:00.0 (29:00.0) [29:00.0] 32 GT/s x16",
			"98:00.0 < 97:01.0 (98:00.0) [98:00.0] 16 GT/s x16",
		}},
		{"a switch below a switch", `
			00/00:01.0 port
			00/00:01.0/01:00.0 switch
			00/00:01.0/01:00.0/02:00.0 switch
			00/00:01.0/01:00.0/02:00.0/03:00.0 switch
			00/00:01.0/01:00.0/02:00.0/03:00.0/04:00.0 switch
			00/00:01.0/01:00.0/02:00.0/03:00.0/04:00.0/05:00.0 gpu`, "", []string{
			"01:00.0 < 00:01.0 (01:00.0) [05:00.0] 32 GT/s x16",
			"03:00.0 < 02:00.0 (03:00.0) [05:00.0] 32 GT/s x16",
			"05:00.0 < 04:00.0 (05:00.0) [05:00.0] 32 GT/s x16",
		}},
		{"a card with a switch of its own", `
			00/00:01.0 port
			00/00:01.0/01:00.0 amd class=060400 max=16x16
			00/00:01.0/01:00.0/02:00.0 amd class=060400 max=16x16
			00/00:01.0/01:00.0/02:00.0/03:00.0 amd max=2.5x1`, "", []string{
			"01:00.0 < 00:01.0 (01:00.0) [03:00.0] 16 GT/s x16",
			"03:00.0 < 02:00.0 (03:00.0) [03:00.0] 2.5 GT/s x1 inner",
		}},
		{"a switch of the GPU's maker that carries another's card", `
			00/00:01.0 port
			00/00:01.0/01:00.0 nic class=060400
			00/00:01.0/01:00.0/02:00.0 nic class=060400
			00/00:01.0/01:00.0/02:00.0/03:00.0 nic
			00/00:01.0/01:00.0/02:01.0 nic class=060400
			00/00:01.0/01:00.0/02:01.0/04:00.0 gpu`, "", []string{
			"01:00.0 < 00:01.0 (01:00.0) [03:00.0 04:00.0] 32 GT/s x16",
			"03:00.0 < 02:00.0 (03:00.0) [03:00.0] 32 GT/s x16 inner",
			"04:00.0 < 02:01.0 (04:00.0) [04:00.0] 32 GT/s x16",
		}},
		{"a root port's maker is no reason", "00/00:01.0 port\n00/00:01.0/01:00.0 intel", "", []string{"01:00.0 < 00:01.0 (01:00.0) [01:00.0] 32 GT/s x16"}},
		{"root bus", `
			00/00:01.0 port
			00/00:02.0 intel width=255
			00/00:03.0 other nolink
			00/00:04.0 gpu
			00/00:05.0 nic
			00/00:05.1 nic
			00/00:06.0 nic width=0`, "", []string{
			"00:04.0 < ? (00:04.0) [00:04.0] 32 GT/s x16",
			"00:05.0 < ? (00:05.0 00:05.1) [00:05.0 00:05.1] 32 GT/s x16",
		}},
		{"parts that one end does not know", "00/00:01.0 port max=Unknownx8\n00/00:01.0/01:00.0 gpu max=32x255\n00/00:02.0 port nolink\n00/00:02.0/02:00.0 gpu\n00/00:03.0 port\n00/00:03.0/03:00.0 gpu width=63", "", []string{
			"02:00.0 < 00:02.0 (02:00.0) [02:00.0] 32 GT/s x16",
			"03:00.0 < 00:03.0 (03:00.0) [03:00.0] 32 GT/s x16",
		}},
		{"no link files", "00/00:01.0 port\n00/00:01.0/01:00.0 gpu nolink", "", nil},
		{"integrated below a port", "00/00:01.0 port\n00/00:01.0/01:00.0 nic width=255", "", nil},
		{"a first function that is excluded", "00/00:01.0 port\n00/00:01.0/01:00.0 nic\n00/00:01.0/01:00.1 nic max=16x8", "0000:01:00.0", []string{"01:00.1 < 00:01.0 (01:00.1) [01:00.1] 16 GT/s x8"}},
		{"an excluded root port", "00/00:01.0 port\n00/00:01.0/01:00.0 nic", "0000:00:01.0", []string{"01:00.0 < ? (01:00.0) [01:00.0] 32 GT/s x16"}},
		{"an excluded upstream port", box, "0000:16:00.0", []string{
			"01:00.0 < 00:02.0 (01:00.0) [01:00.0] 8 GT/s x8",
			"18:00.0 < 17:00.0 (18:00.0) [18:00.0] 32 GT/s x16",
			"19:00.0 < 17:01.0 (19:00.0 19:00.1) [19:00.0 19:00.1] 32 GT/s x16",
			"1a:00.0 < 17:02.0 (1a:00.0) [] 16 GT/s x4",
			"27:00.0 < 26:01.0 (27:00.0) [29:00.0] 32 GT/s x16",
			"29:00.0 < 28:00.0 (29:00.0) [29:00.0] 32 GT/s x16",
			"98:00.0 < 97:01.0 (98:00.0) [98:00.0] 16 GT/s x16",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := New(machine(t, test.machine, probes.Options{Exclude: strings.Fields(test.exclude)}), config.Plan{})
			var got []string
			for _, l := range tree.Links {
				got = append(got, l.text())
				for _, f := range l.Functions {
					if tree.LinkOf(f) != l {
						t.Errorf("%s has another link", f.Address)
					}
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	const text = `
		00/00:01.0 port
		00/00:01.0/01:00.0 gpu
		00/00:01.0/01:00.1 nic
		00/00:01.0/01:00.2 nic vf=01:00.1
		00/00:01.0/01:00.3 gpu vf=01:00.0
		00/00:01.0/01:00.4 nvswitch
		00/00:01.0/01:00.5 disk
		00/00:01.0/01:00.6 other rdma=usnic_0
		00/00:02.0 intel
		00/00:03.0 gpu`
	tests := []struct{ name, machine, gpus, nics, switches, devices string }{
		{"a host", text, "00:03.0 01:00.0", "01:00.1 01:00.6", "01:00.4", "00:03.0 01:00.0 01:00.1 01:00.4 01:00.6"},
		{"a guest", "guest\n" + text, "00:02.0 00:03.0 01:00.0", "01:00.1 01:00.6", "01:00.4", "00:02.0 00:03.0 01:00.0 01:00.1 01:00.4 01:00.6"},
	}
	for _, test := range tests {
		tree := tree(t, test.machine, config.Plan{})
		var devices []*probes.Function
		for _, f := range tree.Inventory.Functions {
			k := tree.Kind(f)
			if tree.IsDevice(f) != (!f.Virtual() && (k == pci.GPU || k == pci.NIC || k == pci.NVSwitch)) {
				t.Errorf("%s: %s is a %v", test.name, f.Address, k)
			}
			if tree.IsDevice(f) {
				devices = append(devices, f)
			}
		}
		if short(tree.GPUs) != test.gpus || short(tree.NICs) != test.nics || short(tree.Switches) != test.switches || short(devices) != test.devices {
			t.Errorf("%s: GPUs %s, NICs %s, switches %s, devices %s", test.name, short(tree.GPUs), short(tree.NICs), short(tree.Switches), short(devices))
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	tree := tree(t, box+`
		40/40:01.0 port
		40/40:01.0/41:00.0 amd class=060400
		40/40:01.0/41:00.0/42:00.0 amd class=060400
		40/40:01.0/41:00.0/42:00.0/43:00.0 amd`, config.Plan{})
	for _, test := range []struct{ address, path, slot, bridges string }{
		{"18:00.0", "18:00.0 16:00.0", "18:00.0", "17:00.0 16:00.0 15:01.0"},
		{"19:00.2", "16:00.0", "16:00.0", "17:01.0 16:00.0 15:01.0"}, // a virtual function has no link of its own
		{"98:00.0", "98:00.0", "98:00.0", "97:01.0"},
		{"43:00.0", "43:00.0 41:00.0", "41:00.0", "42:00.0 41:00.0 40:01.0"}, // the slot is that of the card's switch
		{"16:00.0", "16:00.0", "16:00.0", "15:01.0"},
		{"15:01.0", "", "", ""},
		{"00:1f.0", "", "", ""},
	} {
		f := fn(t, tree, test.address)
		var path []*probes.Function
		for _, l := range tree.Path(f) {
			path = append(path, l.Lower)
		}
		slot := ""
		if l := tree.SlotLink(f); l != nil {
			slot = short([]*probes.Function{l.Lower})
		}
		if short(path) != test.path || slot != test.slot || short(Bridges(f)) != test.bridges {
			t.Errorf("%s: path %s, slot %s, bridges %s; want %s, %s, %s", test.address, short(path), slot, short(Bridges(f)), test.path, test.slot, test.bridges)
		}
	}
	if tree.Path(nil) != nil || tree.SlotLink(nil) != nil || tree.LinkOf(nil) != nil || UpstreamPort(nil) {
		t.Error("something about nothing")
	}
	if got := short(tree.Children(fn(t, tree, "16:00.0"))); got != "17:00.0 17:01.0 17:02.0" {
		t.Errorf("children %s", got)
	}
	if got := short(tree.Children(nil)); got != "00:02.0 00:1f.0 15:01.0 26:01.0 40:01.0 97:01.0" {
		t.Errorf("roots %s", got)
	}
}
