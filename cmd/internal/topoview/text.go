// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// WriteText writes the tree, its links and the distances for a person.
func (m *Machine) WriteText(w io.Writer, look Look) error {
	if look.Width <= 0 || look.Width > MaxWidth {
		look.Width = MaxWidth
	}
	c := &canvas{w: w, look: look}
	m.header(c)
	used := m.sections(c)
	m.footer(c, used)
	m.matrix(c)
	return c.err
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// header says which machine it is and whether something is wrong with it.
func (m *Machine) header(c *canvas) {
	facts := m.inventory.Facts
	kind := "bare metal"
	if facts.Guest {
		kind = "virtual machine"
	}
	parts := []string{kind}
	if facts.Sockets > 0 {
		parts = append(parts, count(facts.Sockets, "socket", "sockets"))
	}
	if n := len(m.inventory.Nodes); n > 0 {
		parts = append(parts, count(n, "NUMA node", "NUMA nodes"))
	} else {
		parts = append(parts, "no NUMA nodes known")
	}
	if facts.Kernel != "" {
		parts = append(parts, "kernel "+narrow(facts.Kernel))
	}
	title := line{{narrow(cmp.Or(m.host, "this machine")), bold}}.add(plain, narrow(facts.Product))
	c.line(title)
	c.text(plain, strings.Join(parts, c.glyphs().dot))
	c.line(m.summary(c))
	if len(m.gpus) > 0 && m.snapshot == nil {
		c.text(faint, "the GPU driver tells nothing here: GPUs are numbered by address")
	}
	if facts.Guest {
		c.text(mild, "the hypervisor shows its own tree, not the host's: run fabricd on the host as well")
	}
}

// summary counts the devices, and the links on the way to them by status.
func (m *Machine) summary(c *canvas) line {
	what := []string{count(len(m.gpus), "GPU", "GPUs"), count(len(m.nics), "NIC", "NICs")}
	if len(m.switches) > 0 {
		what = append(what, count(len(m.switches), "NVSwitch", "NVSwitches"))
	}
	total, by := 0, map[string]int{}
	for _, l := range m.tree.Links {
		if len(l.Devices) > 0 && !l.Inner {
			total++
			by[m.status(l).word()]++
		}
	}
	if total == 0 {
		return line{{strings.Join(append(what, "no PCIe links known"), c.glyphs().dot), plain}}
	}
	l := line{{strings.Join(append(what, count(total, "PCIe link", "PCIe links")+": "), c.glyphs().dot), plain}}
	for i, word := range slices.Sorted(maps.Keys(by)) {
		s := plain
		if word == StatusDefect.word() {
			s = strong
		}
		if i > 0 {
			l = append(l, span{", ", plain})
		}
		l = append(l, span{fmt.Sprintf("%d %s", by[word], word), s})
	}
	return l
}

// word is how people call a link of this status.
func (s Status) word() string {
	switch s {
	case StatusDefect, StatusLost:
		return "bad"
	case StatusSlot:
		return "limited by the slot"
	case StatusBelow:
		return "not judged"
	case StatusUnknown:
		return "not known"
	}
	return string(s)
}

// A section is a NUMA node with what hangs on its root buses.
type section struct {
	node  int // -1: not known
	roots []*probes.Function
}

func (m *Machine) bySection() []section {
	var list []section
	for _, n := range m.inventory.Nodes {
		list = append(list, section{node: n.ID})
	}
	for _, f := range m.tree.Children(nil) {
		id := m.node(f)
		i := slices.IndexFunc(list, func(s section) bool { return s.node == id })
		if i < 0 {
			i, list = len(list), append(list, section{node: id})
		}
		list[i].roots = append(list[i].roots, f)
	}
	return list
}

// sections writes a tree for each node that leads to something.
func (m *Machine) sections(c *canvas) (used marks) {
	list := m.bySection()
	trees := make([]*grown, len(list))
	column := 0 // where links begin
	for i, s := range list {
		trees[i] = m.grow(c, s.roots)
		for _, r := range trees[i].rows {
			column = max(column, r.left.width())
		}
	}
	var idle []string // nodes without anything
	var others census
	for i, s := range list {
		t := trees[i]
		if len(t.rows) == 0 {
			if s.node >= 0 {
				idle = append(idle, fmt.Sprint(s.node))
			}
			others = others.plus(t.hidden)
			continue
		}
		c.line(nil)
		c.line(m.heading(s.node))
		t.write(c, column)
		used = used.plus(t.used)
		if text := t.hidden.String(); text != "" {
			c.text(faint, "  not shown: "+text)
		}
	}
	m.emptyNodes(c, idle, others)
	return used
}

// emptyNodes sums up the nodes that lead to nothing that is shown.
func (m *Machine) emptyNodes(c *canvas, nodes []string, others census) {
	text := others.String()
	if len(nodes) == 0 && text == "" {
		return
	}
	where := "elsewhere"
	if len(nodes) > 0 {
		where = "NUMA node" + plural(len(nodes)) + " " + strings.Join(nodes, ", ")
	}
	where += ": no GPU, NIC or NVSwitch"
	if text != "" {
		where += "; not shown: " + text
	}
	c.line(nil)
	c.text(faint, where)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func (m *Machine) heading(id int) line {
	i := slices.IndexFunc(m.inventory.Nodes, func(n probes.Node) bool { return n.ID == id })
	switch {
	case id < 0:
		return line{{"NUMA node not known", bold}}
	case i < 0:
		return line{{fmt.Sprintf("NUMA node %d", id), bold}}.add(mild, "(not online)")
	}
	n := m.inventory.Nodes[i]
	l := line{{fmt.Sprintf("NUMA node %d", id), bold}}
	if n.CPUs.V > 0 {
		l = l.add(plain, " CPUs "+n.CPUList)
	} else {
		l = l.add(plain, " no CPUs")
	}
	if n.MemTotal.OK {
		l = l.add(plain, fmt.Sprintf(" %.0f GiB", float64(n.MemTotal.V)/(1<<30)))
	}
	return l
}

// A census counts functions by kind.
type census struct{ storage, bridges, virtual, other int }

func (n census) plus(o census) census {
	return census{n.storage + o.storage, n.bridges + o.bridges, n.virtual + o.virtual, n.other + o.other}
}

func (n *census) count(f *probes.Function) {
	switch {
	case f.Virtual():
		n.virtual++
	case f.Kind == pci.Bridge:
		n.bridges++
	case f.Kind == pci.Storage:
		n.storage++
	default:
		n.other++
	}
}

// String lists what there is: "8 storage functions, 20 bridges".
func (n census) String() string {
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, count(n, one, many))
		}
	}
	add(n.bridges, "bridge", "bridges")
	add(n.storage, "storage function", "storage functions")
	add(n.virtual, "virtual function", "virtual functions")
	add(n.other, "other function", "other functions")
	return strings.Join(parts, ", ")
}

// footer explains the marks that were used.
func (m *Machine) footer(c *canvas, used marks) {
	var lines []line
	mark := c.glyphs().mark
	if used.defect {
		lines = append(lines, line{{"of ...", strong}, {"  what both ends of the link can do: a defect; fabricd check says more and what to do", plain}})
	}
	if used.limit {
		lines = append(lines, line{{mark + " ...", mild}, {"  the slowest link of a path, slower than the device at its end", plain}})
	}
	if used.slot {
		lines = append(lines, line{{"(slot limit, n of m Gb/s)", mild}, {"  the card could do more than its port; m is what its active ports want", plain}})
	}
	if used.idle {
		lines = append(lines, line{{"(idle)", faint}, {"  GPUs slow their links down when they have nothing to do", plain}})
	}
	if len(lines) > 0 {
		c.line(nil)
	}
	for _, l := range lines {
		c.line(l)
	}
}
