// SPDX-License-Identifier: Apache-2.0

package gdr

import (
	"fmt"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	gpus "github.com/fabricd/fabricd/collectors/gpu"
	"github.com/fabricd/fabricd/collectors/pcie"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// A row is a GPU and one of its nearest NICs.
type row struct {
	gpu, nic *probes.Function
	distance topo.Distance
	found    mechanism
	slow     []string // what on the way makes it slow or unused, with the check that judges it
	unseen   []string
	strict   bool // the NIC may not mark its writes as relaxed in order
	read     bool
}

func rows(v *collectors.View, list []collectors.Unit[Reading]) []row {
	var reading *Reading
	if len(list) > 0 {
		reading = list[0].Reading
	}
	told := gpus.Snapshot(v)
	var all []row
	for _, g := range v.Topology.GPUs {
		nics := v.Topology.Best(g).NICs
		if len(nics) == 0 { // no distance is known: any may be the nearest
			nics = v.Topology.Candidates()
		}
		for _, n := range nics {
			r := row{gpu: g, nic: n, read: reading != nil}
			r.distance, _ = v.Topology.Distance(g, n)
			if r.read {
				r.found = reading.find(g, n)
				if d := told.Find(g.Address); d != nil && d.Gone() {
					r.found = mechanism{why: "the driver cannot reach the GPU: see pcie_lost"}
				}
				if reading.DeniedErr != nil {
					r.unseen = append(r.unseen, "the driver's parameters (/proc/driver/nvidia/params: "+probes.Reason(reading.DeniedErr)+")")
				}
			}
			r.path(v)
			all = append(all, r)
		}
	}
	return all
}

// path looks for what lies on the way: redirecting bridges, a translating
// IOMMU, a distance beyond NCCL's default (PXB).
func (r *row) path(v *collectors.View) {
	guest := v.Inventory.Facts.Guest
	if guest {
		r.unseen = append(r.unseen, "the host's ACS and IOMMU")
	} else if topo.Common(r.gpu, r.nic) != nil {
		redirects, unseen := pcie.Redirects(v, r.gpu, r.nic)
		if len(redirects) > 0 {
			r.slow = append(r.slow, "ACS redirects at "+strings.Join(redirects, ", ")+" (see pcie_acs)")
		} else if len(unseen) > 0 {
			r.unseen = append(r.unseen, "ACS ("+unseen[0]+")")
		}
	}
	if relaxed, known := pcie.RelaxedOrdering(v, r.nic); known && !relaxed {
		r.strict = true
	}
	for _, f := range []*probes.Function{r.gpu, r.nic} {
		switch domain := f.IOMMUType; {
		case domain.V == "DMA" || domain.V == "DMA-FQ":
			r.slow = append(r.slow, fmt.Sprintf("the IOMMU translates for %s (%s; see pcie_iommu)", f.Address, domain.V))
		case f.IOMMUGroup != "" && !domain.OK:
			r.unseen = append(r.unseen, "the IOMMU domain of "+f.Address)
		}
	}
	switch {
	case r.distance == topo.Unknown:
		r.unseen = append(r.unseen, "the distance")
	case r.distance > topo.PXB:
		r.slow = append(r.slow, fmt.Sprintf("distance %s, beyond NCCL's default level PXB (see gpu_nic)", r.distance))
	}
}

func columns() collectors.Columns[row] {
	gpu := collectors.Label[row]{Name: "gpu", Get: func(r *row) string { return r.gpu.Address }}
	nic := collectors.Label[row]{Name: "nic", Get: func(r *row) string { return r.nic.Address }}
	return collectors.Columns[row]{
		Labels: []collectors.Label[row]{gpu, nic},
		Metrics: []collectors.Metric[row]{{
			Name: "gdr_path", Help: "1 where a NIC near a GPU may reach its memory by the mechanism (peermem, dma-buf), 0 where none is there (none). Possible, not in use: only CUDA and verbs can tell that.",
			Source: "modules, driver version, memory_peers",
			Labels: []collectors.Label[row]{gpu, nic, {Name: "mechanism", Get: func(r *row) string { return r.found.name }}},
			Get: func(r *row) (float64, bool) {
				if r.found.name == "none" {
					return 0, true
				}
				return 1, r.found.name != ""
			},
		}},
		Checks: []collectors.Check[row]{{
			Name:   "gdr",
			Help:   "Fails when a NIC nearest to a GPU has no way to its memory: neither registered peer memory nor what dma-buf needs (open NVIDIA modules, kernel 5.12, a NIC driver that registers it). Info when there is a way, but something on the path makes it slow or unused: ACS redirection, IOMMU translation, a distance beyond NCCL's default level.",
			Silent: "AMD GPUs have no peer memory module; gdrcopy is something else. That GPUDirect RDMA is in use is never said.",
			Subject: []collectors.Label[row]{gpu, nic,
				{Name: "device", Get: func(r *row) string { rdma, _ := topo.Names(r.nic); return strings.Join(rdma, ",") }},
				{Name: "netdev", Get: func(r *row) string { _, n := topo.Names(r.nic); return strings.Join(n, ",") }},
			},
			Uses: []string{"pcie", "gpu"},
			Eval: func(r *row, _ *collectors.Env[row]) collectors.Verdict { return eval(r) },
		}},
	}
}

func eval(r *row) collectors.Verdict {
	if !r.read {
		return collectors.Verdictf(collectors.Unknown, "no fresh reading of modules and drivers")
	}
	v := collectors.Verdictf(collectors.OK, "%s", r.found.why).With("mechanism", r.found.name)
	switch {
	case r.found.name == "":
		v.Status = collectors.Unknown
		return v
	case r.found.name == "none":
		v.Status = collectors.Fail
		return v.Remedyf("load nvidia_peermem beside MLNX_OFED or DOCA-OFED, or use NVIDIA's open kernel modules on kernel 5.12 or newer; after a driver update load the module again")
	case len(r.slow) > 0:
		v.Status = collectors.Info
		v.Reason += "; but " + strings.Join(r.slow, "; ")
	}
	if r.strict {
		v.Reason += "; the NIC's relaxed ordering is off (see pcie_payload)"
	}
	if len(r.unseen) > 0 {
		v.Reason += "; not visible: " + strings.Join(r.unseen, ", ")
	}
	return v
}
