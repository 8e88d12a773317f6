// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/fabricd/fabricd/dashboards/panel"

// distances are the values of fabricd_gpu_nic_distance, coloured as the check
// gpu_nic judges a GPU's best one.
func distances() []panel.Value {
	return []panel.Value{
		{Number: 1, Text: "PIX", Color: panel.Good},
		{Number: 2, Text: "PXB", Color: panel.Good},
		{Number: 3, Text: "PHB", Color: panel.Note},
		{Number: 4, Text: "NODE", Color: panel.Note},
		{Number: 5, Text: "SYS", Color: panel.Warning},
	}
}

func placementPanels() []panel.Panel {
	return []panel.Panel{gpuNIC(), numaNodes(), numaDistances()}
}

func gpuNIC() panel.Panel {
	distance := "max by (gpu, nic) (" + of("fabricd_gpu_nic_distance") + ")"
	expr := `label_join(` + named(distance, "nic") + `, "nic", " ", "nic", "rdma")`
	return panel.Matrix(panel.Frame{
		Title: "Distance of GPUs and NICs",
		Description: "As nvidia-smi topo says it. PIX: one switch; PXB: several switches; PHB: the host bridge; NODE: between host bridges of a NUMA node; " +
			"SYS: across sockets. Each GPU needs one near NIC; far ones are others' neighbours.",
		Empty: panel.Unrecorded("distances", "there is no GPU, or no NIC"), Width: 24, Height: 10,
	}, panel.Cells{Row: "gpu", Column: "nic", Values: distances()}, expr)
}

func numaNodes() panel.Panel {
	devices := func(matcher string) string {
		return `count_values("node", ` + onlyOn(byAddress(of("fabricd_numa_node")), of("fabricd_device_info", matcher)) + `)`
	}
	return panel.Table(panel.Frame{
		Title:       "NUMA nodes",
		Description: "What belongs to each node. GPUs and NICs without a node are the check numa_unknown's.",
		Empty:       panel.Unrecorded("NUMA nodes", "the kernel shows none"), Width: 14, Height: 7,
	},
		[]panel.Label{{Name: "node", Title: "Node"}},
		[]panel.Column{
			{Title: "CPUs", Expr: "max by (node) (" + of("fabricd_numa_node_cpus") + ")"},
			{Title: "Memory", Expr: "max by (node) (" + of("fabricd_numa_node_memory_bytes") + ")", Unit: "bytes", Decimal: 1},
			{Title: "GPUs", Expr: devices(`class="gpu"`)},
			{Title: "NICs", Expr: devices(`class="nic"`)},
		},
		panel.Sort{Title: "Node"})
}

func numaDistances() panel.Panel {
	return panel.Matrix(panel.Frame{
		Title:       "NUMA distances",
		Description: "The firmware's distance table (SLIT): 10 is the node itself, 20 twice the latency.",
		Empty:       panel.Unrecorded("distances", "the firmware tells none"), Width: 10, Height: 7,
	}, panel.Cells{Row: "node", Column: "to"}, "max by (node, to) ("+of("fabricd_numa_distance")+")")
}
