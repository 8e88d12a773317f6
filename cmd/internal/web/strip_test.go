// SPDX-License-Identifier: Apache-2.0

package web

import (
	"testing"
	"time"

	probe "github.com/fabricd/fabricd/probes/queue"
	"github.com/google/go-cmp/cmp"
)

func TestStrip(t *testing.T) {
	begin := time.Unix(1796043600, 0) // a multiple of five seconds
	column := func(second int, counts map[int]uint32) probe.Column {
		c := probe.Column{Time: begin.Add(time.Duration(second) * time.Second)}
		for bucket, n := range counts {
			c.Counts[bucket] = n
		}
		return c
	}
	s := newStrip("eth0", []probe.Column{
		column(-1000, map[int]uint32{30: 1}), // long ago
		column(0, map[int]uint32{0: 90, 11: 10}),
		column(4, map[int]uint32{0: 100}),
		column(5, map[int]uint32{0: 90, 7: 10}),
		column(10, map[int]uint32{21: 100}),
		column(15, map[int]uint32{24: 100}), // not over yet
	})
	if want := "bytes in flight in 30 % of samples, up to 1 MiB"; s.Text != want {
		t.Errorf("%q, want %q", s.Text, want)
	}
	want := [stripLevels]string{1: "M57 7h1v1h-1z", 2: "M58 7h1v1h-1z", 3: "M59 2h1v1h-1z"}
	if d := cmp.Diff(want, s.Levels); d != "" {
		t.Error(d)
	}
	for _, columns := range [][]probe.Column{nil, {column(0, nil)}, {column(0, map[int]uint32{0: 5}), column(9, nil)}} {
		if s := newStrip("eth0", columns); s.busy != 0 || s.Text != "" {
			t.Errorf("an idle interface is drawn: %+v", s)
		}
	}
}
