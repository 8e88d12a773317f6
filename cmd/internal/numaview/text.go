// SPDX-License-Identifier: Apache-2.0

package numaview

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteText writes the document for people.
func (d *Document) WriteText(w io.Writer) error {
	t := &text{w: w, label: map[string]string{}}
	t.printf("%s: ", d.Host)
	if d.Sockets > 0 {
		t.printf("%s, ", plural(d.Sockets, "socket"))
	}
	t.printf("%s\n", plural(len(d.Nodes), "NUMA node"))
	for i := range d.Nodes {
		t.node(&d.Nodes[i])
	}
	if len(d.Unplaced.GPUs)+len(d.Unplaced.NICs) > 0 {
		t.printf("\nno node known\n")
		t.devices(&d.Unplaced, -1)
	}
	if len(d.Processes)+len(t.left) > 0 {
		t.printf("\nprocesses on GPUs\n")
	}
	for i := range d.Processes {
		t.process(&d.Processes[i])
	}
	for _, left := range t.left {
		t.printf("  %s\n", left)
	}
	if len(d.Findings) > 0 {
		t.printf("\n")
	}
	for _, f := range d.Findings {
		t.printf("%-7s %s  %s\n", f.Status, f.Check, f.Reason)
	}
	return t.err
}

// A text keeps the first error of its writes.
type text struct {
	w     io.Writer
	label map[string]string // of GPUs, by address
	left  []string          // of their processes
	err   error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *text) node(n *Node) {
	t.printf("\nnode %d", n.Node)
	if n.Socket != nil {
		t.printf("  socket %d", *n.Socket)
	}
	if n.CPUs == "" {
		t.printf("  no CPUs")
	} else {
		t.printf("  CPUs %s", n.CPUs)
	}
	if n.CPUCount != nil && *n.CPUCount > 1 {
		t.printf(" (%d)", *n.CPUCount)
	}
	if n.Memory != nil {
		t.printf("  memory %s", size(*n.Memory))
	}
	if n.Free != nil {
		t.printf(", %s free", size(*n.Free))
	}
	if len(n.Distances) > 1 {
		t.printf("  distances %s", strings.Trim(fmt.Sprint(n.Distances), "[]"))
	}
	t.printf("\n")
	t.devices(&n.Devices, n.Node)
}

func (t *text) devices(d *Devices, node int) {
	for _, g := range d.GPUs {
		label := "GPU"
		if g.Index != nil {
			label = fmt.Sprintf("GPU%d", *g.Index)
			t.label[g.Address] = label
		}
		line := fmt.Sprintf("  %-5s  %s  %s", label, g.Address, g.Name)
		if g.Utilization != nil {
			line += fmt.Sprintf("  %d %% busy", *g.Utilization)
		}
		t.printf("%s\n", strings.TrimRight(line, " "))
		if g.Left != "" {
			t.left = append(t.left, fmt.Sprintf("%s: %s", label, g.Left))
		}
	}
	for _, n := range d.NICs {
		line := fmt.Sprintf("  NIC    %s  %s", n.Address, strings.Join(slices.Concat(n.RDMA, n.Netdevs), " "))
		if n.Role != "" && n.Role != "unknown" {
			line += "  " + n.Role
		}
		line = strings.TrimRight(line, " ") + n.Interrupts.text(node)
		if n.Untold != "" {
			line += "  interrupts not known: " + n.Untold
		}
		t.printf("%s\n", line)
	}
}

// text says where a NIC's interrupts were taken and are sent.
func (i *Interrupts) text(node int) string {
	if i == nil {
		return ""
	}
	var sum uint64
	for _, n := range i.Taken {
		sum += n
	}
	line := fmt.Sprintf("  %s interrupts since boot", number(sum))
	if sum > 0 {
		var shares []string
		for _, at := range slices.Sorted(maps.Keys(i.Taken)) {
			shares = append(shares, fmt.Sprintf("%.0f %% on %s", 100*float64(i.Taken[at])/float64(sum), place(at, node)))
		}
		line += ": " + strings.Join(shares, ", ")
	}
	var sent []string
	for _, at := range slices.Sorted(maps.Keys(i.Sent)) {
		sent = append(sent, fmt.Sprintf("%d to %s", i.Sent[at], place(at, node)))
	}
	if len(sent) > 0 {
		line += "; vectors now: " + strings.Join(sent, ", ")
	}
	return line
}

func place(at, node int) string {
	if at == node {
		return "this node"
	}
	return fmt.Sprintf("node %d", at)
}

func (t *text) process(p *Process) {
	var labels []string
	for _, address := range p.GPUs {
		labels = append(labels, cmp.Or(t.label[address], address))
	}
	line := fmt.Sprintf("  %d %s  on %s", p.PID, cmp.Or(p.Name, "(no name)"), strings.Join(labels, " "))
	if p.CPUs != "" {
		nodes := "of no node that is online"
		if len(p.CPUNodes) > 0 {
			nodes = "node " + strings.ReplaceAll(strings.Trim(fmt.Sprint(p.CPUNodes), "[]"), " ", ", ")
		}
		line += fmt.Sprintf("  CPUs %s (%s)", p.CPUs, nodes)
	}
	var memory []string
	for _, node := range slices.Sorted(maps.Keys(p.Memory)) {
		memory = append(memory, fmt.Sprintf("%s on node %d", size(p.Memory[node]), node))
	}
	if len(memory) > 0 {
		line += "  memory " + strings.Join(memory, ", ")
	}
	if p.Unknown != "" {
		line += "  (" + p.Unknown + ")"
	}
	t.printf("%s\n", line)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func size(n uint64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	case n < 1<<30:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// number shortens a count: 12345678 is 12.3M.
func number(n uint64) string {
	for _, unit := range []struct {
		least  uint64
		letter string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if n >= unit.least {
			return fmt.Sprintf("%.1f%s", float64(n)/float64(unit.least), unit.letter)
		}
	}
	return fmt.Sprint(n)
}
