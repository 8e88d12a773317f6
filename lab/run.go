// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

// A mismatch is fabricd saying other than it should.
type mismatch []string

func (m mismatch) Error() string { return "\n" + strings.Join(m, "\n") }

// Run runs a scenario, once more if it fails: an emulated machine on a busy one may be too slow in any of its steps; what is
// wrong is so twice. Without retry there is one run. Recordings of the steps go into the folder keep, unless it is
// empty. An error names the folder in which the guest's console is left.
func (b *Bench) Run(ctx context.Context, s *Scenario, retry bool, keep string, log Log) error {
	err := b.attempt(ctx, s, keep, log)
	if err == nil || !retry || ctx.Err() != nil {
		return err
	}
	b.again.Add(1)
	log("%s: once more, after: %v", s.Name, err)
	return b.attempt(ctx, s, keep, log)
}

func (b *Bench) attempt(ctx context.Context, s *Scenario, keep string, log Log) (err error) {
	dir, err := os.MkdirTemp("", "lab-"+s.Name+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			os.RemoveAll(dir)
		} else {
			err = fmt.Errorf("%w\nthe console and what fabricd said: %s", err, dir)
		}
	}()
	began := time.Now()
	g, err := b.start(ctx, s, dir, false)
	if err != nil {
		return err
	}
	defer func() {
		g.machine.Stop()
		log("%s: %.0f s, %.0f s of processor time", s.Name, time.Since(began).Seconds(), g.machine.Burnt().Seconds())
	}()
	log("%s: up after %.1f s", s.Name, time.Since(began).Seconds())
	r := run{Bench: b, log: log, guest: g, scenario: s, dir: dir, began: began, window: cmp.Or(s.Window, firstWindow)}
	for i := range s.Steps {
		r.Step = &s.Steps[i]
		if err := r.step(ctx); err != nil {
			return fmt.Errorf("step %s: %w", r.Name, err)
		}
		if err := r.recorded(ctx, keep, s.Steps[i+1:]); err != nil {
			return fmt.Errorf("step %s, recorded: %w", r.Name, err)
		}
	}
	return nil
}

// recorded makes the recording that is due after a step: a still picture, or a daemon's film after the last one that can be.
func (r *run) recorded(ctx context.Context, keep string, toCome []Step) error {
	filmEnds := len(toCome) == 0 || toCome[0].Unreplayed != ""
	switch {
	case r.scenario.Daemon && !filmEnds && keep != "":
		return filmed()(ctx, r.guest) // a film that is kept shows each step
	case r.Unreplayed != "" || r.scenario.Daemon && !filmEnds:
		return nil
	case r.scenario.Daemon:
		return r.film(ctx, keep)
	}
	return r.still(ctx, keep)
}

// How long fabricd may take to say what it has to: long, for only what is wrong waits for it. A check's
// window can be too short for a first reading, and daemons read some things every thirty seconds.
const (
	firstWindow    = time.Second
	checkPatience  = 60 * time.Second
	daemonPatience = 2 * time.Minute
)

// A run is one step while it runs.
type run struct {
	*Bench
	log      Log
	guest    *Guest
	scenario *Scenario
	*Step
	dir    string
	began  time.Time
	window time.Duration      // that was long enough so far
	report *collectors.Report // what fabricd said last
}

// step does what happens and waits for fabricd to say what it has to.
func (r *run) step(ctx context.Context) error {
	patience := checkPatience
	if r.scenario.Daemon {
		patience = daemonPatience
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	began := time.Now()
	for _, do := range r.Do {
		if err := do(ctx, r.guest); err != nil {
			return err
		}
	}
	for ; ; r.window *= 2 {
		wrong, err := r.look(ctx, r.window)
		if err != nil {
			return err
		}
		if len(wrong) == 0 {
			r.log("%s: %s: as wanted after %.1f s", r.scenario.Name, r.Name, time.Since(began).Seconds())
			return nil
		}
		if time.Since(began) > patience {
			return mismatch(wrong)
		}
		if err := Wait(second/2)(ctx, r.guest); err != nil {
			return err
		}
	}
}

// look asks fabricd once and lists what is wrong.
func (r *run) look(ctx context.Context, window time.Duration) ([]string, error) {
	var err error
	if r.report, err = r.guest.check(ctx, r.scenario.Daemon, window); err != nil {
		return nil, err
	}
	wrong := append(compare(r.Want, r.report.Findings), unread(r.report.Findings)...)
	if len(r.Metrics) == 0 {
		return wrong, nil
	}
	text, err := r.guest.metrics(ctx)
	for _, beginning := range r.Metrics {
		if !strings.Contains("\n"+text, "\n"+beginning) {
			wrong = append(wrong, "metrics: no line begins with "+beginning)
		}
	}
	return wrong, err
}
