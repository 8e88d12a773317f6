// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// film makes a link's history, a reading each second: s slow and f fast; when
// the newest answer about the load was asked for, o is one that is too old;
// and the load.
func film(links, told string, percents ...int) []collectors.Sample[linkRow] {
	var past []collectors.Sample[linkRow]
	slow := pci.Link{Speed: pci.Gen1, Width: 16}
	fast := pci.Link{Speed: pci.SpeedOf(5), Width: 16}
	for i, c := range links {
		r := linkRow{Link: &topo.Link{Lower: &probes.Function{}, Max: fast}, at: &Reading{}, now: fast}
		if c == 's' {
			r.now = slow
		}
		r.load = load{gpus: 1, known: true, most: percents[i%len(percents)], told: time.Duration(told[i]-'a') * time.Second}
		if told[i] == 'o' {
			r.load = load{gpus: 1, most: -1, told: -1, old: true}
		}
		if i > 0 {
			r.at.Transitions = past[i-1].Row.at.Transitions
			if r.now != past[i-1].Row.now {
				r.at.Transitions++
			}
		}
		past = append(past, collectors.Sample[linkRow]{At: time.Duration(i) * time.Second, Row: r})
	}
	return past
}

// A link is slow and its GPU busy for as long as different answers of the
// driver and all readings of the link say so.
func TestSlowAndBusy(t *testing.T) {
	for _, test := range []struct {
		links, told string
		percents    []int
		held        int
		before      before
	}{
		{"ssssss", "abcdef", []int{90}, 5, nothing},
		{"ssssss", "aaaaaa", []int{90}, 0, nothing}, // one answer, looked at again and again
		{"ssssss", "aaabbb", []int{90}, 1, nothing}, // the second one came late, but was asked for early
		{"ssssss", "aaooof", []int{90}, 5, nothing}, // a driver that is slow to answer
		{"ssssss", "abcdoo", []int{90}, 3, nothing}, // one that does not answer any more
		{"ssssss", "oooooo", []int{90}, 0, nothing},
		{"sssssf", "abcdoo", []int{90}, 0, notSlow},
		{"ffffff", "abcdef", []int{90}, 0, notSlow},
		{"fffffs", "abcdef", []int{90}, 0, notSlow}, // one reading of many
		{"fffsss", "abcdef", []int{90}, 2, notSlow},
		{"sssfss", "abcdef", []int{90}, 1, notSlow},
		{"ssssss", "abcdef", []int{90, 90, 0, 90, 90, 90}, 2, notBusy},
	} {
		past := film(test.links, test.told, test.percents...)
		held, was := past[len(past)-1].Row.slowAndBusy(&linkEnv{Past: past}, 10)
		if want := time.Duration(test.held) * time.Second; held != want || was != test.before {
			t.Errorf("%s %s %v: %s and %d, want %s and %d", test.links, test.told, test.percents, held, was, want, test.before)
		}
	}
}

// Changes count while the GPU was busy before and after, by different answers.
func TestFlapsOf(t *testing.T) {
	for _, test := range []struct {
		links, told  string
		percents     []int
		changes, all uint64
	}{
		{"fsfsfs", "abcdef", []int{90}, 5, 5},
		{"fsfsfs", "aaaaaa", []int{90}, 0, 5}, // what the GPU did since then nobody knows
		{"fsfsfs", "aaafff", []int{90}, 3, 5},
		{"fsfsfs", "aaafff", []int{90, 90, 90, 0, 0, 0}, 0, 5},
		{"fsfsfs", "aaooof", []int{90}, 0, 5},
	} {
		if changes, all, _ := flapsOf(film(test.links, test.told, test.percents...), 10); changes != test.changes || all != test.all {
			t.Errorf("%s %s %v: %d of %d", test.links, test.told, test.percents, changes, all)
		}
	}
}

// Durations in reasons are for people.
func TestSpeedReasons(t *testing.T) {
	past := film("ss", "ab", 90)
	r := &past[1].Row
	past[1].At, r.load.told = 14122575810, 14009178414
	e := &linkEnv{Past: past}
	if held, _ := r.slowAndBusy(e, 10); lately(held) != "for the last 14s" || lately(held/20) != "in the newest reading" || strings.Contains(lately(held), ".") {
		t.Errorf("%s", lately(held))
	}
}
