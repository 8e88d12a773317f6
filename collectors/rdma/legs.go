// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/rdma"
)

// A leg is an interface of a bond whose RDMA device tells of the bond alone.
type leg struct {
	*probes.Netdev
	reading *Reading
}

// legsPrime mixes what tells legs apart into one number.
const legsPrime = 1099511628211

// rdmaBonds are the bonds with a leg whose function has an RDMA device.
func rdmaBonds(inv *probes.Inventory) map[string]bool {
	bonds := map[string]bool{}
	for _, n := range inv.Netdevs {
		if n.Bonded && len(n.Function.RDMA) > 0 {
			bonds[n.Master] = true
		}
	}
	return bonds
}

// isLeg says whether an interface is a leg of one of some bonds.
func isLeg(n *probes.Netdev, bonds map[string]bool) bool {
	const ethernet = 1 // ARPHRD
	return n.Port && n.Type == ethernet && !n.Function.Virtual() && n.Bonded && bonds[n.Master]
}

// legsOf lists the legs that are read, by bond.
func legsOf(v *collectors.View, list []collectors.Unit[Reading]) map[string][]leg {
	readings := map[string]*Reading{}
	for _, u := range list {
		if n := u.Reading.Netdev; n != nil {
			readings[n.Name] = u.Reading
		}
	}
	legs, bonds := map[string][]leg{}, rdmaBonds(v.Inventory)
	for _, n := range v.Inventory.Netdevs {
		if r := readings[n.Name]; r != nil && isLeg(n, bonds) {
			legs[n.Master] = append(legs[n.Master], leg{n, r})
		}
	}
	return legs
}

// portNetdevs are the interfaces that RDMA ports have: those speak for them.
func portNetdevs(list []collectors.Unit[Reading]) map[string]bool {
	names := map[string]bool{}
	for _, u := range list {
		for i := range u.Reading.Ports {
			if !u.Reading.Software {
				names[u.Reading.Ports[i].Netdev.Name] = true
			}
		}
	}
	return names
}

// legRows lists the legs of the bonds that ports are of. They are named after
// the bond's device, and are no ports that a plan counts.
func legRows(v *collectors.View, list []collectors.Unit[Reading], ports []portRow) []portRow {
	legs, own := legsOf(v, list), portNetdevs(list)
	var rows []portRow
	for i := range ports {
		p := &ports[i]
		if p.software() || p.virtual || p.absent() {
			continue
		}
		for _, l := range legs[p.Netdev.Name] {
			if own[l.Name] {
				continue
			}
			own[l.Name] = true // one port speaks of it
			n := l.reading.Netdev
			rows = append(rows, portRow{
				Port:   &Port{Device: p.Device, Address: l.Function.Address, Netdev: *n, WasActive: n.WasUp, State: legState(n), Protocol: p.Protocol},
				device: &probes.RDMADevice{}, f: l.Function, sisters: p.sisters, virtual: true, leg: &l,
			})
		}
	}
	return rows
}

// legState gives a leg's carrier the name that the port would have; zero is not known.
func legState(n *Netdev) rdma.State {
	switch {
	case n.Carrier.V:
		return rdma.Active
	case n.Carrier.OK, n.Up.OK && !n.Up.V:
		return rdma.Down
	}
	return 0
}

// evalLeg judges a leg of a bond. Where the bond's port is down, or the leg's
// own, that one speaks.
func (r *portRow) evalLeg(e *portEnv) verdict {
	bond := r.leg.Master
	switch {
	case r.State == rdma.Active:
		return collectors.Verdictf(collectors.OK, "a leg of %s, with carrier", bond)
	case r.State == 0:
		return collectors.Verdictf(collectors.Unknown, "a leg of %s; its carrier cannot be read", bond)
	case r.Netdev.Up.OK && !r.Netdev.Up.V:
		return collectors.Verdictf(collectors.Info, "a leg of %s, administratively down", bond)
	}
	for i := range e.Rows {
		o := &e.Rows[i]
		if o.leg == nil && o.State != rdma.Active && (o.Netdev.Name == bond || o.Address == r.Address) {
			return collectors.Verdictf(collectors.Info, "a leg of %s, without carrier: see rdma_port of %s", bond, o.Device)
		}
	}
	why := r.legExpected(e)
	if why == "" {
		return collectors.Verdictf(collectors.Info, "a leg of %s, without carrier; nothing says that it should have one", bond)
	}
	return collectors.Verdictf(collectors.Fail, "a leg of %s, without carrier: no partner, and %s; the bond runs with the others", bond, why).
		Remedyf("check cable, transceiver and the switch's port of %s; ethtool -m tells whether there is light", r.Netdev.Name)
}

// legExpected says why a leg should have carrier; "" if nothing says so.
func (r *portRow) legExpected(e *portEnv) string {
	switch {
	case r.planned(e):
		return "the plan names it"
	case r.WasActive:
		return "it had carrier before"
	}
	all, up := 0, 0
	for i := range e.Rows {
		if o := &e.Rows[i]; o.leg != nil && o.sisters == r.sisters {
			all++
			if o.State == rdma.Active {
				up++
			}
		}
	}
	if collectors.Most(up, all) {
		return fmt.Sprintf("%d of %d legs of its kind have it", up, all)
	}
	return ""
}
