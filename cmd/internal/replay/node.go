// SPDX-License-Identifier: Apache-2.0

// Package replay serves recordings as if they were nodes on which the daemon
// runs. It knows when a film begins anew and what its counters do then, and
// under which paths many nodes are served; what is read and judged, and how a
// node's pages look, it leaves to the others.
package replay

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/fabricd/fabricd/cmd/internal/web"
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Node is a recording that is played in real time. A film that is over
// begins anew, as if the daemon had been restarted, but its counters go on
// from where they were.
type Node struct {
	Name, Version string
	Host          *probes.Host
	Config        *config.Config
	Collectors    []collectors.Collector
	Log           promhttp.Logger

	newest atomic.Pointer[round]
}

// A round is one run through the recording.
type round struct {
	engine   *collectors.Engine
	counters *counters
	pages    http.Handler
	over     chan struct{} // closed when another round is shown
}

// Start makes the node answer, as yet without readings.
func (n *Node) Start() error {
	r, err := n.round(n.Host)
	if err == nil {
		n.newest.Store(r)
	}
	return err
}

// Run plays the recording until ctx is done.
func (n *Node) Run(ctx context.Context) error {
	r := n.newest.Load()
	for {
		if err := n.play(ctx, r); err != nil || ctx.Err() != nil {
			return err
		}
		host, err := n.Host.Rewound()
		if err != nil {
			return err
		}
		if r, err = n.round(host); err != nil {
			return err
		}
	}
}

// play runs through the recording once. The round before is shown until this
// one has readings.
func (n *Node) play(ctx context.Context, r *round) error {
	over := make(chan error, 1)
	go func() { over <- r.engine.Replay(ctx) }()
	select {
	case <-r.engine.Ready():
		if before := n.newest.Load(); before != r {
			r.counters.follow(before.counters)
			n.newest.Store(r)
			close(before.over)
		}
		return <-over
	case err := <-over:
		return err
	}
}

func (n *Node) round(h *probes.Host) (*round, error) {
	r := &round{counters: &counters{}, over: make(chan struct{})}
	r.engine = collectors.NewEngine(collectors.Options{Host: h, Collectors: n.Collectors, Config: n.Config, Replay: true})
	site := &web.Site{Host: n.Name, Version: n.Version, Engine: r.engine, Over: r.over, Through: func(g prometheus.Gatherer) prometheus.Gatherer {
		r.counters.Gatherer = g
		return r.counters
	}}
	var err error
	r.pages, err = site.Handler(n.Log)
	return r, err
}

// State gives the newest judgement, or nil before the first.
func (n *Node) State() *collectors.State { return n.newest.Load().engine.State() }

// ServeHTTP answers as the daemon does.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.newest.Load().pages.ServeHTTP(w, r)
}
