// SPDX-License-Identifier: Apache-2.0

// Package record writes a machine down as a recording: one file that answers
// what the machine answered, still or as a film. It knows what fabricd asks,
// which files are better not touched, and the recording's format; it does not
// know what the answers mean, and it never writes to the machine. What names a
// machine or its parts is replaced by package standin.
package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/record/standin"
)

// Options say how a recording is made.
type Options struct {
	// For and Every make a film of a live machine; zero: a still picture. A
	// recording keeps the marks that it has.
	For, Every time.Duration
	// Listen is how long neighbours are listened to before the first reading of
	// a live machine.
	Listen time.Duration
	// KeepIdentities leaves names, addresses and serial numbers as they are.
	KeepIdentities bool
	Version        string // of fabricd
	// Config is the operator's configuration file, if one was named.
	Config []byte
	// Begun, if it is not nil, is called when the first reading of a film is whole.
	Begun func()
}

// minEvery is the shortest time between two readings of a film: reading a
// whole machine takes about as long.
const minEvery = 10 * time.Millisecond

// Check says what is wrong with options.
func (o Options) Check() error {
	switch {
	case o.Listen < 0 || o.Listen > maxListen:
		return fmt.Errorf("--listen %s: want a duration from 0s to %s", o.Listen, maxListen)
	case o.For == 0 && o.Every == 0:
		return nil
	case o.For <= 0 || o.Every <= 0:
		return errors.New("a film needs both --for and --every, each longer than nothing (such as --for 60s --every 10s)")
	case o.Every < minEvery:
		return fmt.Errorf("--every %s: want at least %s; a reading of the machine takes its time", o.Every, minEvery)
	case o.Every > o.For:
		return fmt.Errorf("--every %s is longer than --for %s: the film would have no second reading", o.Every, o.For)
	case o.For/o.Every > maxMarks:
		return fmt.Errorf("--for %s --every %s: more than %d readings; lengthen --every", o.For, o.Every, maxMarks)
	}
	return nil
}

// ErrInterrupted says that ctx ended before the first reading was whole.
var ErrInterrupted = errors.New("interrupted before the first reading was complete: nothing was recorded")

// A Recording is what was taken.
type Recording struct {
	Marks    int           // moments beside the first
	Last     time.Duration // the last of them
	Entries  int
	Replaced []standin.Count
	LeftOut  []string // what is cut or missing, for people

	manifest []byte
	body     archive
}

// WriteTo writes the recording's bytes.
func (r *Recording) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, "-- manifest.json --\n%s", r.manifest)
	if err != nil {
		return int64(n), err
	}
	m, err := w.Write(r.body.body.Bytes())
	return int64(n) + int64(m), err
}

// Size is the number of bytes that WriteTo writes.
func (r *Recording) Size() int {
	return len("-- manifest.json --\n") + len(r.manifest) + r.body.body.Len()
}

// Record takes a recording of a host. When ctx ends, so does a film, with a
// reading of that moment.
func Record(ctx context.Context, h *probes.Host, o Options) (*Recording, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	r := &recorder{host: h, options: o, plan: newPlan()}
	if !o.KeepIdentities {
		r.names = standin.New()
	}
	r.ears = listen(h)
	defer r.ears.close()
	if !sleep(ctx, o.Listen) {
		return nil, ErrInterrupted
	}
	r.start = time.Now()
	first, err := r.take(ctx, 0)
	if err != nil {
		return nil, ErrInterrupted
	}
	m := newManifest(h, first, o)
	extras := r.extras(0, first)
	if !h.Recorded() {
		m.Sources["lldp"] = r.ears.result(o.Listen)
		routes, result := r.routes()
		m.Sources["route"], extras = result, append(extras, routes...)
	}
	r.learn(first)
	r.mark(0, first, append(extras, r.ears.heard()...))
	if h.Recorded() {
		err = r.replay(ctx)
	} else if o.Every > 0 {
		if o.Begun != nil {
			o.Begun()
		}
		r.film(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r.finish(m)
}

// A recorder makes one recording.
type recorder struct {
	host    *probes.Host
	options Options
	plan    *plan
	start   time.Time
	names   *standin.Set // nil: identities are kept

	last    *snapshot
	archive archive
	marks   int
	at      time.Duration
	left    []string
	noted   map[string]bool
	full    bool
	ears    ears
}

func (r *recorder) take(ctx context.Context, at time.Duration) (*snapshot, error) {
	w := &walk{ctx: ctx, host: r.host, plan: r.plan, at: at, last: r.last}
	return w.take()
}

// film reads at each multiple of Every, until For or until ctx ends. Marks are
// the moments at which the readings began, by the monotonic clock.
func (r *recorder) film(ctx context.Context) {
	missed := 0
	for k := 1; time.Duration(k)*r.options.Every <= r.options.For && !r.full; k++ {
		due := time.Duration(k) * r.options.Every
		if late := time.Since(r.start) - due; late >= r.options.Every {
			missed++ // the reading before took longer than a period
			continue
		}
		if !sleep(ctx, due-time.Since(r.start)) || r.reading(ctx) != nil {
			r.lastReading()
			r.notef("interrupted: the film ends at %s of %s", markName(r.at), r.options.For)
			break
		}
	}
	if missed > 0 {
		r.notef("%d readings were left out: one took longer than --every %s", missed, r.options.Every)
	}
}

func (r *recorder) reading(ctx context.Context) error {
	at := max(time.Since(r.start).Round(time.Millisecond), r.at+time.Millisecond)
	now, err := r.take(ctx, at)
	if err == nil {
		r.mark(at, now, r.ears.heard())
	}
	return err
}

// The last reading of a film that is interrupted comes a period after the one
// before, but no later than soon, and is given up after grace.
const (
	soon  = time.Second
	grace = 10 * time.Second
)

// lastReading shows what was seen when somebody ended the film.
func (r *recorder) lastReading() {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	sleep(ctx, min(r.options.Every, soon)-(time.Since(r.start)-r.at))
	r.reading(ctx) //nolint:errcheck // then the film ends with the one before
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// replay records the other marks of a recording.
func (r *recorder) replay(ctx context.Context) error {
	for i, at := range r.host.Marks() {
		if i == 0 || r.full {
			continue
		}
		if err := r.host.Seek(i); err != nil {
			return fmt.Errorf("mark %s: %w", at, err)
		}
		now, err := r.take(ctx, at)
		if err != nil {
			r.notef("interrupted: the film ends at %s", markName(r.at))
			return nil
		}
		r.mark(at, now, r.extras(i, now))
	}
	return nil
}

// learn finds out which host names have to be replaced.
func (r *recorder) learn(first *snapshot) {
	if r.names == nil {
		return
	}
	if !r.host.Recorded() {
		if name, err := os.Hostname(); err == nil {
			r.names.Host(name)
		}
		// In a container the machine's own name is in its file.
		if b, err := r.host.ReadFile("etc/hostname"); err == nil {
			r.names.Host(strings.TrimSpace(string(b)))
		}
	}
	for name, e := range first.entries {
		if e.data != nil {
			r.names.Learn(name, e.data)
		}
	}
}

// notef notes what a reader of the recording should know is missing.
func (r *recorder) notef(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if r.names != nil {
		text = r.names.Path(text)
	}
	if r.noted == nil {
		r.noted = map[string]bool{}
	}
	if !r.noted[text] && len(r.left) < maxNotes {
		r.noted[text] = true
		r.left = append(r.left, text)
	}
}

func (r *recorder) finish(m manifest) (*Recording, error) {
	if r.names != nil {
		m.Kernel = string(r.names.File("proc/sys/kernel/osrelease", []byte(m.Kernel)))
	}
	text, err := m.write(&r.archive, r.left)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	rec := &Recording{Marks: r.marks, Last: r.at, Entries: r.archive.entries, LeftOut: slices.Clone(r.left), manifest: text, body: r.archive}
	if r.names != nil {
		rec.Replaced = r.names.Counts()
	}
	return rec, nil
}
