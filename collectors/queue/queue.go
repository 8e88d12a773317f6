// SPDX-License-Identifier: Apache-2.0

// Package queue knows what the depths of transmit queues mean: whether a queue
// is stuck, or full, or in bursts. It sees the kernel's own path: RDMA traffic
// never enters these queues.
package queue

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/queue"
)

// Defaults of sampling.
const (
	every = 10 * time.Millisecond
	// A burst is more than what one send hands over at most, and more than the
	// link sends in a time that its peers notice.
	burst     = 64 << 10
	burstTime = 100 * time.Microsecond
)

// A Reading is what was sampled until now, and what is counted more slowly.
type Reading struct {
	*queue.Snapshot
	Netdevs []Netdev
	Softnet *Softnet // nil: not told
}

// A Netdev is one interface.
type Netdev struct {
	*queue.Netdev
	Carrier probes.Value[bool]
	Traffic Traffic
	// Timeouts are those of the transmit watchdog, by queue.
	Timeouts []Timeouts
	Stalls   map[int]*Stalls // of active queues where they are counted
	Qdiscs   *Qdiscs         // nil: not told
}

// Traffic is what an interface transmits.
type Traffic struct {
	Packets probes.Value[uint64] // ever
	Span    time.Duration        // of the following; 0: there is one reading only
	Rate    float64              // packets a second
	Frame   float64              // mean bytes of a packet; 0: not known
	Still   time.Duration        // for how long not one more
}

// Timeouts are a queue's.
type Timeouts struct {
	Count probes.Value[uint64]
	Grown uint64        // in the present episode: one that has not ended for a minute
	Since time.Duration // how long ago the first of these was seen
	Last  time.Duration // and the newest
}

// New makes the collector.
func New() collectors.Collector { return collectors.New(newSpec()) }

func newSpec() collectors.Spec[Reading] {
	return collectors.Spec[Reading]{
		Name:    "queue",
		Help:    "Transmit queues of network interfaces: bytes in flight, sampled many times a second.",
		Every:   time.Second,
		Floor:   100 * time.Millisecond,
		Samples: every,
		Open: func(_ context.Context, h *probes.Host, _ string) (collectors.Reader[Reading], error) {
			return newReader(h), nil
		},
		Tables: []collectors.Table[Reading]{
			collectors.Derive(rows, columns()),
			collectors.Rows(countedQueues, countedColumns()),
			collectors.Rows(func(r *Reading) []Netdev { return r.Netdevs }, netdevColumns()),
			collectors.Rows(func(r *Reading) []Reading { return []Reading{*r} }, samplerColumns()),
		},
	}
}

// reader owns the sampler, which works between its reads.
type reader struct {
	h       *probes.Host
	options queue.Options
	sampler *queue.Sampler
	slow    map[string]*slow // by path
	asker   *asker           // of a live host
	softnet softnet
}

func newReader(h *probes.Host) *reader {
	return &reader{h: h, options: queue.Options{Every: every, Burst: burst, BurstTime: burstTime}, slow: map[string]*slow{}}
}

// Sample sets the time between two samples.
func (r *reader) Sample(every time.Duration) { r.options.Every = every }

func (r *reader) Close() {
	if r.sampler != nil {
		r.sampler.Close()
	}
	if r.asker != nil {
		close(r.asker.stop)
	}
	for _, s := range r.slow {
		s.close()
	}
}

// Read shows what the sampler has seen; in a recording it takes a sample.
func (r *reader) Read(at time.Duration) (*Reading, error) {
	snapshot, err := r.look(at)
	if err != nil {
		return nil, err
	}
	reading := &Reading{Snapshot: snapshot, Netdevs: make([]Netdev, 0, len(snapshot.Netdevs))}
	seen := make(map[string]bool, len(snapshot.Netdevs))
	for i := range snapshot.Netdevs {
		n := &snapshot.Netdevs[i]
		s := r.slow[n.Path]
		if s == nil || len(s.timeouts) != n.Queues || r.h.Recorded() {
			s = r.open(n, s)
			r.slow[n.Path] = s
		}
		seen[n.Path] = true
		reading.Netdevs = append(reading.Netdevs, s.read(n, at))
	}
	for path, s := range r.slow {
		if !seen[path] {
			s.close()
			delete(r.slow, path)
		}
	}
	return reading, errors.Join(snapshot.Err, r.count(reading))
}

// count adds what is counted beside the queues.
func (r *reader) count(reading *Reading) error {
	d, err := &disciplines{}, error(nil)
	if r.asker != nil {
		d = r.asker.get()
	} else if d, err = ask(r.h); err != nil {
		return err
	}
	for i := range reading.Netdevs {
		reading.Netdevs[i].Qdiscs = d.byNetdev[reading.Netdevs[i].Name]
	}
	reading.Softnet, err = r.softnet.read(r.h)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (r *reader) look(at time.Duration) (*queue.Snapshot, error) {
	if r.sampler == nil {
		s, err := queue.Open(r.h, r.options)
		if err != nil {
			return nil, err
		}
		r.sampler = s
		if !r.h.Recorded() {
			r.asker = startAsker(r.h)
		}
	}
	if r.h.Recorded() {
		return r.sampler.Look(at)
	}
	err := r.sampler.Refresh()
	return r.sampler.Snapshot(), err
}
