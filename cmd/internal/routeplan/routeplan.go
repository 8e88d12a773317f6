// SPDX-License-Identifier: Apache-2.0

// Package routeplan works out the policy routing that keeps the traffic of each
// rail on its own NIC: a table for each rail, a rule for each source address.
// It knows what the kernel needs for it and in which form network managers
// write it down; it changes nothing.
package routeplan

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/fabricd/fabricd/probes/route"
)

// A Rail is one interface whose traffic is to stay on it.
type Rail struct {
	Number   int
	Netdev   string
	Bond     bool
	Above    bool         // something is above the interface: it may be a VRF
	Gateways []netip.Addr // that the operator names: one of a family
	Offered  []netip.Addr // management addresses of the switch at the other end
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
	// Ahead are others' rules that the kernel looks at before the plan's.
	Ahead []route.Rule
	Notes []string
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
	p, s := &Plan{}, concerned(rails, s)
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
	p.shared()
	p.surplus(s)
	p.ahead(s)
	return p, nil
}

// rail plans one rail: the networks on its link, of each family one way out
// of them, and for each of its addresses the rule that leads there.
func (p *Plan) rail(r Rail, s *route.State, o Options) error {
	if err := r.checkGateways(s); err != nil {
		return err
	}
	planned := Planned{Rail: r, Table: o.FirstTable + r.Number}
	own := p.addresses(r, s)
	for _, is4 := range []bool{true, false} {
		planned.family(p, slices.DeleteFunc(slices.Clone(own), func(a netip.Prefix) bool { return a.Addr().Is4() != is4 }), s)
	}
	for _, a := range own {
		source := a.Addr()
		planned.Items = append(planned.Items, ruleItem(route.Rule{Priority: o.FirstPriority + r.Number, From: netip.PrefixFrom(source, source.BitLen()), Table: planned.Table}, s))
	}
	if len(planned.Items) == 0 {
		p.notef("%s (rail %d) has no address that is routed: nothing is planned for it", r.Netdev, r.Number)
		return nil
	}
	p.Rails = append(p.Rails, planned)
	return nil
}

// addresses lists a rail's in their order, but those that an earlier rail has:
// a rule sees only the address.
func (p *Plan) addresses(r Rail, s *route.State) []netip.Prefix {
	var own []netip.Prefix
	for _, a := range s.Addresses {
		if a.Netdev != r.Netdev || !routable(a.Prefix.Addr()) {
			continue
		}
		if other := p.railOf(a.Prefix.Addr()); other != "" {
			p.notef("%s is on %s and on %s: no rule can tell their traffic apart, and all of it takes %s; give each its own", a.Prefix.Addr(), other, r.Netdev, other)
			continue
		}
		own = append(own, a.Prefix)
	}
	slices.SortFunc(own, netip.Prefix.Compare)
	slices.SortStableFunc(own, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return slices.CompactFunc(own, func(a, b netip.Prefix) bool { return a.Addr() == b.Addr() })
}

// railOf names the planned rail that has an address.
func (p *Plan) railOf(a netip.Addr) string {
	for _, r := range p.Rails {
		if slices.ContainsFunc(r.Items, func(i Item) bool { return i.Rule != nil && i.Rule.From.Addr() == a }) {
			return r.Netdev
		}
	}
	return ""
}

// family plans the routes of one family's addresses. In a table is one route
// to a network, and one default: of several sources the lowest is preferred.
func (r *Planned) family(p *Plan, own []netip.Prefix, s *route.State) {
	if len(own) == 0 {
		return
	}
	var networks []string
	best, way := math.MaxInt, route.Route{}
	for _, a := range own {
		network, source := a.Masked(), a.Addr()
		if slices.Contains(networks, network.String()) {
			continue
		}
		networks = append(networks, network.String())
		if !network.IsSingleIP() { // of which nobody else is on the link
			r.route(route.Route{Table: r.Table, To: network, Netdev: r.Netdev, Source: source}, s)
		}
		if gateway, rank := r.gateway(a, s); rank < best {
			best, way = rank, route.Route{Table: r.Table, To: netip.PrefixFrom(unspecified(source), 0), Gateway: gateway, Netdev: r.Netdev, Source: source}
		}
	}
	if best == math.MaxInt {
		p.notef("%s: no next hop is known for %s: its table reaches no other network (name one: --gateway %s=ADDRESS)", r.Netdev, joined(networks), r.Netdev)
		return
	}
	r.route(way, s)
}

func (r *Planned) route(to route.Route, s *route.State) {
	r.Items = append(r.Items, Item{Route: &to, InForce: slices.Contains(s.Routes, to)})
}

// checkGateways refuses next hops by which nothing leaves.
func (r Rail) checkGateways(s *route.State) error {
	for _, gateway := range r.Gateways {
		var networks []string
		found := false
		for _, a := range s.Addresses {
			if a.Prefix.Addr() == gateway {
				return fmt.Errorf("--gateway %s=%s: this is the machine's own address", r.Netdev, gateway)
			}
			if a.Netdev == r.Netdev && routable(a.Prefix.Addr()) {
				if network := a.Prefix.Masked().String(); !slices.Contains(networks, network) {
					networks = append(networks, network)
				}
				found = found || reaches(a.Prefix, gateway)
			}
		}
		if !found {
			return fmt.Errorf("--gateway %s=%s: this is no next hop in the port's networks (%s)", r.Netdev, gateway, joined(networks))
		}
	}
	return nil
}

// reaches says whether an address is a neighbour's on a network's link: not
// the network's own, nor all of it.
func reaches(network netip.Prefix, a netip.Addr) bool {
	switch {
	case !a.IsValid() || a.IsMulticast() || a == network.Addr():
		return false
	case a.IsLinkLocalUnicast():
		return a.Is6() == network.Addr().Is6()
	case network.Bits() < a.BitLen()-1 && (a == network.Masked().Addr() || a.Is4() && !network.Contains(a.Next())):
		return false
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
// routed over today, by the widest route, the other end of a link of two, or
// the switch's own address if it lies in the network. Lower ranks are better;
// the highest says that none is known.
func (r Rail) gateway(network netip.Prefix, s *route.State) (best netip.Addr, rank int) {
	fits := func(a netip.Addr) bool { return reaches(network, a) }
	if i := slices.IndexFunc(r.Gateways, fits); i >= 0 {
		return r.Gateways[i], 0
	}
	var found *route.Route
	for i := range s.Routes {
		if known := &s.Routes[i]; known.Netdev == r.Netdev && fits(known.Gateway) && (found == nil || wider(known, found) < 0) {
			found = known
		}
	}
	if found != nil {
		return found.Gateway, 1 + found.To.Bits()
	}
	const peer, switches = 1000, 1001
	if bits := network.Addr().BitLen(); network.Bits() == bits-1 {
		other := network.Masked().Addr()
		if other == network.Addr() {
			other = other.Next()
		}
		return other, peer
	}
	for _, offered := range r.Offered {
		if fits(offered) && !offered.IsLinkLocalUnicast() {
			return offered, switches
		}
	}
	return netip.Addr{}, math.MaxInt
}

// wider orders routes by how much of the world they lead to; of equal ones
// the main table's is first.
func wider(a, b *route.Route) int {
	place := func(r *route.Route) int {
		if r.Table == route.MainTable {
			return 0
		}
		return r.Table
	}
	return cmp.Or(cmp.Compare(a.To.Bits(), b.To.Bits()), cmp.Compare(place(a), place(b)), a.Gateway.Compare(b.Gateway))
}

// shared warns of rails in one network: there the kernel answers ARP for every
// address on every interface.
func (p *Plan) shared() {
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
