// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// checkFlags are those of the check command.
type checkFlags struct {
	format, from string
	only, skip   []string
	window       time.Duration
	strict, all  bool
}

func (a *app) checkCommand() {
	var f checkFlags
	c := a.command("check", "Take readings for a while, judge them and print findings, worst first. Exit status: 0 nothing to warn of, 1 warn, 2 fail, 3 nothing could be judged.", func() error { return a.check(&f) })
	enumVar(c.Flag("format", "text or json."), "--format", &f.format, "text", "json")
	c.Flag("only", "Judge only the checks that match (globs, commas; repeatable).").PlaceHolder("GLOB").StringsVar(&f.only)
	c.Flag("skip", "Leave out the checks that match.").PlaceHolder("GLOB").StringsVar(&f.skip)
	c.Flag("from", "Ask a running daemon instead (its address, such as http://localhost:9794).").PlaceHolder("URL").StringVar(&f.from)
	durationVar(c.Flag("window", "How long to take readings (3s)."), "--window", &f.window, 3*time.Second, 100*time.Millisecond, 24*time.Hour)
	c.Flag("strict", "Exit with 3 also if something could not be judged.").BoolVar(&f.strict)
	c.Flag("all", "In text, print every finding: also ok, and each that could not be judged.").BoolVar(&f.all)
}

func (a *app) check(f *checkFlags) error {
	var err error
	if f.only, err = checkGlobs("--only", f.only); err != nil {
		return err
	}
	if f.skip, err = checkGlobs("--skip", f.skip); err != nil {
		return err
	}
	report, err := a.report(f)
	if err != nil {
		return err
	}
	return a.printReport(report, f.format, f.all, f.strict)
}

// printReport prints findings; the error is the exit code.
func (a *app) printReport(report *collectors.Report, format string, all, strict bool) error {
	if format == "json" {
		e := json.NewEncoder(a.stdout)
		e.SetEscapeHTML(false)
		if err := e.Encode(report); err != nil {
			return err
		}
	} else if err := writeReport(a.stdout, report, all, colour(a.stdout)); err != nil {
		return err
	}
	if code := exitCode(report, strict); code != exitOK {
		return exitError{code: code}
	}
	return nil
}

// checkGlobs splits lists at commas and refuses globs that match no check.
func checkGlobs(flag string, list []string) ([]string, error) {
	var globs []string
	for _, item := range list {
		for glob := range strings.SplitSeq(item, ",") {
			matches := false
			for name := range known().Thresholds {
				ok, err := path.Match(glob, name)
				if err != nil {
					return nil, usage("%s %s: %w", flag, glob, err)
				}
				matches = matches || ok
			}
			if !matches {
				return nil, usage("%s %s: no check has this name (fabricd manual checks lists them)", flag, glob)
			}
			globs = append(globs, glob)
		}
	}
	return globs, nil
}

func (a *app) report(f *checkFlags) (*collectors.Report, error) {
	if f.from != "" {
		if a.host.recording != "" {
			return nil, usage("--from asks a daemon, --host a recording: say one of them")
		}
		return askDaemon(f)
	}
	h, c, err := a.open()
	if err != nil {
		return nil, err
	}
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: a.enabled(c), Config: c, Only: f.only, Skip: f.skip, Window: f.window})
	if err := observe(e, h, a.enabled(c), f.window); err != nil {
		return nil, err
	}
	return e.Report(hostName(h), e.State()), nil
}

// startPatience is how long the first readings may take before a command gives
// up: a driver that does not return must not hold up a job's prolog.
const startPatience = 20 * time.Second

// observe runs an engine over a recording, or on the machine for a while that
// begins with the first readings.
func observe(e *collectors.Engine, h *probes.Host, list []collectors.Collector, window time.Duration) error {
	return observeUntil(e, h, list, window, func() bool { return false })
}

// observeUntil ends before the window is over where there is enough.
func observeUntil(e *collectors.Engine, h *probes.Host, list []collectors.Collector, window time.Duration, enough func() bool) error {
	if h.Recorded() {
		if err := e.Play(); err != nil {
			return exitError{exitUsage, fmt.Errorf("recording: %w", err)}
		}
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	awaitGPUs(ctx, h, list)
	running, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { e.Run(running); close(done) }()
	defer func() { cancel(); <-done }()
	select {
	case <-e.Ready():
	case <-ctx.Done():
		return exitError{exitUnknown, errors.New("interrupted before the first readings")}
	case <-time.After(startPatience):
		return exitError{exitUnknown, fmt.Errorf("no readings after %s: %s", startPatience, hanging(h))}
	}
	for end := time.After(window); !enough(); {
		select {
		case <-ctx.Done():
			return nil
		case <-end:
			return nil
		case <-time.After(min(window, lookAgain)):
		}
	}
	return nil
}

// lookAgain is how often is asked whether there is enough.
const lookAgain = 200 * time.Millisecond

// hanging says what holds up the first readings.
func hanging(h *probes.Host) string {
	if at := h.Looking(); at != "" {
		return "the kernel does not answer about /" + at + " (its driver hangs; look for hung tasks in dmesg)"
	}
	return "the machine answers too slowly"
}

// maxReport bounds what is taken from a daemon.
const maxReport = 64 << 20

// askDaemon gets the findings of a running daemon.
func askDaemon(f *checkFlags) (*collectors.Report, error) {
	u, err := url.Parse(f.from)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usage("--from %s: not an address such as http://localhost:9794", f.from)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/api/v1/findings"
	}
	client := &http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(u.String())
	if err != nil {
		return nil, exitError{exitUnknown, fmt.Errorf("--from: %w", err)}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxReport))
	if err != nil {
		return nil, exitError{exitUnknown, fmt.Errorf("--from: %w", err)}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, exitError{exitUnknown, fmt.Errorf("--from: %s answers %s: %s", u, resp.Status, firstLine(b))}
	}
	report := &collectors.Report{}
	if err := json.Unmarshal(b, report); err != nil {
		return nil, exitError{exitUnknown, fmt.Errorf("--from: %s does not answer as fabricd does: %w", u, err)}
	}
	kept := report.Findings[:0]
	for _, x := range report.Findings {
		if matchesAny(f.only, x.Check, true) && !matchesAny(f.skip, x.Check, false) {
			kept = append(kept, x)
		}
	}
	report.Findings, report.Status = kept, collectors.Worst(kept)
	return report, nil
}

func matchesAny(globs []string, name string, none bool) bool {
	if len(globs) == 0 {
		return none
	}
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}

// exitCode gives a report's exit status.
func exitCode(r *collectors.Report, strict bool) int {
	unknown := false
	for _, f := range r.Findings {
		unknown = unknown || f.Status == collectors.Unknown
	}
	switch {
	case r.Status == collectors.Fail:
		return exitFail
	case r.Status == collectors.Warn:
		return exitWarn
	case r.Status == collectors.Unknown, strict && unknown:
		return exitUnknown
	}
	return exitOK
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	if len(line) > 200 {
		line = line[:200]
	}
	return string(line)
}

func trimmed(b []byte) string { return probes.Printable(strings.TrimSpace(string(b))) }
