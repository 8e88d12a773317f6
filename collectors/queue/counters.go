// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/qdisc"
)

// qdiscEvery is how often queueing disciplines are asked: the answer takes the
// lock of the network's configuration, which is everybody's.
const qdiscEvery = 10 * time.Second

// Counts are what queueing disciplines counted.
type Counts struct{ Drops, Requeues, Backlog uint64 }

// Qdiscs are the counts of one interface: of its root, and of those below mq
// by queue.
type Qdiscs struct {
	Root    Counts
	ByQueue map[int]Counts
}

// disciplines are those of all interfaces, by name.
type disciplines struct {
	byNetdev map[string]*Qdiscs
	at       time.Time
}

// asker asks for the disciplines beside the readings: where the lock is held
// for long, they go on.
type asker struct {
	newest atomic.Pointer[disciplines]
	stop   chan struct{}
}

func startAsker(h *probes.Host) *asker {
	a := &asker{stop: make(chan struct{})}
	go func() {
		timer := time.NewTicker(qdiscEvery)
		defer timer.Stop()
		for {
			if d, err := ask(h); err == nil {
				a.newest.Store(d)
			}
			select {
			case <-a.stop:
				return
			case <-timer.C:
			}
		}
	}()
	return a
}

// get gives the newest answer that is not too old to be shown.
func (a *asker) get() *disciplines {
	if d := a.newest.Load(); d != nil && time.Since(d.at) < 3*qdiscEvery {
		return d
	}
	return &disciplines{}
}

func ask(h *probes.Host) (*disciplines, error) {
	list, err := qdisc.Get(h)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d := &disciplines{byNetdev: map[string]*Qdiscs{}, at: time.Now()}
	below := map[string]bool{} // interfaces whose root is mq, or like it
	for i := range list {
		if q := &list[i]; q.Root {
			d.byNetdev[probes.Printable(q.Dev)] = &Qdiscs{Root: counts(q), ByQueue: map[int]Counts{}}
			below[q.Dev] = q.Kind == "mq" || q.Kind == "mqprio"
		}
	}
	for i := range list {
		q := &list[i]
		if n, ok := q.Queue(); ok && below[q.Dev] {
			d.byNetdev[probes.Printable(q.Dev)].ByQueue[n] = counts(q)
		}
	}
	return d, nil
}

func counts(q *qdisc.Qdisc) Counts { return Counts{q.Drops, q.Requeues, q.Backlog} }

// Stalls are those that the kernel counts where a threshold is set (stall_thrs):
// a queue with bytes in flight of which none were completed for so long.
type Stalls struct {
	Count   uint64
	Longest uint64 // in jiffies, as the kernel tells it
}

// stallFiles are a queue's.
type stallFiles struct{ threshold, count, longest *probes.Attr }

func (f *stallFiles) close() { closeAll(f.threshold, f.count, f.longest) }

func (f *stallFiles) read() *Stalls {
	threshold, n := count(f.threshold), count(f.count)
	if !threshold.OK || threshold.V == 0 || !n.OK {
		return nil
	}
	return &Stalls{n.V, count(f.longest).V}
}
