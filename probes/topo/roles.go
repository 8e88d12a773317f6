// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"slices"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// A Role is what a NIC is for.
type Role string

// Roles. The empty Role is not known.
const (
	Compute    Role = config.RoleCompute
	Storage    Role = config.RoleStorage
	Management Role = config.RoleManagement
)

// slowGbps bounds the ports that are taken for management.
const slowGbps = 25

// Role gives a NIC's role, "" for what is no NIC or where it cannot be told.
func (t *Tree) Role(f *probes.Function) Role { return t.roles[f] }

// Candidates lists the NICs that a GPU's traffic may use: RDMA NICs not known
// to be slow, and those that the plan names.
func (t *Tree) Candidates() []*probes.Function { return t.candidates }

// MayPeer says whether a GPU may want to talk to a NIC directly: a candidate,
// an InfiniBand controller, or one whose ports are fast.
func (t *Tree) MayPeer(f *probes.Function) bool {
	if slices.Contains(t.candidates, f) {
		return true
	}
	role := t.roles[f]
	return (role == "" || role == Compute) && (f.Class>>8 == 0x0207 || PortsGbps(f) > slowGbps)
}

// Planned says whether what a plan says of compute ports is about a physical
// function: where no GPU tells roles, about every one that a GPU may use.
func (t *Tree) Planned(f *probes.Function) bool {
	role := t.Role(f)
	return role == Compute || role == "" && t.MayPeer(f)
}

func allNames(f *probes.Function) []string {
	rdma, netdevs := Names(f)
	return slices.Concat([]string{f.Address}, netdevs, rdma)
}

func (t *Tree) findRoles() {
	t.roles = map[*probes.Function]Role{}
	// A bond is an uplink beside NICs that are none; where all are bonded, the
	// bonds are what the GPUs have.
	if t.candidates = t.candidatesAmong(false); len(t.candidates) == 0 {
		t.candidates = t.candidatesAmong(true)
	}
	compute := map[*probes.Function]bool{}
	told := false
	for _, gpu := range t.GPUs {
		best := t.Best(gpu)
		told = told || best.Distance != Unknown
		for _, nic := range best.NICs {
			compute[nic] = true
		}
	}
	for _, f := range t.NICs {
		rdma, _ := Names(f)
		planned := Role(t.plan.Role(allNames(f)...))
		switch {
		case planned != "":
			t.roles[f] = planned
		case compute[f]:
			t.roles[f] = Compute
		case uplinkBond(f) || t.slow(f):
			t.roles[f] = Management
		case len(rdma) > 0 && told:
			t.roles[f] = Storage
		}
	}
}

func (t *Tree) candidatesAmong(bonds bool) []*probes.Function {
	var list []*probes.Function
	for _, f := range t.NICs {
		if t.candidate(f, bonds) {
			list = append(list, f)
		}
	}
	return list
}

func (t *Tree) candidate(f *probes.Function, bonds bool) bool {
	names := allNames(f)
	if role := t.plan.Role(names...); role != "" {
		return role == config.RoleCompute
	}
	if t.plan.Names(names...) {
		return true
	}
	rdma, _ := Names(f)
	return len(rdma) > 0 && !t.slow(f) && (bonds || !uplinkBond(f))
}

// uplinkBond says whether all ports of a NIC are legs of a bond.
func uplinkBond(f *probes.Function) bool {
	bonded := false
	for _, n := range f.Netdevs {
		if n.Port {
			if !n.Bonded {
				return false
			}
			bonded = true
		}
	}
	return bonded
}

// slow says whether a NIC is known to have ports of at most 25 Gb/s: by its
// own rate or, while it is down, by that of its equals that are up.
func (t *Tree) slow(f *probes.Function) bool {
	if r := RatesOf(f); r.Fastest > 0 {
		return r.Fastest <= slowGbps
	}
	known := false
	for _, s := range t.NICs {
		if s.Vendor != f.Vendor || s.Device != f.Device {
			continue
		}
		r := RatesOf(s)
		if r.Fastest > slowGbps {
			return false
		}
		known = known || r.Fastest > 0
	}
	return known
}

// Rates are those of a function's active ports, in Gb/s.
type Rates struct {
	Sum, Fastest float64
	Unknown      bool // there is an active port whose rate nobody tells
}

func (r *Rates) add(gbps float64, ok bool) {
	r.Sum, r.Fastest = r.Sum+gbps, max(r.Fastest, gbps)
	r.Unknown = r.Unknown || !ok
}

// infiniBand is the type (ARPHRD) of interfaces over InfiniBand.
const infiniBand = 32

// RatesOf gives the rates of a function's active ports: of its interfaces with
// carrier, or of its RDMA ports where no interface tells a speed. Interfaces
// over InfiniBand that share a port (one for each partition) count once.
func RatesOf(f *probes.Function) Rates {
	var ethernet, rdma Rates
	seen := uint64(0)
	for _, n := range f.Netdevs {
		if !n.Port || !n.Carrier.V {
			continue
		}
		if n.Type == infiniBand {
			bit := uint64(1) << (n.DevPort & 63)
			if seen&bit != 0 {
				continue
			}
			seen |= bit
		}
		ethernet.add(float64(n.SpeedMbps.V)/1000, n.SpeedMbps.OK)
	}
	for _, d := range f.RDMA {
		for _, p := range d.Ports {
			if d.Port && p.State == "ACTIVE" {
				rdma.add(p.RateGbps.V, p.RateGbps.OK)
			}
		}
	}
	if ethernet.Sum > 0 || rdma.Sum == 0 && ethernet.Unknown {
		return ethernet
	}
	return rdma
}

// PortsGbps sums the rates of a function's active ports.
func PortsGbps(f *probes.Function) float64 { return RatesOf(f).Sum }

// Sisters says which functions are compared with f: those of the same vendor,
// device and role.
func (t *Tree) Sisters(f *probes.Function) string {
	return fmt.Sprintf("%04x:%04x %s", f.Vendor, f.Device, t.roles[f])
}

// A Card is what carries one identity: the physical functions of a NIC in one
// slot or, for socket-direct cards, in several.
type Card struct {
	Functions []*probes.Function // by address
}

// CardOf gives the card of a NIC, or nil.
func (t *Tree) CardOf(f *probes.Function) *Card { return t.cardOf[f] }

// findCards joins functions that share a slot or an identity, also by way of
// others.
func (t *Tree) findCards() {
	leader := map[string]string{} // of a slot or identity; of a leader: itself
	find := func(key string) string {
		for leader[key] != "" && leader[key] != key {
			key = leader[key]
		}
		leader[key] = key
		return key
	}
	for _, f := range t.NICs {
		for _, id := range identities(f) {
			leader[find(id)] = find(slotOf(f))
		}
	}
	cards := map[string]*Card{}
	for _, f := range t.NICs {
		key := find(slotOf(f))
		if cards[key] == nil {
			cards[key] = &Card{}
			t.Cards = append(t.Cards, cards[key])
		}
		cards[key].Functions = append(cards[key].Functions, f)
		t.cardOf[f] = cards[key]
	}
}

func slotOf(f *probes.Function) string { return f.ParentAddress + " " + f.Addr.Slot() }

// identities gives the system image GUIDs of a function's RDMA devices.
func identities(f *probes.Function) []string {
	var list []string
	for _, d := range f.RDMA {
		if d.Port && d.SysImageGUID != "" {
			list = append(list, "guid "+d.SysImageGUID)
		}
	}
	return list
}

// ActiveGbps sums the rates of the card's active ports. Functions of the same
// number in different slots of one card lead to the same cable (socket-direct
// cards, both halves of a GB10's NIC): the faster of them counts.
func (c *Card) ActiveGbps() float64 {
	cables := map[uint8]map[pci.Address]float64{}
	for _, f := range c.Functions {
		slot := f.Addr
		slot.Function = 0
		number := f.Addr.Function
		if cables[number] == nil {
			cables[number] = map[pci.Address]float64{}
		}
		cables[number][slot] += PortsGbps(f)
	}
	sum := 0.0
	for _, bySlot := range cables {
		fastest := 0.0
		for _, gbps := range bySlot {
			fastest = max(fastest, gbps)
		}
		sum += fastest
	}
	return sum
}
