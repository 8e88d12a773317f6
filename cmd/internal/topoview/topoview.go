// SPDX-License-Identifier: Apache-2.0

// Package topoview shows a machine's PCI Express tree to people and programs:
// as text, JSON, CSV, a drawing for Graphviz and a topology file for NCCL. It
// knows these formats and what of the tree their readers look for. It does not
// know how the tree is found out or what a link should be: structure comes
// from probes/topo, states from readings and what is a defect from findings.
// It reads no device and writes only to the writers it is given.
package topoview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fabricd/fabricd/collectors"
	gpus "github.com/fabricd/fabricd/collectors/gpu"
	"github.com/fabricd/fabricd/collectors/pcie"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// Collectors lists the collectors whose readings New looks at.
func Collectors() []string { return []string{"pcie", "gpu"} }

// Checks lists the checks whose findings New looks at.
func Checks() []string {
	return []string{checkWidth, checkSpeed, checkSlot, checkLost, checkBudget}
}

const (
	checkWidth  = "pcie_width"
	checkSpeed  = "pcie_speed"
	checkSlot   = "pcie_slot"
	checkLost   = "pcie_lost"
	checkBudget = "pcie_budget"
)

// A Source is what a Machine is made from.
type Source struct {
	Host     string // the machine's name
	Time     string // of the readings; what is no time (RFC 3339) is taken for not known
	View     *collectors.View
	Findings []collectors.Finding
	CPUInfo  []byte // /proc/cpuinfo; only NCCL's format needs it
}

// A Machine is one machine at one moment, ready to be written in any format.
type Machine struct {
	host, time string
	inventory  *probes.Inventory
	tree       *topo.Tree
	snapshot   *gpu.Snapshot // nil: the GPU driver was not asked
	processor  processor

	gpus, nics, switches []*probes.Function // in the order of their labels
	labels               map[*probes.Function]string
	readings             map[string]*pcie.Reading // by address
	findings             map[subject]collectors.Finding
	limits               map[*topo.Link]limit
}

// A subject is what a finding is about: a check and an address.
type subject struct{ check, address string }

// New makes a Machine.
func New(s Source) *Machine {
	m := &Machine{
		host:      printable(s.Host),
		inventory: s.View.Inventory, tree: s.View.Topology,
		snapshot:  gpus.Snapshot(s.View),
		processor: parseProcessor(s.CPUInfo),
		labels:    map[*probes.Function]string{},
		readings:  map[string]*pcie.Reading{},
		findings:  map[subject]collectors.Finding{},
	}
	if _, err := time.Parse(time.RFC3339, s.Time); err == nil {
		m.time = s.Time
	}
	for _, u := range collectors.Readings[pcie.Reading](s.View, "pcie") {
		m.readings[u.Name] = u.Reading
	}
	for _, f := range s.Findings {
		if len(f.Subject) > 0 { // the first label of these checks is the address
			m.findings[subject{f.Check, f.Subject[0].Value}] = f
		}
	}
	m.label()
	m.findLimits()
	return m
}

// label gives GPUs the driver's numbers. GPUs that the driver does not name
// are numbered by address, which is the driver's order, if it names none;
// beside others their number is a guess nobody should act on.
func (m *Machine) label() {
	m.gpus, m.switches = slices.Clone(m.tree.GPUs), slices.Clone(m.tree.Switches)
	slices.SortStableFunc(m.gpus, func(a, b *probes.Function) int {
		return cmp.Or(cmp.Compare(m.number(a), m.number(b)), a.Addr.Compare(b.Addr))
	})
	known := slices.ContainsFunc(m.gpus, func(f *probes.Function) bool { return m.snapshot.Find(f.Address) != nil })
	unnamed := 0
	for i, f := range m.gpus {
		switch d := m.snapshot.Find(f.Address); {
		case d != nil:
			m.labels[f] = fmt.Sprintf("GPU%d", d.Index)
		case known:
			m.labels[f] = fmt.Sprintf("GPU?%d", unnamed)
			unnamed++
		default:
			m.labels[f] = fmt.Sprintf("GPU%d", i)
		}
	}
	m.nics = slices.Clone(m.tree.NICs)
	slices.SortStableFunc(m.nics, func(a, b *probes.Function) int {
		return cmp.Or(cmp.Compare(second(a), second(b)), a.Addr.Compare(b.Addr))
	})
	for i, f := range m.nics {
		m.labels[f] = fmt.Sprintf("NIC%d", i)
	}
	for i, f := range m.switches {
		m.labels[f] = fmt.Sprintf("NVSwitch%d", i)
	}
}

// number is the driver's index of a GPU; what it does not name comes last.
func (m *Machine) number(f *probes.Function) int {
	if d := m.snapshot.Find(f.Address); d != nil {
		return d.Index
	}
	return 1 << 30
}

// second puts NICs without an RDMA device after those that have one, as
// nvidia-smi numbers only the latter.
func second(f *probes.Function) int {
	if hasRDMA(f) {
		return 0
	}
	return 1
}

func hasRDMA(f *probes.Function) bool {
	rdma, _ := topo.Names(f)
	return len(rdma) > 0
}

// matters says whether f is a GPU, NIC or NVSwitch, or leads to one.
func (m *Machine) matters(f *probes.Function) bool {
	if m.tree.IsDevice(f) {
		return true
	}
	return slices.ContainsFunc(m.tree.Children(f), m.matters)
}

// node gives the NUMA node of a function: its own, or that of what
// is below it where the firmware gives it none. -1 is not known.
func (m *Machine) node(f *probes.Function) int {
	if f.NUMANode.OK && f.NUMANode.V >= 0 {
		return f.NUMANode.V
	}
	for _, c := range m.tree.Children(f) {
		if n := m.node(c); n >= 0 {
			return n
		}
	}
	if len(m.inventory.Nodes) == 1 {
		return m.inventory.Nodes[0].ID
	}
	return -1
}

// downstream says whether f is a switch's downstream port. It belongs to the
// switch, which its upstream port stands for.
func downstream(f *probes.Function) bool {
	return f.Kind == pci.Bridge && topo.UpstreamPort(f.Parent)
}
