// SPDX-License-Identifier: Apache-2.0

// Package numaview shows on one screen what is on which NUMA node: processors
// and memory, GPUs, NICs and their interrupts, the processes that use GPUs. It
// judges nothing; findings say what is wrong.
package numaview

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/fabricd/fabricd/collectors"
	gpus "github.com/fabricd/fabricd/collectors/gpu"
	"github.com/fabricd/fabricd/collectors/irq"
	"github.com/fabricd/fabricd/collectors/numa"
	"github.com/fabricd/fabricd/collectors/process"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// A Document is the machine by nodes; its JSON is the command's.
type Document struct {
	Host      string    `json:"host"`
	Time      string    `json:"time,omitempty"`
	Sockets   int       `json:"sockets,omitempty"`
	Nodes     []Node    `json:"nodes"`
	Unplaced  Devices   `json:"unplaced"` // devices whose node the firmware does not give
	Processes []Process `json:"processes"`
	// Findings are those that are not ok.
	Findings []collectors.Finding `json:"findings,omitempty"`
}

// A Node is one NUMA node with what is on it. What is not known is absent.
type Node struct {
	Node      int     `json:"node"`
	Socket    *int    `json:"socket,omitempty"`
	CPUs      string  `json:"cpus"`
	CPUCount  *int    `json:"cpu_count,omitempty"`
	Memory    *uint64 `json:"memory_bytes,omitempty"`
	Free      *uint64 `json:"free_bytes,omitempty"`
	Distances []int   `json:"distances,omitempty"` // one for each node, in order
	Devices
}

// Devices are GPUs and NICs.
type Devices struct {
	GPUs []GPU `json:"gpus"`
	NICs []NIC `json:"nics"`
}

// A GPU is one physical GPU.
type GPU struct {
	Address     string `json:"address"`
	Index       *int   `json:"index,omitempty"` // the driver's
	Name        string `json:"name,omitempty"`
	Utilization *int   `json:"utilization_percent,omitempty"`
	// Left says how many of its processes were not looked at, and why.
	Left string `json:"processes_left_out,omitempty"`
}

// A NIC is one function with ports.
type NIC struct {
	Address    string      `json:"address"`
	RDMA       []string    `json:"rdma,omitempty"`
	Netdevs    []string    `json:"netdevs,omitempty"`
	Role       string      `json:"role,omitempty"`
	Interrupts *Interrupts `json:"interrupts,omitempty"`
	// Untold is why its interrupts are not known.
	Untold string `json:"interrupts_unknown,omitempty"`
}

// Interrupts are a NIC's since the machine started, by the node of the
// processor that took them, and its vectors by where they are sent now.
type Interrupts struct {
	Taken   map[int]uint64 `json:"taken_by_node"`
	Vectors int            `json:"vectors"`
	Sent    map[int]int    `json:"vectors_by_node,omitempty"`
}

// A Process uses GPUs.
type Process struct {
	PID      int            `json:"pid"`
	Name     string         `json:"name,omitempty"`
	GPUs     []string       `json:"gpus"` // by address
	CPUs     string         `json:"cpus,omitempty"`
	CPUNodes []int          `json:"cpu_nodes,omitempty"`
	Memory   map[int]uint64 `json:"memory_bytes_by_node,omitempty"`
	Unknown  string         `json:"unknown,omitempty"`
}

// Collectors are those whose readings are shown, Checks whose findings.
func Collectors() []string { return []string{"numa", "gpu", "irq", "process"} }

// Checks lists the checks whose findings are shown.
func Checks() []string {
	return []string{"numa_unknown", "numa_disabled", "nic_irq", "gpu_process", "gpu_nic"}
}

// New makes a document of a view.
func New(host, time string, v *collectors.View, findings []collectors.Finding) *Document {
	d := &Document{Host: host, Time: time, Sockets: v.Inventory.Facts.Sockets, Nodes: []Node{}, Processes: []Process{}}
	d.Unplaced = Devices{[]GPU{}, []NIC{}}
	b := builder{v: v, home: map[int]int{}}
	for _, n := range v.Inventory.Nodes {
		d.Nodes = append(d.Nodes, b.node(n))
	}
	b.devices(d)
	b.processes(d)
	for _, f := range findings {
		if f.Status != collectors.OK && f.Status != collectors.Unknown {
			d.Findings = append(d.Findings, f)
		}
	}
	return d
}

// WriteJSON writes the document.
func (d *Document) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

type builder struct {
	v    *collectors.View
	home map[int]int // a processor's node
}

func value[T any](v probes.Value[T]) *T {
	if !v.OK {
		return nil
	}
	return &v.V
}

func (b *builder) node(n probes.Node) Node {
	one := Node{
		Node: n.ID, Socket: value(n.Socket), CPUs: n.CPUList, CPUCount: value(n.CPUs), Memory: value(n.MemTotal),
		Distances: n.Distances, Devices: Devices{[]GPU{}, []NIC{}},
	}
	cpus, _ := probes.ParseList(n.CPUList)
	for _, c := range cpus {
		b.home[c] = n.ID
	}
	if r := collectors.Reading[numa.Reading](b.v, "numa"); r != nil {
		for _, m := range r.Nodes {
			if m.ID == n.ID {
				one.Free = value(m.Free)
			}
		}
	}
	return one
}

// at gives the devices of a function's node.
func (d *Document) at(f *probes.Function) *Devices {
	for i := range d.Nodes {
		if f.NUMANode.OK && d.Nodes[i].Node == f.NUMANode.V {
			return &d.Nodes[i].Devices
		}
	}
	if len(d.Nodes) == 1 {
		return &d.Nodes[0].Devices
	}
	return &d.Unplaced
}

func (b *builder) devices(d *Document) {
	s := gpus.Snapshot(b.v)
	for _, f := range b.v.Topology.GPUs {
		g := GPU{Address: f.Address}
		if told := s.Find(f.Address); told != nil {
			g.Index, g.Name, g.Utilization = &told.Index, probes.Printable(told.Name), told.Utilization
		}
		if r := collectors.Reading[process.Reading](b.v, "process"); r != nil {
			g.Left = r.Left[f.Address].String()
		}
		at := d.at(f)
		at.GPUs = append(at.GPUs, g)
	}
	taken := map[string]*irq.NIC{}
	if r := collectors.Reading[irq.Reading](b.v, "irq"); r != nil {
		for i := range r.NICs {
			taken[r.NICs[i].Address] = &r.NICs[i]
		}
	}
	for _, f := range b.v.Topology.NICs {
		n := NIC{Address: f.Address, Role: string(b.v.Topology.Role(f))}
		if t := taken[f.Address]; t != nil {
			n.Interrupts, n.Untold = b.interrupts(t), t.Why
		}
		n.RDMA, n.Netdevs = topo.Names(f)
		at := d.at(f)
		at.NICs = append(at.NICs, n)
	}
}

func (b *builder) interrupts(n *irq.NIC) *Interrupts {
	if n.Why != "" {
		return nil
	}
	i := &Interrupts{Taken: map[int]uint64{}, Vectors: n.Vectors, Sent: map[int]int{}}
	for at, count := range n.PerCPU {
		if node, ok := b.home[n.CPUs[at]]; ok && count > 0 {
			i.Taken[node] += count
		}
	}
	for _, bound := range n.Bound {
		for _, node := range b.nodesOf(bound.CPUs) {
			i.Sent[node]++
		}
	}
	return i
}

// nodesOf gives the nodes of a list of processors.
func (b *builder) nodesOf(cpus string) []int {
	list, _ := probes.ParseList(cpus)
	var nodes []int
	for _, c := range list {
		if node, ok := b.home[c]; ok && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

func (b *builder) processes(d *Document) {
	r := collectors.Reading[process.Reading](b.v, "process")
	if r == nil {
		return
	}
	for _, p := range r.Processes {
		one := Process{PID: p.PID, Name: p.Name, GPUs: p.GPUs, CPUs: p.Status.CPUs, CPUNodes: b.nodesOf(p.Status.CPUs), Memory: p.Pages, Unknown: p.Why}
		switch {
		case r.Foreign:
			one.Unknown = "of another PID namespace"
		case errors.Is(p.Err, fs.ErrNotExist):
			one.Unknown = "ended meanwhile, or hidden"
		case p.Err != nil:
			one.Unknown = probes.Reason(p.Err)
		}
		d.Processes = append(d.Processes, one)
	}
}
