// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/fabricd/fabricd/internal/nettest"
	"github.com/fabricd/fabricd/probes"
)

// Watching tells once of an interface that goes or gets
// another name, and ends when none is left.
func TestWatchGone(t *testing.T) {
	if !nettest.Apart(t) {
		return
	}
	for _, way := range []Way{Kernel, Files} {
		for _, how := range []string{"link del qa", "link set qa name qz"} {
			pair(t, "2")
			h, err := probes.Live("/", probes.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var gone []string
			looks := 0
			o := Options{Every: 10 * time.Millisecond, Netdevs: []string{"qa"}, Way: way, Gone: func(name string) { gone = append(gone, name) }}
			err = Watch(t.Context(), h, o, func(*Sweep) error {
				if looks++; looks == 5 {
					ip(t, "link set qa down")
					ip(t, how)
				}
				return nil
			})
			if err != nil || len(gone) != 1 || gone[0] != "qa" || looks < 5 {
				t.Errorf("%s, %s: %v after %d looks, gone: %q", way, how, err, looks, gone)
			}
		}
		ip(t, "link del qz")
	}
}

// Interfaces that come while they are watched are looked at.
func TestWatchAdded(t *testing.T) {
	if !nettest.Apart(t) {
		return
	}
	for _, way := range []Way{Kernel, Files} {
		ip(t, "link add qa type ifb")
		ip(t, "link set qa up")
		h, err := probes.Live("/", probes.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found, looks := errors.New("found"), 0
		err = Watch(t.Context(), h, Options{Every: 10 * time.Millisecond, Netdevs: []string{"qa", "qb"}, Way: way}, func(s *Sweep) error {
			if looks++; looks == 5 {
				ip(t, "link add qb type ifb")
				ip(t, "link set qb up")
			}
			if looks > 3000 || slices.ContainsFunc(s.Queues, func(q Sample) bool { return q.Netdev == "qb" }) {
				return found
			}
			return nil
		})
		if err != found || looks > 3000 { //nolint:errorlint // it is the same one
			t.Errorf("%s: %v after %d looks", way, err, looks)
		}
		ip(t, "link del qa")
		ip(t, "link del qb")
	}
}
