// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
	"github.com/google/go-cmp/cmp"
)

func TestParseAER(t *testing.T) {
	for _, test := range []struct {
		name, text string
		counts     []Count
		total      probes.Value[uint64]
	}{
		{"empty", "", nil, probes.Value[uint64]{}},
		{"kernel", "RxErr 0\nBadTLP 12\nTOTAL_ERR_COR 12\n", []Count{{"RxErr", 0}, {"BadTLP", 12}}, probes.Some(uint64(12))},
		{"names of several words", "Receiver Error 2\nBad TLP\t3\n", []Count{{"Receiver Error", 2}, {"Bad TLP", 3}}, probes.Value[uint64]{}},
		{"no number", "RxErr\nBadTLP x\nBadDLLP -1\nRollover 1.5\n", nil, probes.Value[uint64]{}},
		{"too large a number", "RxErr 18446744073709551616\nBadTLP 18446744073709551615", []Count{{"BadTLP", 1<<64 - 1}}, probes.Value[uint64]{}},
		{"no name", "7\n 8\n\n", nil, probes.Value[uint64]{}},
		{"a name twice", "RxErr 1\nBadTLP 5\nRxErr 2", []Count{{"RxErr", 3}, {"BadTLP", 5}}, probes.Value[uint64]{}},
		{"bytes that do not belong there", "Rx\x1b[31mErr 1", []Count{{"Rx?[31mErr", 1}}, probes.Value[uint64]{}},
		{"total alone", "TOTAL_ERR_FATAL 9", nil, probes.Some(uint64(9))},
		{"no total", "DLP 9", []Count{{"DLP", 9}}, probes.Value[uint64]{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			counts, total := parseAER([]byte(test.text))
			if diff := cmp.Diff(test.counts, counts); diff != "" {
				t.Error(diff)
			}
			if total != test.total {
				t.Errorf("total %v, want %v", total, test.total)
			}
		})
	}
}

func TestAERSum(t *testing.T) {
	named := [3][]Count{{{"RxErr", 3}, {"BadTLP", 4}}}
	for _, test := range []struct {
		name string
		a    AER
		want uint64
	}{
		{"nothing", AER{}, 0},
		{"names", AER{Errors: named}, 7},
		{"total", AER{Total: [3]probes.Value[uint64]{probes.Some(uint64(5))}}, 5},
		{"total below the names", AER{Errors: named, Total: [3]probes.Value[uint64]{probes.Some(uint64(5))}}, 7},
		{"total above the names", AER{Errors: named, Total: [3]probes.Value[uint64]{probes.Some(uint64(9))}}, 9},
	} {
		if got := test.a.Sum(Correctable); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func FuzzParseAER(f *testing.F) {
	f.Add([]byte("RxErr 0\nBadTLP 12\nTOTAL_ERR_COR 12\n"))
	f.Add([]byte("Receiver Error 2\nBad TLP\t3\n"))
	f.Add([]byte("Undefined 0\nDLP 18446744073709551615\n\nTOTAL_ERR_FATAL"))
	f.Add([]byte(strings.Repeat("e 1\n", 70)))
	f.Fuzz(func(t *testing.T, b []byte) {
		counts, _ := parseAER(b)
		if len(counts) > maxNames {
			t.Errorf("%d names", len(counts))
		}
		seen := map[string]bool{}
		for _, c := range counts {
			if c.Name == "" || seen[c.Name] || probes.Printable(c.Name) != c.Name {
				t.Errorf("the name %q", c.Name)
			}
			seen[c.Name] = true
		}
	})
}
