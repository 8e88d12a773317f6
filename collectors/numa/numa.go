// SPDX-License-Identifier: Apache-2.0

// Package numa knows where things should be: devices on a known NUMA node,
// each GPU next to its NIC. It reads the nodes' memory and judges placement
// and distance. It does not know how fast a link is (pcie).
package numa

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// A Reading is the memory of the nodes.
type Reading struct {
	Nodes []NodeMemory
}

// NodeMemory is one online node's memory.
type NodeMemory struct {
	ID          int
	Total, Free probes.Value[uint64] // bytes
}

// New makes the collector.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[Reading]{
		Name:  "numa",
		Help:  "NUMA nodes, the placement of devices on them, and the distance from each GPU to each NIC.",
		Every: 10 * time.Second,
		Floor: time.Second,
		Open:  open,
		Tables: []collectors.Table[Reading]{
			collectors.Rows(func(r *Reading) []NodeMemory { return r.Nodes }, memoryColumns()),
			collectors.Derive(nodeRows, nodeColumns()),
			collectors.Derive(distanceRows, distanceColumns()),
			collectors.Derive(placeRows, placeColumns()),
			collectors.Derive(pairRows, pairColumns()),
			collectors.Derive(nearRows, nearColumns()),
			collectors.Derive(hostRows, hostColumns()),
		},
	})
}

const nodeDir = "sys/devices/system/node"

type reader struct {
	h     *probes.Host
	dirs  []*probes.Dir
	attrs []*probes.Attr
	ids   []int
}

func open(_ context.Context, h *probes.Host, _ string) (collectors.Reader[Reading], error) {
	r := &reader{h: h}
	for _, n := range h.Inventory().Nodes {
		dir, err := h.Dir(path.Join(nodeDir, "node"+strconv.Itoa(n.ID)))
		if err != nil {
			r.Close()
			return nil, err
		}
		r.dirs, r.ids = append(r.dirs, dir), append(r.ids, n.ID)
		r.attrs = append(r.attrs, dir.Attr("meminfo", 8192))
	}
	return r, nil
}

func (r *reader) Close() {
	for i := range r.dirs {
		r.attrs[i].Close()
		r.dirs[i].Close()
	}
}

// Read reads the nodes' memory. A node without a meminfo file (old recordings)
// has none.
func (r *reader) Read(time.Duration) (*Reading, error) {
	if nodes := r.h.Inventory().Nodes; !slices.EqualFunc(nodes, r.ids, func(n probes.Node, id int) bool { return n.ID == id }) {
		return nil, collectors.ErrReopen
	}
	reading := &Reading{Nodes: make([]NodeMemory, len(r.ids))}
	var errs []error
	for i, id := range r.ids {
		reading.Nodes[i].ID = id
		b, err := r.attrs[i].Read()
		if err == nil {
			reading.Nodes[i].Total, reading.Nodes[i].Free = memory(b)
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return reading, errors.Join(errs...)
}

// memory reads a node's meminfo: "Node 0 MemTotal:       65843236 kB".
func memory(b []byte) (total, free probes.Value[uint64]) {
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) < 4 {
			continue
		}
		kb, err := strconv.ParseUint(string(fields[3]), 10, 50)
		if err != nil {
			continue
		}
		switch string(fields[2]) {
		case "MemTotal:":
			total = probes.Some(kb << 10)
		case "MemFree:":
			free = probes.Some(kb << 10)
		}
	}
	return total, free
}

func memoryColumns() collectors.Columns[NodeMemory] {
	return collectors.Columns[NodeMemory]{
		Labels: []collectors.Label[NodeMemory]{{Name: "node", Get: func(n *NodeMemory) string { return strconv.Itoa(n.ID) }}},
		Metrics: []collectors.Metric[NodeMemory]{
			{Name: "numa_node_memory_bytes", Help: "Memory of the node.", Source: "sysfs node*/meminfo MemTotal",
				Get: func(n *NodeMemory) (float64, bool) { return float64(n.Total.V), n.Total.OK }},
			{Name: "numa_node_free_bytes", Help: "Free memory of the node.", Source: "sysfs node*/meminfo MemFree",
				Get: func(n *NodeMemory) (float64, bool) { return float64(n.Free.V), n.Free.OK }},
		},
	}
}

func nodeRows(v *collectors.View, _ []collectors.Unit[Reading]) []probes.Node {
	return v.Inventory.Nodes
}

func nodeColumns() collectors.Columns[probes.Node] {
	return collectors.Columns[probes.Node]{
		Labels: []collectors.Label[probes.Node]{{Name: "node", Get: func(n *probes.Node) string { return strconv.Itoa(n.ID) }}},
		Metrics: []collectors.Metric[probes.Node]{
			{Name: "numa_node_cpus", Help: "Processors of the node; 0 for a node of memory alone.", Source: "sysfs node*/cpulist",
				Get: func(n *probes.Node) (float64, bool) { return float64(n.CPUs.V), n.CPUs.OK }},
		},
	}
}

// A distanceRow is the firmware's distance from one node to another.
type distanceRow struct{ from, to, distance int }

// distanceRows reads the columns of distance files: one for each online node
// in order, which is not the node's number.
func distanceRows(v *collectors.View, _ []collectors.Unit[Reading]) []distanceRow {
	var rows []distanceRow
	nodes := v.Inventory.Nodes
	for _, from := range nodes {
		if len(from.Distances) != len(nodes) {
			continue
		}
		for i, to := range nodes {
			rows = append(rows, distanceRow{from.ID, to.ID, from.Distances[i]})
		}
	}
	return rows
}

func distanceColumns() collectors.Columns[distanceRow] {
	return collectors.Columns[distanceRow]{
		Labels: []collectors.Label[distanceRow]{
			{Name: "node", Get: func(r *distanceRow) string { return strconv.Itoa(r.from) }},
			{Name: "to", Get: func(r *distanceRow) string { return strconv.Itoa(r.to) }},
		},
		Metrics: []collectors.Metric[distanceRow]{{
			Name: "numa_distance", Help: "Relative cost of memory access from a node to another as the firmware tells it; 10 is local.", Source: "sysfs node*/distance",
			Get: func(r *distanceRow) (float64, bool) { return float64(r.distance), true },
		}},
	}
}
