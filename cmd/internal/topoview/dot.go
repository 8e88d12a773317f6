// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// WriteDOT writes a drawing for Graphviz: a cluster for each NUMA node and
// host bridge, what leads to GPUs, NICs and NVSwitches (or all functions) and
// the links between, with bottlenecks and defects in red.
func (m *Machine) WriteDOT(w io.Writer, all bool) error {
	d := &drawing{Machine: m, all: all}
	d.line(0, "digraph topology {")
	d.line(1, `graph [rankdir=TB, fontname="sans-serif", fontsize=11, labelloc=t, label=%s];`, quote(m.host, m.inventory.Facts.Product))
	d.line(1, `node [shape=box, fontname="sans-serif", fontsize=10, style=filled, fillcolor=white];`)
	d.line(1, `edge [fontname="sans-serif", fontsize=9, dir=none];`)
	for _, s := range m.bySection() {
		d.section(s)
	}
	for _, e := range d.edges {
		d.line(1, "%s", e)
	}
	d.line(0, "}")
	_, err := io.WriteString(w, d.b.String())
	return err
}

type drawing struct {
	*Machine
	all   bool
	b     strings.Builder
	edges []string // after all clusters, so that no edge decides where a function is drawn
}

func (d *drawing) line(depth int, format string, args ...any) {
	d.b.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteString("\n")
}

// quote makes a string of the DOT language of lines of text. Backslashes and
// ampersands would be escapes to it.
func quote(lines ...string) string {
	var parts []string
	for _, l := range lines {
		if l = printable(l); l != "" {
			parts = append(parts, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(l))
		}
	}
	return `"` + strings.Join(parts, `\n`) + `"`
}

func (d *drawing) section(s section) {
	roots := slices.DeleteFunc(slices.Clone(s.roots), func(f *probes.Function) bool { return !d.all && !d.matters(f) })
	if len(roots) == 0 {
		return
	}
	title := "NUMA node not known"
	if s.node >= 0 {
		title = fmt.Sprintf("NUMA node %d", s.node)
	}
	d.line(1, "subgraph %s {", quote("cluster node "+title))
	d.line(2, "label=%s; style=rounded; color=gray40;", quote(title))
	for _, bridge := range hostBridges(roots) {
		d.line(2, "subgraph %s {", quote("cluster "+title+" "+bridge))
		d.line(3, "label=%s; style=dashed; color=gray60;", quote(bridge))
		for _, f := range roots {
			if f.Root == bridge {
				d.draw(f)
			}
		}
		d.line(2, "}")
	}
	d.line(1, "}")
}

// hostBridges lists the host bridges of functions, in their order.
func hostBridges(list []*probes.Function) []string {
	var roots []string
	for _, f := range list {
		if !slices.Contains(roots, f.Root) {
			roots = append(roots, f.Root)
		}
	}
	return roots
}

// draw adds a function and all that is drawn below it.
func (d *drawing) draw(f *probes.Function) {
	d.line(3, "%s [label=%s%s];", quote(f.Address), quote(d.caption(f)...), d.fill(f))
	for _, c := range d.tree.Children(f) {
		if d.all || d.matters(c) {
			d.draw(c)
			d.edge(f, c)
		}
	}
}

func (d *drawing) caption(f *probes.Function) []string {
	rdma, netdevs := topo.Names(f)
	names := strings.Join(slices.Concat(rdma, netdevs), " ")
	if g := d.snapshot.Find(f.Address); g != nil {
		names = g.Name
	}
	what := d.labels[f]
	switch {
	case what != "":
	case f.Virtual():
		what = "virtual function"
	case downstream(f):
		what = "port"
	case topo.UpstreamPort(f):
		what = "switch"
	case f.Kind == pci.Bridge && f.ParentAddress == "":
		what = "root port"
	default:
		what = f.Kind.String()
	}
	rate := ""
	if gbps := topo.PortsGbps(f); gbps > 0 {
		rate = fmt.Sprintf("%.4g Gb/s", gbps)
	}
	return []string{what, f.Address, names, rate}
}

func (d *drawing) fill(f *probes.Function) string {
	switch d.tree.Kind(f) {
	case pci.GPU:
		return ", fillcolor=palegreen"
	case pci.NIC:
		return ", fillcolor=lightblue"
	case pci.NVSwitch:
		return ", fillcolor=khaki"
	case pci.Bridge:
		return ", fillcolor=gray95"
	}
	return ""
}

// edge draws a link, or what joins the ports inside a switch.
func (d *drawing) edge(upper, lower *probes.Function) {
	l := d.tree.LinkOf(lower)
	look := "color=gray70"
	switch {
	case l == nil:
	case l.Lower != lower:
		look = "color=gray40, style=dotted"
	default:
		look = d.linkLook(l)
	}
	d.edges = append(d.edges, fmt.Sprintf("%s -> %s [%s];", quote(upper.Address), quote(lower.Address), look))
}

func (d *drawing) linkLook(l *topo.Link) string {
	now, status := d.now(l), d.status(l)
	lines := []string{now.String()}
	if below(status) {
		lines = append(lines, "of "+l.Max.String())
	}
	colour := "black"
	limit, found := d.limits[l]
	if found {
		lines = append(lines, fmt.Sprintf("bottleneck %.0f Gb/s", limit.bits/1e9))
	}
	switch {
	case status == StatusDefect, status == StatusLost, found && limit.grade != gradePlatform:
		colour = "red"
	case found, status == StatusSlot, status == StatusBelow, status == StatusMuted:
		colour = "orange3"
	case status == StatusUnknown, status == StatusInner:
		colour = "gray40"
	}
	width := 1.0
	if colour == "red" {
		width = 3
	}
	return fmt.Sprintf("label=%s, color=%s, fontcolor=%s, penwidth=%.0f", quote(lines...), colour, colour, width)
}

// below says whether a status means that the link could do more.
func below(s Status) bool {
	return s == StatusDefect || s == StatusIdle || s == StatusMuted || s == StatusBelow
}
