// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/probes"
)

// A sweeper takes samples of all queues into its memory.
type sweeper interface {
	mem() memory
	// sample takes one. deadline is when it should have been taken and now is,
	// by the monotonic clock, which clock tells.
	sample(deadline, now time.Duration, clock func() time.Duration) error
	// problem gives why a slot could not be read in the newest sample;
	// fs.ErrNotExist: there are no files of it.
	problem(slot int) error
	// noLimit gives why a slot's limit is not known though what is in flight is.
	noLimit(slot int) error
	close()
}

// A layout is which queues are sampled, and how.
type layout struct {
	sweeper
	places []place
	left   int
	way    Way
	why    string // no better way
}

func countQueues(places []place) int {
	n := 0
	for _, p := range places {
		n += p.queues
	}
	return n
}

// problems gives why queues could not be read, one for each interface, and
// which are left out.
func (l *layout) problems() (list []error) {
	slot := 0
	for _, p := range l.places {
		for n := range p.queues {
			err := ofLimit(n, l.noLimit(slot+n))
			if why := l.problem(slot + n); why != nil && !errors.Is(why, fs.ErrNotExist) {
				err = why
			}
			if err != nil {
				list = append(list, fmt.Errorf("%s: %w", p.name, err))
				break
			}
		}
		slot += p.queues
		if p.left > 0 {
			list = append(list, fmt.Errorf("%s: %d of %d queues: there are more than %d in all", p.name, p.left, p.left+p.queues, maxQueues))
		}
	}
	return list
}

// ofLimit says of which queue's limit an error is; nil: of none.
func ofLimit(queue int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("queues/tx-%d/byte_queue_limits/limit: %w", queue, err)
}

// newLayout prepares samples of places by the best way that there is.
func newLayout(h *probes.Host, o Options, places []place, left int, now time.Duration) *layout {
	l := &layout{places: places, left: left, way: Files}
	l.sweeper = l.open(h, o)
	l.arrange(o, now)
	return l
}

func (l *layout) open(h *probes.Host, o Options) sweeper {
	switch {
	case h.Recorded():
		return newFiles(h, l.places)
	case o.Way == Best && countQueues(l.places) == 0: // a program would be loaded for nothing
		l.way = None
		return newFiles(h, l.places)
	}
	for _, way := range []Way{Timer, Kernel} {
		k, err := openKernel(h, o, l.places, way == Timer)
		if err == nil {
			l.way = way
			return k
		}
		if !errors.Is(err, errAsked) || l.why == "" {
			l.why = probes.Printable(err.Error())
		}
	}
	return newFiles(h, l.places)
}

// After so many ticks without a sample, but at least so much time, what lasts
// begins anew.
const (
	gapTicks = 10
	leastGap = 2 * time.Second
)

// arrange writes into the memory which slot is which queue.
func (l *layout) arrange(o Options, now time.Duration) {
	m, slot := l.mem(), 0
	if o.Every > 0 { // else it is a recording
		m.control.Gap = uint64(max(gapTicks*o.Every, leastGap))
	}
	for i, p := range l.places {
		m.devices[i] = bpf.QueueDevice{Ifindex: p.ifindex, Frames: p.frames(), Threshold: p.burst(o)}
		for n := range p.queues {
			m.slots[slot] = bpf.QueueSlot{Device: uint32(i + 1), Queue: uint32(n), Changed: uint64(now)}
			slot++
		}
	}
}

// inherit takes over what an older layout has counted of the same queues. A
// tick of its timer that comes meanwhile is lost.
func (l *layout) inherit(old *layout) {
	was := map[string]int{} // a place's first slot
	at := map[string]int{}
	slot := 0
	for i, p := range old.places {
		was[p.key()], at[p.key()] = slot, i
		slot += p.queues
	}
	m, o := l.mem(), old.mem()
	c := *o.control
	c.Interval, c.Gap, c.Sysfs, c.Net = m.control.Interval, m.control.Gap, m.control.Sysfs, m.control.Net
	c.Begun = c.Ticks
	*m.control = c
	slot = 0
	for i, p := range l.places {
		if first, ok := was[p.key()]; ok {
			d := o.devices[at[p.key()]]
			d.Ifindex, d.Frames, d.Threshold = m.devices[i].Ifindex, m.devices[i].Frames, m.devices[i].Threshold
			m.devices[i] = d
			for n := range min(p.queues, old.places[at[p.key()]].queues) {
				s := o.slots[first+n]
				s.Device, s.Queue = m.slots[slot+n].Device, m.slots[slot+n].Queue
				m.slots[slot+n] = s
			}
		}
		slot += p.queues
	}
}
