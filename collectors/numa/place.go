// SPDX-License-Identifier: Apache-2.0

package numa

import (
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

type verdict = collectors.Verdict

// A placeRow is a device on its node.
type placeRow struct {
	*probes.Function
	judged bool // a physical GPU or NIC
}

func placeRows(v *collectors.View, _ []collectors.Unit[Reading]) []placeRow {
	var rows []placeRow
	for _, f := range v.Inventory.Functions {
		kind := v.Topology.Kind(f)
		rows = append(rows, placeRow{f, v.Topology.IsDevice(f) && kind != pci.NVSwitch})
	}
	return rows
}

func placeColumns() collectors.Columns[placeRow] {
	address := collectors.Label[placeRow]{Name: "address", Get: func(r *placeRow) string { return r.Address }}
	return collectors.Columns[placeRow]{
		Labels: []collectors.Label[placeRow]{address},
		Metrics: []collectors.Metric[placeRow]{{
			Name: "numa_node", Help: "NUMA node of the PCI function. Absent where the firmware gives none.", Source: "sysfs numa_node",
			Get: func(r *placeRow) (float64, bool) {
				return float64(r.NUMANode.V), r.NUMANode.OK && r.NUMANode.V >= 0
			},
		}},
		Checks: []collectors.Check[placeRow]{{
			Name:   "numa_unknown",
			Help:   "Warns when the firmware gives no NUMA node for a GPU or NIC of a host that has several: the kernel then places its memory and interrupts anywhere.",
			Silent: "a host of one node; node 0 is a node.",
			Subject: []collectors.Label[placeRow]{address,
				{Name: "device", Get: func(r *placeRow) string { rdma, _ := topo.Names(r.Function); return strings.Join(rdma, ",") }},
				{Name: "netdev", Get: func(r *placeRow) string { _, n := topo.Names(r.Function); return strings.Join(n, ",") }},
			},
			Eval: evalPlace,
		}},
	}
}

func evalPlace(r *placeRow, e *collectors.Env[placeRow]) verdict {
	nodes := e.View.Inventory.Nodes
	switch {
	case !r.judged:
		return verdict{}
	case len(nodes) == 1:
		return collectors.Verdictf(collectors.OK, "the host has one NUMA node")
	case len(nodes) == 0:
		return collectors.Verdictf(collectors.Unknown, "the kernel shows no NUMA nodes")
	case !r.NUMANode.OK && r.NUMANode.Err != nil:
		return collectors.Verdictf(collectors.Unknown, "numa_node: %s", probes.Reason(r.NUMANode.Err))
	case !r.NUMANode.OK:
		return collectors.Verdictf(collectors.Unknown, "numa_node holds no number")
	case r.NUMANode.V >= 0:
		return collectors.Verdictf(collectors.OK, "node %d", r.NUMANode.V)
	}
	v := collectors.Verdictf(collectors.Warn, "the firmware gives no proximity: numa_node of %s is -1 on a host of %d nodes%s", nameOf(r.Function), len(nodes), implied(r.Function, nodes)).
		With("numa_node", -1).With("local_cpulist", r.LocalCPUs)
	if e.View.Inventory.Facts.Guest {
		return v.Remedyf("the hypervisor has to tell: a PCI expander bus (pxb) for each node")
	}
	return v.Remedyf("update the firmware, or report the missing _PXM of host bridge %s to the vendor; until then bind processes and interrupts by hand", r.Root)
}

// implied says which node a device seems to be on.
func implied(f *probes.Function, nodes []probes.Node) string {
	if _, why, ok := topo.ImpliedNode(f, nodes); ok {
		return "; " + why
	}
	return ""
}

// nameOf writes a function with the name of its first RDMA device or interface.
func nameOf(f *probes.Function) string {
	rdma, netdevs := topo.Names(f)
	if all := slices.Concat(rdma, netdevs); len(all) > 0 {
		return f.Address + " (" + strings.Join(all, ", ") + ")"
	}
	return f.Address
}

// A hostRow is the machine as a whole.
type hostRow struct{ probes.Facts }

func hostRows(v *collectors.View, _ []collectors.Unit[Reading]) []hostRow {
	return []hostRow{{v.Inventory.Facts}}
}

func hostColumns() collectors.Columns[hostRow] {
	return collectors.Columns[hostRow]{
		Checks: []collectors.Check[hostRow]{
			{
				Name: "guest",
				Help: "Info when the machine is a virtual one: its PCI Express links, ACS and AER are the hypervisor's to see.",
				Eval: func(r *hostRow, _ *collectors.Env[hostRow]) verdict {
					if r.Guest {
						return collectors.Verdictf(collectors.Info, "virtual machine: PCIe, ACS and AER of the host are not visible (%s)", r.Evidence).
							Remedyf("run fabricd on the host as well; --assume-bare-metal if this is wrong")
					}
					if r.Evidence == "" {
						return collectors.Verdictf(collectors.Unknown, "neither /proc/cpuinfo nor the firmware's names could be read")
					}
					return collectors.Verdictf(collectors.OK, "bare metal: %s", r.Evidence)
				},
			},
			{
				Name:   "numa_disabled",
				Help:   "Warns when a host of several sockets shows one NUMA node: memory then is placed on either socket at random.",
				Silent: "virtual machines; sockets split into several nodes (NPS, SNC).",
				Eval:   evalDisabled,
			},
		},
	}
}

func evalDisabled(r *hostRow, e *collectors.Env[hostRow]) verdict {
	nodes := e.View.Inventory.Nodes
	switch {
	case r.Guest:
		return collectors.Verdictf(collectors.OK, "virtual machine: the hypervisor chooses sockets and nodes")
	case len(nodes) == 0:
		return collectors.Verdictf(collectors.Unknown, "the kernel shows no NUMA nodes")
	case r.Sockets == 0:
		return collectors.Verdictf(collectors.Unknown, "the number of sockets is not known")
	case r.Sockets == 1 || len(nodes) > 1:
		return collectors.Verdictf(collectors.OK, "%d socket(s), %d node(s)", r.Sockets, len(nodes))
	}
	v := collectors.Verdictf(collectors.Warn, "%d sockets but one NUMA node", r.Sockets).With("sockets", r.Sockets).With("nodes", len(nodes))
	for option := range strings.FieldsSeq(r.Cmdline) {
		if strings.HasPrefix(option, "numa=") {
			v.Reason += ": the kernel was booted with " + option
			return v.With("/proc/cmdline", option).Remedyf("take %s off the kernel command line and reboot", option)
		}
	}
	return v.Remedyf("turn node interleaving off in the firmware setup; the firmware has to tell the kernel where memory is (SRAT)")
}
