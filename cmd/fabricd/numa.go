// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/mempolicy"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

func (a *app) numaCommand() {
	c := a.Application.Command("numa", "Where GPUs, NICs, interrupts and processes are, and running a program near one of them.")
	a.numaShowCommand(c)
	a.numaRunCommand(c)
}

// exitImpossible is numa run's own failure, whatever it is, told from the
// program's by the number that env, nice and timeout have for it.
const exitImpossible = 125

// runsProgram says whether arguments are those of numa run.
func runsProgram(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	at := slices.Index(args, "numa")
	return at >= 0 && at+1 < len(args) && args[at+1] == "run"
}

// runNear are the flags of numa run.
type runNear struct {
	gpu, nic, node string
	strict         bool
	command        []string
	excluding      bool // some devices are not looked at, so that numbers mislead
}

func (a *app) numaRunCommand(parent *kingpin.CmdClause) {
	var f runNear
	a.actions["numa run"] = func() error { return a.numaRun(&f) }
	c := parent.Command("run", "Run a program on the processors and memory of a GPU's, a NIC's or a named node: fabricd numa run --gpu 3 -- python3 train.py. It becomes the program, so signals and exit status are its own; 125 where fabricd itself fails, as with what is impossible here, 126 and 127 as in a shell.")
	c.Flag("gpu", "The node of a GPU: its number as nvidia-smi counts, or its PCI address.").PlaceHolder("GPU").StringVar(&f.gpu)
	c.Flag("nic", "The node of a NIC: its interface, RDMA device or PCI address.").PlaceHolder("DEVICE").StringVar(&f.nic)
	c.Flag("node", "A node by its number.").PlaceHolder("NODE").StringVar(&f.node)
	c.Flag("strict", "Memory of this node or none: an allocation fails, or the program is killed, rather than have memory of another.").BoolVar(&f.strict)
	c.Arg("command", "The program and its arguments, after --.").Required().StringsVar(&f.command)
}

func impossible(format string, args ...any) error {
	return exitError{exitImpossible, fmt.Errorf("numa run: "+format, args...)}
}

func (a *app) numaRun(f *runNear) error {
	if a.host.recording != "" {
		return impossible("a recording has no processors: leave --host out")
	}
	h, c, err := a.open()
	if err != nil {
		return err
	}
	f.excluding = len(a.host.exclude)+len(c.Devices.Exclude) > 0
	chosen, err := choose(h, c, f)
	if err != nil {
		return err
	}
	if f.command[0] == "" {
		return impossible("the program's name is empty (an unset variable?)")
	}
	path, err := mempolicy.Find(f.command[0])
	if err != nil {
		return startError(err)
	}
	fmt.Fprintln(a.stderr, "fabricd:", chosen.text)
	if err := chosen.policy.Apply(); err != nil {
		return impossible("%w", err)
	}
	return startError(mempolicy.Become(path, f.command, os.Environ()))
}

func startError(err error) error {
	if e := (*mempolicy.StartError)(nil); errors.As(err, &e) {
		return exitError{e.Code, err}
	}
	return impossible("%w", err)
}

// A choice is where a program is to run, and why.
type choice struct {
	policy mempolicy.Policy
	text   string
}

func choose(h *probes.Host, c *config.Config, f *runNear) (choice, error) {
	inv := h.Inventory()
	if len(inv.Nodes) == 0 {
		return choice{}, impossible("the kernel shows no NUMA nodes (/sys/devices/system/node)")
	}
	id, why, err := f.find(inv, topo.New(inv, c.Plan))
	if err != nil {
		return choice{}, err
	}
	at := slices.IndexFunc(inv.Nodes, func(n probes.Node) bool { return n.ID == id })
	if at < 0 {
		return choice{}, impossible("there is no node %d: there is %s", id, nodeList(inv.Nodes))
	}
	return f.place(inv.Nodes, at, why)
}

// place finds the processors of a node that this process may use.
func (f *runNear) place(nodes []probes.Node, at int, why string) (choice, error) {
	n := nodes[at]
	cpus, err := probes.ParseList(n.CPUList)
	if err != nil || len(cpus) == 0 {
		return choice{}, impossible("node %d has no processors: it is memory alone", n.ID)
	}
	allowed, err := mempolicy.Allowed()
	if err != nil {
		return choice{}, impossible("%w", err)
	}
	usable := slices.DeleteFunc(slices.Clone(cpus), func(c int) bool { _, ok := slices.BinarySearch(allowed, c); return !ok })
	if len(usable) == 0 {
		return choice{}, impossible("none of node %d's processors (%s) may be used here: the cpuset, or who started this, allows %s", n.ID, n.CPUList, formatList(allowed))
	}
	p := choice{policy: mempolicy.Policy{CPUs: usable, Node: n.ID, Strict: f.strict}}
	memory := "preferred"
	switch {
	case n.MemTotal.OK && n.MemTotal.V == 0 && f.strict:
		return choice{}, impossible("node %d has no memory of its own: leave --strict out", n.ID)
	case n.MemTotal.OK && n.MemTotal.V == 0:
		p.policy.Node, memory = -1, "of the nearest node, since this one has none"
	case f.strict:
		memory = "only there"
	}
	p.text = fmt.Sprintf("node %d%s: processors %s, memory %s", n.ID, why, formatList(usable), memory)
	if len(usable) < len(cpus) {
		p.text += fmt.Sprintf(" (%d of the node's %d processors are allowed)", len(usable), len(cpus))
	}
	if len(nodes) == 1 {
		p.text += "; this machine has one NUMA node: it makes no difference"
	}
	return p, nil
}

// find gives the number of the node that is asked for, and why it is that one.
func (f *runNear) find(inv *probes.Inventory, t *topo.Tree) (id int, why string, err error) {
	asked := 0
	for _, s := range []string{f.gpu, f.nic, f.node} {
		if s != "" {
			asked++
		}
	}
	switch {
	case asked != 1:
		return 0, "", impossible("want one of --gpu, --nic and --node")
	case f.node != "":
		id, err := strconv.Atoi(f.node)
		if err != nil || id < 0 {
			return 0, "", impossible("--node %s: not a number; there is %s", f.node, nodeList(inv.Nodes))
		}
		return id, "", nil
	case f.gpu != "":
		d, what := f.findGPU(t)
		if d == nil {
			return 0, "", impossible("--gpu %s: %s", f.gpu, what)
		}
		return nodeOf(inv, d, what)
	}
	d := findNIC(inv, f.nic)
	if d == nil {
		return 0, "", impossible("--nic %s: no interface, RDMA device or PCI function has this name", f.nic)
	}
	return nodeOf(inv, d, "NIC "+f.nic)
}

// findGPU finds a GPU by number or address; nil with the reason. nvidia-smi
// numbers those of its driver by address.
func (f *runNear) findGPU(t *topo.Tree) (*probes.Function, string) {
	for _, g := range t.GPUs {
		if g.Address == kernelAddress(f.gpu) {
			return g, "GPU " + f.gpu
		}
	}
	gpus := slices.DeleteFunc(slices.Clone(t.GPUs), func(g *probes.Function) bool { return g.Driver != "nvidia" })
	if len(gpus) == 0 {
		gpus = t.GPUs
	}
	n, err := strconv.Atoi(f.gpu)
	switch {
	case len(gpus) == 0:
		return nil, "this machine has no GPU"
	case err != nil || n < 0 || n >= len(gpus):
		return nil, fmt.Sprintf("want a number from 0 to %d, or a PCI address such as %s", len(gpus)-1, gpus[0].Address)
	case f.excluding:
		return nil, "devices are excluded, so that the number may mean another GPU; name it by its PCI address"
	}
	return gpus[n], fmt.Sprintf("GPU %d, %s", n, gpus[n].Address)
}

// kernelAddress gives a PCI address as the kernel writes it: NVIDIA's tools
// have eight digits of domain, lspci mostly none. Other names stay as they are.
func kernelAddress(name string) string {
	for _, s := range []string{name, "0000:" + name} {
		if a, err := pci.ParseAddress(s); err == nil {
			return a.String()
		}
	}
	return name
}

func findNIC(inv *probes.Inventory, name string) *probes.Function {
	if f := inv.Function(kernelAddress(name)); f != nil {
		return f
	}
	for _, d := range inv.RDMA {
		switch {
		case d.Name == name && !d.Software():
			return d.Function
		case d.Name == name && d.Lower != "":
			name = d.Lower
		}
	}
	for _, n := range inv.Netdevs {
		if n.Name == name {
			return n.Function
		}
	}
	return nil
}

// nodeOf gives a device's node.
func nodeOf(inv *probes.Inventory, f *probes.Function, what string) (int, string, error) {
	if f.NUMANode.OK && f.NUMANode.V >= 0 {
		return f.NUMANode.V, fmt.Sprintf(" (%s, numa_node %d)", what, f.NUMANode.V), nil
	}
	if len(inv.Nodes) == 1 {
		return inv.Nodes[0].ID, fmt.Sprintf(" (%s)", what), nil
	}
	if node, why, ok := topo.ImpliedNode(f, inv.Nodes); ok {
		return node, fmt.Sprintf(" (%s: the firmware gives no node, but %s)", what, why), nil
	}
	return 0, "", impossible("%s: the firmware gives no NUMA node for it (see the check numa_unknown); name one by --node", what)
}

// nodeList names the nodes: "node 0", "nodes 0, 1, 8".
func nodeList(nodes []probes.Node) string {
	var list []string
	for _, n := range nodes {
		list = append(list, strconv.Itoa(n.ID))
	}
	if len(list) == 1 {
		return "node " + list[0]
	}
	return "nodes " + strings.Join(list, ", ")
}

// formatList writes numbers in ascending order as the kernel does: "0-3,8".
func formatList(list []int) string {
	var b strings.Builder
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if b.WriteString(strconv.Itoa(list[i])); j > i {
			b.WriteString("-" + strconv.Itoa(list[j]))
		}
		i = j + 1
	}
	return b.String()
}
