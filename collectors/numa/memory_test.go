// SPDX-License-Identifier: Apache-2.0

package numa

import (
	"testing"

	"github.com/fabricd/fabricd/probes"
)

func TestMemory(t *testing.T) {
	absent := probes.Value[uint64]{}
	for _, test := range []struct {
		name, text  string
		total, free probes.Value[uint64]
	}{
		{"kernel", "\nNode 0 MemTotal:       65843236 kB\nNode 0 MemFree:        1024 kB\nNode 0 MemUsed:  1 kB\n", probes.Some(uint64(65843236 << 10)), probes.Some(uint64(1 << 20))},
		{"another node", "Node 255 MemTotal: 8 kB", probes.Some(uint64(8192)), absent},
		{"none", "Node 1 MemTotal: 0 kB\nNode 1 MemFree: 0 kB", probes.Some(uint64(0)), probes.Some(uint64(0))},
		{"empty", "", absent, absent},
		{"cut", "Node 0 MemTotal:", absent, absent},
		{"negative", "Node 0 MemTotal: -5 kB", absent, absent},
		{"a word", "Node 0 MemTotal: many kB", absent, absent},
		{"too large", "Node 0 MemTotal: 1125899906842625 kB\nNode 0 MemFree: 99999999999999999999 kB", absent, absent},
		{"the host's own form", "MemTotal:       65843236 kB", absent, absent},
	} {
		t.Run(test.name, func(t *testing.T) {
			if total, free := memory([]byte(test.text)); total != test.total || free != test.free {
				t.Errorf("%v and %v, want %v and %v", total, free, test.total, test.free)
			}
		})
	}
}

func FuzzMemory(f *testing.F) {
	f.Add([]byte("Node 0 MemTotal:       65843236 kB\nNode 0 MemFree:        1024 kB\n"))
	f.Add([]byte("Node 0 MemTotal: 18446744073709551615 kB"))
	f.Add([]byte("\n\nNode MemFree: 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		total, free := memory(b)
		for _, v := range []probes.Value[uint64]{total, free} {
			if !v.OK && v.V != 0 || v.V%1024 != 0 {
				t.Errorf("%+v", v)
			}
		}
	})
}
