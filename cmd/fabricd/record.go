// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes/record"
)

// recordFlags are those of the record command.
type recordFlags struct {
	output            string
	length, every     time.Duration
	lengthIs, everyIs bool // given
	keep, force       bool
	listen            time.Duration
}

func (a *app) recordCommand() {
	var f recordFlags
	c := a.command("record", "Write this machine down as a recording, still or as a film, for --host and for bug reports. Names, addresses and serial numbers are replaced by stand-ins.", func() error { return a.record(&f) })
	c.Flag("output", "File to write; - for standard output.").Short('o').Required().PlaceHolder("FILE").StringVar(&f.output)
	c.Flag("for", "Make a film of this length.").PlaceHolder("60s").IsSetByUser(&f.lengthIs).DurationVar(&f.length)
	c.Flag("every", "Time between two readings of a film.").PlaceHolder("10s").IsSetByUser(&f.everyIs).DurationVar(&f.every)
	c.Flag("listen", "Listen for LLDP neighbours for so long before the first reading; most send every 30s.").PlaceHolder("35s").DurationVar(&f.listen)
	c.Flag("keep-identities", "Keep host names, addresses, GUIDs and serial numbers as they are.").BoolVar(&f.keep)
	c.Flag("force", "Overwrite an existing file.").BoolVar(&f.force)
}

func (a *app) record(f *recordFlags) error {
	start := time.Now()
	o, err := a.recordOptions(f)
	if err != nil {
		return err
	}
	if f.output == "" { // what kingpin makes of a lone -
		f.output = "-"
	}
	h, c, err := a.open()
	if err != nil {
		return err
	}
	if o.Config != nil && c.Plan.CablingFile != "" {
		if o.Config, err = config.Inline(o.Config, c.Plan.Cabling); err != nil {
			return exitError{exitUsage, fmt.Errorf("--config.file: %w", err)}
		}
	}
	if f.output != "-" {
		if err := record.CheckTarget(f.output, f.force); err != nil {
			return exitError{exitUsage, fmt.Errorf("--output: %w", err)}
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program: a stuck driver may hold it
	awaitGPUs(ctx, h, a.enabled(c))
	o.Begun = func() { fmt.Fprintf(a.stderr, "filming for %s; an interrupt ends the film sooner\n", f.length) }
	r, err := record.Record(ctx, h, o)
	switch {
	case errors.Is(err, record.ErrInterrupted):
		return exitError{exitUnknown, err}
	case err != nil:
		return exitError{exitUsage, fmt.Errorf("recording: %w", err)}
	}
	if f.output == "-" {
		_, err = r.WriteTo(a.stdout)
	} else {
		err = record.WriteFile(f.output, f.force, r)
	}
	if err != nil {
		return err
	}
	a.recordSummary(f, r, time.Since(start))
	return nil
}

// recordOptions checks the flags before the machine is opened.
func (a *app) recordOptions(f *recordFlags) (record.Options, error) {
	o := record.Options{For: f.length, Every: f.every, Listen: f.listen, KeepIdentities: f.keep, Version: version}
	switch {
	case f.listen > 0 && a.host.recording != "":
		return o, usage("--listen is for a live machine: a recording holds the frames that were heard")
	case (f.lengthIs || f.everyIs) && a.host.recording != "":
		return o, usage("--for and --every are for a live machine: a recording is recorded again at its own marks")
	case f.lengthIs != f.everyIs, f.lengthIs && f.length <= 0, f.everyIs && f.every <= 0:
		return o, usage("a film needs both --for and --every, each longer than nothing (such as --for 60s --every 10s)")
	}
	if err := o.Check(); err != nil {
		return o, exitError{exitUsage, err}
	}
	if a.host.configFile != "" {
		b, err := os.ReadFile(a.host.configFile)
		if err != nil {
			return o, exitError{exitUsage, fmt.Errorf("--config.file: %w", err)}
		}
		o.Config = b
	}
	return o, nil
}

// recordSummary says what was written and what was replaced; never a value.
func (a *app) recordSummary(f *recordFlags, r *record.Recording, took time.Duration) {
	film := ""
	if r.Marks > 0 {
		film = fmt.Sprintf(", %d readings over %s", r.Marks+1, r.Last)
	}
	target := f.output
	if target == "-" {
		target = "standard output"
	}
	fmt.Fprintf(a.stderr, "%s: %d entries, %s%s, in %s\n", target, r.Entries, size(r.Size()), film, took.Round(time.Millisecond))
	switch {
	case f.keep:
		fmt.Fprintln(a.stderr, "identities are kept: the file holds names, addresses and serial numbers as they are")
	case len(r.Replaced) == 0:
		fmt.Fprintln(a.stderr, "there was no name, address or serial number to replace")
	default:
		counts := make([]string, len(r.Replaced))
		for i, c := range r.Replaced {
			counts[i] = c.String()
		}
		fmt.Fprintf(a.stderr, "replaced by stand-ins: %s\n", strings.Join(counts, ", "))
	}
	const most = 10
	for i, text := range r.LeftOut {
		if i == most {
			fmt.Fprintf(a.stderr, "and %d more: see left_out in the manifest\n", len(r.LeftOut)-most)
			break
		}
		fmt.Fprintf(a.stderr, "not whole: %s\n", text)
	}
}

// size writes a number of bytes for a person.
func size(n int) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
