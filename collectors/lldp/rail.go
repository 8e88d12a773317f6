// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"slices"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes/lldp"
	"github.com/fabricd/fabricd/probes/topo"
)

// leastRails is the number of compute ports that can show a pattern.
const leastRails = 4

func railCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:   "lldp_rail",
		Help:   "Without a plan: warns when the compute ports, in PCI order, are spread over the leaves in equal runs or in turn but for one port, or one swapped pair. These are named.",
		Silent: "fewer than four compute ports; one leaf for all, or one for each; leaves that show no pattern, and those that show two; with a cabling plan that names switches, which lldp_cabling judges.",
		Eval:   rail,
	}
}

func rail(p *port, e *collectors.Env[port]) collectors.Verdict {
	planned := slices.ContainsFunc(e.View.Plan().Cabling, func(c config.Cable) bool { return c.Leads() })
	if p.role != topo.Compute || planned {
		return collectors.Verdict{}
	}
	rails := computePorts(e.Rows)
	i := slices.IndexFunc(rails, func(r *port) bool { return r.n == p.n })
	if i < 0 || len(rails) < leastRails {
		return collectors.Verdict{}
	}
	leaves := make([]lldp.ChassisID, len(rails))
	for j, r := range rails {
		n := r.neighbour()
		if n == nil {
			return collectors.Verdictf(collectors.Unknown, "%s does not hear one neighbour: whether the leaves form a pattern cannot be told", r.n.Name)
		}
		leaves[j] = n.Chassis
	}
	own := p.neighbour()
	wrong, fits := oddOnes(leaves)
	switch {
	case fits == 0:
		return collectors.Verdictf(collectors.Unknown, "port %d of %d goes to %s; the leaves form no pattern, and there is no plan", i, len(rails), describe(own))
	case fits > 1:
		return collectors.Verdictf(collectors.Unknown, "port %d of %d goes to %s; the leaves fit two patterns, and there is no plan", i, len(rails), describe(own))
	case wrong[i] == nil:
		return collectors.Verdictf(collectors.OK, "port %d of %d goes to %s, as the others' pattern has it", i, len(rails), describe(own))
	}
	expected := nameOf(rails, *wrong[i])
	return collectors.Verdictf(collectors.Warn, "compute port %d of %d goes to %s; by the pattern of the others it belongs to %s", i, len(rails), describe(own), expected).
		Remedyf("see whether the cable belongs to %s: a rail that shares another's leaf shares its bandwidth; write a cabling plan to settle it", expected).
		With("leaf", own.Chassis).With("pattern", *wrong[i])
}

// computePorts lists the compute ports with link, in PCI order.
func computePorts(rows []port) []*port {
	var list []*port
	for i := range rows {
		if rows[i].role == topo.Compute && (rows[i].Carrier.V || !rows[i].Carrier.OK) {
			list = append(list, &rows[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *port) int {
		return a.n.Function.Addr.Compare(b.n.Function.Addr)
	})
	return list
}

// nameOf names a leaf as its ports hear it.
func nameOf(rails []*port, leaf lldp.ChassisID) string {
	for _, r := range rails {
		if n := r.neighbour(); n.Chassis == leaf {
			return system(n)
		}
	}
	return leaf.String()
}

// oddOnes finds the ports that break the pattern of leaves. fits is the number
// of patterns that hold but for one port or one swapped pair; of a single one,
// wrong gives the leaf that each odd port belongs to. Where a pattern holds
// for all, nothing is wrong.
func oddOnes(leaves []lldp.ChassisID) (wrong []*lldp.ChassisID, fits int) {
	var distinct []lldp.ChassisID
	for _, l := range leaves {
		if !slices.Contains(distinct, l) {
			distinct = append(distinct, l)
		}
	}
	none := make([]*lldp.ChassisID, len(leaves))
	if len(distinct) == 1 || len(distinct) == len(leaves) {
		return none, 1
	}
	run := len(leaves) / len(distinct)
	if run*len(distinct) != len(leaves) {
		return none, 0
	}
	for _, group := range []func(i int) int{
		func(i int) int { return i / run },           // equal runs
		func(i int) int { return i % len(distinct) }, // in turn
	} {
		a := assignment{leaves: leaves, distinct: distinct, group: group, of: make([]lldp.ChassisID, len(distinct))}
		a.search(0, 0)
		for _, odd := range a.found {
			if !slices.ContainsFunc(odd, func(l *lldp.ChassisID) bool { return l != nil }) {
				return none, 1
			}
			wrong = odd
			fits++
		}
	}
	return wrong, fits
}

// An assignment gives each group of ports a leaf of its own.
type assignment struct {
	leaves, distinct []lldp.ChassisID
	group            func(port int) int
	of               []lldp.ChassisID // by group
	found            [][]*lldp.ChassisID
}

const maxOdd = 2 // a swapped pair

// search tries all leaves for a group and those after it, as long as at most
// two ports are odd.
func (a *assignment) search(group, odd int) {
	if group == len(a.of) {
		if list := a.odd(); list != nil {
			a.found = append(a.found, list)
		}
		return
	}
	for _, leaf := range a.distinct {
		if slices.Contains(a.of[:group], leaf) {
			continue
		}
		n := odd
		for i, l := range a.leaves {
			if a.group(i) == group && l != leaf {
				n++
			}
		}
		if n <= maxOdd {
			a.of[group] = leaf
			a.search(group+1, n)
		}
	}
}

// odd lists the leaves that the odd ports belong to; nil if they are two that
// are no swapped pair.
func (a *assignment) odd() []*lldp.ChassisID {
	list := make([]*lldp.ChassisID, len(a.leaves))
	var at []int
	for i, l := range a.leaves {
		if own := a.of[a.group(i)]; l != own {
			list[i] = &own
			at = append(at, i)
		}
	}
	if len(at) == maxOdd && (*list[at[0]] != a.leaves[at[1]] || *list[at[1]] != a.leaves[at[0]]) {
		return nil
	}
	return list
}
