// SPDX-License-Identifier: Apache-2.0

package fleet

import "github.com/fabricd/fabricd/dashboards/panel"

func bandwidthPanels() []panel.Panel {
	return []panel.Panel{
		traffic("Sent", "fabricd:rdma_port_transmitted_bytes:rate5m"),
		traffic("Received", "fabricd:rdma_port_received_bytes:rate5m"),
		averages("Average of each rail", "{{device}}/{{port}}", "rail", "avg_rate5m", onRail,
			"What the ports of one name send (as positive) and receive on average. In collectives all rails carry the same: one that is lower holds all back."),
		averages("Sum of each leaf", "{{system_name}}", "leaf", "sum_rate5m", "",
			"What all ports at one switch send and receive, by the system name that the switch says by LLDP."),
	}
}

// byPort names the columns of a matrix of ports.
func byPort(metric string) string {
	return `label_join(sum by (instance, device, port) (` + panel.Fleet(metric, onRail) + `), "rail", "/", "device", "port")`
}

func traffic(what, metric string) panel.Panel {
	return panel.Matrix(panel.Frame{
		Title: what + " by each port",
		Description: "Bytes of RDMA traffic a second over 5 minutes; the darker the more. A pale row is a node that waits, " +
			"a pale column a rail or leaf, a pale cell a port.",
		Empty: unrecorded("RDMA traffic", "no driver counts it"), Width: 12, Height: 14,
	}, panel.Cells{Row: "instance", Column: "rail", Unit: "Bps", Gradient: panel.Much, Link: panel.ToNode(panel.FirstField)}, byPort(metric))
}

func averages(title, legend, of, record, matcher, description string) panel.Panel {
	matchers := []string{`cluster=~"$cluster"`}
	if matcher != "" {
		matchers = append(matchers, matcher)
	}
	query := func(direction, word string) panel.Query {
		return panel.Query{Expr: panel.Select("fabricd:"+of+"_"+direction+"_bytes:"+record, matchers...), Legend: legend + " " + word}
	}
	return panel.Graph(panel.Frame{
		Title: title, Description: description, Unit: "Bps", Empty: unrecorded("traffic", "no driver counts it, no switch is heard"), Width: 12, Height: 10,
	}, nil, query("transmitted", "sent"), query("received", "received"))
}

func congestionPanels(limits panel.Limits) []panel.Panel {
	return []panel.Panel{
		pauses(limits, "rx", "Stopped by the switch", "the switch asks this host to stop: congestion beyond it, or another host that does not take its data"),
		pauses(limits, "tx", "Stops the switch", "this host asks the switch to stop: it does not take its data fast enough (PCI Express, memory, buffers)"),
		marks(), highestPauses(limits),
		averagePauses(limits, "Average pause of each rail", "rail", "{{device}}/{{port}}", onRail,
			"Share of time in which the ports of one name were stopped (rx) and stopped the switch (tx), on average over all nodes. A rail above the others is one leaf's, or one setting's."),
		averagePauses(limits, "Average pause of each leaf", "leaf", "{{system_name}}", "",
			"The same of the ports at one switch, by the system name that it says by LLDP: high rx is congestion at or beyond it, high tx are hosts that do not take their data."),
	}
}

func averagePauses(limits panel.Limits, title, of, legend, matcher, description string) panel.Panel {
	matchers := []string{`cluster=~"$cluster"`}
	if matcher != "" {
		matchers = append(matchers, matcher)
	}
	return panel.Graph(panel.Frame{
		Title: title, Description: description, Unit: "percentunit", Empty: unrecorded("pause times", "no driver tells them, no switch is heard"), Width: 12, Height: 10,
	}, steps(limits), panel.Query{Expr: panel.Select("fabricd:"+of+"_pause:avg_ratio_rate5m", matchers...), Legend: legend + " {{direction}}"})
}

// steps are the limits of roce_pause.
func steps(limits panel.Limits) []panel.Step {
	return []panel.Step{
		{From: limits.Share("roce_pause", "warn_percent"), Color: panel.Warning},
		{From: limits.Share("roce_pause", "fail_percent"), Color: panel.Bad},
	}
}

// paused are the pauses of the ports of the picked rails.
func paused(matchers ...string) string {
	return panel.Fleet("fabricd:roce_pause:ratio_rate5m", matchers...) +
		" and on (cluster, instance, netdev) " + panel.Fleet("fabricd_rdma_port_info", onRail)
}

func pauses(limits panel.Limits, direction, title, why string) panel.Panel {
	return panel.Matrix(panel.Frame{
		Title:       title,
		Description: "Share of the last 5 minutes in which PFC held the worst priority: " + why + ". Colours are the limits of the check roce_pause.",
		Empty:       unrecorded("pause times", "no driver tells them"), Width: 12, Height: 12,
	}, panel.Cells{Row: "instance", Column: "netdev", Unit: "percentunit", Base: panel.None, Steps: steps(limits), Link: panel.ToNode(panel.FirstField)},
		"max by (instance, netdev) ("+paused(`direction="`+direction+`"`)+")")
}

func marks() panel.Panel {
	return panel.Matrix(panel.Frame{
		Title: "ECN marks received by each port",
		Description: "RoCE packets a second that a switch marked as having met congestion. Marks are how congestion is meant to be told; " +
			"pause without marks is a switch that does not mark (roce_ecn_silent).",
		Empty: unrecorded("marks", "no driver counts them"), Width: 12, Height: 12,
	}, panel.Cells{Row: "instance", Column: "rail", Unit: "pps", Gradient: panel.Much, Link: panel.ToNode(panel.FirstField)}, byPort("fabricd:roce_ecn_marked_packets:rate5m"))
}

func highestPauses(limits panel.Limits) panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "The 20 ports that are paused most",
		Description: "Share of time in which PFC held the worst priority of a port. Above the dashed lines roce_pause warns and fails.",
		Unit:        "percentunit", Empty: unrecorded("pause times", "no driver tells them"), Width: 12, Height: 12,
	}, steps(limits), panel.Query{
		Expr: "topk(20, " + paused() + ")", Legend: "{{instance}} {{netdev}} {{direction}}",
	})
}
