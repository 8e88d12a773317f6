// SPDX-License-Identifier: Apache-2.0

// Package cabling is the board of cables: what LLDP hears at the other end of
// each, whether that is the plan's, and whether both ends agree on priority
// flow control. InfiniBand ports have no LLDP.
package cabling

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/fabricd/fabricd/dashboards/panel"
)

// Board builds the board.
func Board(limits panel.Limits) (dashboard.Dashboard, error) {
	b := panel.Board("fabricd / cabling", panel.CablingUID,
		"What is at the other end of each cable, whether it is what the plan says, and whether both ends agree.")
	panel.AddVariables(b, panel.FleetVariables())
	panel.AddRows(b, []panel.Row{
		{Title: "Cables", Panels: []panel.Panel{counts(), findings(), graph(), neighbors(limits)}},
		{Title: "Do both ends agree?", Panels: []panel.Panel{flowControl(), leaves(), frames()}},
	})
	return b.Build()
}

func counts() panel.Panel {
	listening := panel.Fleet("fabricd_lldp_listening")
	bad := func(check string) string {
		return fmt.Sprintf("sum(%s >= bool %d)", panel.Fleet("fabricd_check_status", `check="`+check+`"`), panel.Warn)
	}
	return panel.Counts(panel.Frame{
		Title:       "Ports",
		Description: "On how many ports LLDP is listened for, how many have a neighbour, and how many are silent, unlike the plan, on an odd leaf, or unlike their switch.",
		Unit:        "none", Empty: "not recorded", Width: 24, Height: 4,
	},
		panel.Count{Name: "listened on", Expr: "sum(" + listening + ")", Color: panel.Quiet},
		panel.Count{Name: "with a neighbour", Expr: "sum(" + panel.Fleet("fabricd_lldp_neighbors") + " > bool 0)", Color: panel.Good},
		panel.Count{Name: "silent", Expr: bad("lldp_silent"), Color: panel.Warning},
		panel.Count{Name: "not as planned", Expr: bad("lldp_cabling"), Color: panel.Bad},
		panel.Count{Name: "on an odd leaf", Expr: bad("lldp_rail"), Color: panel.Warning},
		panel.Count{Name: "unlike their switch", Expr: bad("lldp_pfc"), Color: panel.Bad},
	)
}

func findings() panel.Panel {
	return panel.Table(panel.Frame{
		Title:       "Cables that something is wrong with",
		Description: "Verdicts of the checks of LLDP. What the plan expected and what was heard is the reason, on the node's own page or by fabricd check.",
		Empty:       "no recorded check of cables warns or fails", Width: 8, Height: 16,
	},
		[]panel.Label{panel.Node(), {Name: "check", Title: "Check"}, {Name: "subject", Title: "Port"}},
		[]panel.Column{{Title: "Verdict", Values: panel.Verdicts(),
			Expr: fmt.Sprintf("max by (instance, check, subject) (%s >= %d)", panel.Fleet("fabricd_check_status", `check=~"lldp_.+"`), panel.Warn)}},
		panel.Sort{Title: "Verdict", Desc: true})
}

// known are the neighbours that have a name.
func known() string { return panel.Fleet("fabricd_lldp_neighbor_info", `system_name!=""`) }

// graph colours hosts by the worst verdict on their cables; switches have none.
func graph() panel.Panel {
	label := func(expr, label, from string) string {
		return `label_replace(` + expr + `, "` + label + `", "$1", "` + from + `", "(.*)")`
	}
	drawn := func(expr, from, kind string) string {
		return `label_replace(` + label(label(expr, "id", from), "title", from) + `, "subtitle", "` + kind + `", "", "")`
	}
	verdict := "max by (instance) (" + panel.Fleet("fabricd_check_status", `check=~"lldp_.+"`) + ")" +
		" and on (instance) " + known() + " or on (instance) max by (instance) (" + known() + ") * -1"
	nodes := "sum by (id, title, subtitle) (" + drawn(verdict, "instance", "host") + ")" +
		" or sum by (id, title, subtitle) (" + drawn("max by (system_name) ("+known()+") * 0", "system_name", "switch") + ")"
	cable := label(label("max by (instance, netdev, system_name, port_id) ("+known()+")", "source", "instance"), "target", "system_name")
	edges := `label_join(` + cable + `, "id", " ", "instance", "netdev", "system_name", "port_id")`
	return panel.NodeGraph(panel.Frame{
		Title: "Who is cabled to whom",
		Description: "An edge is a cable between a port of a host and a switch. Hosts have the colour of the worst verdict on their cables " +
			"(purple: nothing could be judged). Pick some nodes above: the picture of a thousand shows nothing.",
		Empty: panel.Unrecorded("neighbours", "none was heard"), Width: 16, Height: 16,
	}, nodes, edges)
}

func neighbors(limits panel.Limits) panel.Panel {
	const labels = "instance, netdev, chassis_id, port_id"
	timed := func(metric string) string { return "max by (" + labels + ") (" + panel.Fleet(metric) + ")" }
	return panel.Table(panel.Frame{
		Title: "Neighbours",
		Description: "What each port's neighbour says of itself. The age is that of its last frame: " +
			"it turns orange where lldp_silent would warn.",
		Empty: panel.Unrecorded("neighbours", "none was heard"), Width: 24, Height: 14,
	},
		[]panel.Label{
			panel.Node(), {Name: "netdev", Title: "Port"}, {Name: "system_name", Title: "Neighbour"}, {Name: "port_id", Title: "Its port"},
			{Name: "port_description", Title: "Port description"}, {Name: "chassis_id", Title: "Chassis"}, {Name: "management_address", Title: "Management"},
		},
		[]panel.Column{
			{Expr: "max by (" + labels + ", system_name, port_description, management_address) (" + panel.Fleet("fabricd_lldp_neighbor_info") + ")"},
			{Title: "Age", Unit: "s", Base: panel.Good, Expr: timed("fabricd_lldp_neighbor_age_seconds"),
				Steps: []panel.Step{{From: limits.Of("lldp_silent", "silent_seconds"), Color: panel.Warning}}},
			{Title: "Remembered for", Unit: "s", Expr: timed("fabricd_lldp_neighbor_ttl_seconds")},
			{Title: "Largest frame", Unit: "bytes", Expr: timed("fabricd_lldp_neighbor_max_frame_bytes")},
		},
		panel.Sort{Title: "Node"})
}

// flowControl adds what the host has (1) and what the switch announces (2).
func flowControl() panel.Panel {
	by := "max by (instance, netdev, priority) ("
	sum := by + panel.Fleet("fabricd_roce_pfc_enabled") + ") + 2 * " + by + panel.Fleet("fabricd_lldp_neighbor_pfc_enabled") + ")"
	return panel.Matrix(panel.Frame{
		Title: "Priority flow control of host and switch",
		Description: "For each port and priority: off, on at both ends, or at one alone, which lldp_pfc fails. " +
			"Ports whose switch announces nothing (DCBX) are not here.",
		Empty: panel.Unrecorded("agreements", "no switch announces its flow control"), Width: 12, Height: 12,
	}, panel.Cells{Row: "at", Column: "priority", Values: []panel.Value{
		{Number: 0, Text: "off", Color: panel.None},
		{Number: 1, Text: "host only", Color: panel.Bad},
		{Number: 2, Text: "switch only", Color: panel.Bad},
		{Number: 3, Text: "both", Color: panel.Good},
	}}, `sum by (at, priority) (label_join(`+sum+`, "at", " ", "instance", "netdev"))`)
}

func leaves() panel.Panel {
	return panel.Matrix(panel.Frame{
		Title:       "Leaf of each port",
		Description: "How many of its ports each node has at each switch. Nodes of one kind look alike; one that does not is cabled otherwise.",
		Empty:       panel.Unrecorded("neighbours", "none was heard"), Width: 12, Height: 12,
	}, panel.Cells{Row: "instance", Column: "system_name", Gradient: panel.Much, Link: panel.ToNode(panel.FirstField)},
		"count by (instance, system_name) ("+panel.Fleet("fabricd:port_leaf:info")+")")
}

func frames() panel.Panel {
	return panel.Graph(panel.Frame{
		Title: "LLDP frames by what became of them",
		Description: "Frames a minute over all ports. Malformed, refused and lost ones are a neighbour that misbehaves, " +
			"more than one neighbour on a port, or a host that is too slow.",
		Unit: "cpm", Empty: panel.Unrecorded("frames", "none was heard"), Width: 24, Height: 8,
	}, nil, panel.Query{
		Expr: "sum by (result) (" + panel.PerSecond(panel.Fleet("fabricd_lldp_frames_total")) + ") * 60", Legend: "{{result}}",
	})
}
