// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/bpf"
)

// A timer without ticks is told of when some should have come, and not any
// more when they do.
func TestQuietTimer(t *testing.T) {
	m := newMemory(0, 0)
	s := &Sampler{every: 900 * time.Millisecond, options: Options{Every: 900 * time.Millisecond}, layout: &layout{sweeper: &files{memory: m}}}
	m.control.Last = uint64(time.Second)
	for _, step := range []struct {
		now    time.Duration
		ticks  uint64
		silent bool
	}{{1100 * time.Millisecond, 0, false}, {3 * time.Second, 0, false}, {6 * time.Second, 0, true}, {7 * time.Second, 0, true}, {8 * time.Second, 1, false}} {
		before := *m.control
		if m.control.Ticks += step.ticks; step.ticks > 0 {
			m.control.Last = uint64(step.now)
		}
		if s.accountTimer(&before, step.now); (s.lastErr != nil) != step.silent {
			t.Errorf("at %s: %v", step.now, s.lastErr)
		}
	}
}

// Samples that take more than their share are taken less often at once, though
// a single one that is held up changes little.
func TestShare(t *testing.T) {
	for _, test := range []struct {
		cost    time.Duration
		samples uint64
		every   time.Duration
	}{
		{530 * time.Microsecond, 1000, 11 * time.Millisecond},
		{530 * time.Microsecond, enough, 11 * time.Millisecond},
		{530 * time.Microsecond, 1, time.Millisecond},
		{20 * time.Microsecond, 1000, time.Millisecond},
	} {
		s := &Sampler{every: time.Millisecond, options: Options{Every: time.Millisecond}}
		if s.account(test.cost, test.samples); s.every != test.every {
			t.Errorf("%+v: every %s", test, s.every)
		}
	}
}

// How late ticks were is counted beyond the 32 bits of the memory.
func TestLatenessWraps(t *testing.T) {
	s, err := Open(recorded(t, map[string][]int{"": {0}}), Options{Every: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, at := range []time.Duration{0, time.Second} {
		if _, err := s.Look(at); err != nil {
			t.Fatal(err)
		}
		s.layout.mem().control.Late[0] += 1<<32 - 2
	}
	v, err := s.Look(2 * time.Second)
	if err != nil || v.Late.Counts[0] != 2*(1<<32-2)+3 || v.Every != 0 {
		t.Errorf("%+v, every %s, %v", v.Late.Counts[0], v.Every, err)
	}
}

// Interfaces are listed anew when one went: another may have come in its place.
func TestOther(t *testing.T) {
	for _, test := range []struct {
		place place
		d     bpf.QueueDevice
		err   error
		want  bool
	}{
		{place{queues: 4}, bpf.QueueDevice{Present: 1, Queues: 4}, nil, false},
		{place{queues: 4}, bpf.QueueDevice{Present: 1, Queues: 8}, nil, true},
		{place{queues: 4, left: 4}, bpf.QueueDevice{Present: 1, Queues: 8}, nil, false},
		{place{queues: 4}, bpf.QueueDevice{Queues: 4}, nil, true},
		{place{queues: 4}, bpf.QueueDevice{Present: 1}, nil, false}, // files do not tell how many there are
		{place{queues: 4}, bpf.QueueDevice{Present: 1}, fmt.Errorf("queues/tx-0: %w", syscall.ENODEV), true},
		{place{queues: 4}, bpf.QueueDevice{Present: 1}, errors.New("EIO"), false},
		{place{left: 4}, bpf.QueueDevice{}, nil, false},
	} {
		if got := test.place.other(&test.d, test.err); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

// Columns stay in order and a second apart when the wall clock is set.
func TestClockSet(t *testing.T) {
	n := &netdevTotal{}
	s := &Sampler{totals: map[string]*netdevTotal{"": n}}
	begin := time.Unix(1796043600, 0)
	for i, clock := range []time.Duration{0, 1003 * time.Millisecond, -time.Hour, time.Second - time.Hour, 24 * time.Hour} {
		n.warm(Column{Time: s.wall(time.Duration(i+100)*time.Second, begin.Add(clock))})
		for c := range n.heat {
			if c > 0 && n.heat[c].Time.Sub(n.heat[c-1].Time) != time.Second {
				t.Errorf("after %d: %v", i, n.heat)
			}
		}
		if d := n.heat[i].Time.Sub(begin.Add(clock)).Abs(); d > time.Second/2 {
			t.Errorf("%s from the clock", d)
		}
	}
}
