// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"os"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// A neighbour that lost the link hears of this machine as soon as it is back.
func TestDue(t *testing.T) {
	m := &mouth{}
	for _, test := range []struct {
		at   time.Duration
		link bool
		want bool
	}{{0, true, true}, {1, true, false}, {30, true, true}, {31, false, false}, {32, true, true}, {33, true, false}, {61, true, false}, {62, true, true}} {
		if got := m.due(test.at*time.Second, test.link); got != test.want {
			t.Errorf("at %d s: %v, want %v", test.at, got, test.want)
		}
	}
}

// A frame that cannot be made any more does not take the last one from who has
// to take it back.
func TestMouthCloses(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: sends frames")
	}
	h, err := probes.Live("/", probes.Options{Announce: &probes.Self{Host: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	h.Refresh()
	lo := probes.Netdev{Name: "lo", Path: "sys/class/net/lo", MAC: "02:00:00:00:00:01", Function: &probes.Function{}}
	for _, first := range []string{lo.MAC, ""} {
		m := newMouth(h, &probes.Netdev{Name: lo.Name, Path: lo.Path, MAC: first, Function: lo.Function})
		if err := m.speak(0, true); (err == nil) != (first != "") {
			t.Fatal(err)
		}
		m.n = &probes.Netdev{Name: lo.Name, Path: lo.Path, Function: lo.Function} // whose address could not be read this time
		if err := m.speak(Interval, true); err == nil {
			t.Error("a frame without an address")
		}
		if (m.frame != nil) != (first != "") {
			t.Errorf("%q: to be taken back is %+v", first, m.frame)
		}
		m.close()
	}
}
