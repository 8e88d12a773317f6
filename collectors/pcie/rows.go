// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
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
	path, limit float64 // bits a second of the slowest hop to the root: now, at most; 0 unknown
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
			row.path = slowest(v.Topology.Path(f), l.link)
			row.limit = slowest(v.Topology.Path(f), func(k *topo.Link) pci.Link { return k.Max })
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

// slowest gives the least bandwidth along a path, 0 if a hop is not known.
func slowest(path []*topo.Link, state func(*topo.Link) pci.Link) float64 {
	least := 0.0
	for _, k := range path {
		if k.Inner {
			continue
		}
		b := state(k).BitsPerSecond()
		if b == 0 {
			return 0
		}
		if least == 0 || b < least {
			least = b
		}
	}
	return least
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

// A load is how busy the GPUs below a link are.
type load struct {
	gpus  int
	known bool // of all of them
	most  int  // percent, of the busiest that is known
}

func loadOf(v *collectors.View, devices []*probes.Function) load {
	s := collectors.Reading[gpu.Snapshot](v, "gpu")
	l := load{known: true, most: -1}
	for _, f := range devices {
		if v.Topology.Kind(f) != pci.GPU {
			continue
		}
		l.gpus++
		if d := s.Find(f.Address); d != nil && d.Utilization != nil {
			l.most = max(l.most, *d.Utilization)
		} else {
			l.known = false
		}
	}
	return l
}

// A linkRow is one link with its state.
type linkRow struct {
	*topo.Link
	at       *Reading // of the lower end; nil: no fresh reading
	now      pci.Link
	load     load
	target   string // a port whose target speed is below the link's maximum
	guest    bool
	onlyGPUs bool
	l1       probes.Value[bool]
	l1Why    string
}

func linkRows(v *collectors.View, list []collectors.Unit[Reading]) []linkRow {
	l := lookAt(v, list)
	var rows []linkRow
	for _, k := range v.Topology.Links {
		if k.Inner {
			continue
		}
		r := linkRow{Link: k, at: l.by[k.Lower.Address], now: l.link(k), load: loadOf(v, k.Devices), guest: v.Inventory.Facts.Guest}
		r.onlyGPUs = len(k.Devices) > 0 && r.load.gpus == len(k.Devices)
		r.target = l.capped(k)
		r.l1, r.l1Why = l.aspm(k)
		rows = append(rows, r)
	}
	return append(rows, noLinks(v)...)
}

// noLinks gives the devices of a virtual machine that have no link files.
func noLinks(v *collectors.View) []linkRow {
	var rows []linkRow
	if !v.Inventory.Facts.Guest {
		return nil
	}
	for _, f := range v.Inventory.Functions {
		if v.Topology.IsDevice(f) && v.Topology.SlotLink(f) == nil {
			k := &topo.Link{Lower: f, Functions: []*probes.Function{f}, Devices: []*probes.Function{f}}
			rows = append(rows, linkRow{Link: k, guest: true})
		}
	}
	return rows
}

// hops writes every link from f to the root port:
// "0000:8d:00.0 8 GT/s x16 of 16 GT/s x16 below 0000:8c:00.0, …".
func hops(v *collectors.View, f *probes.Function) string {
	l := lookAt(v, collectors.Readings[Reading](v, "pcie"))
	var parts []string
	for _, k := range v.Topology.Path(f) {
		if k.Inner {
			continue
		}
		text := fmt.Sprintf("%s %s", k.Lower.Address, l.link(k))
		if k.Max != l.link(k) {
			text += fmt.Sprintf(" of %s", k.Max)
		}
		if k.Upper != nil {
			text += " below " + k.Upper.Address
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// capped finds a port that was told not to go as fast as the link can.
func (l look) capped(k *topo.Link) string {
	for _, f := range []*probes.Function{k.Upper, k.Lower} {
		if f == nil {
			continue
		}
		c, _ := l.config(f)
		if c != nil && c.PCIe != nil && c.PCIe.TargetSpeed < k.Max.Speed && c.PCIe.TargetSpeed >= l.link(k).Speed {
			return fmt.Sprintf("the target link speed of %s is %s", f.Address, c.PCIe.TargetSpeed)
		}
	}
	return ""
}

// aspm says whether L1 is enabled at both ends of a link.
func (l look) aspm(k *topo.Link) (on probes.Value[bool], why string) {
	e, why := l.express(k.Lower)
	if e != nil && e.HasLink {
		on = probes.Some(e.ASPML1)
		if k.Upper != nil {
			if u, _ := l.express(k.Upper); u != nil && u.HasLink {
				on.V = on.V && u.ASPML1
			}
		}
		return on, ""
	}
	if r := l.by[k.Lower.Address]; r != nil && r.L1.OK {
		return r.L1, ""
	}
	return on, why
}
