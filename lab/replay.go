// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

// still records the guest as it is and holds what fabricd says of the recording to what it said of the guest.
func (r *run) still(ctx context.Context, keep string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*checkPatience)
	defer cancel()
	text, err := r.guest.record(ctx)
	if err != nil {
		return err
	}
	replayed, err := r.judge(ctx, text)
	if err != nil {
		return err
	}
	if wrong := differ(r.report.Findings, replayed.Findings, false); len(wrong) > 0 {
		return mismatch(wrong)
	}
	return r.keep(ctx, keep, r.scenario.Name+"-"+r.Name, text, replayed.Findings)
}

// A daemon's judgement reaches back so far at most, that of a film over all of it.
const remembered = time.Minute

// film ends the film that was begun with the daemon, and holds what fabricd says at its end to what the daemon says. The
// daemon may not have read everything anew yet: it is asked again.
func (r *run) film(ctx context.Context, keep string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*checkPatience)
	defer cancel()
	text, err := r.guest.film(ctx)
	if err != nil {
		return err
	}
	short := time.Since(r.began) < remembered
	replayed, err := r.judge(ctx, text)
	if err != nil {
		return err
	}
	for began := time.Now(); ; {
		if r.report, err = r.guest.check(ctx, true, 0); err != nil {
			return err
		}
		wrong := differ(r.report.Findings, replayed.Findings, short)
		if len(wrong) == 0 {
			return r.keep(ctx, keep, r.scenario.Name, text, replayed.Findings)
		}
		if time.Since(began) > checkPatience {
			return mismatch(wrong)
		}
		if err := Wait(second/2)(ctx, r.guest); err != nil {
			return err
		}
	}
}

// judge has fabricd judge a recording on this machine. The recording stays until the next one.
func (r *run) judge(ctx context.Context, recording string) (*collectors.Report, error) {
	file := filepath.Join(r.dir, "host.txtar")
	if err := os.WriteFile(file, []byte(recording), 0o644); err != nil {
		return nil, err
	}
	text, err := exec.CommandContext(ctx, r.program, "check", "--host", file, "--format", "json").Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() <= 3) {
		return nil, err
	}
	return parseReport(text)
}
