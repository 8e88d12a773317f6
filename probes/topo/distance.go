// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"slices"

	"github.com/fabricd/fabricd/probes"
)

// A Distance is how far apart two PCI functions are, in nvidia-smi's words.
type Distance uint8

// Distances, nearest first.
const (
	Unknown Distance = iota
	PIX              // below one switch
	PXB              // below several switches, not through the host bridge
	PHB              // through one host bridge
	NODE             // through several host bridges of one NUMA node
	SYS              // from one NUMA node to another
)

// String gives nvidia-smi's word.
func (d Distance) String() string {
	return [...]string{"unknown", "PIX", "PXB", "PHB", "NODE", "SYS"}[d]
}

// Meaning says in words what the distance is.
func (d Distance) Meaning() string {
	return [...]string{
		"cannot be told", "below the same PCIe switch", "below several PCIe switches of one root port",
		"through one host bridge", "through host bridges of the same NUMA node", "across NUMA nodes",
	}[d]
}

// An answer is a distance and, if it is Unknown, why.
type answer struct {
	distance Distance
	why      string
}

// Distance gives the distance between two functions, and if it is Unknown why.
func (t *Tree) Distance(a, b *probes.Function) (d Distance, why string) {
	if known, ok := t.distances[[2]*probes.Function{a, b}]; ok {
		return known.distance, known.why
	}
	return t.distance(a, b)
}

func (t *Tree) distance(a, b *probes.Function) (d Distance, why string) {
	if sharesBridge(a, b) {
		if nearestSwitch(a) == nearestSwitch(b) {
			return PIX, ""
		}
		return PXB, ""
	}
	facts := t.Inventory.Facts
	if facts.Guest && a.ParentAddress == "" && b.ParentAddress == "" {
		return Unknown, "a virtual machine that puts all devices directly on a root bus: the host's topology is not visible"
	}
	if a.Root == b.Root {
		return PHB, ""
	}
	nodes := len(t.Inventory.Nodes)
	switch {
	case t.numaDisabled():
		return Unknown, "NUMA is not known to the kernel on this machine of several sockets"
	case nodes <= 1:
		return NODE, ""
	case !a.NUMANode.OK || a.NUMANode.V < 0:
		return Unknown, a.Address + " has no NUMA node"
	case !b.NUMANode.OK || b.NUMANode.V < 0:
		return Unknown, b.Address + " has no NUMA node"
	case a.NUMANode.V == b.NUMANode.V:
		return NODE, ""
	}
	return SYS, ""
}

// numaDisabled says whether the kernel shows one node, or none, for several sockets.
func (t *Tree) numaDisabled() bool {
	return t.Inventory.Facts.Sockets > 1 && len(t.Inventory.Nodes) <= 1
}

// Common gives the nearest bridge above both functions, or nil.
func Common(a, b *probes.Function) *probes.Function {
	above := Bridges(a)
	for _, bridge := range Bridges(b) {
		if slices.Contains(above, bridge) {
			return bridge
		}
	}
	return nil
}

// sharesBridge says whether a bridge is above both functions, visible or not.
func sharesBridge(a, b *probes.Function) bool {
	return slices.ContainsFunc(a.Above, func(address string) bool { return slices.Contains(b.Above, address) })
}

// nearestSwitch gives the switch that f hangs below, by its upstream port's
// address, or the bridge itself where there is no switch.
func nearestSwitch(f *probes.Function) string {
	switch {
	case len(f.Above) >= 3 && belowPort(f):
		return f.Above[1]
	case len(f.Above) > 0:
		return f.Above[0]
	}
	return ""
}

// Between lists the bridges that peer-to-peer traffic passes from a to b below
// their nearest common bridge, which is not among them. Nil if they share none.
func Between(a, b *probes.Function) []*probes.Function {
	common := Common(a, b)
	if common == nil {
		return nil
	}
	var list []*probes.Function
	for _, f := range []*probes.Function{a, b} {
		for _, bridge := range Bridges(f) {
			if bridge == common {
				break
			}
			list = append(list, bridge)
		}
	}
	return list
}

// A Best is the NICs nearest to a GPU.
type Best struct {
	GPU      *probes.Function
	NICs     []*probes.Function // all at the best distance
	Distance Distance
	Why      string // why the distance is Unknown
}

// Best finds the candidates (see Candidates) nearest to a GPU. A distance
// that cannot be told for some of them makes the best one unknown, unless they
// cannot be nearer than another: on bare metal the node alone is what is not
// told, and what shares a node at most is at NODE.
func (t *Tree) Best(gpu *probes.Function) Best {
	best := Best{GPU: gpu}
	unknown := ""
	for _, nic := range t.candidates {
		d, why := t.Distance(gpu, nic)
		switch {
		case d == Unknown:
			unknown = why
		case best.Distance == Unknown || d < best.Distance:
			best.Distance, best.NICs = d, []*probes.Function{nic}
		case d == best.Distance:
			best.NICs = append(best.NICs, nic)
		}
	}
	near := NODE
	if t.Inventory.Facts.Guest {
		near = PHB
	}
	if unknown != "" && (best.Distance == Unknown || best.Distance > near) {
		best.Distance, best.NICs, best.Why = Unknown, nil, unknown
	}
	return best
}
