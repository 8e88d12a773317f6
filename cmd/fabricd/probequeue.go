// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/fabricd/fabricd/cmd/internal/queueview"
	"github.com/fabricd/fabricd/cmd/internal/topoview"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/queue"
	"golang.org/x/term"
)

// queueFlags are those of probe queue.
type queueFlags struct {
	netdevs       []string
	every, length time.Duration
	format        string
}

func (a *app) probeQueueCommand(parent *kingpin.CmdClause) {
	var f queueFlags
	a.actions["probe queue"] = func() error { return a.probeQueue(&f) }
	c := parent.Command("queue", "Watch transmit queues: how many bytes are in flight, and above them, many times a second. It only reads. In a terminal the picture is drawn in place; a summary follows. Exit status 1: an interface went away meanwhile; 3: there is none to watch, or no queue could be read.")
	c.Flag("netdev", "Interface to watch, of whatever kind (repeatable); by default all that belong to hardware.").PlaceHolder("NAME").StringsVar(&f.netdevs)
	durationVar(c.Flag("interval", "Time between two looks, from 1ms to 1s.").PlaceHolder("1ms"), "--interval", &f.every, fastest, fastest, slowest)
	durationVar(c.Flag("for", "How long to watch; by default until it is interrupted.").PlaceHolder("DURATION"), "--for", &f.length, 0, fastest, 30*24*time.Hour)
	enumVar(c.Flag("format", "text, or csv with every sample."), "--format", &f.format, "text", "csv")
}

// redraw is the time between two pictures.
const redraw = 200 * time.Millisecond

func (a *app) probeQueue(f *queueFlags) error {
	h, _, err := a.open()
	if err != nil {
		return err
	}
	if err := checkNetdevs(h, f.netdevs); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := &queueWatch{unread: map[string]bool{}}
	o := queue.Options{Every: f.every, Netdevs: f.netdevs, Gone: func(name string) { w.gone = append(w.gone, name) }}
	watch := func(take func(*queue.Sweep) error) error {
		err := queue.Watch(ctx, h, o, func(s *queue.Sweep) error {
			w.note(s)
			if err := take(s); err != nil {
				return err
			}
			if f.length > 0 && s.At >= f.length && !h.Recorded() {
				return errEnough
			}
			return nil
		})
		if err == nil || errors.Is(err, errEnough) {
			return nil
		}
		return fmt.Errorf("watching queues: %w", err)
	}
	if f.format == "csv" {
		c := queueview.NewCSV(a.stdout)
		err = errors.Join(watch(c.Add), c.Flush())
		for _, text := range slices.Sorted(maps.Keys(w.unread)) {
			fmt.Fprintln(a.stderr, "fabricd: could not be read: "+text)
		}
	} else {
		err = a.watchQueues(h, watch)
	}
	if err != nil {
		return err
	}
	return w.verdict()
}

// A queueWatch is what the exit status of probe queue depends on.
type queueWatch struct {
	gone   []string
	seen   bool            // some queue
	unread map[string]bool // what could not be read, and why; maxUnreadQueues at most
}

const maxUnreadQueues = 64

func (w *queueWatch) note(s *queue.Sweep) {
	w.seen = w.seen || len(s.Queues) > 0
	if !s.Asked {
		return
	}
	for _, err := range s.Unread {
		if len(w.unread) < maxUnreadQueues {
			w.unread[probes.Printable(err.Error())] = true
		}
	}
}

func (w *queueWatch) verdict() error {
	slices.Sort(w.gone)
	switch {
	case len(w.gone) > 0:
		return exitError{exitWarn, fmt.Errorf("went away, or got another name, while it was watched: %s", strings.Join(slices.Compact(w.gone), ", "))}
	case !w.seen && len(w.unread) > 0:
		return exitError{exitUnknown, errors.New("no queue could be read")}
	case !w.seen:
		return exitError{exitUnknown, errors.New("no queue tells what it holds: there are no byte queue limits")}
	}
	return nil
}

// errEnough ends watching.
var errEnough = errors.New("enough was seen")

func checkNetdevs(h *probes.Host, names []string) error {
	all, err := h.Interfaces()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(i probes.Interface) bool { return i.Name == name }) {
			return usage("--netdev %s: there is no interface of this name, or it is excluded", probes.Printable(name))
		}
	}
	if len(names) == 0 && !slices.ContainsFunc(all, func(i probes.Interface) bool { return i.Hardware }) {
		return exitError{exitUnknown, errors.New("no network interface belongs to hardware; --netdev names another")}
	}
	return nil
}

// watchQueues shows the queues until watch ends, and then the summary.
func (a *app) watchQueues(h *probes.Host, watch func(func(*queue.Sweep) error) error) error {
	look := queueview.Look{Unicode: topoview.SpeaksUTF8(os.Getenv), Width: columns(a.stdout)}
	terminal := look.Width > 0 && !h.Recorded()
	if file, ok := a.stdout.(*os.File); ok && terminal {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil {
			look.Width, look.Height = width, height
		}
	}
	v, every := queueview.New(look), time.Second
	show := v.Lines
	if terminal {
		show, every = v.Draw, redraw
	}
	next := every
	err := watch(func(s *queue.Sweep) error {
		v.Add(s)
		if s.At < next && !h.Recorded() {
			return nil
		}
		next = s.At - s.At%every + every
		return show(a.stdout)
	})
	if err != nil {
		return err
	}
	return v.Summary(a.stdout)
}
