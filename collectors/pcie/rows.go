// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"cmp"
	"fmt"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// units lists the functions that are read: both ends of every link.
func units(v *collectors.View) []string {
	var list []string
	seen := map[string]bool{}
	add := func(f *probes.Function) {
		if f != nil && !seen[f.Address] {
			seen[f.Address] = true
			list = append(list, f.Address)
		}
	}
	for _, l := range v.Topology.Links {
		for _, f := range l.Functions {
			add(f)
		}
		add(l.Upper)
		for f := l.Upper; f != nil; f = f.Parent {
			add(f)
		}
	}
	return list
}

// A look is all readings of a moment, by address.
type look struct {
	v  *collectors.View
	by map[string]*Reading
}

func lookAt(v *collectors.View, list []collectors.Unit[Reading]) look {
	l := look{v, make(map[string]*Reading, len(list))}
	for i := range list {
		l.by[list[i].Name] = list[i].Reading
	}
	return l
}

// link gives a link's state in force: as its lower end says.
func (l look) link(k *topo.Link) pci.Link {
	if r := l.by[k.Lower.Address]; r != nil {
		return r.Link
	}
	return pci.Link{}
}

// config gives a function's configuration space, or why it is not known.
func (l look) config(f *probes.Function) (*pci.Config, string) {
	r := l.by[f.Address]
	switch {
	case r == nil:
		return nil, "no reading of " + f.Address
	case r.Config != nil:
		return r.Config, ""
	case r.ConfigErr != nil:
		return nil, "configuration space of " + f.Address + ": " + probes.Reason(r.ConfigErr)
	}
	return nil, "configuration space of " + f.Address + " was not read"
}

// express gives a function's PCI Express capability, or why it is not known.
func (l look) express(f *probes.Function) (*pci.Express, string) {
	c, why := l.config(f)
	switch {
	case c == nil:
		return nil, why
	case c.PCIe == nil && c.Visible <= 64:
		return nil, fmt.Sprintf("%d bytes of the configuration space of %s are visible (the rest needs CAP_SYS_ADMIN)", c.Visible, f.Address)
	case c.PCIe == nil:
		return nil, f.Address + " has no PCI Express capability"
	}
	return c.PCIe, ""
}

// A function is a row: one function and its reading.
type function struct {
	*probes.Function
	at          *Reading   // nil: no fresh reading
	link        *topo.Link // whose lower end it is
	down        *topo.Link // whose upper end it is
	speed       pci.Speed  // of that link; the least there is where that is not known
	role        topo.Role
	kind        pci.Kind
	path, limit float64    // bits a second of the slowest hop to the root: now, at most; 0 unknown
	bottleneck  *topo.Link // the slowest hop now, the nearest of equal ones; nil: unknown
	below       [3]uint64
	belowKnown  bool
	guest       bool
	payload     payload
}

// A payload is the range of maximum payloads from a function to the root port.
type payload struct {
	smallest, largest int
	unseen            string // why a part of the path is not known
}

func functions(v *collectors.View, list []collectors.Unit[Reading]) []function {
	l := lookAt(v, list)
	down := make(map[*probes.Function]*topo.Link, len(v.Topology.Links))
	for _, k := range v.Topology.Links {
		if k.Upper != nil {
			down[k.Upper] = k
		}
	}
	var rows []function
	for _, name := range units(v) {
		f := v.Inventory.Function(name)
		row := function{Function: f, at: l.by[name], link: v.Topology.LinkOf(f), down: down[f], role: v.Topology.Role(f), kind: v.Topology.Kind(f), guest: v.Inventory.Facts.Guest}
		row.speed = l.speed(cmp.Or(row.link, row.down))
		if row.link != nil && row.link.Upper != nil {
			row.path, row.bottleneck = slowest(v.Topology.Path(f), l.link)
			row.limit, _ = slowest(v.Topology.Path(f), func(k *topo.Link) pci.Link { return k.Max })
		}
		if row.kind == pci.GPU || row.kind == pci.NIC {
			row.payload = l.payloads(f)
		}
		if f.Kind == pci.Bridge && f.ParentAddress == "" {
			row.below, row.belowKnown = l.errorsBelow(f), true
		}
		rows = append(rows, row)
	}
	return rows
}

// payloads looks at the maximum payload of each function up to the root port.
func (l look) payloads(f *probes.Function) payload {
	p := payload{smallest: 1 << 30}
	for ; f != nil; f = f.Parent {
		e, why := l.express(f)
		if e == nil {
			p.unseen = why
			continue
		}
		p.smallest, p.largest = min(p.smallest, e.MaxPayload), max(p.largest, e.MaxPayload)
	}
	return p
}

// speed gives the speed in force on a link, else the most that it can do.
func (l look) speed(k *topo.Link) pci.Speed {
	if k == nil {
		return pci.Gen1
	}
	return cmp.Or(l.link(k).Speed, k.Max.Speed, pci.Gen1)
}

// slowest gives the least bandwidth along a path and the first link with it, or
// nothing if a hop is not known.
func slowest(path []*topo.Link, state func(*topo.Link) pci.Link) (bits float64, at *topo.Link) {
	for _, k := range path {
		if k.Inner {
			continue
		}
		b := state(k).BitsPerSecond()
		if b == 0 {
			return 0, nil
		}
		if at == nil || b < bits {
			bits, at = b, k
		}
	}
	return bits, at
}

// errorsBelow sums the error counters of a root port and all below it.
func (l look) errorsBelow(f *probes.Function) (sum [3]uint64) {
	if r := l.by[f.Address]; r != nil && r.AER != nil {
		for s := range sum {
			sum[s] += r.AER.Sum(Severity(s))
		}
	}
	for _, c := range l.v.Topology.Children(f) {
		for s, n := range l.errorsBelow(c) {
			sum[s] += n
		}
	}
	return sum
}
