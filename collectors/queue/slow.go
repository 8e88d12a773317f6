// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/queue"
)

// window is over what the traffic is taken, and for how long a timeout counts
// as new.
const window = time.Minute

// slow is what is read of an interface once a reading.
type slow struct {
	dir            *probes.Dir // nil: it is gone
	packets, bytes *probes.Attr
	carrier        *probes.Attr
	counters       []*probes.Attr // tx_timeout of each queue
	stalls         map[int]*stallFiles
	past           []traffic
	moved          time.Duration // when a packet was last seen to be sent
	timeouts       []timeouts
}

type traffic struct {
	at             time.Duration
	packets, bytes uint64
}

type timeouts struct {
	known       bool
	count       uint64
	grown       uint64
	first, last time.Duration
}

// open opens an interface's files. What an earlier one has seen stays.
func (r *reader) open(n *queue.Netdev, old *slow) *slow {
	s := &slow{stalls: map[int]*stallFiles{}}
	s.dir, _ = r.h.Dir(n.Path) //nolint:errcheck // it is gone, and nothing is told
	s.packets, s.bytes, s.carrier = s.attr("statistics/tx_packets"), s.attr("statistics/tx_bytes"), s.attr("carrier")
	for i := range n.Queues {
		s.counters = append(s.counters, s.attr(ofQueue(i, "tx_timeout")))
	}
	s.timeouts = make([]timeouts, n.Queues)
	if old != nil {
		copy(s.timeouts, old.timeouts)
		s.past, s.moved = old.past, old.moved
		old.close()
	}
	return s
}

// attr makes an attribute of the interface.
func (s *slow) attr(name string) *probes.Attr {
	if s.dir == nil {
		return nil
	}
	return s.dir.Attr(name, 24)
}

func ofQueue(n int, name string) string { return "queues/tx-" + strconv.Itoa(n) + "/" + name }

func (s *slow) close() {
	closeAll(s.counters...)
	closeAll(s.packets, s.bytes, s.carrier)
	for _, f := range s.stalls {
		f.close()
	}
	if s.dir != nil {
		s.dir.Close()
	}
}

func closeAll(list ...*probes.Attr) {
	for _, a := range list {
		if a != nil {
			a.Close()
		}
	}
}

func count(a *probes.Attr) probes.Value[uint64] {
	if a == nil {
		return probes.Value[uint64]{}
	}
	b, err := a.Read()
	if err != nil {
		return probes.None[uint64](err)
	}
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return probes.None[uint64](err)
	}
	return probes.Some(n)
}

func (s *slow) read(n *queue.Netdev, at time.Duration) Netdev {
	out := Netdev{Netdev: n, Traffic: s.traffic(at), Timeouts: make([]Timeouts, len(s.counters))}
	carrier := count(s.carrier)
	if carrier.OK || errors.Is(carrier.Err, syscall.EINVAL) { // EINVAL: it is switched off
		out.Carrier = probes.Some(carrier.V != 0)
	}
	for i, a := range s.counters {
		out.Timeouts[i] = s.timeouts[i].take(count(a), at)
	}
	out.Stalls = s.readStalls(n.Active)
	return out
}

// readStalls reads the stalls of active queues; files of others are not kept.
func (s *slow) readStalls(active []queue.Queue) (all map[int]*Stalls) {
	for i, f := range s.stalls {
		if !slices.ContainsFunc(active, func(q queue.Queue) bool { return q.Index == i }) {
			f.close()
			delete(s.stalls, i)
		}
	}
	for _, q := range active {
		f := s.stalls[q.Index]
		if f == nil {
			own := func(name string) *probes.Attr { return s.attr(ofQueue(q.Index, "byte_queue_limits/"+name)) }
			f = &stallFiles{own("stall_thrs"), own("stall_cnt"), own("stall_max")}
			s.stalls[q.Index] = f
		}
		if stalls := f.read(); stalls != nil {
			if all == nil {
				all = map[int]*Stalls{}
			}
			all[q.Index] = stalls
		}
	}
	return all
}

// traffic reads what was transmitted, and compares it with the window's begin.
func (s *slow) traffic(at time.Duration) Traffic {
	packets, bytes := count(s.packets), count(s.bytes)
	out := Traffic{Packets: packets}
	if !packets.OK {
		return out
	}
	if n := len(s.past); n > 0 && packets.V < s.past[n-1].packets { // it began anew
		s.past = nil
	}
	if n := len(s.past); n == 0 || s.past[n-1].packets != packets.V {
		s.moved = at
	}
	s.past = append(s.past, traffic{at, packets.V, bytes.V})
	for len(s.past) > 2 && at-s.past[1].at >= window {
		s.past = s.past[1:]
	}
	first := s.past[0]
	out.Still, out.Span = at-s.moved, at-first.at
	more := packets.V - first.packets
	if out.Span > 0 {
		out.Rate = float64(more) / out.Span.Seconds()
	}
	if more > 0 && bytes.OK && bytes.V > first.bytes {
		out.Frame = float64(bytes.V-first.bytes) / float64(more)
	}
	return out
}

// take follows a queue's count of timeouts.
func (t *timeouts) take(count probes.Value[uint64], at time.Duration) Timeouts {
	if !count.OK {
		return Timeouts{Count: count}
	}
	if t.known && count.V > t.count {
		if t.grown == 0 || at-t.last > window {
			t.grown, t.first = 0, at
		}
		t.grown += count.V - t.count
		t.last = at
	}
	t.known, t.count = true, count.V
	if t.grown == 0 || at-t.last > window {
		return Timeouts{Count: count}
	}
	return Timeouts{Count: count, Grown: t.grown, Since: at - t.first, Last: at - t.last}
}
