// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// A cabled is a row for each port, and for each cable of the plan whose port
// the machine does not have.
type cabled struct {
	*port                // nil: there is none
	absent *config.Cable // whose port there is none; nil with a port
	alike  []string      // what its name may mean
	seen   bool          // the machine's ports can be seen, all of them
}

func cabledRows(v *collectors.View, units []collectors.Unit[Reading]) []cabled {
	var rows []cabled
	ports := portRows(v, units)
	for i := range ports {
		rows = append(rows, cabled{port: &ports[i]})
	}
	seen := !v.Excludes && slices.ContainsFunc(v.Inventory.Netdevs, func(n *probes.Netdev) bool { return n.Port })
	known := map[[2]string]bool{} // one finding for each name
	for i, all := 0, v.Plan().Cabling; i < len(all); i++ {
		c := &all[i]
		if name := [2]string{c.Port, c.Address}; !known[name] && c.Leads() && !exists(v.Inventory, c) {
			known[name] = true
			rows = append(rows, cabled{absent: c, alike: topo.Alike(v.Inventory, c.Port), seen: seen})
		}
	}
	return rows
}

func cabledColumns() collectors.Columns[cabled] {
	return collectors.Columns[cabled]{
		Labels: []collectors.Label[cabled]{
			{Name: "netdev", Get: func(r *cabled) string {
				if r.absent != nil {
					return r.absent.Port
				}
				return r.n.Name
			}},
			{Name: "address", Get: func(r *cabled) string {
				if r.absent != nil {
					return r.absent.Address
				}
				return ""
			}},
		},
		Checks: []collectors.Check[cabled]{cablingCheck()},
	}
}

// gone is the verdict where the plan names a port that the machine does not have.
func (r *cabled) gone() collectors.Verdict {
	c := r.absent
	if len(r.alike) > 0 {
		return collectors.Verdictf(collectors.Unknown, "the plan says %s at %s, which may be %s", target(c), c.Port, strings.Join(r.alike, " or ")).
			Remedyf("write the interface's whole name into the plan")
	}
	if !r.seen {
		return collectors.Verdictf(collectors.Unknown, "the plan says %s at %s, which is not among the ports that are seen", target(c), c.Port+c.Address).
			Remedyf("watch the devices that are excluded, and the host's network namespace, or take the port out of the plan")
	}
	return collectors.Verdictf(collectors.Warn, "the plan says %s at %s, and this machine has no such port", target(c), c.Port+c.Address).
		Remedyf("correct the plan, or see why the port is missing: fabricd topo")
}

// exists says whether the machine has what a cable is plugged into, be it a
// port on which there is no LLDP: InfiniBand, a virtual function, a bond.
func exists(inv *probes.Inventory, c *config.Cable) bool {
	return slices.ContainsFunc(inv.Netdevs, func(n *probes.Netdev) bool {
		return c.Port != "" && (n.Name == c.Port || n.Master == c.Port) || n.Function != nil && n.Function.Address == c.Address
	}) || slices.ContainsFunc(inv.RDMA, func(d *probes.RDMADevice) bool {
		return d.Name == c.Port || d.Function != nil && d.Function.Address == c.Address
	})
}

// planned finds the cable of a port in the plan, and one that contradicts it.
// The plan may name a port in several ways, which only the machine can join.
func planned(p config.Plan, n *probes.Netdev) (c, against *config.Cable) {
	for i := range p.Cabling {
		switch o := &p.Cabling[i]; {
		case !means(o, n):
		case c == nil || !c.Leads():
			c = o
		case against == nil && o.Leads() && (o.Switch != c.Switch || o.SwitchPort != c.SwitchPort):
			against = o
		}
	}
	return c, against
}

// means says whether a cable of a plan is plugged into a port, which the plan
// names by its interface, its RDMA device or its PCI address.
func means(c *config.Cable, n *probes.Netdev) bool {
	f := n.Function
	return c.Port == n.Name || n.DevPort == 0 && (c.Address == f.Address || slices.Contains(f.RDMANames, c.Port))
}

// Rail gives the rail that a plan says a port is of; nil if it does not say.
func Rail(p config.Plan, n *probes.Netdev) *int {
	for i := range p.Cabling {
		if c := &p.Cabling[i]; c.Rail != nil && means(c, n) {
			return c.Rail
		}
	}
	return nil
}
