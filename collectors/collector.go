// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// A Collector is a declared Spec whose reading's type is hidden.
type Collector interface {
	// Doc gives the collector's part of the manuals.
	Doc() Doc

	start(setting) runner
}

// New makes a Collector of s.
func New[R any](s Spec[R]) Collector { return spec[R]{&s} }

type spec[R any] struct{ *Spec[R] }

func (s spec[R]) start(set setting) runner {
	r := &running[R]{Spec: s.Spec, setting: set, units: map[string]*unit[R]{}}
	if s.Samples > 0 {
		r.samples, r.every = cmp.Or(r.every, s.Samples), 0
	}
	if r.every == 0 {
		r.every = s.Every
		if set.window > 0 { // two readings at least, so that there are rates
			r.every = min(r.every, set.window/2)
		}
	}
	r.every = max(r.every, s.Floor)
	r.restart()
	return r
}

// A setting is how a collector runs.
type setting struct {
	every   time.Duration // zero: the Spec's
	samples time.Duration // of a collector of Samplers
	window  time.Duration // of a one-shot judgement; zero in the daemon
	host    *probes.Host
	clock   *clock
	meter   func() *meter
}

// A runner is a collector at work.
type runner interface {
	name() string
	// reconcile starts and stops units as the inventory asks for. The first
	// attempt of each unit that it starts is one of attempts, if there are any.
	reconcile(ctx context.Context, v *View, live bool, attempts *sync.WaitGroup)
	// readNow reads every unit once, in the caller's goroutine.
	readNow(at time.Duration)
	// publish puts the fresh readings into v.
	publish(v *View, still bool)
	// step judges them.
	step(v *View, want func(string) bool, o over) ([]sheet, []judged)
	// stats tells how the units stand.
	stats(now time.Duration, still bool) stats
	// restart forgets all history.
	restart()
	// stop ends all units; those that are stuck are left behind.
	stop(patience time.Duration)
}

// stats is a collector's state, summed over its units.
type stats struct {
	waiting               bool // nothing was judged yet
	units, fresh, failing int
	absent                int
	newest                time.Duration // end of the newest read
	period                time.Duration // the longest in force
	overruns              uint64
	demand                float64
	problems              []problem // of units that are not well
}

func (r *running[R]) name() string { return r.Spec.Name }

type running[R any] struct {
	*Spec[R]
	setting

	mu      sync.Mutex
	units   map[string]*unit[R]
	order   []string
	judges  []judge[R]
	current []Unit[R]            // of the newest publish
	readers map[string]Reader[R] // of a recording
}

func (r *running[R]) restart() {
	r.judges = nil
	for _, t := range r.Tables {
		r.judges = append(r.judges, t.start())
	}
}

func (r *running[R]) reconcile(ctx context.Context, v *View, live bool, attempts *sync.WaitGroup) {
	names := []string{""}
	if r.Units != nil {
		names = r.Units(v)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
		if r.units[name] == nil {
			r.units[name] = r.begin(ctx, name, live, attempts)
		}
	}
	for name, u := range r.units {
		if !wanted[name] {
			u.cancel()
			delete(r.units, name)
			if reader := r.readers[name]; reader != nil {
				u.shut(reader)
				delete(r.readers, name)
			}
		}
	}
	r.order = names
}

func (r *running[R]) begin(ctx context.Context, name string, live bool, attempts *sync.WaitGroup) *unit[R] {
	u := &unit[R]{name: name, spec: r.Spec, every: r.every, samples: r.samples, meter: r.meter(), done: make(chan struct{})}
	ctx, u.cancel = context.WithCancel(ctx)
	if !live {
		close(u.done)
		return u
	}
	attempted := func() {}
	if attempts != nil {
		attempts.Add(1)
		attempted = attempts.Done
	}
	go u.run(ctx, r.host, r.clock, attempted)
	return u
}

func (r *running[R]) readNow(at time.Duration) {
	if r.readers == nil {
		r.readers = map[string]Reader[R]{}
	}
	for _, name := range r.order {
		u := r.units[name]
		value, err := r.readUnit(u, at)
		if value == nil {
			u.newest.Store(nil)
			u.rest(orNothing(err), at)
			continue
		}
		u.newest.Store(&reading[R]{value, err, at, r.every})
		u.enter("reading", err, at)
	}
}

// readUnit reads a unit, opening it first, or anew if its device was replaced.
func (r *running[R]) readUnit(u *unit[R], at time.Duration) (value *R, err error) {
	for range 2 {
		reader := r.readers[u.name]
		if reader == nil {
			if reader, err = u.open(context.Background(), r.host); err != nil {
				return nil, err
			}
			r.readers[u.name] = reader
		}
		if value, err = u.guarded(reader, at); !errors.Is(err, ErrReopen) {
			return value, err
		}
		u.shut(reader)
		delete(r.readers, u.name)
	}
	return nil, err
}

func (r *running[R]) publish(v *View, still bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	units := make([]Unit[R], 0, len(r.order))
	for _, name := range r.order {
		if n := r.units[name].fresh(v.At, still); n != nil {
			units = append(units, Unit[R]{name, n.value, v.At - n.at, n.err})
		}
	}
	r.current = units
	v.readings[r.Name] = units
}

func (r *running[R]) step(v *View, want func(string) bool, o over) ([]sheet, []judged) {
	var sheets []sheet
	var list []judged
	for _, j := range r.judges {
		s, more := j.step(r.current, v, want, o)
		sheets, list = append(sheets, s), append(list, more...)
	}
	return sheets, list
}

func (r *running[R]) stats(now time.Duration, still bool) stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := stats{units: len(r.units), period: r.every}
	for name, u := range r.units {
		n := u.fresh(now, still)
		if n != nil {
			s.fresh++
		}
		if n != nil && n.err != nil {
			s.failing++
		}
		if last := u.newest.Load(); last != nil {
			s.newest = max(s.newest, last.at)
		}
		s.period = max(s.period, time.Duration(u.meter.period.Load()))
		s.overruns += u.meter.overruns.Load()
		s.demand += u.meter.demand(r.every)
		if st := u.state.Load(); st != nil && st.name == "absent" {
			s.absent++
		} else if text := problemText(st, now, n == nil); text != "" {
			s.problems = append(s.problems, problem{r.Name, probes.Printable(name), probes.Printable(text)})
		}
	}
	return s
}

func problemText(st *unitState, now time.Duration, stale bool) string {
	switch {
	case st == nil:
		return ""
	case st.err != nil:
		return fmt.Sprintf("%s: %s", st.name, firstLine(st.err))
	case stale && st.name == "reading":
		return "stale: the read is stuck"
	case stale && st.name == "opening" && now-st.at > openPatience:
		return "stale: opening it is stuck"
	}
	return ""
}

func firstLine(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		if list := joined.Unwrap(); len(list) > 1 {
			return fmt.Sprintf("%v (and %d more)", list[0], len(list)-1)
		}
	}
	return err.Error()
}

func (r *running[R]) stop(patience time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.units {
		u.cancel()
	}
	deadline := time.After(patience)
	for _, u := range r.units {
		select {
		case <-u.done:
		case <-deadline:
			return
		}
	}
}
