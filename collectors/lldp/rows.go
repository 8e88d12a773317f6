// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/lldp"
	"github.com/fabricd/fabricd/probes/topo"
)

// A port is one row: an interface and who is at the other end of its cable.
type port struct {
	*Reading
	n     *probes.Netdev
	at    time.Duration
	role  topo.Role
	plan  *config.Cable // what should be there; nil without a plan for the port
	other *config.Cable // of the same plan, which says something else
	guest bool

	// present are the neighbours but those that others have replaced, and those
	// of before the link was lost.
	present []lldp.Neighbour
	// many says that there is more than one for certain: that two port ids of
	// one chassis are not the same port before and after it was renamed.
	many bool
}

func portRows(v *collectors.View, units []collectors.Unit[Reading]) []port {
	var rows []port
	at := moment(v)
	for _, u := range units {
		n := find(v.Inventory, u.Name)
		if n == nil {
			continue
		}
		p := port{
			Reading: u.Reading, n: n, at: at, role: v.Topology.Role(n.Function),
			guest: v.Inventory.Facts.Guest || virtual(n.Function.Driver),
		}
		p.plan, p.other = planned(v.Plan(), n)
		p.present = present(u.Reading.State, at)
		p.many = several(p.present)
		rows = append(rows, p)
	}
	return rows
}

// moment is when a view is of: what came after a still picture nobody knows, so
// that nobody falls silent in it however long it is shown.
func moment(v *collectors.View) time.Duration {
	if v.Still {
		return 0
	}
	return v.At
}

// virtual says whether a driver is of a NIC that only software knows: what is
// behind it passes no LLDP on.
func virtual(driver string) bool {
	return slices.Contains([]string{"virtio_net", "virtio-pci", "vmxnet3", "ena", "gve", "mana", "hv_netvsc", "ibmveth", "e1000"}, driver)
}

// present gives the neighbours of a port at a moment, but those that were heard
// before the link was lost, and those that others have replaced: those that have
// fallen silent since another was first heard, if it is the same chassis, or if
// half of the silent one's time is over, or four of the usual intervals are.
func present(s *lldp.State, at time.Duration) []lldp.Neighbour {
	var list []lldp.Neighbour
	for i := range s.Neighbours {
		old := &s.Neighbours[i]
		replaced := slices.ContainsFunc(s.Neighbours, func(n lldp.Neighbour) bool {
			return n.First > old.Last && (n.Chassis == old.Chassis || at-old.Last >= min(ttl(old)/2, seconds(silence.Default)))
		})
		if !replaced && !s.Stale(old) {
			list = append(list, *old)
		}
	}
	slices.SortStableFunc(list, func(a, b lldp.Neighbour) int { return cmp.Compare(a.First, b.First) })
	return list
}

func ttl(n *lldp.Neighbour) time.Duration { return time.Duration(n.TTL) * time.Second }

// several says whether neighbours are more than one for certain. A chassis
// whose port id changed is heard under both for a while; after a TTL of the
// new one, both are there.
func several(list []lldp.Neighbour) bool {
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			old, young := &list[i], &list[j]
			if old.Chassis != young.Chassis || old.Last > young.First+ttl(old) {
				return true
			}
		}
	}
	return false
}

// hears says whether a neighbour was heard of late, however long it is to be
// remembered.
func (p *port) hears(patience time.Duration) bool {
	return slices.ContainsFunc(p.present, func(n lldp.Neighbour) bool { return p.at-n.Last < patience })
}

// neighbour gives the one neighbour; nil if there are none or several.
func (p *port) neighbour() *lldp.Neighbour {
	if len(p.present) != 1 {
		return nil
	}
	return &p.present[0]
}

// changed says since when the one that is heard is another one than before, if
// that is so: whom its time had run out and who is back is not.
func (p *port) changed() (ago time.Duration, ok bool) {
	return p.at - p.Changed, p.Changed >= 0
}

// system names a neighbour's system.
func system(n *lldp.Neighbour) string {
	if name := lldp.Text(n.SystemName); name != "" {
		return name
	}
	return n.Chassis.String()
}

// portName names a neighbour's port, by its description where the id is a MAC
// address.
func portName(n *lldp.Neighbour) string {
	if d := lldp.Text(n.PortDescription); n.Port.IsMAC() && d != "" {
		return d
	}
	return n.Port.String()
}

func describe(n *lldp.Neighbour) string {
	return fmt.Sprintf("%s port %s", system(n), portName(n))
}

func ago(d time.Duration) string { return d.Round(time.Second).String() }
