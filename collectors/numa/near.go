// SPDX-License-Identifier: Apache-2.0

package numa

import (
	"fmt"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// A pairRow is a GPU and a NIC, and how far apart they are.
type pairRow struct {
	gpu, nic *probes.Function
	distance topo.Distance
}

func pairRows(v *collectors.View, _ []collectors.Unit[Reading]) []pairRow {
	var rows []pairRow
	for _, g := range v.Topology.GPUs {
		for _, n := range v.Topology.NICs {
			d, _ := v.Topology.Distance(g, n)
			rows = append(rows, pairRow{g, n, d})
		}
	}
	return rows
}

func pairColumns() collectors.Columns[pairRow] {
	return collectors.Columns[pairRow]{
		Labels: []collectors.Label[pairRow]{
			{Name: "gpu", Get: func(r *pairRow) string { return r.gpu.Address }},
			{Name: "nic", Get: func(r *pairRow) string { return r.nic.Address }},
			{Name: "path", Get: func(r *pairRow) string { return r.distance.String() }},
		},
		Metrics: []collectors.Metric[pairRow]{{
			Name: "gpu_nic_distance", Help: "Distance from a GPU to a NIC in nvidia-smi's words: 1 PIX, 2 PXB, 3 PHB, 4 NODE, 5 SYS. Absent where it cannot be told.", Source: "PCI tree and numa_node",
			Get: func(r *pairRow) (float64, bool) { return float64(r.distance), r.distance != topo.Unknown },
		}},
	}
}

// A nearRow is a GPU and the NICs nearest to it.
type nearRow struct{ topo.Best }

func nearRows(v *collectors.View, _ []collectors.Unit[Reading]) []nearRow {
	if len(v.Topology.Candidates()) == 0 {
		return nil
	}
	var rows []nearRow
	for _, g := range v.Topology.GPUs {
		rows = append(rows, nearRow{v.Topology.Best(g)})
	}
	return rows
}

func nearColumns() collectors.Columns[nearRow] {
	gpu := collectors.Label[nearRow]{Name: "gpu", Get: func(r *nearRow) string { return r.GPU.Address }}
	return collectors.Columns[nearRow]{
		Labels: []collectors.Label[nearRow]{gpu},
		Checks: []collectors.Check[nearRow]{{
			Name:   "gpu_nic",
			Help:   "Says how near the nearest NIC is to each GPU: below the same switches is ok (PIX, PXB), through host bridges of the same node is info (PHB, NODE), across nodes warns (SYS). NICs are RDMA NICs above 25 Gb/s and those that the plan names.",
			Silent: "several near NICs are usual; NICs far from every GPU are for storage or management. A virtual machine that puts all devices on a root bus tells no distance: unknown.",
			Subject: []collectors.Label[nearRow]{gpu,
				{Name: "nic", Get: func(r *nearRow) string { return join(r.NICs, func(f *probes.Function) string { return f.Address }) }},
				{Name: "device", Get: func(r *nearRow) string {
					return join(r.NICs, func(f *probes.Function) string { rdma, _ := topo.Names(f); return strings.Join(rdma, ",") })
				}},
			},
			Eval: func(r *nearRow, e *collectors.Env[nearRow]) verdict { return evalNear(r, e.View) },
		}},
	}
}

func join(list []*probes.Function, name func(*probes.Function) string) string {
	var all []string
	for _, f := range list {
		if s := name(f); s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, ",")
}

func evalNear(r *nearRow, v *collectors.View) verdict {
	if r.Distance == topo.Unknown {
		return collectors.Verdictf(collectors.Unknown, "the distance from %s to its NICs cannot be told: %s", r.GPU.Address, r.Why)
	}
	var nics []string
	for _, n := range r.NICs {
		nics = append(nics, nameOf(n))
	}
	text := fmt.Sprintf("nearest to GPU %s: %s at %s (%s)", r.GPU.Address, strings.Join(nics, ", "), r.Distance, r.Distance.Meaning())
	if v.Inventory.Facts.Guest && r.Distance > topo.PXB {
		text += ", as the hypervisor shows it"
	}
	switch r.Distance {
	case topo.PIX, topo.PXB:
		return collectors.Verdictf(collectors.OK, "%s", text)
	case topo.PHB, topo.NODE:
		return collectors.Verdictf(collectors.Info, "%s", text)
	}
	return collectors.Verdictf(collectors.Warn, "%s: all of its traffic crosses between nodes", text).
		Remedyf("move a NIC to the GPU's node (%s), or keep jobs that use the network off this GPU; fabricd topo shows the matrix", nodeText(r.GPU)).
		With("numa_node of "+r.GPU.Address, r.GPU.NUMANode.V).With("numa_node of "+r.NICs[0].Address, r.NICs[0].NUMANode.V)
}

func nodeText(f *probes.Function) string {
	if !f.NUMANode.OK || f.NUMANode.V < 0 {
		return "unknown"
	}
	return fmt.Sprintf("node %d", f.NUMANode.V)
}
