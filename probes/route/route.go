// SPDX-License-Identifier: Apache-2.0

// Package route asks how this machine routes: the addresses of its interfaces,
// the routes of all tables, the rules that choose a table. It knows the
// kernel's messages (rtnetlink) and the form that recordings have; which way
// traffic should take it does not know.
package route

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/fabricd/fabricd/probes"
)

// A State is how the machine routes at one moment.
type State struct {
	Addresses []Address `json:"addresses"`
	Routes    []Route   `json:"routes"`
	Rules     []Rule    `json:"rules"`
}

// An Address is one of an interface, with its network.
type Address struct {
	Netdev string       `json:"netdev"`
	Prefix netip.Prefix `json:"prefix"`
}

// A Route leads to a network by way of an interface.
type Route struct {
	Table   int          `json:"table"`
	To      netip.Prefix `json:"to"` // of no bits: the default route
	Gateway netip.Addr   `json:"gateway,omitzero"`
	Netdev  string       `json:"netdev,omitempty"`
	Source  netip.Addr   `json:"source,omitzero"` // preferred
}

// A Rule chooses a table for packets from a network.
type Rule struct {
	Priority int          `json:"priority"`
	From     netip.Prefix `json:"from,omitzero"` // of no bits: any
	Table    int          `json:"table"`
	// Other says that the rule has conditions beside From.
	Other bool `json:"other,omitempty"`
}

// Recorded is the name of a recording's answer.
const Recorded = "route.json"

// Tables of the kernel. MainTable is used where no rule says more, by the rule
// of MainPriority.
const (
	DefaultTable = 253
	MainTable    = 254
	LocalTable   = 255
	MainPriority = 32766
)

// Get asks the machine, or reads what a recording holds.
func Get(h *probes.Host) (*State, error) {
	if !h.Recorded() {
		return live()
	}
	b, err := h.ReadFile(Recorded)
	if err != nil {
		return nil, fmt.Errorf("the recording does not say how the machine routes (%s; one made with --keep-identities does): %w", Recorded, err)
	}
	return Parse(b)
}

// Parse reads a recorded state.
func Parse(b []byte) (*State, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	s := &State{}
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", Recorded, err)
	}
	return s, nil
}
