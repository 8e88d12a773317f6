// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
)

// A Sampler samples the transmit queues of a host. On a live host a thread of
// its own does, or the kernel; in a recording each Look is a sample.
type Sampler struct {
	h       *probes.Host
	options Options

	newest atomic.Pointer[Snapshot]
	next   atomic.Pointer[layout] // to be taken over by the thread
	stop   atomic.Bool
	done   chan struct{} // closed when the thread has ended; nil: there is none

	seen   uint64 // the inventory's generation when interfaces were listed
	listed time.Time
	places []place

	// The following belong to whoever samples: the thread, or Look.
	layout  *layout
	every   time.Duration // in force
	cost    time.Duration // of a sample, smoothed
	totals  map[string]*netdevTotal
	rounds  uint64
	hot     int // interfaces of which columns are kept
	lastErr error
	epoch   time.Time     // the wall clock's time of the monotonic clock's 0
	shown   time.Duration // when snapshots were published last
	late    [buckets]uint64
	// lastLate is what the memory, which wraps, had counted when it was shown last.
	lastLate [buckets]uint32
	bucket   [buckets]uint32
}

// Open prepares a Sampler; a live one begins at once. An error that is
// fs.ErrNotExist says that there are no network interfaces.
func Open(h *probes.Host, o Options) (*Sampler, error) {
	o.Every = min(max(o.Every, time.Millisecond), time.Second)
	s := &Sampler{h: h, options: o, every: o.Every, totals: map[string]*netdevTotal{}}
	places, left, err := find(h, o.Netdevs)
	if err != nil {
		return nil, err
	}
	s.places = places
	s.noteListed()
	if h.Recorded() {
		s.every = 0 // marks are no ticks
		return s, nil
	}
	s.layout = newLayout(h, o, places, left, monotonic())
	s.enter()
	s.publish(monotonic())
	s.done = make(chan struct{})
	go s.run()
	return s, nil
}

// Close ends sampling.
func (s *Sampler) Close() {
	s.stop.Store(true)
	if s.done != nil {
		<-s.done
	}
	if l := s.next.Swap(nil); l != nil {
		l.close()
	}
	if s.layout != nil {
		s.layout.close()
	}
}

// Snapshot gives what was seen until now, or a second ago.
func (s *Sampler) Snapshot() *Snapshot { return s.newest.Load() }

// Look takes a sample in a recording, at a moment of its time.
func (s *Sampler) Look(at time.Duration) (*Snapshot, error) {
	places, left, err := find(s.h, s.options.Netdevs)
	if err != nil {
		return nil, err
	}
	o := s.options
	o.Every = 0
	next := newLayout(s.h, o, places, left, at)
	if s.layout != nil {
		next.inherit(s.layout)
		s.layout.close()
	}
	s.layout = next
	s.enter()
	s.lastErr = next.sample(at, at, func() time.Duration { return at })
	s.publish(at)
	return s.Snapshot(), nil
}

// relistEvery is after how long interfaces are listed whatever the inventory
// says: queues come and go without a word.
const relistEvery = 30 * time.Second

// Refresh lists the interfaces anew if something changed, and has the sampler
// look at those that there are now. One goroutine calls it, on a live host.
func (s *Sampler) Refresh() error {
	if inv := s.h.Taken(); time.Since(s.listed) < relistEvery && (inv == nil || inv.Generation == s.seen) && !s.grown() {
		return nil
	}
	s.noteListed()
	places, left, err := find(s.h, s.options.Netdevs)
	for i := range places { // a link that is down has the rate that it had
		if n := slices.IndexFunc(s.places, func(p place) bool { return p.key() == places[i].key() }); n >= 0 && places[i].rate == 0 {
			places[i].rate = s.places[n].rate
		}
	}
	if err != nil || slices.Equal(places, s.places) {
		return err
	}
	s.places = places
	if old := s.next.Swap(newLayout(s.h, s.options, places, left, monotonic())); old != nil {
		old.close()
	}
	return nil
}

func (s *Sampler) noteListed() {
	s.listed = time.Now()
	if inv := s.h.Taken(); inv != nil {
		s.seen = inv.Generation
	}
}

// grown says whether an interface has another number of queues than was listed.
func (s *Sampler) grown() bool {
	snapshot := s.Snapshot()
	return snapshot != nil && snapshot.stale
}

// enter begins to use the layout: its interfaces get their totals.
func (s *Sampler) enter() {
	s.rounds++
	m, slot := s.layout.mem(), 0
	for i, p := range s.layout.places {
		n := s.totals[p.key()]
		if n == nil {
			n = &netdevTotal{}
			s.totals[p.key()] = n
		}
		n.place, n.seen = p, s.rounds
		if n.last.Ifindex == 0 {
			n.last = m.devices[i]
		}
		for len(n.queues) < p.queues {
			n.queues = append(n.queues, queueTotal{last: m.slots[slot+len(n.queues)]})
		}
		n.queues = n.queues[:p.queues]
		slot += p.queues
	}
	for key, n := range s.totals {
		if n.seen != s.rounds {
			if n.heat != nil {
				s.hot--
			}
			delete(s.totals, key)
		}
	}
}

// publish adds up what was counted since the last time and shows it.
func (s *Sampler) publish(now time.Duration) {
	l := s.layout
	m := l.mem()
	bank := flip(m.control)
	snapshot := &Snapshot{
		At: now, Way: l.way, Why: l.why, Every: s.every, Ticks: m.control.Ticks, Missed: m.control.Missed,
		Cost: time.Duration(m.control.CostNs), Queues: len(m.slots), LeftOut: l.left, Err: s.lastErr,
	}
	for b, n := range m.control.Late {
		s.late[b] += uint64(n - s.lastLate[b])
	}
	s.lastLate, snapshot.Late.Counts = m.control.Late, s.late
	snapshot.Late.Sum = time.Duration(m.control.LateNs).Seconds()
	slot := 0
	for i, p := range l.places {
		n := s.totals[p.key()]
		device := &m.devices[i]
		n.device(device, bank, now)
		s.bucket = [buckets]uint32{}
		unread := unread{}
		for q := range n.queues {
			at := &m.slots[slot]
			n.queues[q].take(at, n, at.Peak[bank], now, &s.bucket)
			at.Peak[bank] = 0
			unread.add(&n.queues[q], l.problem(slot), l.noLimit(slot))
			slot++
		}
		device.Peak[bank] = 0
		s.column(n, now)
		out := n.show(now, time.Duration(m.control.Last))
		out.Err, out.Unread, out.NoLimit = unread.first, unread.beside(len(n.queues)), unread.noLimit
		snapshot.stale = snapshot.stale || p.other(device, out.Err)
		snapshot.Netdevs = append(snapshot.Netdevs, out)
	}
	s.shown = now
	s.newest.Store(snapshot)
}

// other says whether an interface is not the one that was listed any more: it
// went, or has another number of queues.
func (p place) other(d *bpf.QueueDevice, err error) bool {
	switch {
	case p.queues == 0: // nobody looks at it
		return false
	case d.Present == 0, errors.Is(err, syscall.ENODEV):
		return true
	}
	return d.Queues != 0 && int(d.Queues) != p.queues+p.left
}

// column keeps the second's numbers of an interface that carries something.
func (s *Sampler) column(n *netdevTotal, now time.Duration) {
	if s.h.Recorded() || n.heat == nil && (s.bucket == [buckets]uint32{s.bucket[0]} || s.hot == maxHot) {
		return
	}
	if n.heat == nil {
		s.hot++
	}
	n.warm(Column{s.wall(now, time.Now()), now - s.shown, s.bucket})
}

// wall gives the wall clock's time of now, which goes on as the monotonic clock
// does. When the wall clock was set, the times of what is kept are too: they
// stay in order, and their distances what they were.
func (s *Sampler) wall(now time.Duration, clock time.Time) time.Time {
	const drift = time.Second / 2
	clock = clock.Round(0) // of the wall
	set := clock.Sub(s.epoch.Add(now))
	if set.Abs() <= drift {
		return s.epoch.Add(now)
	}
	s.epoch = clock.Add(-now)
	for _, n := range s.totals {
		n.heat = slices.Clone(n.heat) // snapshots show the old one
		for i := range n.heat {
			n.heat[i].Time = n.heat[i].Time.Add(set)
		}
	}
	return clock
}

// flip lets peaks go to the other bank and gives the one that is complete now:
// a tick of the timer that is at work may still write to it, and is waited for.
func flip(c *bpf.QueueControl) (complete uint32) {
	const step, patience = 50 * time.Microsecond, 200
	complete = c.Want & 1
	atomic.StoreUint32(&c.Want, complete^1)
	for range patience {
		ticks := atomic.LoadUint64(&c.Ticks)
		if atomic.LoadUint64(&c.Begun) == ticks {
			break
		}
		sleepUntil(monotonic() + step)
	}
	return complete
}

// monotonic is the clock of the sampler: that of the kernel's programs.
func monotonic() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
