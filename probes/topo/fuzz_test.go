// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"testing"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// Whatever machine a recording makes up, its tree is a tree.
func FuzzNew(f *testing.F) {
	f.Add([]byte("-- sys/bus/pci/devices/0000:00:01.0 -> ../../../devices/pci0000:00/0000:00:01.0 --\n-- sys/devices/pci0000:00/0000:00:01.0/class --\n0x060400\n"+
		"-- sys/bus/pci/devices/0000:01:00.0 -> ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0 --\n-- sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/class --\n0x030200\n"+
		"-- sys/bus/pci/devices/0000:01:00.0/vendor --\n0x10de\n-- sys/bus/pci/devices/0000:01:00.0/current_link_width --\n16\n-- sys/bus/pci/devices/0000:01:00.0/max_link_width --\n16\n"), "eth0")
	f.Add([]byte("-- sys/class/infiniband/a/device -> ../../../bus/pci/devices/0000:00:02.0 --\n-- sys/class/infiniband/a/sys_image_guid --\n1\n-- sys/bus/pci/devices/0000:00:02.0/class --\n0x020000\n"+
		"-- sys/class/infiniband/a/ports/1/state --\n4: ACTIVE\n-- sys/bus/pci/devices/0000:00:03.0/class --\n0x030000\n-- sys/bus/pci/devices/0000:00:03.0/vendor --\n0x1002\n"), "a")
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		h, err := probes.Recorded(b, probes.Options{})
		if err != nil {
			return
		}
		tree := New(h.Inventory(), config.Plan{Roles: map[string]string{name: config.RoleCompute}, Cabling: []config.Cable{{Port: name}}})
		for _, a := range tree.Inventory.Functions {
			for _, l := range tree.Path(a) {
				if l.Lower == nil || len(l.Functions) == 0 || tree.LinkOf(l.Lower) != l {
					t.Errorf("%s: link %+v", a.Address, l)
				}
			}
			for _, b := range tree.Inventory.Functions {
				d, why := tree.Distance(a, b)
				if (d == Unknown) != (why != "") {
					t.Errorf("%s, %s: %v, %q", a.Address, b.Address, d, why)
				}
			}
		}
		for _, gpu := range tree.GPUs {
			tree.Best(gpu)
		}
		for _, f := range tree.NICs {
			card := tree.CardOf(f)
			if card == nil || card.ActiveGbps() < 0 {
				t.Fatalf("%s: card %+v", f.Address, card)
			}
			tree.Throughput(card.Functions, func(l *Link) pci.Link { return l.Max })
		}
	})
}
