// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A gauge is what the tests' collector reads: one number of each unit.
type gauge struct {
	unit string
	n    float64
}

// A source makes readers from a function.
type source struct {
	read  func(unit string) (float64, error)
	open  func(unit string) error
	reads atomic.Int64
	opens atomic.Int64
	ended atomic.Int64
	end   func(unit string)
}

type sourceReader struct {
	s    *source
	unit string
}

func (r sourceReader) Read(time.Duration) (*gauge, error) {
	r.s.reads.Add(1)
	n, err := r.s.read(r.unit)
	if err != nil && n == 0 {
		return nil, err
	}
	return &gauge{r.unit, n}, err
}

func (r sourceReader) Close() {
	r.s.ended.Add(1)
	if r.s.end != nil {
		r.s.end(r.unit)
	}
}

// spec makes a collector of the source whose check warns from 10 on.
func (s *source) spec(name string, every time.Duration, units ...string) Collector {
	if s.read == nil {
		s.read = func(string) (float64, error) { return 1, nil }
	}
	return New(Spec[gauge]{
		Name: name, Help: "Test.", Every: every,
		Units: func(*View) []string { return units },
		Open: func(_ context.Context, _ *probes.Host, unit string) (Reader[gauge], error) {
			s.opens.Add(1)
			if s.open != nil {
				if err := s.open(unit); err != nil {
					return nil, err
				}
			}
			return sourceReader{s, unit}, nil
		},
		Tables: []Table[gauge]{Rows(func(g *gauge) []gauge { return []gauge{*g} }, Columns[gauge]{
			Labels:  []Label[gauge]{{"unit", func(g *gauge) string { return g.unit }}},
			Metrics: []Metric[gauge]{{Name: name + "_value", Help: "Test.", Get: func(g *gauge) (float64, bool) { return g.n, true }}},
			Checks: []Check[gauge]{{
				Name: name + "_check", Over: time.Minute, For: 3 * time.Second,
				Thresholds: []Threshold{{Name: "most", Default: 10}},
				Eval: func(g *gauge, e *Env[gauge]) Verdict {
					if g.n >= e.Threshold("most") {
						return Verdictf(Warn, "%g", g.n)
					}
					return Verdictf(OK, "%g over %d samples", g.n, len(e.Past))
				},
			}},
		})},
	})
}

func emptyHost(t testing.TB) *probes.Host {
	t.Helper()
	h, err := probes.Recorded([]byte("-- proc/version --\nx\n"), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// running starts an engine inside a bubble and ends it with the test.
func started(t *testing.T, o Options) *Engine {
	t.Helper()
	o.Host = emptyHost(t)
	e := NewEngine(o)
	e.epoch = e.clock.start
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { e.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return e
}

func finding(t *testing.T, e *Engine, check, unit string) Finding {
	t.Helper()
	for _, f := range e.State().Findings {
		if f.Check == check && f.Subject.String() == unit {
			return f
		}
	}
	t.Fatalf("no finding %s of %s in %v", check, unit, e.State().Findings)
	return Finding{}
}

func TestCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		e := started(t, Options{Collectors: []Collector{s.spec("a", 100*time.Millisecond, "x", "y")}})
		time.Sleep(10*time.Second + 50*time.Millisecond)
		if n := s.reads.Load(); n < 200 || n > 204 {
			t.Errorf("%d reads of two units in 10 s at 100 ms", n)
		}
		if n := testutil.CollectAndCount(e, "fabricd_a_value"); n != 2 {
			t.Errorf("%d series", n)
		}
		if f := finding(t, e, "a_check", "x"); f.Status != OK || f.Reason != "1 over 11 samples" {
			t.Errorf("%s %s", f.Status, f.Reason)
		}
	})
}

// A read that hangs costs its own rows and nothing else: not the other units,
// not a scrape, not the end of the program.
func TestStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		s := &source{}
		n := 0
		s.read = func(unit string) (float64, error) {
			if unit == "bad" {
				if n++; n > 20 {
					<-stuck
				}
			}
			return 1, nil
		}
		e := started(t, Options{Collectors: []Collector{s.spec("a", 100*time.Millisecond, "bad", "good")}})
		time.Sleep(1900 * time.Millisecond)
		if n := testutil.CollectAndCount(e, "fabricd_a_value"); n != 2 {
			t.Fatalf("%d series before", n)
		}
		time.Sleep(3 * time.Second)
		begin := time.Now()
		if n := testutil.CollectAndCount(e, "fabricd_a_value"); n != 1 {
			t.Errorf("%d series while one is stuck", n)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("the scrape waited %s", d)
		}
		if got := testutil.ToFloat64(only(e, "fabricd_collector_up")); got != 0 {
			t.Errorf("collector_up is %g", got)
		}
		if f := finding(t, e, "a_check", "good"); f.Status != OK {
			t.Errorf("good is %s", f.Status)
		}
		close(stuck)
		time.Sleep(2 * time.Second)
		if n := testutil.CollectAndCount(e, "fabricd_a_value"); n != 2 {
			t.Errorf("%d series after it went on", n)
		}
	})
}

// A unit whose opening does not return is a trouble, not just nothing.
func TestStuckOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		s := &source{open: func(unit string) error {
			if unit == "bad" {
				<-stuck
			}
			return nil
		}}
		e := started(t, Options{Collectors: []Collector{s.spec("a", 100*time.Millisecond, "bad", "good")}})
		time.Sleep(9 * time.Second)
		if got := e.State().Troubles(); len(got) != 0 {
			t.Error(got)
		}
		time.Sleep(3 * time.Second)
		if got := e.State().Troubles(); len(got) != 1 || got[0] != "a bad: stale: opening it is stuck" {
			t.Error(got)
		}
		close(stuck)
		time.Sleep(2 * time.Second)
		if got := e.State().Troubles(); len(got) != 0 {
			t.Error(got)
		}
	})
}

// only picks one family of the engine for ToFloat64.
func only(e *Engine, name string) prometheus.Collector { return picked{e, name} }

type picked struct {
	e    *Engine
	name string
}

func (p picked) Describe(chan<- *prometheus.Desc) {}
func (p picked) Collect(ch chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric, 1000)
	p.e.Collect(all)
	close(all)
	for m := range all {
		if strings.Contains(m.Desc().String(), `"`+p.name+`"`) {
			ch <- m
		}
	}
}

func TestPanicIsOneUnitsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{read: func(unit string) (float64, error) {
			if unit == "bad" {
				panic("a bug")
			}
			return 1, nil
		}}
		var problems []string
		e := started(t, Options{Collectors: []Collector{s.spec("a", time.Second, "bad", "good")}, Log: func(p string, gone bool) { problems = append(problems, p) }})
		time.Sleep(5 * time.Second)
		if n := testutil.CollectAndCount(e, "fabricd_a_value"); n != 1 {
			t.Errorf("%d series", n)
		}
		if len(problems) != 1 || !strings.Contains(problems[0], "a bug") {
			t.Errorf("logged %q; want it once", problems)
		}
	})
}

// A reader that cannot even be closed costs its unit alone.
func TestPanicOnClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{end: func(string) { panic("a bug") }}
		s.read = func(unit string) (float64, error) {
			if unit == "replaced" && s.opens.Load() < 3 {
				return 0, ErrReopen
			}
			return 1, nil
		}
		e := started(t, Options{Collectors: []Collector{s.spec("a", time.Second, "replaced", "good")}})
		time.Sleep(5 * time.Second)
		if n := testutil.CollectAndCount(e, "fabricd_a_value"); n != 2 || s.ended.Load() == 0 {
			t.Errorf("%d series, %d readers closed", n, s.ended.Load())
		}
	})
}

func TestRest(t *testing.T) {
	for _, test := range []struct {
		name  string
		err   error
		every time.Duration
		state string
	}{
		{"absent", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, time.Minute, "absent"},
		{"refused", syscall.EPERM, 30 * time.Second, "stale"},
		{"unsupported", fmt.Errorf("x: %w", errors.ErrUnsupported), 30 * time.Second, "stale"},
		{"failed", syscall.EIO, time.Second, "stale"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &source{open: func(string) error { return test.err }}
				e := started(t, Options{Collectors: []Collector{s.spec("a", 100*time.Millisecond, "x")}})
				time.Sleep(10*test.every + time.Millisecond)
				if n := s.opens.Load(); n < 10 || n > 12 {
					t.Errorf("asked %d times in ten periods of %s", n, test.every)
				}
				if st := e.State().stats[0]; test.state == "absent" != (st.absent == 1) {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

func TestBudgetStretchesThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{read: func(string) (float64, error) {
			time.Sleep(20 * time.Millisecond)
			// The bubble's time is not the kernel's, which is to see a thread that waits for a device. A wait
			// that is over before the thread could be put to sleep is none to the kernel: hence a millisecond.
			return 1, syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil)
		}}
		e := started(t, Options{Collectors: []Collector{s.spec("a", 100*time.Millisecond, "x")}})
		time.Sleep(60 * time.Second)
		// 20 ms in 1 % is every 2 s; before that, the credit of 600 ms is spent.
		if n := s.reads.Load(); n < 55 || n > 64 {
			t.Errorf("%d reads in a minute", n)
		}
		if got := testutil.ToFloat64(only(e, "fabricd_collector_period_seconds")); got < 1.5 || got > 2.5 {
			t.Errorf("period is %g s", got)
		}
		if f := finding(t, e, "a_check", "x"); f.Status != OK { // fresh in spite of the long period
			t.Error(f.Status)
		}
	})
}

func TestBudgetOfTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{read: func(string) (float64, error) { time.Sleep(20 * time.Millisecond); return 1, nil }}
		c := &config.Config{Budget: config.Budget{Device: 50, All: 100}}
		e := started(t, Options{Collectors: []Collector{s.spec("a", 100*time.Millisecond, "x")}, Config: c})
		time.Sleep(60 * time.Second)
		if n := s.reads.Load(); n < 590 {
			t.Errorf("%d reads in a minute", n)
		}
		if got, want := e.options.Budget, (Budget{0.5, 1, DefaultBudget().Judge}); got != want {
			t.Errorf("the budget is %v, want %v", got, want)
		}
	})
}

func TestOverruns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{read: func(string) (float64, error) { time.Sleep(350 * time.Millisecond); return 1, nil }}
		e := started(t, Options{Collectors: []Collector{s.spec("a", 100*time.Millisecond, "x")}, Budget: Budget{Device: 10, All: 10}})
		time.Sleep(10 * time.Second)
		// Each read of 350 ms misses three ticks; the next is at the fourth.
		if got := testutil.ToFloat64(only(e, "fabricd_collector_overruns_total")); got < 66 || got > 75 {
			t.Errorf("%g overruns in 10 s", got)
		}
		if n := s.reads.Load(); n < 24 || n > 26 {
			t.Errorf("%d reads", n)
		}
	})
}

func TestPartialReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{read: func(string) (float64, error) { return 7, errors.Join(syscall.EIO, syscall.EINVAL) }}
		e := started(t, Options{Collectors: []Collector{s.spec("a", time.Second, "x")}})
		time.Sleep(1500 * time.Millisecond)
		if n := testutil.CollectAndCount(e, "fabricd_a_value"); n != 1 {
			t.Error("the rest of the reading is not shown")
		}
		if got := testutil.ToFloat64(only(e, "fabricd_collector_up")); got != 0 {
			t.Errorf("collector_up is %g", got)
		}
		if n := testutil.CollectAndCount(e.self.errors); n != 2 {
			t.Errorf("%d reasons", n)
		}
	})
}

func TestIntervalOfTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		started(t, Options{Collectors: []Collector{s.spec("a", time.Second, "x")}, Config: &config.Config{Collectors: map[string]config.Collector{"a": {Interval: 10 * time.Second}}}})
		time.Sleep(59 * time.Second)
		if n := s.reads.Load(); n != 6 {
			t.Errorf("%d reads in 59 s at 10 s", n)
		}
	})
}

// A one-shot judgement of a slow collector still takes two readings.
func TestWindowHoldsTwoReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		started(t, Options{Collectors: []Collector{s.spec("a", time.Minute, "x")}, Window: 3 * time.Second})
		time.Sleep(2900 * time.Millisecond)
		if n := s.reads.Load(); n != 2 {
			t.Errorf("%d reads in a window of 3 s", n)
		}
	})
}
