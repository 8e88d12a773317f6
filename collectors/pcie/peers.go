// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// A peerRow is a GPU, NIC or NVSwitch beside its sisters.
type peerRow struct {
	*probes.Function
	sisters string
	card    string // what counts as one
	slot    *topo.Link
	best    pci.Link // the most that the link can do; in force where that is not known
	failed  bool     // pcie_width or pcie_speed judges a defect of this link
	lost    bool     // pcie_lost does
}

func peerRows(v *collectors.View, list []collectors.Unit[Reading]) []peerRow {
	l := lookAt(v, list)
	var rows []peerRow
	seen := map[string]bool{}
	for _, f := range v.Inventory.Functions {
		if !v.Topology.IsDevice(f) {
			continue
		}
		r := peerRow{Function: f, sisters: v.Topology.Sisters(f), card: f.Addr.Slot(), slot: v.Topology.SlotLink(f)}
		if c := v.Topology.CardOf(f); c != nil {
			r.card = c.Functions[0].Address
		}
		key := r.sisters + " " + f.ParentAddress + " " + f.Addr.Slot()
		if seen[key] { // further ports in the same slot
			continue
		}
		seen[key] = true
		if r.slot != nil {
			r.compare(l.link(r.slot), v.Inventory.Facts.Guest)
			at := l.by[r.slot.Lower.Address]
			r.lost = at != nil && at.Lost != ""
		}
		rows = append(rows, r)
	}
	return rows
}

// compare finds out what of the link is compared. Where the port above is not
// the real one no other check judges what is in force, so this one does; but
// for a GPU's speed, which idling lowers.
func (r *peerRow) compare(now pci.Link, guest bool) {
	r.best = r.slot.Max
	if !r.best.Known() {
		r.best = now
	}
	less := pci.Link{}
	if now.Width > 0 && now.Width < r.slot.Max.Width {
		less.Width = now.Width
	}
	if r.Kind != pci.GPU && now.Speed > 0 && now.Speed < r.slot.Max.Speed {
		less.Speed = now.Speed
	}
	if guest || r.slot.Upper == nil || !r.slot.Upper.Max.Known() {
		r.best = r.best.Min(less)
	} else {
		r.failed = less != pci.Link{}
	}
}

func peerColumns() collectors.Columns[peerRow] {
	address := collectors.Label[peerRow]{Name: "address", Get: func(r *peerRow) string { return r.Address }}
	return collectors.Columns[peerRow]{
		Labels: []collectors.Label[peerRow]{address},
		Checks: []collectors.Check[peerRow]{{
			Name:   "pcie_peer",
			Help:   "Warns when one of at least four devices of the same vendor, model and role has a link that can do less than that of most of them: a card in the wrong slot, or a slot that is set up differently.",
			Silent: "where pcie_width or pcie_speed judges the link already; GPUs that only idle; the ports of one card count as one.",
			Subject: []collectors.Label[peerRow]{address,
				{Name: "device", Get: func(r *peerRow) string { return joined(only(r.Function), true) }},
				{Name: "netdev", Get: func(r *peerRow) string { return joined(only(r.Function), false) }},
			},
			Thresholds: []collectors.Threshold{
				{Name: "devices", Default: 4, Unit: "devices", Help: "fewer of the same kind are not compared"},
				{Name: "less_percent", Default: 5, Unit: "percent", Help: "less than the others by more than this warns"},
			},
			Eval: evalPeer,
		}},
	}
}

func evalPeer(r *peerRow, e *collectors.Env[peerRow]) verdict {
	cards := map[string]bool{}
	var others []pci.Link
	for i := range e.Rows {
		o := &e.Rows[i]
		if o.sisters != r.sisters {
			continue
		}
		cards[o.card] = true
		others = append(others, o.best)
	}
	if float64(len(cards)) < e.Threshold("devices") {
		return verdict{}
	}
	if r.lost {
		return collectors.Verdictf(collectors.Unknown, "the device does not answer: see pcie_lost")
	}
	if !r.best.Known() {
		return collectors.Verdictf(collectors.Unknown, "the link of %s is not known", r.Address)
	}
	if r.failed {
		return collectors.Verdictf(collectors.OK, "not compared: pcie_width or pcie_speed judges this link")
	}
	slack := 1 - e.Threshold("less_percent")/100
	for _, usual := range others {
		same := 0
		for _, o := range others {
			if o.Known() && o.BitsPerSecond() >= usual.BitsPerSecond()*slack && o.BitsPerSecond()*slack <= usual.BitsPerSecond() {
				same++
			}
		}
		if 2*same <= len(others) || !usual.Known() {
			continue
		}
		if r.best.BitsPerSecond() < usual.BitsPerSecond()*slack {
			return collectors.Verdictf(collectors.Warn, "the link of %s has %s, that of most of its %d sisters (%04x:%04x) has %s", named(r.Function), r.best, len(others)-1, r.Vendor, r.Device, usual).
				Remedyf("compare slot and riser with the sisters', and the bifurcation and link speed settings in the firmware setup; fabricd topo shows them side by side").
				With("link of "+r.Address, r.best).With("link of the majority", usual)
		}
		return collectors.Verdictf(collectors.OK, "%s, as most of %d devices of its kind", r.best, len(others))
	}
	return collectors.Verdictf(collectors.OK, "%s; no majority among %d devices of its kind", r.best, len(others))
}

func only(f *probes.Function) []*probes.Function { return []*probes.Function{f} }
