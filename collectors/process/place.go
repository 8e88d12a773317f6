// SPDX-License-Identifier: Apache-2.0

package process

import (
	"slices"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// A row is a GPU and a process that uses it; without one, a GPU of which no
// processes are known.
type row struct {
	*Process
	gpu     string
	unknown string
	nodes   map[int]probes.Node
	own     probes.Value[int] // the GPU's node
	allowed []int             // nodes that the process may run on
	several bool              // its GPUs are on several nodes
	sockets int

	local, near, far uint64 // bytes on the GPU's node, on others of its socket, on others
}

func rows(v *collectors.View, list []collectors.Unit[Reading]) []row {
	var all []row
	if len(list) == 0 { // no unit, or none that was read: there is no source
		for _, f := range v.Topology.GPUs {
			if f.Vendor == pci.VendorNVIDIA && f.Driver == "nvidia" {
				all = append(all, row{gpu: f.Address, unknown: "which processes use the GPU is not known: NVIDIA's driver did not tell (see the GPU's other findings)"})
			}
		}
	}
	for _, u := range list {
		r := u.Reading
		for _, f := range v.Topology.GPUs {
			switch {
			case f.Vendor != pci.VendorNVIDIA:
			case r.Trouble != "":
				all = append(all, row{gpu: f.Address, unknown: "which processes use the GPU is not known: " + r.Trouble})
			case slices.Contains(r.Untold, f.Address):
				all = append(all, row{gpu: f.Address, unknown: "the driver tells no processes of the GPU"})
			case r.Left[f.Address] != Left{}:
				all = append(all, row{gpu: f.Address, unknown: r.Left[f.Address].String()})
			}
		}
		for i := range r.Processes {
			all = append(all, place(v, r, &r.Processes[i])...)
		}
	}
	return all
}

// place makes the rows of a process, one for each of its GPUs.
func place(v *collectors.View, r *Reading, p *Process) []row {
	base := row{Process: p, nodes: map[int]probes.Node{}, sockets: v.Inventory.Facts.Sockets}
	if r.Foreign {
		base.unknown = "the driver's numbers of processes are not those of /proc here: run fabricd in the host's PID namespace (hostPID)"
	}
	cpus, _ := probes.ParseList(p.Status.CPUs)
	for _, n := range v.Inventory.Nodes {
		base.nodes[n.ID] = n
		on, _ := probes.ParseList(n.CPUList)
		if slices.ContainsFunc(on, func(c int) bool { _, found := slices.BinarySearch(cpus, c); return found }) {
			base.allowed = append(base.allowed, n.ID)
		}
	}
	var all []row
	homes := map[int]bool{}
	for _, address := range p.GPUs {
		one := base
		one.gpu = address
		if f := v.Inventory.Function(address); f != nil && f.NUMANode.OK && f.NUMANode.V >= 0 {
			one.own = f.NUMANode
			homes[f.NUMANode.V] = true
		}
		one.measure()
		all = append(all, one)
	}
	for i := range all {
		all[i].several = len(homes) > 1
	}
	return all
}

// A closeness is how near a node is to the GPU's.
type closeness int

const (
	same    closeness = iota // the GPU's own, or one without processors: memory of a device
	near                     // another one of its socket
	distant                  // of another socket
	unclear
)

// maxNear is the largest distance that firmware tells between nodes of one
// socket; to another socket it tells 20 or more.
const maxNear = 16

// to says how near a node is.
func (r *row) to(node int) closeness {
	own, known := r.nodes[r.own.V]
	n, there := r.nodes[node]
	switch {
	case node == r.own.V || there && n.CPUs.OK && n.CPUs.V == 0:
		return same
	case !known || !there:
		return unclear
	case r.sockets == 1 || own.Socket.OK && n.Socket.OK && own.Socket.V == n.Socket.V:
		return near
	case own.Socket.OK && n.Socket.OK, len(r.nodes) <= r.sockets:
		return distant
	}
	// The columns are in the order of the nodes' numbers.
	column := 0
	for id := range r.nodes {
		if id < node {
			column++
		}
	}
	switch {
	case len(own.Distances) != len(r.nodes):
		return unclear
	case own.Distances[column] <= maxNear:
		return near
	}
	return distant
}

// measure adds the pages up by how near they are.
func (r *row) measure() {
	if !r.own.OK {
		return
	}
	for node, n := range r.Pages {
		switch r.to(node) {
		case same:
			r.local += n
		case near, unclear:
			r.near += n
		case distant:
			r.far += n
		}
	}
}

// A gpuRow is the memory of all processes of a GPU.
type gpuRow struct {
	gpu           string
	local, remote uint64
}

func gpuRows(v *collectors.View, list []collectors.Unit[Reading]) []gpuRow {
	var all []gpuRow
	for _, r := range rows(v, list) {
		if r.unknown != "" || r.Pages == nil || !r.own.OK {
			continue
		}
		i := slices.IndexFunc(all, func(g gpuRow) bool { return g.gpu == r.gpu })
		if i < 0 {
			i, all = len(all), append(all, gpuRow{gpu: r.gpu})
		}
		all[i].local += r.local
		all[i].remote += r.near + r.far
	}
	return all
}

func gpuColumns() collectors.Columns[gpuRow] {
	address := collectors.Label[gpuRow]{Name: "address", Get: func(r *gpuRow) string { return r.gpu }}
	resident := func(locality string, get func(*gpuRow) uint64) collectors.Metric[gpuRow] {
		return collectors.Metric[gpuRow]{
			Name: "gpu_process_resident_bytes", Source: "/proc/PID/numa_maps",
			Help:   "Resident memory of the processes that use a GPU, as last counted, by locality: local on the GPU's NUMA node, remote on others.",
			Labels: []collectors.Label[gpuRow]{address, {Name: "locality", Get: func(*gpuRow) string { return locality }}},
			Get:    func(r *gpuRow) (float64, bool) { return float64(get(r)), true },
		}
	}
	return collectors.Columns[gpuRow]{
		Labels: []collectors.Label[gpuRow]{address},
		Metrics: []collectors.Metric[gpuRow]{
			resident("local", func(r *gpuRow) uint64 { return r.local }),
			resident("remote", func(r *gpuRow) uint64 { return r.remote }),
		},
	}
}
