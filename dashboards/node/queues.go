// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/fabricd/fabricd/dashboards/panel"

const notRDMA = " RDMA traffic never enters these queues: for that, look at pause, marks and PCIe stalls."

func queuePanels(limits panel.Limits) []panel.Panel {
	return []panel.Panel{depths(), depthsNative(), fullness(limits), peaks(), stalls(limits)}
}

func depths() panel.Panel {
	return panel.Heatmap(panel.Frame{
		Title:       "Depth of transmit queues",
		Description: "Bytes in flight, all interfaces together: samples a second in each classic bucket." + notRDMA,
		Unit:        "bytes", Empty: "no classic buckets are stored", Width: 12, Height: 10,
	}, panel.Query{Expr: "sum by (le) (" + perSecond("fabricd_nic_queue_depth_bytes_bucket") + ")", Legend: "{{le}}"})
}

func depthsNative() panel.Panel {
	return panel.NativeHeatmap(panel.Frame{
		Title:       "Depth of transmit queues, native histogram",
		Description: "The same from the native histogram. Only where Prometheus stores native histograms." + notRDMA,
		Unit:        "bytes", Empty: "no native histograms are stored", Width: 12, Height: 10,
	}, panel.Query{Expr: "sum(" + perSecond("fabricd_nic_queue_depth_bytes") + ")"})
}

func fullness(limits panel.Limits) panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Queues at their limit",
		Description: "Share of the last minute's samples in which a queue was at its byte queue limit, the 20 fullest. nic_queue_full warns above the dashed line.",
		Unit:        "percentunit", Empty: panel.Unrecorded("full queues", "none carried anything, or none has a limit"), Width: 12, Height: 9,
	}, []panel.Step{{From: limits.Share("nic_queue_full", "full_percent"), Color: panel.Warning}}, panel.Query{
		Expr: panel.Top("max by (netdev, queue) (" + of("fabricd_nic_queue_full_ratio") + ")"), Legend: "{{netdev}} {{queue}}",
	})
}

func peaks() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Peaks of all queues of an interface",
		Description: "Most bytes in all of an interface's queues together in a sample of the last 10 s: what averages hide.",
		Unit:        "bytes", Empty: panel.Unrecorded("samples", "no queue is sampled"), Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr: panel.Top("max by (netdev) (" + of("fabricd_nic_queue_sum_peak_bytes", `window="10s"`) + ")"), Legend: "{{netdev}}",
	})
}

func stalls(limits panel.Limits) panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "NIC waits for PCI Express",
		Description: "Share of the last second in which the NIC's access to memory stood still. nic_pcie_stall warns above the dashed line.",
		Unit:        "percentunit", Empty: panel.Unrecorded("stalls", "no driver tells of them"), Width: 24, Height: 8,
	}, []panel.Step{{From: limits.Share("nic_pcie_stall", "percent"), Color: panel.Warning}}, panel.Query{
		Expr: "max by (netdev, access) (" + of("fabricd_nic_pcie_stall_ratio") + ")", Legend: "{{netdev}} {{access}}",
	})
}
