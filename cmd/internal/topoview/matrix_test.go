// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes/gpu"
)

func snapshotOf(index int, address string, links ...gpu.NVLink) *gpu.Snapshot {
	return &gpu.Snapshot{Devices: []gpu.Device{{Index: index, Address: address, NVLinks: links}}}
}

// links makes NVLinks: 's' to a switch, 'g' to a GPU, 'd' down.
func links(kinds string) []gpu.NVLink {
	var list []gpu.NVLink
	for i, k := range kinds {
		active := k != 'd'
		l := gpu.NVLink{Link: i, Active: &active, RemoteType: "switch"}
		if k == 'g' {
			l.RemoteType = "gpu"
		}
		list = append(list, l)
	}
	return list
}

func TestNVLinks(t *testing.T) {
	s := newSmall(t)
	m := s.machine()
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"ssss", "ssss", 4}, {"sssd", "ssss", 3}, {"dd", "ss", 0}, {"", "ss", 0}, {"gggg", "gggg", 0}, {"sg", "ss", 0},
	} {
		m.snapshot = &gpu.Snapshot{Devices: []gpu.Device{
			{Index: 0, Address: s.gpu.Address, NVLinks: links(test.a)}, {Index: 1, Address: s.nic.Address, NVLinks: links(test.b)},
		}}
		if got := m.nvlinks(s.gpu, s.nic); got != test.want {
			t.Errorf("%q and %q: NV%d, want NV%d", test.a, test.b, got, test.want)
		}
	}
	m.snapshot = nil
	if got := m.nvlinks(s.gpu, s.nic); got != 0 {
		t.Errorf("NV%d without a driver", got)
	}
}

func TestBlocks(t *testing.T) {
	columns := func(prefix string, n int) []column {
		var list []column
		for i := range n {
			list = append(list, column{title: fmt.Sprint(prefix, i), cells: []string{"NODE"}})
		}
		return list
	}
	places := []column{{title: "CPU affinity", apart: true, cells: []string{"0-55,112-167"}}, {title: "NUMA", cells: []string{"0"}}}
	for _, test := range []struct{ gpus, nics, width, blocks int }{
		{8, 11, 116, 1}, {8, 12, 116, 2}, {8, 16, 116, 2}, {16, 32, 116, 3}, {8, 64, 116, 5}, {0, 8, 116, 1}, {1, 0, 116, 1}, {8, 8, 76, 2}, {16, 16, 40, 7},
	} {
		gpus, nics := columns("GPU", test.gpus), columns("NIC", test.nics)
		got := blocks(gpus, nics, places, test.width)
		if len(got) != test.blocks {
			t.Errorf("%+v: %d blocks", test, len(got))
		}
		var titles []string
		for _, block := range got {
			if n := total(block); n > test.width {
				t.Errorf("%+v: a block of %d columns", test, n)
			}
			for _, k := range block {
				titles = append(titles, k.title)
			}
		}
		slices.Sort(titles)
		if all := len(slices.Compact(titles)); all != test.gpus+test.nics+2 {
			t.Errorf("%+v: %d titles: %s", test, all, strings.Join(titles, " "))
		}
	}
}
