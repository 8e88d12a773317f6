// SPDX-License-Identifier: Apache-2.0

// Package lldp knows what a port's neighbours should be: one on each cable,
// the one that the plan names, on the leaf of its rail, with the same idea of
// flow control. It judges what neighbours say of themselves; how frames are
// received and taken apart it does not know (probes/lldp).
package lldp

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/lldp"
)

// Name is the collector's.
const Name = "lldp"

// Reading is what one port has heard.
type Reading struct {
	*lldp.State
	Agent string // a private flag that says that firmware keeps the frames
}

// New makes the collector.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[Reading]{
		Name:  Name,
		Help:  "LLDP neighbours: what is at the other end of each cable, and what it says of itself.",
		Every: time.Second,
		Floor: 100 * time.Millisecond,
		Units: func(v *collectors.View) []string { return names(v.Inventory) },
		Open:  open,
		Tables: []collectors.Table[Reading]{
			collectors.Derive(portRows, portColumns()),
			collectors.Derive(cabledRows, cabledColumns()),
			collectors.Derive(neighbourRows, neighbourColumns()),
			collectors.Derive(settingRows, settingColumns()),
		},
	})
}

func names(inv *probes.Inventory) []string {
	var list []string
	for _, n := range lldp.Ports(inv) {
		list = append(list, n.Name)
	}
	return list
}

func find(inv *probes.Inventory, name string) *probes.Netdev {
	for _, n := range lldp.Ports(inv) {
		if n.Name == name {
			return n
		}
	}
	return nil
}

type reader struct {
	port     *lldp.Port
	agent    agent
	recorded bool
	still    bool   // a recording of one moment
	mouth    *mouth // nil: nothing is announced
}

func open(_ context.Context, h *probes.Host, name string) (collectors.Reader[Reading], error) {
	n := find(h.Inventory(), name)
	if n == nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	p, err := lldp.Open(h, n)
	if err != nil {
		return nil, err
	}
	return &reader{port: p, agent: openAgent(h, n), recorded: h.Recorded(), still: h.Recorded() && len(h.Marks()) == 1, mouth: newMouth(h, n)}, nil
}

// Read drains the port. An interface that is gone may be back under its name.
func (r *reader) Read(at time.Duration) (*Reading, error) {
	if r.still { // see moment
		at = 0
	}
	s, err := r.port.Read(at)
	if err != nil {
		return nil, collectors.ErrReopen
	}
	return &Reading{s, r.agent.flag(at, r.recorded)}, r.mouth.speak(at, s.Carrier.V)
}

func (r *reader) Close() {
	r.mouth.close()
	r.agent.close()
	r.port.Close()
}
