// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/probes"
)

const (
	window  = 60  // seconds of rolling numbers
	heat    = 300 // columns that are kept
	maxHot  = 64  // interfaces of which they are kept
	maxRows = 64  // active queues of an interface that are told of
)

// netdevTotal is what is kept of an interface between snapshots.
type netdevTotal struct {
	place
	inflight, backlog Histogram
	last              bpf.QueueDevice
	peaks             ring
	step              int64 // seconds since the last look before
	queues            []queueTotal
	heat              []Column
	seen              uint64
}

// queueTotal is what is kept of a queue.
type queueTotal struct {
	last    bpf.QueueSlot
	unread  bool    // in the newest sample
	noLimit error   // in the newest sample with one
	recent  *recent // nil: it never carried anything
}

// recent is the last minute of a queue that carries something.
type recent struct {
	peaks  ring
	counts [window]Counts
	at     int64         // the newest second of counts
	active time.Duration // when it last carried something
}

// A ring holds the peaks of the last seconds.
type ring struct {
	peaks [window]uint64
	at    int64
}

// add enters the peak of a second.
func (r *ring) add(second int64, peak uint64) {
	for skipped := max(r.at+1, second-window+1); skipped <= second; skipped++ {
		r.peaks[skipped%window] = 0
	}
	r.at = second
	slot := &r.peaks[second%window]
	*slot = max(*slot, peak)
}

// show gives the peaks of the windows that end with the newest second.
func (r *ring) show() Peaks {
	var p Peaks
	for back := range int64(window) {
		v := r.peaks[(r.at-back+window)%window]
		if back < 1 {
			p.Second = max(p.Second, v)
		}
		if back < 10 {
			p.Ten = max(p.Ten, v)
		}
		p.Minute = max(p.Minute, v)
	}
	return p
}

func (c Counts) minus(o Counts) Counts {
	return Counts{c.Samples - o.Samples, c.Busy - o.Busy, c.Full - o.Full, c.Tight - o.Tight, c.Stopped - o.Stopped}
}

func (c Counts) plus(o Counts) Counts {
	return Counts{c.Samples + o.Samples, c.Busy + o.Busy, c.Full + o.Full, c.Tight + o.Tight, c.Stopped + o.Stopped}
}

func counted(s *bpf.QueueSlot) Counts { return Counts{s.Samples, s.Busy, s.Full, s.Tight, s.Stopped} }

// take adds what a slot counted since it was last looked at. column takes the
// same by buckets.
func (q *queueTotal) take(s *bpf.QueueSlot, n *netdevTotal, peak uint32, now time.Duration, column *[buckets]uint32) {
	d := counted(s).minus(counted(&q.last))
	for b := range s.Depth {
		more := s.Depth[b] - q.last.Depth[b]
		n.inflight.Counts[b] += uint64(more)
		column[b] += more
	}
	n.inflight.Sum += float64(s.Sum - q.last.Sum)
	q.last = *s
	second := int64(now / time.Second)
	if d.Busy > 0 && q.recent == nil {
		q.recent = idleUntil(second, n.step, s.Samples-d.Samples, d.Samples)
	}
	if q.recent == nil {
		return
	}
	r := q.recent
	if d.Busy > 0 {
		r.active = now
	}
	r.peaks.add(second, uint64(peak))
	for skipped := max(r.at+1, second-window+1); skipped <= second; skipped++ {
		r.counts[skipped%window] = Counts{}
	}
	r.at = second
	r.counts[second%window] = r.counts[second%window].plus(d)
}

// idleUntil makes the last minute of a queue that carries something for the
// first time: so many samples before, as many at a time, found nothing.
func idleUntil(second, step int64, before, each uint64) *recent {
	r := &recent{at: second}
	for back := step; back < window && before > 0; back += step {
		n := min(before, each)
		r.counts[(second-back+window)%window].Samples = n
		before -= n
	}
	return r
}

// show gives the queue as a snapshot has it; not ok: it carries nothing lately,
// or nobody knows what.
func (q *queueTotal) show(now, sampled time.Duration) (out Queue, ok bool) {
	r, s := q.recent, &q.last
	if r == nil || q.unread || s.Inflight == 0 && now-r.active > window*time.Second {
		return out, false
	}
	out = Queue{Index: int(s.Queue), Inflight: s.Inflight, Limit: s.Limit, NoLimit: q.noLimit, Backlog: s.Backlog, Peaks: r.peaks.show(), Total: counted(s)}
	for _, c := range r.counts {
		out.Window = out.Window.plus(c)
	}
	if s.Inflight > 0 {
		out.Standing = max(sampled-time.Duration(s.Changed), 0)
	}
	return out, true
}

// device adds what the interface counted.
func (n *netdevTotal) device(d *bpf.QueueDevice, bank uint32, now time.Duration) {
	for b := range d.Backlog {
		n.backlog.Counts[b] += uint64(d.Backlog[b] - n.last.Backlog[b])
	}
	n.last = *d
	second := int64(now / time.Second)
	n.step = max(second-n.peaks.at, 1)
	n.peaks.add(second, d.Peak[bank&1])
}

// warm keeps a column; the columns that snapshots show are never written again.
func (n *netdevTotal) warm(c Column) {
	if len(n.heat) == 2*heat {
		n.heat = append(make([]Column, 0, 2*heat), n.heat[heat:]...)
	}
	n.heat = append(n.heat, c)
}

// unread collects which queues of an interface could not be read.
type unread struct {
	first, noLimit error
	count          int
	some           map[int]error // maxRows at most
}

// add notes of a queue why it could not be read; files that are not there say nothing.
func (u *unread) add(q *queueTotal, err, noLimit error) {
	q.unread, q.noLimit = err != nil, ofLimit(int(q.last.Queue), noLimit)
	u.noLimit = cmp.Or(u.noLimit, q.noLimit)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	if u.count++; u.count == 1 {
		u.first, u.some = err, map[int]error{}
	}
	if len(u.some) < maxRows {
		u.some[int(q.last.Queue)] = err
	}
}

// beside gives those that stand beside others that could be read.
func (u *unread) beside(queues int) map[int]error {
	if u.count == queues {
		return nil
	}
	return u.some
}

// show gives the interface as a snapshot has it.
// sampled is when the newest sample was taken.
func (n *netdevTotal) show(now, sampled time.Duration) Netdev {
	d := &n.last
	out := Netdev{
		Name: n.name, Path: n.path, Present: d.Present != 0, Queues: n.place.queues, Frames: int(d.Frames), HasFiles: n.limits,
		Inflight: n.inflight, Depth: d.Depth, Peaks: n.peaks.show(),
		Burst: d.Threshold, Bursts: d.Bursts, BurstTime: time.Duration(d.BurstNs), Longest: time.Duration(d.LongestNs),
		Heat: n.heat[max(0, len(n.heat)-heat):],
	}
	if d.Used != 0 {
		out.Limits = probes.Some(true)
	}
	if d.Backlogs > 0 {
		b := n.backlog
		out.Backlog = &b
	}
	for i := range n.queues {
		if q, ok := n.queues[i].show(now, sampled); ok && out.Present {
			out.Active = append(out.Active, q)
		}
	}
	out.Active = foremost(out.Active)
	return out
}

// foremost cuts a list to those queues that stand still, and then the busiest.
func foremost(list []Queue) []Queue {
	if len(list) <= maxRows {
		return list
	}
	slices.SortStableFunc(list, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(b.Standing/time.Second, a.Standing/time.Second), cmp.Compare(b.Window.Busy, a.Window.Busy))
	})
	list = list[:maxRows]
	slices.SortFunc(list, func(a, b Queue) int { return cmp.Compare(a.Index, b.Index) })
	return list
}
