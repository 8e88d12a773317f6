// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"runtime"
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
}

// A Sample is one queue at a moment.
type Sample struct {
	Netdev          string
	Index           int
	Limits          bool // the driver has been seen to use byte queue limits
	Inflight, Limit uint32
	Backlog         uint32 // waits above this queue, or above those that share with it
}

// A watcher hands samples over as they are taken.
type watcher struct {
	h       *probes.Host
	options Options
	take    func(*Sweep) error
	sweep   Sweep
	seen    []uint64         // samples of each slot before this one
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
	l, err := w.layout(monotonic())
	if err != nil {
		return err
	}
	defer l.close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer w.checkGone()
	begin, checked := monotonic(), monotonic()
	for deadline := begin; ctx.Err() == nil; deadline += o.Every {
		sleepUntil(deadline)
		now := monotonic()
		if late := now - deadline; late >= o.Every {
			w.sweep.Missed += uint64(late / o.Every)
			deadline += late / o.Every * o.Every
		}
		w.sweep.At, w.sweep.Late = now-begin, now-deadline
		if err := w.look(l, deadline, now); err != nil {
			return err
		}
		if now-checked >= checkEvery {
			if checked = now; w.checkGone() {
				return nil
			}
		}
	}
	return nil
}

// checkEvery is after how long is seen whether the interfaces are still there.
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
		l, err := w.layout(mark)
		if err != nil {
			return err
		}
		w.sweep.At = mark
		err = w.look(l, mark, mark)
		l.close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) layout(now time.Duration) (*layout, error) {
	places, left, err := find(w.h, w.options.Netdevs)
	if err != nil {
		return nil, err
	}
	if w.watched == nil {
		w.watched = map[string]place{}
	}
	for _, p := range places {
		w.watched[p.key()] = p
	}
	l := newLayout(w.h, w.options, places, left, now)
	w.sweep.Way, w.sweep.Why, w.seen = l.way, l.why, make([]uint64, countQueues(places))
	return l, nil
}

// look takes a sample and hands over what was seen.
func (w *watcher) look(l *layout, deadline, now time.Duration) error {
	if err := l.sample(deadline, now, monotonic); err != nil {
		return err
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
			Netdev: l.places[s.Device-1].name, Index: int(s.Queue), Limits: d.Used != 0, Inflight: s.Inflight, Limit: s.Limit, Backlog: s.Backlog,
		})
	}
	return w.take(&w.sweep)
}
