// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// minLeft is what names may keep of a line however much there is to say of links.
const minLeft = 48

// A row is one line of a tree: what it is, and how its link stands.
type row struct{ left, right line }

// A grown tree is the rows of one section.
type grown struct {
	rows   []row
	hidden census
	used   marks
}

// marks says which marks were used, so that only those are explained.
type marks struct{ defect, limit, slot, idle bool }

func (a marks) plus(b marks) marks {
	return marks{a.defect || b.defect, a.limit || b.limit, a.slot || b.slot, a.idle || b.idle}
}

// grow makes the rows of the trees below roots.
func (m *Machine) grow(c *canvas, roots []*probes.Function) *grown {
	t := &grown{}
	m.branch(c, t, roots, "", true)
	return t
}

// branch adds the rows of functions and of what is below them. Those at the
// root hang on nothing that is shown and have no lines to the left.
func (m *Machine) branch(c *canvas, t *grown, list []*probes.Function, indent string, root bool) {
	shown := m.shown(c.look, t, list)
	g := c.glyphs()
	for i, f := range shown {
		lead, below := g.tee, g.bar
		if i == len(shown)-1 {
			lead, below = g.end, "   "
		}
		if root {
			lead, below = "", ""
		}
		left := append(line{{"  " + indent + lead, faint}}, m.describe(f)...)
		t.rows = append(t.rows, row{left, m.linkText(c, t, f)})
		m.branch(c, t, m.tree.Children(f), indent+below, false)
	}
}

// shown picks the functions that get a row and counts the others. A switch is
// one row: what hangs on its downstream ports hangs on it.
func (m *Machine) shown(look Look, t *grown, list []*probes.Function) []*probes.Function {
	if look.All {
		return list
	}
	var shown []*probes.Function
	for _, f := range list {
		switch {
		case !m.matters(f):
			m.hide(t, f)
		case downstream(f):
			t.hidden.count(f)
			shown = append(shown, m.shown(look, t, m.tree.Children(f))...)
		default:
			shown = append(shown, f)
		}
	}
	return shown
}

func (m *Machine) hide(t *grown, f *probes.Function) {
	t.hidden.count(f)
	for _, c := range m.tree.Children(f) {
		m.hide(t, c)
	}
}

// write writes the rows, with the links' states in one column as far as they
// have room there: a long one, which tells of something odd, begins earlier.
func (t *grown) write(c *canvas, column int) {
	for _, r := range t.rows {
		if len(r.right) == 0 {
			c.line(r.left)
			continue
		}
		at := min(column, max(c.look.Width-r.right.width()-2, minLeft))
		left := r.left.cut(at, c.glyphs().cut)
		gap := strings.Repeat(" ", at-left.width()+2)
		c.line(slices.Concat(left, line{{gap, plain}}, r.right))
	}
}

// describe says what a function is: its address, label and names.
func (m *Machine) describe(f *probes.Function) line {
	l := line{{f.Address, plain}}
	id := fmt.Sprintf("[%04x:%04x]", f.Vendor, f.Device)
	switch kind := m.tree.Kind(f); {
	case f.Virtual():
		l = l.add(faint, "virtual function of "+f.PhysicalFunction)
	case kind == pci.GPU:
		name := id
		if d := m.snapshot.Find(f.Address); d != nil && d.Name != "" {
			name = narrow(d.Name)
		}
		l = l.add(bold, m.labels[f]).add(plain, name)
	case kind == pci.NIC:
		l = append(l.add(bold, m.labels[f]), m.nicText(f)...)
	case kind == pci.NVSwitch:
		l = l.add(bold, m.labels[f])
	case topo.UpstreamPort(f):
		l = l.add(plain, "switch").add(faint, id)
	case downstream(f):
		l = l.add(faint, "port of the switch")
	case kind == pci.Bridge && f.ParentAddress == "":
		l = l.add(plain, "root port").add(faint, f.Root)
	case kind == pci.Bridge:
		l = l.add(plain, "bridge").add(faint, id)
	case kind == pci.Storage:
		l = l.add(faint, "storage "+id)
	default:
		l = l.add(faint, fmt.Sprintf("class %06x %s", f.Class, id))
	}
	if f.Driver == "vfio-pci" {
		l = l.add(mild, "(vfio-pci: lent to a virtual machine)")
	}
	return append(l, m.strayNode(f)...)
}

// strayNode tells a device's node where it is not that of the root port.
func (m *Machine) strayNode(f *probes.Function) line {
	top := f
	for top.Parent != nil {
		top = top.Parent
	}
	if top == f || !m.tree.IsDevice(f) || !f.NUMANode.OK || f.NUMANode.V < 0 || f.NUMANode.V == m.node(top) {
		return nil
	}
	return line{{fmt.Sprintf(" (NUMA node %d)", f.NUMANode.V), mild}}
}

func (m *Machine) nicText(f *probes.Function) line {
	rdma, netdevs := topo.Names(f)
	var l line
	for _, names := range [][]string{rdma, netdevs} {
		if len(names) > 0 {
			l = append(l, span{" " + narrow(strings.Join(names, ",")), plain})
		}
	}
	if len(l) == 0 {
		l = append(l, span{fmt.Sprintf(" [%04x:%04x]", f.Vendor, f.Device), plain})
	}
	if gbps := topo.PortsGbps(f); gbps > 0 {
		l = append(l, span{fmt.Sprintf(" %.4g Gb/s", gbps), plain})
	} else if down(f) {
		l = append(l, span{" down", mild})
	}
	if role := m.tree.Role(f); role != "" && role != topo.Compute {
		l = append(l, span{" " + string(role), faint})
	}
	if n := virtuals(m.inventory, f); n > 0 {
		l = append(l, span{fmt.Sprintf(" +%d VFs", n), faint})
	}
	return l
}

// down says whether a NIC has ports that tell their state, and all are down.
func down(f *probes.Function) bool {
	told := false
	for _, n := range f.Netdevs {
		if n.Port && n.Carrier.OK {
			told = true
			if n.Carrier.V {
				return false
			}
		}
	}
	for _, d := range f.RDMA {
		for _, p := range d.Ports {
			if d.Port && p.State != "" {
				told = true
				if p.State == "ACTIVE" {
					return false
				}
			}
		}
	}
	return told
}

func virtuals(inv *probes.Inventory, f *probes.Function) int {
	n := 0
	for _, v := range inv.Functions {
		if v.PhysicalFunction == f.Address {
			n++
		}
	}
	return n
}
