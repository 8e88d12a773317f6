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
	"slices"

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

// A Route leads to a network by way of an interface, or keeps packets from it.
type Route struct {
	Action  Action       `json:"action,omitempty"` // Send, or what refuses
	Table   int          `json:"table"`
	To      netip.Prefix `json:"to"` // of no bits: the default route
	Gateway netip.Addr   `json:"gateway,omitzero"`
	Netdev  string       `json:"netdev,omitempty"`
	Source  netip.Addr   `json:"source,omitzero"` // preferred
}

// A Rule chooses a table for packets from a network, or does something else
// with them.
type Rule struct {
	Priority int          `json:"priority"`
	From     netip.Prefix `json:"from,omitzero"` // of no bits: any
	Table    int          `json:"table"`         // 0: the one of the interface's VRF (l3mdev)
	Action   Action       `json:"action,omitempty"`
	Target   int          `json:"target,omitempty"` // priority of the rule that Goto leads to; 0: there is none
	// Not says that the rule is for all packets but those that it describes.
	Not bool `json:"not,omitempty"`
	// Other says that the rule has conditions beside From: Where before its
	// action and Suppress behind it, as iproute2 writes them. Input is the
	// interface by which packets came; those of the machine itself come by lo.
	Other    bool   `json:"other,omitempty"`
	Where    string `json:"where,omitempty"`
	Suppress string `json:"suppress,omitempty"`
	Input    string `json:"input,omitempty"`
}

// An Action is what a rule or a route does with packets.
type Action string

// Actions. Lookup looks for a route in the rule's table; what is not found
// there is left to later rules.
const (
	Lookup      Action = ""
	Goto        Action = "goto"
	Nop         Action = "nop"
	Blackhole   Action = "blackhole"
	Unreachable Action = "unreachable"
	Prohibit    Action = "prohibit"
)

// Actions of routes, beside the three that refuse. Throw ends the search of
// the table, as if nothing were found there.
const (
	Send  Action = ""
	Throw Action = "throw"
)

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
	for i := range s.Addresses {
		s.Addresses[i].Netdev = probes.Printable(s.Addresses[i].Netdev)
	}
	for i := range s.Routes {
		s.Routes[i].Netdev = probes.Printable(s.Routes[i].Netdev)
		if a := s.Routes[i].Action; !slices.Contains([]Action{Send, Throw, Blackhole, Unreachable, Prohibit}, a) {
			return nil, fmt.Errorf("%s: a route's action is %q", Recorded, a)
		}
	}
	for i, r := range s.Rules {
		s.Rules[i].Where, s.Rules[i].Suppress, s.Rules[i].Input = probes.Printable(r.Where), probes.Printable(r.Suppress), probes.Printable(r.Input)
		if !slices.Contains([]Action{Lookup, Goto, Nop, Blackhole, Unreachable, Prohibit}, r.Action) {
			return nil, fmt.Errorf("%s: a rule's action is %q", Recorded, r.Action)
		}
	}
	return s, nil
}
