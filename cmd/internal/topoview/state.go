// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"slices"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// A Status is how a link stands, as JSON has it.
type Status string

// Statuses of a link, as far as anybody judges it.
const (
	StatusOK      Status = "ok"
	StatusIdle    Status = "idle"    // below its maximum, as GPUs without work are
	StatusSlot    Status = "slot"    // at its maximum, but the card could do more than the port
	StatusInner   Status = "inner"   // inside a card that has a switch of its own: tells nothing
	StatusBelow   Status = "below"   // below its maximum, and nobody can say whether that is a defect
	StatusMuted   Status = "muted"   // a defect that the operator silenced
	StatusUnknown Status = "unknown" // its speed or width is not known
	StatusDefect  Status = "defect"  // pcie_width or pcie_speed fails
	StatusLost    Status = "lost"    // pcie_lost fails
)

// now gives a link's state in force, as its lower end says.
func (m *Machine) now(l *topo.Link) pci.Link {
	if r := m.readings[l.Lower.Address]; r != nil {
		return r.Link
	}
	return pci.Link{}
}

// finding gives what a check says about an address; its status is None if it
// says nothing.
func (m *Machine) finding(check, address string) collectors.Finding {
	return m.findings[subject{check, address}]
}

// status gives a link's status.
func (m *Machine) status(l *topo.Link) Status {
	if m.lost(l.Lower) {
		return StatusLost
	}
	if l.Inner {
		return StatusInner
	}
	for _, check := range []string{checkWidth, checkSpeed} {
		switch f := m.finding(check, l.Lower.Address); {
		case f.Muted != nil:
			return StatusMuted
		case f.Status.Bad():
			return StatusDefect
		}
	}
	now := m.now(l)
	switch {
	case !now.Known():
		return StatusUnknown
	case now.Width < l.Max.Width || now.Speed < l.Max.Speed:
		if m.finding(checkSpeed, l.Lower.Address).Status == collectors.Info && m.onlyGPUs(l) {
			return StatusIdle
		}
		return StatusBelow
	case m.finding(checkSlot, l.Lower.Address).Status == collectors.Info:
		return StatusSlot
	}
	return StatusOK
}

func (m *Machine) lost(f *probes.Function) bool {
	return m.finding(checkLost, f.Address).Status.Bad()
}

func (m *Machine) onlyGPUs(l *topo.Link) bool {
	return len(l.Devices) > 0 && !slices.ContainsFunc(l.Devices, func(f *probes.Function) bool { return m.tree.Kind(f) != pci.GPU })
}

// usable is what a link gives when it is asked to: its maximum while it only
// idles. Zero is not known.
func (m *Machine) usable(l *topo.Link) float64 {
	if m.status(l) == StatusIdle {
		return l.Max.BitsPerSecond()
	}
	return m.now(l).BitsPerSecond()
}

// path gives the links between f and the root port, but for those inside its
// card; ok is false where the port above is not visible.
func (m *Machine) path(f *probes.Function) (hops []*topo.Link, ok bool) {
	for _, l := range m.tree.Path(f) {
		if !l.Inner {
			hops = append(hops, l)
		}
	}
	return hops, len(hops) > 0 && hops[len(hops)-1].Upper != nil
}

// slowest gives the least of what hops carry, in bits a second, and which of
// them it is; 0 and nil if one of them is not known.
func slowest(hops []*topo.Link, bits func(*topo.Link) float64) (least float64, at *topo.Link) {
	for _, l := range hops {
		b := bits(l)
		if b == 0 {
			return 0, nil
		}
		if at == nil || b < least {
			least, at = b, l
		}
	}
	return least, at
}

// bandwidth gives what a function's path carries now and at most, in bits a
// second; 0 is not known.
func (m *Machine) bandwidth(f *probes.Function) (now, most float64) {
	hops, ok := m.path(f)
	if !ok {
		return 0, 0
	}
	now, _ = slowest(hops, func(l *topo.Link) float64 { return m.now(l).BitsPerSecond() })
	most, _ = slowest(hops, func(l *topo.Link) float64 { return l.Max.BitsPerSecond() })
	return now, most
}

// A limit is what the slowest link of a path costs: less than a device of that
// path could use.
type limit struct {
	bits    float64 // a second, that the link carries
	wanted  float64 // bits a second of the active ports; 0 where they get enough
	grade   grade
	devices []*probes.Function // whom it limits
}

type grade uint8

const (
	gradePlatform grade = iota // the card could do more than the slot or the switch above it
	gradeShort                 // the active ports want more than the platform gives
	gradeDefect                // the link is below what both of its ends can do
)

// findLimits finds the links that are bottlenecks.
func (m *Machine) findLimits() {
	m.limits = map[*topo.Link]limit{}
	for _, f := range slices.Concat(m.gpus, m.nics, m.switches) {
		at, found := m.limitOf(f)
		if at == nil {
			continue
		}
		l := m.limits[at]
		l.bits, l.grade, l.wanted = found.bits, max(l.grade, found.grade), max(l.wanted, found.wanted)
		l.devices = append(l.devices, f)
		m.limits[at] = l
	}
}

// limitOf finds the bottleneck of a device's path, or nil. A link that only
// carries what the device itself can do is none.
func (m *Machine) limitOf(f *probes.Function) (*topo.Link, limit) {
	slot := m.tree.SlotLink(f)
	hops, ok := m.path(f)
	if slot == nil || !ok {
		return nil, limit{}
	}
	bits, at := slowest(hops, m.usable)
	if at == nil || bits >= slot.Lower.Max.BitsPerSecond() {
		return nil, limit{}
	}
	found := limit{bits: bits}
	if c := m.tree.CardOf(f); c != nil && m.finding(checkBudget, c.Functions[0].Address).Status.Bad() {
		found.wanted, found.grade = c.ActiveGbps()*1e9, gradeShort
	}
	if m.status(at) == StatusDefect {
		found.grade = gradeDefect
	}
	return at, found
}
