// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/cmd/internal/topoview"
)

// A branch is what the page draws of the PCI Express tree: a NUMA node, a
// switch or a device, how its link upwards stands, and what hangs on it.
type branch struct {
	Title, Detail, Address string
	Link                   *linkView
	Below                  []*branch
}

// A linkView is how a link stands.
type linkView struct {
	Now, Max string
	Status   topoview.Status
	Limits   []string // labels of the devices whose bottleneck it is
	Gbps     float64  // that it leaves them
	Why      string   // it is not known
}

// Text says how the link stands in words; colour only repeats them.
func (l *linkView) Text() string {
	now := cmp.Or(l.Now, "unknown")
	switch l.Status {
	case topoview.StatusOK, topoview.StatusInner:
		return now
	case topoview.StatusUnknown:
		return "not known"
	case topoview.StatusLost:
		return "lost"
	case topoview.StatusDefect:
		return now + " of " + l.Max
	case topoview.StatusSlot:
		return now + ", the slot's limit"
	case topoview.StatusIdle:
		return now + " of " + l.Max + ", idle"
	case topoview.StatusMuted:
		return now + " of " + l.Max + ", muted"
	}
	return now + " of " + l.Max + ", not judged"
}

// Limit says whom the link holds back, or nothing.
func (l *linkView) Limit() string {
	if len(l.Limits) == 0 {
		return ""
	}
	return fmt.Sprintf("bottleneck of %s: %.4g Gb/s", strings.Join(l.Limits, ", "), l.Gbps)
}

// Bad says whether the link is one to look at.
func (l *linkView) Bad() bool {
	return l != nil && (l.Status == topoview.StatusDefect || l.Status == topoview.StatusLost)
}

// An arbor grows the page's tree out of a document.
type arbor struct {
	children map[string][]*topoview.Function
	links    map[string]*linkView // by the lower end
}

// grow gives the tree of GPUs, NICs and NVSwitches, by NUMA node. What leads
// to none of them is left out.
func grow(doc *topoview.Document) []*branch {
	a := arbor{map[string][]*topoview.Function{}, linkViews(doc)}
	var roots []*topoview.Function
	known := map[string]bool{}
	for i := range doc.Functions {
		known[doc.Functions[i].Address] = true
	}
	for i := range doc.Functions {
		f := &doc.Functions[i]
		if known[f.Parent] {
			a.children[f.Parent] = append(a.children[f.Parent], f)
		} else {
			roots = append(roots, f)
		}
	}
	nodes := map[int]*branch{}
	for _, f := range roots {
		if list := a.branches(f); len(list) > 0 {
			node := a.node(f)
			if nodes[node] == nil {
				nodes[node] = nodeBranch(doc, node)
			}
			nodes[node].Below = append(nodes[node].Below, list...)
		}
	}
	list := make([]*branch, 0, len(nodes))
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		list = append(list, nodes[node])
	}
	return list
}

func linkViews(doc *topoview.Document) map[string]*linkView {
	links, labels := map[string]*linkView{}, map[string]string{}
	for _, l := range doc.Links {
		v := &linkView{Now: linkState(l.Now), Max: linkState(l.Max), Status: l.Status, Why: l.Trouble}
		for _, address := range append(l.Functions, l.Lower) {
			links[address] = v
		}
	}
	for _, f := range doc.Functions {
		labels[f.Address] = f.Label
	}
	for _, p := range doc.Paths {
		if b := p.Bottleneck; b != nil && links[b.Link] != nil {
			v := links[b.Link]
			v.Limits, v.Gbps = append(v.Limits, labels[p.Address]), b.Bits/1e9
		}
	}
	return links
}

// branches gives the branch of a function. A switch is one branch: what hangs
// on its ports hangs on it, so that a port without a link upwards gives those below it.
func (a *arbor) branches(f *topoview.Function) []*branch {
	var below []*branch
	for _, c := range a.children[f.Address] {
		below = append(below, a.branches(c)...)
	}
	link := a.links[f.Address]
	switch {
	case f.Label == "" && len(below) == 0, f.PhysicalFunction != "":
		return nil
	case f.Label == "" && link == nil && f.Parent != "":
		return below
	}
	return []*branch{{Title: title(f), Detail: deviceNames(f), Address: f.Address, Link: link, Below: below}}
}

func title(f *topoview.Function) string {
	switch {
	case f.Label != "":
		return f.Label
	case f.Parent == "":
		return "root port"
	}
	return "switch"
}

// node gives the NUMA node of what hangs on a root port; -1 if nothing says.
func (a *arbor) node(f *topoview.Function) int {
	if f.NUMANode != nil && *f.NUMANode >= 0 {
		return *f.NUMANode
	}
	for _, c := range a.children[f.Address] {
		if n := a.node(c); n >= 0 {
			return n
		}
	}
	return -1
}

func nodeBranch(doc *topoview.Document, id int) *branch {
	b := &branch{Title: fmt.Sprintf("NUMA node %d", id)}
	switch {
	case len(doc.Nodes) == 1:
		b.Title = fmt.Sprintf("NUMA node %d", doc.Nodes[0].ID)
		id = doc.Nodes[0].ID
	case id < 0:
		b.Title = "NUMA node not known"
	}
	for _, n := range doc.Nodes {
		if n.ID == id && n.CPUs != "" {
			b.Detail = "CPUs " + n.CPUs
		}
	}
	return b
}
