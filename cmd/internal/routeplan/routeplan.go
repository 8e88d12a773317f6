// SPDX-License-Identifier: Apache-2.0

// Package routeplan works out the policy routing that keeps the traffic of each
// rail on its own NIC: a table for each rail, a rule for each source address.
// It knows what the kernel needs for it and in which form network managers
// write it down; it changes nothing.
package routeplan

import (
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/fabricd/fabricd/probes/route"
)

// A Rail is one interface whose traffic is to stay on it.
type Rail struct {
	Number  int
	Netdev  string
	Bond    bool
	Gateway netip.Addr   // if the operator names one
	Offered []netip.Addr // management addresses of the switch at the other end
}

// Options are where tables and rules begin to count.
type Options struct {
	FirstTable, FirstPriority int
}

// Default is clear of the tables and priorities that the kernel uses.
func Default() Options { return Options{FirstTable: 100, FirstPriority: 1000} }

// check refuses numbers that are the kernel's: what else is in a table of the
// plan counts as in its way.
func (o Options) check(r Rail) error {
	switch table := o.FirstTable + r.Number; {
	case table < 1 || table > math.MaxUint32:
		return fmt.Errorf("rail %d (%s) would have table %d: tables are 1 to %d", r.Number, r.Netdev, table, uint32(math.MaxUint32))
	case table >= route.DefaultTable && table <= route.LocalTable:
		return fmt.Errorf("rail %d (%s) would have table %d: tables %d to %d are the kernel's (default, main, local)", r.Number, r.Netdev, table, route.DefaultTable, route.LocalTable)
	}
	if priority := o.FirstPriority + r.Number; priority < 1 || priority >= route.MainPriority {
		return fmt.Errorf("rail %d (%s) would have rules of priority %d: they are 1 to %d, before the main table's rule", r.Number, r.Netdev, priority, route.MainPriority-1)
	}
	return nil
}

// A Plan is what should be there, and how it differs from what is.
type Plan struct {
	Rails []Planned
	// Surplus are rules and routes in the plan's tables that are not the plan's.
	Surplus []Item
	Notes   []string
}

// A Planned rail is its items, in the order in which they are set.
type Planned struct {
	Rail
	Table int
	Items []Item
}

// An Item is one rule or route.
type Item struct {
	Rule    *route.Rule
	Route   *route.Route
	InForce bool
}

// New makes the plan for rails in their order.
func New(rails []Rail, s *route.State, o Options) (*Plan, error) {
	p := &Plan{}
	seen := map[int]string{}
	for _, r := range rails {
		if other, twice := seen[r.Number]; twice {
			return nil, fmt.Errorf("%s and %s are both rail %d", other, r.Netdev, r.Number)
		}
		seen[r.Number] = r.Netdev
		if err := o.check(r); err != nil {
			return nil, err
		}
		if err := p.rail(r, s, o); err != nil {
			return nil, err
		}
	}
	p.shared(s)
	p.surplus(s)
	return p, nil
}

// rail plans one rail: for each of its addresses the network on the link, the
// way out of it, and the rule that leads there.
func (p *Plan) rail(r Rail, s *route.State, o Options) error {
	if err := r.checkGateway(s); err != nil {
		return err
	}
	planned := Planned{Rail: r, Table: o.FirstTable + r.Number}
	for _, a := range s.Addresses {
		if a.Netdev != r.Netdev || !routable(a.Prefix.Addr()) {
			continue
		}
		source := a.Prefix.Addr()
		planned.add(s, Item{Route: &route.Route{Table: planned.Table, To: a.Prefix.Masked(), Netdev: r.Netdev, Source: source}})
		if gateway, ok := r.gateway(a.Prefix, s); ok {
			everywhere := netip.PrefixFrom(unspecified(source), 0)
			planned.add(s, Item{Route: &route.Route{Table: planned.Table, To: everywhere, Gateway: gateway, Netdev: r.Netdev, Source: source}})
		} else {
			p.notef("%s: no next hop is known for %s: its table reaches that network alone (name one: --gateway %s=ADDRESS)", r.Netdev, a.Prefix.Masked(), r.Netdev)
		}
		planned.add(s, Item{Rule: &route.Rule{Priority: o.FirstPriority + r.Number, From: netip.PrefixFrom(source, source.BitLen()), Table: planned.Table}})
	}
	if len(planned.Items) == 0 {
		p.notef("%s (rail %d) has no address that is routed: nothing is planned for it", r.Netdev, r.Number)
		return nil
	}
	p.Rails = append(p.Rails, planned)
	return nil
}

// checkGateway refuses a next hop by which nothing leaves.
func (r Rail) checkGateway(s *route.State) error {
	if !r.Gateway.IsValid() {
		return nil
	}
	var networks []string
	found := false
	for _, a := range s.Addresses {
		if a.Prefix.Addr() == r.Gateway {
			return fmt.Errorf("--gateway %s=%s: this is the machine's own address", r.Netdev, r.Gateway)
		}
		if a.Netdev == r.Netdev && routable(a.Prefix.Addr()) {
			networks = append(networks, a.Prefix.Masked().String())
			found = found || reaches(a.Prefix, r.Gateway)
		}
	}
	if !found {
		return fmt.Errorf("--gateway %s=%s: this is no next hop in the port's networks (%s)", r.Netdev, r.Gateway, joined(networks))
	}
	return nil
}

// reaches says whether an address is a neighbour's on a network's link.
func reaches(network netip.Prefix, a netip.Addr) bool {
	switch {
	case !a.IsValid() || a.IsMulticast() || a == network.Addr():
		return false
	case a.IsLinkLocalUnicast():
		return a.Is6() == network.Addr().Is6()
	}
	return network.Contains(a)
}

func routable(a netip.Addr) bool {
	return a.IsValid() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsMulticast() && !a.IsUnspecified()
}

func unspecified(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// gateway finds the next hop out of a network: the operator's, the one that is
// routed over today, the other end of a link of two, or the switch's own
// address if it lies in the network.
func (r Rail) gateway(network netip.Prefix, s *route.State) (netip.Addr, bool) {
	fits := func(a netip.Addr) bool { return reaches(network, a) }
	if fits(r.Gateway) {
		return r.Gateway, true
	}
	for _, known := range s.Routes {
		if known.Netdev == r.Netdev && fits(known.Gateway) {
			return known.Gateway, true
		}
	}
	if bits := network.Addr().BitLen(); network.Bits() == bits-1 {
		other := network.Masked().Addr()
		if other == network.Addr() {
			other = other.Next()
		}
		return other, true
	}
	for _, offered := range r.Offered {
		if fits(offered) && !offered.IsLinkLocalUnicast() {
			return offered, true
		}
	}
	return netip.Addr{}, false
}

// add adds an item, with whether it is in force.
func (r *Planned) add(s *route.State, i Item) {
	if i.Rule != nil {
		i.InForce = slices.ContainsFunc(s.Rules, func(known route.Rule) bool {
			return known.From == i.Rule.From && known.Table == i.Rule.Table && !known.Other
		})
	} else {
		i.InForce = slices.Contains(s.Routes, *i.Route)
	}
	r.Items = append(r.Items, i)
}

// surplus finds what stands in the plan's way: rules for a rail's address that
// lead elsewhere, and routes in a rail's table that are others.
func (p *Plan) surplus(s *route.State) {
	sources, tables := map[netip.Prefix]int{}, map[int]bool{}
	planned := map[route.Route]bool{}
	for _, r := range p.Rails {
		tables[r.Table] = true
		for _, i := range r.Items {
			if i.Rule != nil {
				sources[i.Rule.From] = i.Rule.Table
			} else {
				planned[*i.Route] = true
			}
		}
	}
	for _, r := range s.Rules {
		table, ours := sources[r.From]
		if !r.Other && (ours && r.Table != table || !ours && tables[r.Table]) {
			p.Surplus = append(p.Surplus, Item{Rule: &r, InForce: true})
		}
	}
	for _, r := range s.Routes {
		if tables[r.Table] && !planned[r] {
			p.Surplus = append(p.Surplus, Item{Route: &r, InForce: true})
		}
	}
}

// shared warns of rails in one network: there the kernel answers ARP for every
// address on every interface.
func (p *Plan) shared(s *route.State) {
	networks := map[netip.Prefix][]string{}
	for _, r := range p.Rails {
		for _, i := range r.Items {
			if i.Route != nil && i.Route.To.Bits() > 0 {
				networks[i.Route.To] = append(networks[i.Route.To], r.Netdev)
			}
		}
	}
	var both []string
	for network, netdevs := range networks {
		if len(netdevs) > 1 {
			both = append(both, fmt.Sprintf("%s are all in %s: also set net.ipv4.conf.all.arp_ignore=1 and net.ipv4.conf.all.arp_announce=2, or peers reach them over each other's cables", joined(netdevs), network))
		}
	}
	slices.Sort(both)
	p.Notes = append(p.Notes, both...)
}

func (p *Plan) notef(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// Missing counts the items that are not in force.
func (p *Plan) Missing() (missing, all int) {
	for _, r := range p.Rails {
		for _, i := range r.Items {
			all++
			if !i.InForce {
				missing++
			}
		}
	}
	return missing, all
}
