// SPDX-License-Identifier: Apache-2.0

package routeplan

import (
	"net/netip"
	"slices"

	"github.com/fabricd/fabricd/probes/route"
)

// ruleItem is a rule with whether it is in force: one of another priority is
// too, unless another rule comes before it that would come after the planned.
func ruleItem(planned route.Rule, s *route.State) Item {
	in := slices.ContainsFunc(servants(planned, s), func(r route.Rule) bool {
		return r.Priority <= planned.Priority || len(before(r, s)) == 0
	})
	return Item{Rule: &planned, InForce: in}
}

// serves says whether a rule does what a planned one does, wherever it stands.
func serves(r, planned route.Rule) bool {
	return r.From == planned.From && r.Table == planned.Table && plain(r)
}

// plain says whether a rule does nothing but to choose a table for a source.
func plain(r route.Rule) bool { return r.Action == route.Lookup && !r.Not && !r.Other }

// catches says whether a rule that comes before another may keep that one's
// packets from it. The local table leads to no other machine, the other rule's
// own where that leads, and who goes no further than to it passes by others.
func catches(r, own route.Rule) bool {
	source := own.From.Addr()
	switch {
	case r.Input != "" && r.Input != "lo" && !r.Not: // packets of other machines
		return false
	case r.Action == route.Nop, r.Action == route.Goto && r.Target <= own.Priority, r.Action == route.Lookup && (r.Table == route.LocalTable || r.Table == own.Table):
		return false
	case !r.From.IsValid():
		return true
	case r.From.Addr().Is4() != source.Is4():
		return false
	case r.Not && r.Other: // one condition that is not met suffices
		return true
	}
	return r.From.Contains(source) != r.Not
}

// concerned gives the state without the rules that choose an interface's VRF,
// which the kernel makes with the first VRF, where no rail can be in one.
func concerned(rails []Rail, s *route.State) *route.State {
	if slices.ContainsFunc(rails, func(r Rail) bool { return r.Above }) {
		return s
	}
	own := *s
	own.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r route.Rule) bool { return r.Action == route.Lookup && r.Table == 0 })
	return &own
}

func servants(planned route.Rule, s *route.State) []route.Rule {
	return slices.DeleteFunc(slices.Clone(s.Rules), func(r route.Rule) bool { return !serves(r, planned) })
}

// before lists the rules that can take a rule's packets before it does.
func before(own route.Rule, s *route.State) []route.Rule {
	var list []route.Rule
	at := slices.Index(s.Rules, own)
	if at < 0 { // it will be the last of its priority
		at = len(s.Rules)
	}
	for i, r := range s.Rules {
		if r.Priority > own.Priority || r.Priority == own.Priority && i >= at {
			continue
		}
		if !serves(r, own) && catches(r, own) {
			list = append(list, r)
		}
	}
	return list
}

// surplus finds what stands in the plan's way and is its own matter: rules for
// a rail's address that lead elsewhere or come too late, and routes in a
// rail's table that are others.
func (p *Plan) surplus(s *route.State) {
	sources, tables := map[netip.Prefix]Item{}, map[int]bool{}
	planned := map[route.Route]bool{}
	for _, r := range p.Rails {
		tables[r.Table] = true
		for _, i := range r.Items {
			if i.Rule != nil {
				sources[i.Rule.From] = i
			} else {
				planned[*i.Route] = true
			}
		}
	}
	for _, r := range s.Rules {
		own, ours := sources[r.From]
		elsewhere := ours && (r.Table != own.Rule.Table || !own.InForce)
		if plain(r) && (elsewhere || !ours && tables[r.Table]) {
			p.Surplus = append(p.Surplus, Item{Rule: &r, InForce: true})
		}
	}
	for _, r := range s.Routes {
		if tables[r.Table] && !planned[r] {
			p.Surplus = append(p.Surplus, Item{Route: &r, InForce: true})
		}
	}
}

// ahead finds the rules of others that take, or may take, the rails' packets
// before the plan's rules do, once the surplus is gone.
func (p *Plan) ahead(s *route.State) {
	for _, rail := range p.Rails {
		for _, i := range rail.Items {
			if i.Rule == nil {
				continue
			}
			own := *i.Rule
			if i.InForce {
				own = slices.MinFunc(servants(own, s), func(a, b route.Rule) int { return a.Priority - b.Priority })
			}
			for _, r := range before(own, s) {
				surplus := slices.ContainsFunc(p.Surplus, func(i Item) bool { return i.Rule != nil && *i.Rule == r })
				if !surplus && !slices.Contains(p.Ahead, r) {
					p.Ahead = append(p.Ahead, r)
				}
			}
		}
	}
}
