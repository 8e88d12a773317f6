// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"runtime"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"golang.org/x/sys/unix"
)

const (
	publishEvery = time.Second
	// share of the time that samples may take; slower ones are taken less often.
	share = 0.05
)

// run samples until it is stopped, in a thread of its own.
func (s *Sampler) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	for !s.stop.Load() {
		switch s.layout.way {
		case Timer:
			s.watch()
		case None:
			s.rest()
		default:
			s.sample()
		}
		s.takeOver()
	}
}

// sample takes samples for a second, at absolute times: what one tick is late
// does not add to the next.
func (s *Sampler) sample() {
	now := monotonic()
	deadline, publish := s.after(now), now-now%publishEvery+publishEvery
	for {
		sleepUntil(deadline)
		now = monotonic()
		s.lastErr = s.layout.sample(deadline, now, monotonic)
		end := monotonic()
		s.account(end-now, 1)
		if s.stop.Load() {
			return
		}
		if end >= publish {
			s.publish(end)
			return
		}
		var missed uint64
		deadline, missed = nextTick(deadline, s.every, end)
		s.layout.mem().control.Missed += missed
	}
}

// nextTick gives the tick after one, of those that are not over yet, and how
// many are.
func nextTick(deadline, every, now time.Duration) (next time.Duration, missed uint64) {
	next = deadline + every
	if now >= next {
		missed = uint64((now-next)/every) + 1
		next += time.Duration(missed) * every
	}
	return next, missed
}

// watch lets the kernel's timer take samples for a second.
func (s *Sampler) watch() {
	k, c := s.layout.sweeper.(*kernel), s.layout.mem().control
	if c.Interval == 0 { // what one costs is to be known before the timer interrupts whatever runs
		cost := c.CostNs
		if s.lastErr = k.Sample(monotonic()); s.lastErr == nil {
			s.account(time.Duration(c.CostNs-cost), enough)
		}
	}
	if c.Interval != uint64(s.every) {
		s.lastErr = k.start(s.every)
	}
	before := *c
	if !s.pause() {
		return
	}
	s.accountTimer(&before, monotonic())
	s.publish(monotonic())
}

// rest publishes that there is nothing to sample.
func (s *Sampler) rest() {
	if s.pause() {
		s.lastErr = nil
		s.publish(monotonic())
	}
}

// pause waits for the time of the next publication. It is false if the sampler
// is to stop.
func (s *Sampler) pause() bool {
	const patience = 200 * time.Millisecond // until that is seen
	for now, end := monotonic(), monotonic()/publishEvery*publishEvery+publishEvery; now < end; now = monotonic() {
		sleepUntil(min(end, now+patience))
		if s.stop.Load() {
			return false
		}
	}
	return true
}

// accountTimer looks at what the timer's ticks cost since before, and whether
// there were any.
func (s *Sampler) accountTimer(before *bpf.QueueControl, now time.Duration) {
	c := s.layout.mem().control
	switch more := c.Ticks - before.Ticks; {
	case more > 0:
		s.account(time.Duration((c.CostNs-before.CostNs)/more), more)
		s.lastErr = nil
	case s.lastErr == nil && now-time.Duration(c.Last) > max(quietTicks*s.every, leastQuiet):
		s.lastErr = errNoTicks
	}
}

// The timer is at rest when for so many ticks, but at least for so long, none came.
const (
	quietTicks = 5
	leastQuiet = 2 * time.Second
)

var errNoTicks = errors.New("the kernel's timer takes no samples")

// after gives the next tick: ticks lie on a grid.
func (s *Sampler) after(now time.Duration) time.Duration { return now - now%s.every + s.every }

// enough is of how many samples the mean is believed at once: a single one may
// have been held up.
const enough = 16

// account stretches the interval so that samples stay within their share. cost
// is the mean of so many.
func (s *Sampler) account(cost time.Duration, samples uint64) {
	s.cost += (cost - s.cost) * time.Duration(min(samples, enough)) / enough
	least := time.Duration(float64(s.cost) / share)
	every := s.options.Every
	if least > every {
		every = (least + every - 1) / every * every
	}
	// Shorter again only when there is room, so that it does not waver.
	if every > s.every || least < s.every*3/4 {
		s.every = every
	}
}

// takeOver begins with a new layout, if there is one.
func (s *Sampler) takeOver() {
	next := s.next.Swap(nil)
	if next == nil {
		return
	}
	next.inherit(s.layout)
	s.layout.close()
	s.layout = next
	s.enter()
}

func sleepUntil(deadline time.Duration) {
	ts := unix.NsecToTimespec(int64(deadline))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
	}
}
