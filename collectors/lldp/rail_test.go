// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes/lldp"
)

// Leaves are letters; want has a letter where a port belongs to another leaf.
func TestOddOnes(t *testing.T) {
	for _, test := range []struct {
		leaves, want string
		fits         int
	}{
		{"AAAAAAAA", "--------", 1},
		{"ABCDEFGH", "--------", 1},
		{"HGFEDCBA", "--------", 1}, // whichever leaf: one for each
		{"AAAABBBB", "--------", 1},
		{"ABABABAB", "--------", 1},
		{"AABBCCDD", "--------", 1},
		{"ABCDABCD", "--------", 1},
		{"ABABBAAB", "----AB--", 1}, // a swapped pair
		{"AABAABBB", "--A-B---", 1},
		{"AAABABBB", "--------", 2}, // runs, or in turn
		{"AAAABBBA", "-------B", 1}, // one cable
		{"ABABABAA", "-------B", 1},
		{"AAAABBAA", "--------", 0}, // two cables, no pair
		{"AABB", "----", 1},
		{"ABAB", "----", 1},
		{"AABA", "----", 2}, // the last, or the first of an alternation
		{"ABBA", "----", 2},
		{"AABBCDCD", "----", 2}, // either pair
		{"AAABBBC", "----", 0},  // seven over three
		{"ABCADBCD", "----", 2},
		{"ABABABABABABABBA", "--------------AB", 1},
	} {
		var leaves []lldp.ChassisID
		for _, l := range test.leaves {
			leaves = append(leaves, lldp.ChassisID{Subtype: lldp.ChassisLocal, Value: string(l)})
		}
		wrong, fits := oddOnes(leaves)
		var got strings.Builder
		for _, l := range wrong {
			if l == nil || fits != 1 {
				got.WriteByte('-')
			} else {
				got.WriteString(l.Value)
			}
		}
		if min(fits, 2) != test.fits || fits == 1 && got.String() != test.want {
			t.Errorf("%s: %s (%d), want %s (%d)", test.leaves, got.String(), fits, test.want, test.fits)
		}
	}
}
