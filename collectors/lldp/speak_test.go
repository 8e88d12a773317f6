// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"testing"
	"time"
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
