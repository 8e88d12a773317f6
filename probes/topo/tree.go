// SPDX-License-Identifier: Apache-2.0

// Package topo holds pure functions over a machine's PCI tree: links and what
// is below them, paths, distances, cards, roles, sisters. It knows how the
// tree is made, not how fast a link should be, and it reads no device.
package topo

import (
	"slices"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// A Tree is the PCI tree of one inventory.
type Tree struct {
	Inventory *probes.Inventory
	Links     []*Link // by the lower end's address
	GPUs      []*probes.Function
	NICs      []*probes.Function // physical functions
	Switches  []*probes.Function // NVSwitches
	Cards     []*Card

	plan       config.Plan
	byLower    map[*probes.Function]*Link
	children   map[*probes.Function][]*probes.Function
	cardOf     map[*probes.Function]*Card
	candidates []*probes.Function
	roles      map[*probes.Function]Role
	distances  map[[2]*probes.Function]answer
}

// A Link is one PCI Express link: between a root port or a switch's downstream
// port and what is plugged in below it.
type Link struct {
	Lower *probes.Function // function of the lowest number at the lower end
	Upper *probes.Function // nil where the port above is not visible
	// Functions are all physical functions at the lower end.
	Functions []*probes.Function
	// Devices are the GPUs, NICs and NVSwitches at or below the link.
	Devices []*probes.Function
	// Inner marks a link inside a card that has a switch of its own: it tells
	// nothing of the slot, whose link is the one at the card's upstream port.
	Inner bool
	// Max is what both ends can do; parts that neither knows are zero.
	Max pci.Link
}

// New builds the tree of an inventory.
func New(inv *probes.Inventory, plan config.Plan) *Tree {
	t := &Tree{
		Inventory: inv, plan: called(plan, inv),
		byLower:  map[*probes.Function]*Link{},
		children: map[*probes.Function][]*probes.Function{},
		cardOf:   map[*probes.Function]*Card{},

		distances: map[[2]*probes.Function]answer{},
	}
	for _, f := range inv.Functions {
		if f.Parent != nil {
			t.children[f.Parent] = append(t.children[f.Parent], f)
		}
		if f.Virtual() {
			continue
		}
		switch t.kind(f) {
		case pci.GPU:
			t.GPUs = append(t.GPUs, f)
		case pci.NIC:
			t.NICs = append(t.NICs, f)
		case pci.NVSwitch:
			t.Switches = append(t.Switches, f)
		}
	}
	t.findLinks()
	t.findCards()
	for _, gpu := range t.GPUs {
		for _, nic := range t.NICs {
			d, why := t.distance(gpu, nic)
			t.distances[[2]*probes.Function{gpu, nic}] = answer{d, why}
		}
	}
	t.findRoles()
	return t
}

// kind is the function's kind, but for what is integrated into the processor:
// such a display controller is no training GPU.
func (t *Tree) kind(f *probes.Function) pci.Kind {
	if f.Kind == pci.GPU && f.ParentAddress == "" && f.Vendor == pci.VendorIntel && !t.Inventory.Facts.Guest {
		return pci.Other
	}
	if f.Kind == pci.Other && len(f.RDMA) > 0 {
		return pci.NIC
	}
	return f.Kind
}

// Kind is what the function is to a training cluster.
func (t *Tree) Kind(f *probes.Function) pci.Kind { return t.kind(f) }

// IsDevice says whether a function is one of those whose links matter: a
// physical GPU, NIC or NVSwitch.
func (t *Tree) IsDevice(f *probes.Function) bool {
	if f.Virtual() {
		return false
	}
	k := t.kind(f)
	return k == pci.GPU || k == pci.NIC || k == pci.NVSwitch
}

// UpstreamPort says whether f is a switch's upstream port: a bridge at the
// lower end of a link. The kinds alternate on the way down from a root port.
func UpstreamPort(f *probes.Function) bool {
	return f != nil && f.Kind == pci.Bridge && belowPort(f)
}

// belowPort says whether a function is plugged in below a root port or a
// switch's downstream port: one that has an odd number of ports above it.
func belowPort(f *probes.Function) bool { return len(f.Above)%2 == 1 }

func (t *Tree) findLinks() {
	type end struct {
		parent string
		bus    pci.Address
	}
	ends := map[end]*Link{}
	for _, f := range t.Inventory.Functions {
		if !t.endsLink(f) {
			continue
		}
		key := end{f.ParentAddress, pci.Address{Domain: f.Addr.Domain, Bus: f.Addr.Bus}}
		if f.ParentAddress == "" { // on a root bus every device has its own
			key.bus.Device = f.Addr.Device
		}
		l := ends[key]
		if l == nil {
			l = &Link{Lower: f, Upper: f.Parent, Max: f.Max}
			if f.Parent != nil {
				l.Max = f.Max.Min(f.Parent.Max)
			}
			ends[key] = l
			t.Links = append(t.Links, l)
		}
		l.Functions = append(l.Functions, f)
		t.byLower[f] = l
	}
	for _, l := range t.Links {
		for _, f := range l.Functions {
			l.Devices = append(l.Devices, t.devicesBelow(f)...)
		}
		slices.SortFunc(l.Devices, byAddress)
		l.Inner = inner(l)
	}
}

// endsLink says whether f is the lower end of a link: a physical PCI Express
// function that is plugged in below a port, or one on a root bus whose own
// registers claim a link (a guest's passed-through device).
func (t *Tree) endsLink(f *probes.Function) bool {
	if !f.HasLink || f.Virtual() || f.MaxWidthRaw.V == pci.WidthNone {
		return false
	}
	if f.ParentAddress == "" {
		return f.Kind != pci.Bridge && f.MaxWidthRaw.V != 0
	}
	return belowPort(f)
}

// inner finds links inside a card: its switch and the device below it are the
// same maker's, as on Intel Arc, Radeon and BlueField cards and in Intel's
// chipsets. A switch of another maker joins cards, and its links are slots; so
// is the link between two switches, which are often one maker's.
func inner(l *Link) bool {
	return l.Upper != nil && l.Lower.Kind != pci.Bridge && UpstreamPort(l.Upper.Parent) &&
		l.Upper.Vendor == l.Lower.Vendor && l.Upper.Parent.Vendor == l.Lower.Vendor
}

func (t *Tree) devicesBelow(f *probes.Function) []*probes.Function {
	var list []*probes.Function
	if t.IsDevice(f) {
		list = append(list, f)
	}
	for _, c := range t.children[f] {
		list = append(list, t.devicesBelow(c)...)
	}
	return list
}

func byAddress(a, b *probes.Function) int { return a.Addr.Compare(b.Addr) }

// Children lists the functions directly below a bridge; below the host
// bridges for nil.
func (t *Tree) Children(f *probes.Function) []*probes.Function {
	if f != nil {
		return t.children[f]
	}
	var roots []*probes.Function
	for _, f := range t.Inventory.Functions {
		if f.Parent == nil {
			roots = append(roots, f)
		}
	}
	return roots
}

// LinkOf gives the link whose lower end f is, or nil.
func (t *Tree) LinkOf(f *probes.Function) *Link { return t.byLower[f] }

// SlotLink gives the link by which f's card is plugged in: the lowest one on
// its way up that is not inside the card. Nil if none is visible.
func (t *Tree) SlotLink(f *probes.Function) *Link {
	for _, l := range t.Path(f) {
		if !l.Inner {
			return l
		}
	}
	return nil
}

// Path lists the links from f up to the root port.
func (t *Tree) Path(f *probes.Function) []*Link {
	var path []*Link
	for ; f != nil; f = f.Parent {
		if l := t.byLower[f]; l != nil {
			path = append(path, l)
		}
	}
	return path
}

// Bridges lists the bridges above f, the nearest first.
func Bridges(f *probes.Function) []*probes.Function {
	var list []*probes.Function
	for f = f.Parent; f != nil; f = f.Parent {
		list = append(list, f)
	}
	return list
}

// Throughput gives the bits a second that the paths of functions carry
// together from the root down: what several functions share counts once, and
// links inside a card do not limit. It is not known where a link is not.
func (t *Tree) Throughput(functions []*probes.Function, state func(*Link) pci.Link) (bits float64, narrowest *Link, known bool) {
	below := map[*Link][]*Link{} // a link to those directly below it
	var tops []*Link
	seen := map[*Link]bool{}
	for _, f := range functions {
		var lower *Link
		for _, l := range t.Path(f) {
			if l.Inner {
				continue
			}
			if lower != nil && !slices.Contains(below[l], lower) {
				below[l] = append(below[l], lower)
			}
			lower, seen[l] = l, true
		}
		if lower == nil || lower.Upper == nil {
			return 0, nil, false
		}
		if !slices.Contains(tops, lower) {
			tops = append(tops, lower)
		}
	}
	known = len(tops) > 0
	var flow func(*Link) float64
	flow = func(l *Link) float64 {
		capacity := state(l).BitsPerSecond()
		if capacity == 0 {
			known = false
		}
		if narrowest == nil || capacity < state(narrowest).BitsPerSecond() {
			narrowest = l
		}
		if len(below[l]) == 0 {
			return capacity
		}
		sum := 0.0
		for _, b := range below[l] {
			sum += flow(b)
		}
		return min(capacity, sum)
	}
	for _, l := range tops {
		bits += flow(l)
	}
	return bits, narrowest, known
}

// Names lists the RDMA devices and interfaces of a function's own ports.
func Names(f *probes.Function) (rdma, netdevs []string) { return f.RDMANames, f.NetdevNames }
