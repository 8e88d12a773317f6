// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// A Sweep is one look at all queues. It is good until the next.
type Sweep struct {
	At     time.Duration // since the first
	Late   time.Duration
	Missed uint64 // ticks, until now
	Way    Way
	Why    string // no better way
	Queues []Sample
	// Unread says why queues cannot be read, one for each interface, and which
	// are left out; it is renewed every second, with Asked.
	Unread []error
	Asked  bool
}

// A Sample is one queue at a moment.
type Sample struct {
	Netdev          string
	Index           int
	Limits          bool // the driver has been seen to use byte queue limits
	Inflight, Limit uint32
	NoLimit         bool   // its limit could not be read
	Waits           bool   // what waits above is seen
	Backlog         uint32 // waits above this queue, or above those that share with it
}

// A watcher hands samples over as they are taken.
type watcher struct {
	h       *probes.Host
	options Options
	take    func(*Sweep) error
	sweep   Sweep
	l       *layout
	asked   time.Duration    // when it was seen last which queues cannot be read
	seen    []uint64         // samples of each slot before this one
	waits   []uint32         // and those of each device that saw what waits
	watched map[string]place // by key: those that are not gone
}

// Watch looks at the queues at each tick until ctx is done or take gives an
// error, and hands every look to take; it ends as well when all interfaces are
// gone. In a recording it looks once at each mark.
func Watch(ctx context.Context, h *probes.Host, o Options, take func(*Sweep) error) error {
	o.Every, o.Way = min(max(o.Every, time.Millisecond), time.Second), max(o.Way, Kernel)
	w := &watcher{h: h, options: o, take: take}
	if h.Recorded() {
		return w.play()
	}
	defer w.close()
	if err := w.arrange(monotonic()); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer w.checkGone()
	begin, checked := monotonic(), monotonic()
	for deadline := begin; ctx.Err() == nil; {
		sleepUntil(deadline)
		now := monotonic()
		w.sweep.At, w.sweep.Late = now-begin, now-deadline
		if err := w.look(deadline, now); err != nil {
			return err
		}
		var missed uint64
		deadline, missed = nextTick(deadline, o.Every, monotonic())
		w.sweep.Missed += missed
		if now-checked >= checkEvery {
			if checked = now; w.checkGone() {
				return nil
			}
			if err := w.arrange(now); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkEvery is after how long is seen whether the interfaces are still there,
// and whether others or more queues are.
const checkEvery = time.Second

// checkGone tells of interfaces that went, and says whether none is left.
func (w *watcher) checkGone() (all bool) {
	for key, p := range w.watched {
		if p.gone(w.h) {
			delete(w.watched, key)
			if w.options.Gone != nil {
				w.options.Gone(p.name)
			}
		}
	}
	return len(w.watched) == 0
}

func (w *watcher) play() error {
	for i, mark := range w.h.Marks() {
		if err := w.h.Seek(i); err != nil {
			return err
		}
		w.checkGone()
		w.close() // files of another moment
		if err := w.arrange(mark); err != nil {
			return err
		}
		w.sweep.At = mark
		if err := w.look(mark, mark); err != nil {
			return err
		}
	}
	w.close()
	return nil
}

func (w *watcher) close() {
	if w.l != nil {
		w.l.close()
		w.l = nil
	}
}

// arrange lists the interfaces and, if they or their queues are others than
// before, prepares to look at them.
func (w *watcher) arrange(now time.Duration) error {
	places, left, err := find(w.h, w.options.Netdevs)
	if err != nil || w.l != nil && slices.Equal(places, w.l.places) {
		return err
	}
	if w.watched == nil {
		w.watched = map[string]place{}
	}
	for _, p := range places {
		w.watched[p.key()] = p
	}
	l := newLayout(w.h, w.options, places, left, now)
	w.seen, w.waits = make([]uint64, countQueues(places)), make([]uint32, len(places))
	if w.l != nil {
		l.inherit(w.l)
		w.close()
		for i := range w.seen {
			w.seen[i] = l.mem().slots[i].Samples
		}
		for i := range w.waits {
			w.waits[i] = l.mem().devices[i].Backlogs
		}
	}
	w.l = l
	w.sweep.Way, w.sweep.Why = l.way, l.why
	return nil
}

// look takes a sample and hands over what was seen.
func (w *watcher) look(deadline, now time.Duration) error {
	l := w.l
	if err := l.sample(deadline, now, monotonic); err != nil {
		return err
	}
	if w.sweep.Asked = now >= w.asked+checkEvery || w.h.Recorded(); w.sweep.Asked {
		w.asked, w.sweep.Unread = now, l.problems()
	}
	m := l.mem()
	w.sweep.Queues = w.sweep.Queues[:0]
	for i := range m.slots {
		s, d := &m.slots[i], &m.devices[m.slots[i].Device-1]
		if d.Present == 0 || s.Samples == w.seen[i] && s.Backlog == 0 && d.Backlogs == 0 {
			continue // gone, or without byte queue limits, and nothing above is seen
		}
		w.seen[i] = s.Samples
		w.sweep.Queues = append(w.sweep.Queues, Sample{
			Netdev: l.places[s.Device-1].name, Index: int(s.Queue), Limits: d.Used != 0, Inflight: s.Inflight, Limit: s.Limit, NoLimit: l.noLimit(i) != nil, Waits: d.Backlogs != w.waits[s.Device-1], Backlog: s.Backlog,
		})
	}
	for i := range m.devices {
		w.waits[i] = m.devices[i].Backlogs
	}
	return w.take(&w.sweep)
}
