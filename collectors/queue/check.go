// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/queue"
)

// stuckAfter is how long a queue stands still before it is called stuck.
func stuckAfter() collectors.Threshold {
	return collectors.Threshold{Name: "seconds", Default: 5, Unit: "s", Help: "bytes in flight for longer, without one completed, fail"}
}

// A row is a queue that carries something or timed out, or that cannot be read
// though others can; where an interface has none, the interface.
type row struct {
	*Netdev
	q        *queue.Queue // nil: it carries nothing, or is not seen
	err      error        // why it is not seen
	index    int          // -1: the interface
	timeouts Timeouts     // of the interface: those of the queue that tells least
	way      queue.Way
}

// maxUntold bounds the queues of an interface that have a row only because
// their timeouts cannot be read.
const maxUntold = 64

func rows(_ *collectors.View, units []collectors.Unit[Reading]) []row {
	var all []row
	for _, u := range units {
		for i := range u.Reading.Netdevs {
			all = append(all, u.Reading.Netdevs[i].rows(u.Reading.Way)...)
		}
	}
	return all
}

func (n *Netdev) rows(way queue.Way) []row {
	var list []row
	active := n.Active
	some, untold := slices.ContainsFunc(n.Timeouts, func(t Timeouts) bool { return t.Count.OK }), 0
	for i := range n.Queues {
		r := row{Netdev: n, err: n.Unread[i], index: i, timeouts: n.Timeouts[i], way: way}
		if len(active) > 0 && active[0].Index == i {
			r.q, active = &active[0], active[1:]
		}
		beside := some && r.timeouts.told() == unreadable && untold < maxUntold
		if beside {
			untold++
		}
		if r.q != nil || r.err != nil || r.timeouts.Grown > 0 || beside {
			list = append(list, r)
		}
	}
	if list == nil {
		list = []row{{Netdev: n, err: n.Err, index: -1, way: way}}
		if len(n.Timeouts) > 0 {
			list[0].timeouts = slices.MinFunc(n.Timeouts, func(a, b Timeouts) int { return cmp.Compare(a.told(), b.told()) })
		}
	}
	return list
}

// What is told of timeouts, the worst first.
const (
	unreadable = iota
	absent
	told
)

func (t Timeouts) told() int {
	switch {
	case t.Count.OK:
		return told
	case t.Count.Err == nil || errors.Is(t.Count.Err, fs.ErrNotExist):
		return absent
	}
	return unreadable
}

func (r *row) queue() string {
	if r.index < 0 {
		return ""
	}
	return strconv.Itoa(r.index)
}

func checks() []collectors.Check[row] {
	return []collectors.Check[row]{
		{
			Name:       "nic_queue_stuck",
			Help:       "Fails when a queue's transmit timeouts grew within the last minute, or when bytes have been in flight for 5 s while none were completed: by the queue's own count where the kernel's program sees it, otherwise when neither the bytes in flight nor the interface's packets change.",
			Silent:     "timeouts of long ago; the same number of bytes at every look while packets move; an interface without carrier, which is info. Timeouts or bytes in flight that cannot be read are unknown; a kernel without tx_timeout is judged by the bytes alone, and that is said.",
			Thresholds: []collectors.Threshold{stuckAfter()},
			Eval:       stuck,
		},
		{
			Name:   "nic_queue_full",
			Help:   "Warns when in more than half of the samples of the last minute a queue was at its byte queue limit, or the limit was below two frames' size, while packets move.",
			Silent: "a queue that is empty in most samples, or that sends small packets only: its limit is small because it needs no larger one; a stuck queue is nic_queue_stuck's. A driver that does not use byte queue limits, and a limit that cannot be read, are unknown.",
			For:    30 * time.Second,
			Thresholds: []collectors.Threshold{
				{Name: "full_percent", Default: 50, Unit: "percent", Help: "of the samples; more warn"},
				{Name: "busy_percent", Default: 25, Unit: "percent", Help: "of the samples; a queue that is occupied in fewer is not judged"},
			},
			Eval: full,
		},
	}
}

// standing is for how long the queue has not moved, and whether that is known.
func (r *row) standing() (age time.Duration, known bool) {
	switch {
	case r.q == nil || r.q.Inflight == 0:
		return 0, true
	case r.way != queue.Files: // it counts what is completed
		return r.q.Standing, true
	case !r.Traffic.Packets.OK:
		return 0, false
	}
	return min(r.q.Standing, r.Traffic.Still), true
}

func stuck(r *row, e *collectors.Env[row]) collectors.Verdict {
	age, known := r.standing()
	limit := time.Duration(e.Threshold("seconds") * float64(time.Second))
	switch {
	case r.timeouts.Grown > 0:
		return r.timedOut()
	case e.View.Still || r.Traffic.Packets.OK && r.Traffic.Span == 0:
		return collectors.Verdictf(collectors.Unknown, "one reading only: whether a queue moves needs a second")
	case r.err != nil:
		return collectors.Verdictf(collectors.Unknown, "could not be read: %v", r.err)
	case !known:
		return collectors.Verdictf(collectors.Unknown, "%d bytes are in flight, and statistics/tx_packets cannot be read: whether they move is not known", r.q.Inflight)
	case age >= limit && r.Carrier.OK && !r.Carrier.V:
		return collectors.Verdictf(collectors.Info, "%d bytes have been in flight for %s on an interface without carrier", r.q.Inflight, age.Round(time.Second))
	case age >= limit:
		return collectors.Verdictf(collectors.Fail, "%d bytes have been in flight for %s and none were completed (byte_queue_limits/inflight)%s", r.q.Inflight, age.Round(time.Second), r.stalled()).
			Remedyf("is the link paused (ethtool -S %s, roce checks)? dmesg for the driver's messages; resetting the queue: ip link set %s down, then up", r.Name, r.Name).
			With("inflight", r.q.Inflight).With("limit", r.limit())
	case r.timeouts.told() == unreadable:
		return collectors.Verdictf(collectors.Unknown, "tx_timeout could not be read: %v", r.timeouts.Count.Err)
	case r.timeouts.told() == absent && !r.Limits.OK:
		return collectors.Verdictf(collectors.Unknown, "the interface tells neither bytes in flight nor transmit timeouts")
	}
	return collectors.Verdictf(collectors.OK, "%s, and %s", r.timely(), r.moves(limit))
}

// timely tells of timeouts where there are none.
func (r *row) timely() string {
	if r.timeouts.told() == absent {
		return "whether transmits timed out is not told (no tx_timeout)"
	}
	return "no transmit timeout in the last minute"
}

// moves tells of a queue that is not seen to stand still.
func (r *row) moves(limit time.Duration) string {
	switch {
	case r.q != nil && r.q.Standing >= limit: // so the interface's packets move
		return fmt.Sprintf("%d bytes in flight at every look for %s while the interface sends: whether they are always others is not seen", r.q.Inflight, r.q.Standing.Round(time.Second))
	case r.idle() || r.Limits.OK:
		return fmt.Sprintf("no bytes that stand still for %s", limit)
	}
	return fmt.Sprintf("no bytes that stand still for %s as far as the driver tells: it does not use byte queue limits", limit)
}

// limit is the queue's, for a person.
func (r *row) limit() any {
	if r.q.NoLimit != nil {
		return "not known"
	}
	return r.q.Limit
}

// stalled tells of the stalls that the kernel counted.
func (r *row) stalled() string {
	if s := r.Stalls[r.index]; s != nil && s.Count > 0 {
		return fmt.Sprintf("; the kernel counted %d stalls, the longest of %d jiffies (stall_cnt, stall_max)", s.Count, s.Longest)
	}
	return ""
}

func (r *row) timedOut() collectors.Verdict {
	t := r.timeouts
	more := r.stalled()
	if r.q != nil && r.q.Inflight > 0 && r.q.Standing >= time.Second {
		more = fmt.Sprintf("; %d bytes have been in flight for %s%s", r.q.Inflight, r.q.Standing.Round(time.Second), more)
	}
	return collectors.Verdictf(collectors.Fail, "tx_timeout rose by %d to %d, first %s and last %s ago%s: the device does not complete what the queue hands over",
		t.Grown, t.Count.V, t.Since.Round(time.Second), t.Last.Round(time.Second), more).
		Remedyf("dmesg for NETDEV WATCHDOG and the driver's messages; a device that does not come back by itself needs a reset: ip link set %s down, then up", r.Name).
		With("tx_timeout", t.Count.V)
}

// idle says whether the interface sends less than one packet a second.
func (r *row) idle() bool { return r.Traffic.Packets.OK && r.Traffic.Rate < 1 }

func full(r *row, e *collectors.Env[row]) collectors.Verdict {
	age, _ := r.standing()
	switch {
	case e.View.Still || r.Traffic.Packets.OK && r.Traffic.Span == 0:
		return collectors.Verdictf(collectors.Unknown, "one reading only: how often a queue is full needs more")
	case r.err != nil:
		return collectors.Verdictf(collectors.Unknown, "could not be read: %v", r.err)
	case r.timeouts.Grown > 0:
		return collectors.Verdictf(collectors.Info, "transmits time out: see nic_queue_stuck")
	case age.Seconds() >= e.Of("nic_queue_stuck", stuckAfter()):
		return collectors.Verdictf(collectors.Info, "bytes have been in flight for %s and none were completed: see nic_queue_stuck", age.Round(time.Second))
	case r.idle():
		return collectors.Verdictf(collectors.OK, "less than one packet a second is sent")
	case r.q != nil && r.q.NoLimit != nil:
		return collectors.Verdictf(collectors.Unknown, "the limit could not be read: %v", r.q.NoLimit)
	case !r.Limits.OK && r.NoLimit != nil:
		return collectors.Verdictf(collectors.Unknown, "the limit could not be read: %v", r.NoLimit)
	case !r.Limits.OK:
		return collectors.Verdictf(collectors.Unknown, "the driver does not use byte queue limits: %s", r.unlimited())
	case r.q == nil:
		return collectors.Verdictf(collectors.OK, "in no sample of the last minute were bytes in flight")
	}
	return r.fullness(e)
}

func (r *row) unlimited() string {
	if !r.HasFiles {
		return "there are no files of them"
	}
	return "limit and inflight stay 0 while packets are sent"
}

// fullness judges a queue that carries something.
func (r *row) fullness(e *collectors.Env[row]) collectors.Verdict {
	w := r.q.Window
	share := func(n uint64) float64 { return 100 * float64(n) / float64(max(w.Samples, 1)) }
	two := float64(r.Frames)
	if r.Traffic.Frame > 0 {
		two = min(two, 2*r.Traffic.Frame)
	}
	collapsed := float64(r.q.Limit) < two
	bad := w.Full
	if collapsed {
		bad = w.Tight
	}
	switch {
	case w.Samples < 2:
		return collectors.Verdictf(collectors.Unknown, "one sample only in the last minute: how often a queue is full needs more")
	case share(w.Busy) < e.Threshold("busy_percent") || share(bad) <= e.Threshold("full_percent"):
		return collectors.Verdictf(collectors.OK, "at its limit in %.0f %% of %d samples, empty in %.0f %%", share(w.Full), w.Samples, share(w.Samples-w.Busy))
	case r.way == queue.Files && !r.Traffic.Packets.OK:
		return collectors.Verdictf(collectors.Unknown, "at its limit in %.0f %% of %d samples, and statistics/tx_packets cannot be read: whether packets move is not known", share(w.Full), w.Samples)
	}
	v := collectors.Verdictf(collectors.Warn, "at its byte queue limit, which is %d bytes now, in %.0f %% of %d samples: more is to be sent than it lets the device have", r.q.Limit, share(w.Full), w.Samples).
		Remedyf("is the link slow or paused (nic_speed, roce checks)? spread the load over more queues or interfaces")
	if collapsed {
		v = collectors.Verdictf(collectors.Warn, "the byte queue limit fell to %d bytes, less than two frames (%.0f), and the queue was occupied in %.0f %% of %d samples", r.q.Limit, two, share(w.Busy), w.Samples).
			Remedyf("the driver completes too late or too seldom: update it, or set byte_queue_limits/limit_min of %s to a few frames", r.Name)
	}
	return v.With("inflight", r.q.Inflight).With("limit", r.q.Limit).With("samples at the limit", w.Full)
}
