// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// Bounds of a unit's life.
const (
	minPeriod    = time.Millisecond
	maxPeriod    = 10 * time.Minute // to which a costly read is stretched at most
	retryAbsent  = time.Minute      // an absent source is asked again
	retryRefused = 30 * time.Second
	retryFailed  = time.Second
	minFresh     = time.Second      // a reading is good for at least this long
	freshPeriods = 3                // and for so many periods
	openPatience = 10 * time.Second // opening may take this long: a driver's first answer, a program for the kernel
)

// A reading is a published snapshot. It is never changed.
type reading[R any] struct {
	value  *R
	err    error
	at     time.Duration // when the read ended
	period time.Duration // in force then
}

// A unit is one goroutine's work: reading one device at its period.
type unit[R any] struct {
	name    string
	spec    *Spec[R]
	every   time.Duration
	samples time.Duration
	newest  atomic.Pointer[reading[R]]
	state   atomic.Pointer[unitState]
	meter   *meter
	cancel  context.CancelFunc
	done    chan struct{}
}

// A unitState is how a unit stands when it has no reading.
type unitState struct {
	name string // opening, reading, absent, refused, failed
	err  error
	at   time.Duration
}

func (u *unit[R]) enter(name string, err error, at time.Duration) {
	old := u.state.Load()
	if old != nil && old.name == name && (old.err == nil) == (err == nil) && (err == nil || old.err.Error() == err.Error()) {
		return
	}
	u.state.Store(&unitState{name, err, at})
}

// fresh gives the newest reading, unless it is too old to be believed.
func (u *unit[R]) fresh(now time.Duration, still bool) *reading[R] {
	r := u.newest.Load()
	if r == nil || !still && now-r.at > max(freshPeriods*r.period, minFresh) {
		return nil
	}
	return r
}

// run reads until ctx is done. attempted is called after the first attempt.
func (u *unit[R]) run(ctx context.Context, h *probes.Host, c *clock, attempted func()) {
	defer close(u.done)
	once := sync.OnceFunc(attempted)
	defer once()
	for ctx.Err() == nil {
		u.enter("opening", nil, c.now())
		r, err := u.open(ctx, h)
		if err == nil {
			u.readAll(ctx, r, c, once)
			u.shut(r)
			continue
		}
		wait := u.rest(err, c.now())
		once()
		c.sleep(ctx, wait)
	}
}

// open opens the unit's reader; a panic in it is this unit's failure alone.
func (u *unit[R]) open(ctx context.Context, h *probes.Host) (r Reader[R], err error) {
	defer recovered(&err)
	r, err = u.spec.Open(ctx, h, u.name)
	if s, ok := r.(Sampler); ok && u.samples > 0 {
		s.Sample(u.samples)
	}
	return r, err
}

// shut closes the unit's reader; a panic in it is counted, and no more than that.
func (u *unit[R]) shut(r Reader[R]) {
	var err error
	defer func() {
		if err != nil {
			u.meter.failed(err)
		}
	}()
	defer recovered(&err)
	r.Close()
}

// rest files an error and says how long to leave the source alone.
func (u *unit[R]) rest(err error, now time.Duration) time.Duration {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		u.enter("absent", err, now)
		return retryAbsent
	case probes.Refused(err):
		u.enter("refused", err, now)
		return retryRefused
	}
	u.enter("failed", err, now)
	u.meter.failed(err)
	return retryFailed
}

// wanted is the period where the cost allows it.
func (u *unit[R]) wanted() time.Duration { return max(u.every, minPeriod) }

// readAll reads at each tick until the end, or until the reader has to be
// opened anew. Ticks lie on the grid of the wanted period, so that units of
// the same period wake the processor together.
func (u *unit[R]) readAll(ctx context.Context, r Reader[R], c *clock, attempted func()) {
	tick := u.wanted()
	for ctx.Err() == nil {
		begin := c.now()
		period, reopen := u.readOnce(r, c)
		attempted()
		if reopen {
			return
		}
		next := (begin + period).Round(tick)
		if now := c.now(); next <= now {
			u.meter.overruns.Add(uint64((now-next)/period) + 1)
			next = (now/tick + 1) * tick
		}
		c.sleep(ctx, next-c.now())
	}
}

// readOnce takes a reading, publishes it and gives the period that its cost allows.
func (u *unit[R]) readOnce(r Reader[R], c *clock) (period time.Duration, reopen bool) {
	runtime.LockOSThread()
	before := probes.ThreadUse()
	begin := c.now()
	value, err := u.guarded(r, begin)
	end := c.now()
	use := probes.ThreadUse().Since(before)
	runtime.UnlockOSThread()
	u.meter.histo.Observe((end - begin).Seconds())
	spent := cost{device: end - begin, cpu: use.CPU}
	if !use.Slept { // what is not its own time the thread waited for a processor
		spent.device = use.CPU
	}
	period = u.meter.account(end, spent, u.wanted())
	if value == nil && errors.Is(err, ErrReopen) {
		return period, true
	}
	if value == nil {
		u.rest(orNothing(err), end)
		return period, false
	}
	u.newest.Store(&reading[R]{value, err, end, period})
	u.enter("reading", err, end)
	if err != nil {
		u.meter.failed(err)
	}
	return period, false
}

func (u *unit[R]) guarded(r Reader[R], at time.Duration) (value *R, err error) {
	defer recovered(&err)
	return r.Read(at)
}

func orNothing(err error) error {
	if err == nil {
		return errors.New("the reader gave nothing")
	}
	return err
}

// recovered turns a panic into an error: a bug costs its unit, not the daemon.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}
