// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"fmt"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// A cardRow is one NIC card: its functions, what its ports want and what its
// paths carry, in bits a second.
type cardRow struct {
	*topo.Card
	want, have float64
	known      bool
	unrated    bool // a port is active at a rate that nobody tells
	narrowest  string
	guest      bool
	links      bool
}

func cardRows(v *collectors.View, list []collectors.Unit[Reading]) []cardRow {
	l := lookAt(v, list)
	var rows []cardRow
	for _, c := range v.Topology.Cards {
		r := cardRow{Card: c, want: c.ActiveGbps() * 1e9, guest: v.Inventory.Facts.Guest}
		var plugged []*probes.Function
		for _, f := range c.Functions {
			r.unrated = r.unrated || topo.RatesOf(f).Unknown
			if v.Topology.SlotLink(f) != nil {
				plugged = append(plugged, f)
			}
		}
		if r.links = len(plugged) > 0; r.links {
			var k *topo.Link
			r.have, k, r.known = v.Topology.Throughput(plugged, l.link)
			if k != nil {
				r.narrowest = fmt.Sprintf("%s at %s", k.Lower.Address, l.link(k))
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func cardColumns() collectors.Columns[cardRow] {
	address := collectors.Label[cardRow]{Name: "address", Get: func(r *cardRow) string { return r.Functions[0].Address }}
	return collectors.Columns[cardRow]{
		Labels: []collectors.Label[cardRow]{address},
		Checks: []collectors.Check[cardRow]{{
			Name:   "pcie_budget",
			Help:   "Warns when the usable bandwidth of the path of a NIC card, or of its paths together, is less than the rates of its active ports. Line encoding is taken off, packet overhead is not.",
			Silent: "virtual functions; functions that lead to the same cable (socket-direct cards, both halves of a GB10's NIC) count its rate once; ports that are down want nothing.",
			Subject: []collectors.Label[cardRow]{address,
				{Name: "devices", Get: func(r *cardRow) string { return addresses(r.Functions) }},
				{Name: "device", Get: func(r *cardRow) string { return joined(r.Functions, true) }},
				{Name: "netdev", Get: func(r *cardRow) string { return joined(r.Functions, false) }},
			},
			Eval: func(r *cardRow, _ *collectors.Env[cardRow]) verdict { return evalBudget(r) },
		}},
	}
}

func evalBudget(r *cardRow) verdict {
	const gbps = 1e9
	switch {
	case !r.links && !r.guest:
		return verdict{} // integrated: no link limits it
	case r.guest:
		return collectors.Verdictf(collectors.Unknown, "virtual machine: the path of the card is not visible")
	case r.want == 0 && r.unrated:
		return collectors.Verdictf(collectors.Unknown, "a port is active; nobody tells its rate")
	case r.want == 0:
		return collectors.Verdictf(collectors.OK, "no port is active")
	case !r.known:
		return collectors.Verdictf(collectors.Unknown, "the ports want %.4g Gb/s; speed or width of a link on the path is not known", r.want/gbps)
	case r.have < r.want:
		return collectors.Verdictf(collectors.Warn, "the path carries %.4g Gb/s, the active ports together want %.4g Gb/s; narrowest link: %s", r.have/gbps, r.want/gbps, r.narrowest).
			Remedyf("fabricd topo shows the path; where pcie_width or pcie_speed fails, mend that; otherwise move the card to a slot that carries its ports").
			With("path, Gb/s", fmt.Sprintf("%.4g", r.have/gbps)).With("active ports, Gb/s", fmt.Sprintf("%.4g", r.want/gbps))
	case r.unrated:
		return collectors.Verdictf(collectors.Unknown, "the path carries %.4g Gb/s, the active ports want %.4g Gb/s and that of one more, whose rate nobody tells", r.have/gbps, r.want/gbps)
	}
	return collectors.Verdictf(collectors.OK, "the path carries %.4g Gb/s, the active ports want %.4g Gb/s", r.have/gbps, r.want/gbps)
}
