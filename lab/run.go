// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

// A mismatch is fabricd saying other than it should: the one kind of failure that is not tried again.
type mismatch struct{ step, text string }

func (m *mismatch) Error() string { return "step " + m.step + ":\n" + m.text }

// Run runs a scenario, once more if the machine fails. Recordings of the steps go into the folder keep, unless it is
// empty. An error names the folder in which the guest's console is left.
func (b *Bench) Run(ctx context.Context, s *Scenario, keep string, log Log) error {
	err := b.attempt(ctx, s, keep, log)
	var wrong *mismatch
	if err == nil || errors.As(err, &wrong) || ctx.Err() != nil {
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
	defer g.machine.Stop()
	log("%s: up after %.1f s", s.Name, time.Since(began).Seconds())
	for i := range s.Steps {
		r := run{Bench: b, log: log, guest: g, scenario: s, Step: &s.Steps[i], dir: dir}
		if err := r.step(ctx); err != nil {
			return err
		}
		if s.Daemon && i < len(s.Steps)-1 || s.Steps[i].Unreplayed != "" {
			continue
		}
		if err := r.replay(ctx, keep); err != nil {
			return err
		}
	}
	return nil
}

// How long fabricd may take to say what it has to, on a machine that is not slow. A check's window can be too short for a
// first reading, and daemons read some things every thirty seconds.
const (
	firstWindow    = time.Second
	checkPatience  = 20 * time.Second
	daemonPatience = 45 * time.Second
)

// A run is one step while it runs.
type run struct {
	*Bench
	log      Log
	guest    *Guest
	scenario *Scenario
	*Step
	dir    string
	report *collectors.Report // what fabricd said last
}

// step does what happens and waits for fabricd to say what it has to.
func (r *run) step(ctx context.Context) error {
	patience := r.guest.patience(checkPatience)
	if r.scenario.Daemon {
		patience = r.guest.patience(daemonPatience)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	began := time.Now()
	for _, do := range r.Do {
		if err := do(ctx, r.guest); err != nil {
			return fmt.Errorf("step %s: %w", r.Name, err)
		}
	}
	for window := firstWindow; ; window *= 2 {
		wrong, err := r.look(ctx, window)
		if err != nil {
			return fmt.Errorf("step %s: %w", r.Name, err)
		}
		if len(wrong) == 0 {
			r.log("%s: %s: as wanted after %.1f s", r.scenario.Name, r.Name, time.Since(began).Seconds())
			return nil
		}
		if time.Since(began) > patience {
			return &mismatch{r.Name, strings.Join(wrong, "\n")}
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

// replay records the guest and holds what fabricd says of the recording to what it says of the guest. A daemon may not have
// read everything anew yet: it is asked again.
func (r *run) replay(ctx context.Context, keep string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*r.guest.patience(checkPatience))
	defer cancel()
	for began := time.Now(); ; {
		recording, wrong, err := r.replayOnce(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("step %s: recording: %w", r.Name, err)
		case len(wrong) == 0 && keep == "":
			return nil
		case len(wrong) == 0:
			return r.keep(keep, recording)
		case !r.scenario.Daemon || time.Since(began) > r.guest.patience(checkPatience):
			return &mismatch{r.Name + ", replayed", strings.Join(wrong, "\n")}
		}
		if r.report, err = r.guest.check(ctx, true, 0); err != nil {
			return err
		}
	}
}

// replayOnce makes a recording and lists what fabricd says of it otherwise.
func (r *run) replayOnce(ctx context.Context) (recording string, wrong []string, err error) {
	if recording, err = r.guest.record(ctx); err != nil {
		return "", nil, err
	}
	file := filepath.Join(r.dir, "host.txtar")
	if err := os.WriteFile(file, []byte(recording), 0o644); err != nil {
		return "", nil, err
	}
	replayed, err := r.judge(ctx, file)
	if err != nil {
		return "", nil, err
	}
	return recording, differ(r.report.Findings, replayed.Findings, r.scenario.Daemon), nil
}

// judge has fabricd judge a recording on this machine.
func (b *Bench) judge(ctx context.Context, file string) (*collectors.Report, error) {
	text, err := exec.CommandContext(ctx, b.program, "check", "--host", file, "--format", "json").Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() <= 3) {
		return nil, err
	}
	return parseReport(text)
}
