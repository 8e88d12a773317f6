// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/cmd/internal/routeplan"
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/lldp"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/route"
	"github.com/fabricd/fabricd/probes/topo"
)

// routeFlags are those of route plan.
type routeFlags struct {
	format          string
	ports, gateways []string
	wait            time.Duration
	options         routeplan.Options
}

func (a *app) routeCommand() {
	f := routeFlags{options: routeplan.Default()}
	parent := a.Application.Command("route", "Routing of the rails.")
	a.actions["route plan"] = func() error { return a.routePlan(&f) }
	c := parent.Command("plan", "Print the policy routing that keeps each rail's traffic on its own NIC: a table for each rail, a rule for each source address, and how that differs from what is in force. Changes nothing.")
	enumVar(c.Flag("format", "ip (commands), networkd (drop-ins) or netplan (a file)."), "--format", &f.format, "ip", "networkd", "netplan")
	c.Flag("port", "Interface of a rail, in the rails' order (repeatable); by default the compute ports, numbered by the cabling plan or else in PCI order.").PlaceHolder("NETDEV").StringsVar(&f.ports)
	c.Flag("gateway", "Next hop of a rail, one of a family (repeatable); by default the one that is routed over now, the other end of a link of two, or the switch's address by LLDP.").PlaceHolder("NETDEV=ADDRESS").StringsVar(&f.gateways)
	numberVar(c.Flag("table", "Number of rail 0's table (100)."), "--table", &f.options.FirstTable, f.options.FirstTable, 1, math.MaxUint32)
	numberVar(c.Flag("priority", "Priority of rail 0's rules (1000)."), "--priority", &f.options.FirstPriority, f.options.FirstPriority, 1, route.MainPriority-1)
	durationVar(c.Flag("wait", "How long to listen for the switches at most (0s: not at all)."), "--wait", &f.wait, 0, 0, time.Hour)
}

func (a *app) routePlan(f *routeFlags) error {
	h, c, err := a.open()
	if err != nil {
		return err
	}
	e, err := a.listen(h, c, max(f.wait, 300*time.Millisecond), nil)
	if err != nil {
		return err
	}
	rails, err := railsOf(e.State().View, f)
	if err != nil {
		return err
	}
	s, err := route.Get(h)
	if err != nil {
		return exitError{exitUnknown, err}
	}
	p, err := routeplan.New(rails, s, f.options)
	if err != nil {
		return exitError{exitUsage, err}
	}
	switch f.format {
	case "networkd":
		return p.WriteNetworkd(a.stdout)
	case "netplan":
		return p.WriteNetplan(a.stdout)
	}
	return p.WriteIP(a.stdout)
}

// railsOf lists the rails: the ports that are named, or else the compute ports.
func railsOf(v *collectors.View, f *routeFlags) ([]routeplan.Rail, error) {
	offered := map[string][]netip.Addr{}
	for _, l := range lldp.Links(v) {
		offered[l.Netdev.Name] = addressesOf(l)
	}
	var rails []routeplan.Rail
	for _, n := range computePorts(v, f.ports) {
		r := routeplan.Rail{Number: len(rails), Netdev: n.Name, Offered: offered[n.Name]}
		if n.Bonded {
			r.Netdev, r.Bond = n.Master, true
		}
		r.Above = slices.ContainsFunc(v.Inventory.Netdevs, func(o *probes.Netdev) bool { return o.Name == r.Netdev && o.Master != "" })
		if number := lldp.Rail(v.Plan(), n); number != nil && len(f.ports) == 0 {
			r.Number = *number
		}
		if !slices.ContainsFunc(rails, func(o routeplan.Rail) bool { return o.Netdev == r.Netdev }) {
			rails = append(rails, r)
		}
	}
	for _, name := range f.ports {
		if !slices.ContainsFunc(rails, func(r routeplan.Rail) bool { return r.Netdev == name }) {
			return nil, usage("--port %s: this machine has no such port", probes.Printable(name))
		}
	}
	if len(rails) == 0 {
		return nil, exitError{exitUnknown, errNoRails}
	}
	slices.SortStableFunc(rails, func(a, b routeplan.Rail) int { return cmp.Compare(a.Number, b.Number) })
	return rails, gateways(rails, f.gateways)
}

const errNoRails = text("there are no compute ports: no NIC is near a GPU, and the plan names none (name them: --port)")

// text is an error that says all by itself.
type text string

func (t text) Error() string { return string(t) }

// computePorts lists the interfaces of compute NICs in PCI order, or those
// that are named in the order of their names.
func computePorts(v *collectors.View, names []string) []*probes.Netdev {
	var list []*probes.Netdev
	for _, n := range v.Inventory.Netdevs {
		named := slices.Contains(names, n.Name) || n.Bonded && slices.Contains(names, n.Master)
		if n.Port && (named || len(names) == 0 && v.Topology.Role(n.Function) == topo.Compute) {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b *probes.Netdev) int {
		place := func(n *probes.Netdev) int { return max(slices.Index(names, n.Name), slices.Index(names, n.Master)) }
		return cmp.Or(cmp.Compare(place(a), place(b)), a.Function.Addr.Compare(b.Function.Addr))
	})
	return list
}

func addressesOf(l lldp.Link) []netip.Addr {
	var list []netip.Addr
	for _, n := range l.Neighbours {
		for _, m := range n.Management() {
			if a, ok := m.IP(); ok {
				list = append(list, a)
			}
		}
	}
	return list
}

// gateways takes the operator's next hops over.
func gateways(rails []routeplan.Rail, list []string) error {
	for _, item := range list {
		netdev, text, _ := strings.Cut(item, "=")
		address, err := netip.ParseAddr(text)
		i := slices.IndexFunc(rails, func(r routeplan.Rail) bool { return r.Netdev == netdev })
		if err != nil || address.Zone() != "" || i < 0 {
			return usage("--gateway %s: want NETDEV=ADDRESS of one of the rails", probes.Printable(item))
		}
		for _, other := range rails[i].Gateways {
			if other.Is4() == address.Is4() {
				return usage("--gateway %s: %s already has %s", probes.Printable(item), netdev, other)
			}
		}
		rails[i].Gateways = append(rails[i].Gateways, address)
	}
	return nil
}
