// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// lacking gives a row for the compute ports that the plan counts and the
// machine does not have, all in one. Of those that went with their PCI function
// pcie_lost speaks.
func lacking(v *collectors.View, rows []portRow, lost int) []portRow {
	have := lost
	for i := range rows {
		if rows[i].compute(v) {
			have++
		}
	}
	n := v.Plan().Ports.Count - have
	if n <= 0 {
		return nil
	}
	return []portRow{{Port: &Port{Device: "compute ports"}, device: &probes.RDMADevice{}, f: &probes.Function{}, virtual: true, lacks: n}}
}

func (r *portRow) evalLacking(e *portEnv) verdict {
	count := e.View.Plan().Ports.Count
	if e.View.Excludes {
		return collectors.Verdictf(collectors.Unknown, "the plan asks for %d, and %d are seen: some devices are excluded", count, count-r.lacks)
	}
	return collectors.Verdictf(collectors.Warn, "the plan asks for %d, and this machine has %d", count, count-r.lacks).
		Remedyf("correct plan.ports.count, or see which NIC is missing, has no RDMA driver, counts as another role or was given away: fabricd topo")
}
