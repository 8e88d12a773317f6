// SPDX-License-Identifier: Apache-2.0

package fleet

import "github.com/fabricd/fabricd/dashboards/panel"

func oddPanels() []panel.Panel { return []panel.Panel{odd(), firmware(), versions()} }

// odd is what the alert FabricdNodeDiffers says, without its patience.
func odd() panel.Panel {
	const kind = "vendor_id, device_id, gpus, property"
	differs := panel.Fleet("fabricd:node_property:odd")
	of := func(record string) string {
		return "max by (instance, " + kind + ") (" + differs + " * 0 + on (cluster, job, " + kind + ") group_left () " +
			panel.Select("fabricd:kind_property:"+record, `cluster=~"$cluster"`) + ")"
	}
	return panel.Table(panel.Frame{
		Title: "Properties in which a node is not as most of its kind",
		Description: "Sums over all GPUs and NICs of a node, compared with nodes of the same GPU model and, but for a missing few, as many of them: GPUs, lanes and speed at most, " +
			"nearness of GPUs and NICs (gpu_nic_map), RDMA MTU, ports with PFC by priority. No check of the node itself may see it.",
		Empty: "no recorded node differs from the majority of its kind", Width: 24, Height: 9,
	},
		[]panel.Label{panel.Node(), {Name: "property", Title: "Property"}, {Name: "gpus", Title: "GPUs up to"}, {Name: "vendor_id", Title: "Vendor"}, {Name: "device_id", Title: "Device"}},
		[]panel.Column{
			{Title: "Here", Expr: "max by (instance, " + kind + ") (" + differs + ")"},
			{Title: "On most", Expr: of("median")},
			{Title: "Share of the others", Expr: of("share"), Unit: "percentunit"},
			{Title: "Nodes of this kind", Expr: of("nodes")},
		},
		panel.Sort{Title: "Node"})
}

func firmware() panel.Panel {
	by := func(record string) string {
		return "max by (hca, firmware) (" + panel.Select("fabricd:firmware_nodes:"+record, `cluster=~"$cluster"`) + ")"
	}
	return panel.Table(panel.Frame{
		Title:       "Firmware of RDMA devices",
		Description: "On how many nodes each model has each firmware. Counters, congestion control and defaults change with it.",
		Empty:       unrecorded("firmware", "no driver tells it"), Width: 12, Height: 9,
	},
		[]panel.Label{{Name: "hca", Title: "Model"}, {Name: "firmware", Title: "Firmware"}},
		[]panel.Column{
			{Title: "Nodes", Expr: by("count")},
			{Title: "Share of its model", Expr: by("share"), Unit: "percentunit"},
		},
		panel.Sort{Title: "Model"})
}

func versions() panel.Panel {
	return panel.Table(panel.Frame{
		Title:       "Versions of fabricd",
		Description: "On how many nodes each version runs. What a version's checks judge is in its changelog.",
		Empty:       panel.Unrecorded("versions", "no fabricd is scraped"), Width: 12, Height: 9,
	},
		[]panel.Label{{Name: "version", Title: "Version"}, {Name: "goversion", Title: "Go"}},
		[]panel.Column{{Title: "Nodes", Expr: "count by (version, goversion) (" + panel.Fleet("fabricd_build_info") + ")"}},
		panel.Sort{Title: "Nodes", Desc: true})
}
