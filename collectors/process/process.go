// SPDX-License-Identifier: Apache-2.0

// Package process knows where the processes that use GPUs should run and have
// their memory: on the GPU's NUMA node. Which processes those are the GPU's
// driver tells; what they do it does not know.
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/process"
)

// A Reading is the processes that use GPUs.
type Reading struct {
	Processes []Process
	// Trouble is why it is not known which they are.
	Trouble string
	// Untold lists the GPUs, by address, of which no processes are told.
	Untold []string
	// Left counts the processes of GPUs, by address, that were not looked at.
	Left map[string]Left
	// Foreign says that /proc is of another PID namespace than their numbers.
	Foreign bool
}

// Left is processes that were not looked at: beyond maxRead, or because the
// driver gives a number that is none.
type Left struct{ Beyond, Odd int }

// A Process uses GPUs.
type Process struct {
	PID    int
	Name   string
	GPUs   []string // by address
	Status process.Status
	Err    error // why the status is not known
	// Pages is nil where they are not counted; Why says why.
	Pages process.Pages
	Why   string
}

// New makes the collector.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[Reading]{
		Name:  "process",
		Help:  "Processes that use GPUs: on which processors they may run, and on which NUMA nodes their memory lies.",
		Every: 10 * time.Second,
		Floor: time.Second,
		Open: func(ctx context.Context, h *probes.Host, _ string) (collectors.Reader[Reading], error) {
			h.AwaitGPUs(ctx)
			if _, err := h.GPUs(); errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			return &reader{h: h, known: map[int]*known{}}, nil
		},
		Tables: []collectors.Table[Reading]{
			collectors.Derive(gpuRows, gpuColumns()),
			collectors.Derive(rows, columns()),
		},
	})
}

// Counting a process' pages holds up the process: it is done when the process
// is new, when what it may use changed, and once more when it has settled.
const (
	settled    = time.Minute
	pageBudget = 500 * time.Millisecond // of one reading; the others' turn comes with the next
	maxCounted = 256 << 30              // larger ones are not counted
	maxRead    = 256                    // processes
)

// A reader keeps what it counted.
type reader struct {
	h     *probes.Host
	known map[int]*known
}

type known struct {
	key     string // what the process is and may use
	born    time.Duration
	counted time.Duration // when its pages were; -1: never
	pages   process.Pages
	why     string
}

func (r *reader) Close() {}

func (r *reader) Read(at time.Duration) (*Reading, error) {
	s, err := r.h.GPUs()
	if err != nil {
		return &Reading{Trouble: err.Error()}, nil // the collector gpu counts and reports it
	}
	now := &Reading{Foreign: process.Foreign(r.h)}
	now.list(s)
	if now.Foreign {
		return now, nil
	}
	alive := make(map[int]*known, len(now.Processes))
	deadline := time.Now().Add(pageBudget)
	for i := range now.Processes {
		p := &now.Processes[i]
		p.Name = process.Name(r.h, p.PID)
		if p.Status, p.Err = process.ReadStatus(r.h, p.PID); p.Err != nil {
			continue
		}
		k := r.known[p.PID]
		if key := p.key(); k == nil || k.key != key {
			k = &known{key: key, born: at, counted: -1}
		}
		alive[p.PID] = k
		if r.due(k, at) && (r.h.Recorded() || time.Now().Before(deadline)) {
			k.count(r.h, p, at)
		}
		p.Pages, p.Why = k.pages, k.why
		if k.counted < 0 {
			p.Why = "its memory was not looked at yet"
		}
	}
	r.known = alive
	return now, nil
}

// list gathers the processes of all GPUs.
func (r *Reading) list(s *gpu.Snapshot) {
	place := map[int]int{}
	for i := range s.Devices {
		d := &s.Devices[i]
		if d.Processes == nil && !d.Gone() {
			r.Untold = append(r.Untold, d.Address)
		}
		beyond, odd := map[int]bool{}, 0
		for _, p := range d.Processes {
			at, ok := place[p.PID]
			switch {
			case p.PID <= 0:
				odd++
			case ok && !slices.Contains(r.Processes[at].GPUs, d.Address):
				r.Processes[at].GPUs = append(r.Processes[at].GPUs, d.Address)
			case !ok && len(r.Processes) < maxRead:
				place[p.PID] = len(r.Processes)
				r.Processes = append(r.Processes, Process{PID: p.PID, GPUs: []string{d.Address}})
			case !ok:
				beyond[p.PID] = true
			}
		}
		if len(beyond)+odd > 0 {
			if r.Left == nil {
				r.Left = map[string]Left{}
			}
			r.Left[d.Address] = Left{len(beyond), odd}
		}
	}
}

// String says how many were not looked at and why.
func (l Left) String() string {
	var list []string
	if l.Beyond > 0 {
		list = append(list, fmt.Sprintf("not looked at: %d more, beyond the machine's first %d processes on GPUs", l.Beyond, maxRead))
	}
	if l.Odd > 0 {
		list = append(list, fmt.Sprintf("not looked at: %d more without a number, perhaps of another PID namespace (hostPID)", l.Odd))
	}
	return strings.Join(list, "; ")
}

// key is what a process is and may use: when it changes its memory is looked
// at anew.
func (p *Process) key() string {
	return strings.Join(append([]string{p.Name, p.Status.CPUs, p.Status.Mems}, p.GPUs...), "\x00")
}

// due says whether a process' pages are to be counted. In a recording it costs
// nobody anything.
func (r *reader) due(k *known, at time.Duration) bool {
	return r.h.Recorded() || k.counted < 0 || k.counted-k.born < settled && at-k.born >= settled
}

func (k *known) count(h *probes.Host, p *Process, at time.Duration) {
	k.counted, k.pages, k.why = at, nil, ""
	if p.Status.Resident > maxCounted {
		k.why = "it has so much memory that counting would hold it up"
		return
	}
	pages, err := process.ReadPages(h, p.PID)
	switch {
	case errors.Is(err, fs.ErrPermission):
		k.why = "numa_maps: " + probes.Reason(err) + " (needs CAP_SYS_PTRACE)"
	case err != nil:
		k.why = "numa_maps: " + probes.Reason(err)
	default:
		k.pages = pages
	}
}
