// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/fabricd/fabricd/dashboards/panel"

func linkPanels(limits panel.Limits) []panel.Panel {
	return []panel.Panel{links(), bandwidth(), pathBandwidth(), belowMaximum(), transitions(limits), utilization(limits)}
}

// links is one row a link. Its colours are the verdicts of the checks, so that
// an idle GPU at Gen1 looks as harmless as it is; the shares turn red below 1
// where pcie_width would, blue where only a busy device should mind.
func links() panel.Panel {
	full := func(below string) []panel.Step {
		return []panel.Step{{From: 0, Color: below}, {From: 1, Color: panel.Good}}
	}
	return panel.Table(panel.Frame{
		Title: "Links on the way to GPUs and NICs",
		Description: "One row a link, at its lower end. Maximum: the smaller of both ends. Path: what is left of it up to the root; " +
			"bottleneck: the slowest link on it, by its lower end. An idle GPU lowers its speed, which is info and no fault.",
		Empty: panel.Unrecorded("links", "there is no GPU or NIC with one"), Width: 24, Height: 12,
	},
		[]panel.Label{
			{Name: "address", Title: "Address"}, {Name: "class", Title: "Class"}, {Name: "role", Title: "Role"},
			{Name: "netdev", Title: "Netdev"}, {Name: "rdma", Title: "RDMA"}, {Name: "upstream", Title: "Upstream"}, {Name: "link", Title: "Bottleneck"},
		},
		[]panel.Column{
			{Expr: onTheirPath("max by (address, class, role, netdev, rdma, upstream) (" + onlyOn(of("fabricd_device_info"), onTheWay()) + ")")},
			{Title: "Width verdict", Expr: linkVerdict("pcie_width"), Values: panel.Verdicts()},
			{Title: "Width", Expr: linkValue("fabricd_pcie_link_width_lanes"), Unit: "prefix:x"},
			{Title: "Max width", Expr: linkValue("fabricd_pcie_link_width_max_lanes"), Unit: "prefix:x"},
			{Title: "Width share", Unit: "percentunit", Base: panel.Bad, Steps: full(panel.Bad),
				Expr: linkShare("fabricd_pcie_link_width_lanes", "fabricd_pcie_link_width_max_lanes")},
			{Title: "Speed verdict", Expr: linkVerdict("pcie_speed"), Values: panel.Verdicts()},
			{Title: "Speed", Expr: linkValue("fabricd_pcie_link_transfers_per_second") + " / 1e9", Unit: "suffix: GT/s"},
			{Title: "Max speed", Expr: linkValue("fabricd_pcie_link_max_transfers_per_second") + " / 1e9", Unit: "suffix: GT/s"},
			{Title: "Speed share", Unit: "percentunit", Base: panel.Note, Steps: full(panel.Note),
				Expr: linkShare("fabricd_pcie_link_transfers_per_second", "fabricd_pcie_link_max_transfers_per_second")},
			{Title: "Path", Expr: linkValue("fabricd_pcie_path_bandwidth_bytes_per_second"), Unit: "Bps", Decimal: 1},
			{Title: "Path share", Unit: "percentunit", Base: panel.Note, Steps: full(panel.Note),
				Expr: linkShare("fabricd_pcie_path_bandwidth_bytes_per_second", "fabricd_pcie_path_max_bandwidth_bytes_per_second")},
		},
		panel.Sort{Title: "Address"})
}

// onTheirPath adds the label link, the bottleneck, where it is known.
func onTheirPath(devices string) string {
	return devices + " * on (address) group_left (link) " + of("fabricd_pcie_path_bottleneck_info") + " or on (address) " + devices
}

func linkValue(metric string) string { return byAddress(onlyOn(of(metric), onTheWay())) }

func linkShare(metric, maximum string) string {
	return linkValue(metric) + " / " + byAddress(of(maximum))
}

func linkVerdict(check string) string {
	return byAddress(onlyOn(addressed(verdict(`check="`+check+`"`)), onTheWay()))
}

func bandwidth() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Link bandwidth",
		Description: "What each link of a GPU, NIC or NVSwitch can carry in one direction at its present speed and width, line encoding taken off.",
		Unit:        "Bps", Empty: panel.Unrecorded("links", "there is no GPU or NIC with one"), Width: 12, Height: 9,
	}, nil, endpointGraph("fabricd_pcie_link_bandwidth_bytes_per_second"))
}

func pathBandwidth() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Path bandwidth",
		Description: "The slowest hop between each GPU, NIC or NVSwitch and the root complex.",
		Unit:        "Bps", Empty: panel.Unrecorded("paths", "there is no GPU or NIC with a link"), Width: 12, Height: 9,
	}, nil, endpointGraph("fabricd_pcie_path_bandwidth_bytes_per_second"))
}

func endpointGraph(metric string) panel.Query {
	one := byAddress(onlyOn(of(metric), endpoints()))
	return panel.Query{Expr: named(one, "address"), Legend: "{{address}} {{class}} {{netdev}} {{rdma}}"}
}

func belowMaximum() panel.Panel {
	rate := perSecond("fabricd_pcie_link_below_max_seconds_total")
	return panel.Graph(panel.Frame{
		Title: "Time below the maximum",
		Description: "Share of the time that each link ran below the speed or width both ends can do. " +
			"Normal for idle GPUs; the verdicts say where it is not.",
		Unit: "percentunit", Empty: panel.Unrecorded("links", "there is no GPU or NIC with one"), Width: 8, Height: 9,
	}, nil, panel.Query{Expr: byAddress(onlyOn(rate, onTheWay())), Legend: "{{address}}"})
}

func transitions(limits panel.Limits) panel.Panel {
	return panel.Graph(panel.Frame{
		Title: "Link transitions in 10 minutes",
		Description: "Changes of speed or width of each link. pcie_flaps warns above the dashed line, " +
			"but only while the GPU is busy: idle GPUs change gear all the time.",
		Unit: "none", Empty: panel.Unrecorded("transitions", "there is no GPU or NIC with a link"), Width: 8, Height: 9,
	}, []panel.Step{{From: limits.Of("pcie_flaps", "changes"), Color: panel.Warning}}, panel.Query{
		Expr: byAddress(onlyOn("increase("+of("fabricd_pcie_link_transitions_total")+"[10m])", onTheWay())), Legend: "{{address}}",
	})
}

func utilization(limits panel.Limits) panel.Panel {
	busy := limits.Share("pcie_speed", "busy_percent")
	return panel.Graph(panel.Frame{
		Title:       "GPU utilization",
		Description: "The load that pcie_speed and pcie_flaps go by: a GPU is busy from the dashed line on.",
		Unit:        "percentunit", Empty: panel.Unrecorded("load", "no GPU driver tells it"), Width: 8, Height: 9,
	}, []panel.Step{{From: busy, Color: panel.Note}}, panel.Query{
		Expr: byAddress(of("fabricd_gpu_utilization_ratio")), Legend: "{{address}}",
	})
}
