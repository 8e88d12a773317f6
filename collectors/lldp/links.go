// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"slices"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/lldp"
	"github.com/fabricd/fabricd/probes/topo"
)

// A Link is one port and the neighbours at the other end of its cable.
type Link struct {
	Netdev     *probes.Netdev
	Role       topo.Role
	Carrier    probes.Value[bool]
	At         time.Duration // the moment of the view
	Neighbours []lldp.Neighbour
	Err        error // why nobody listens
	// Planned is what the plan says of the port, "" if nothing; Agrees is ok where
	// that is there and fail where something else is.
	Planned string
	Agrees  collectors.Status
}

// Links lists the ports of a view in PCI order. Neighbours that others have
// replaced are left out.
func Links(v *collectors.View) []Link {
	var list []Link
	for _, p := range portRows(v, collectors.Readings[Reading](v, Name)) {
		l := Link{Netdev: p.n, Role: p.role, Carrier: p.Carrier, At: p.at, Neighbours: p.present, Err: p.Err}
		if p.plan != nil && p.plan.Leads() {
			l.Planned, l.Agrees = target(p.plan), collectors.Unknown
			if n := p.neighbour(); n != nil {
				l.Agrees = Compare(p.plan, n).Status
			}
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b Link) int {
		return a.Netdev.Function.Addr.Compare(b.Netdev.Function.Addr)
	})
	return list
}

// Settled says whether waiting longer is of no use: every port with link has
// heard a neighbour, or cannot.
func Settled(links []Link) bool {
	return !slices.ContainsFunc(links, func(l Link) bool {
		return l.Err == nil && l.Carrier.V && len(l.Neighbours) == 0
	})
}

// SystemName and PortName name a neighbour as a cabling plan does.
func SystemName(n *lldp.Neighbour) string { return system(n) }

// PortName names the neighbour's port: by its description where its id is a
// MAC address.
func PortName(n *lldp.Neighbour) string { return portName(n) }
