// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	"github.com/fabricd/fabricd/dashboards/panel"
)

func statusPanels() []panel.Panel {
	return []panel.Panel{counts(), checks(), findings(), worst(), worstOverTime()}
}

// counts never makes up a zero: without a node there is no data.
func counts() panel.Panel {
	up := panel.Fleet("up", `job="fabricd"`)
	status := panel.Fleet("fabricd:node_status:max")
	list := []panel.Count{
		{Name: "answer", Expr: "count(" + up + " == 1) or count(" + up + ") * 0", Color: panel.Good},
		{Name: "do not answer", Expr: "count(" + up + " == 0) or count(" + up + ") * 0", Color: panel.Bad},
	}
	for _, v := range panel.Verdicts() {
		if v.Number >= panel.OK {
			list = append(list, panel.Count{Name: v.Text, Expr: fmt.Sprintf("sum(%s == bool %d)", status, v.Number), Color: v.Color})
		}
	}
	return panel.Counts(panel.Frame{
		Title:       "Nodes",
		Description: "How many nodes answer Prometheus, and how many have each verdict as their worst. A node that does not answer is not watched.",
		Unit:        "none", Empty: "not recorded", Width: 24, Height: 4,
	}, list...)
}

func checks() panel.Panel {
	byCheck := func(how, expr string) string { return how + " by (check) (" + expr + ")" }
	status := panel.Fleet("fabricd:node_check_status:max")
	return panel.Table(panel.Frame{
		Title:       "Nodes by check",
		Description: "On how many nodes each check fails or warns, and of how many subjects it could not judge. One cause on many nodes is mostly a setting.",
		Empty:       unrecorded("checks", "no fabricd is scraped"), Width: 12, Height: 11,
	},
		[]panel.Label{{Name: "check", Title: "Check"}},
		[]panel.Column{
			{Title: "Nodes that fail", Expr: byCheck("sum", fmt.Sprintf("%s == bool %d", status, panel.Fail)), Base: panel.Quiet, Steps: []panel.Step{{From: 1, Color: panel.Bad}}},
			{Title: "Nodes that warn", Expr: byCheck("sum", fmt.Sprintf("%s == bool %d", status, panel.Warn)), Base: panel.Quiet, Steps: []panel.Step{{From: 1, Color: panel.Warning}}},
			{Title: "Subjects unknown", Expr: byCheck("sum", panel.Select("fabricd:check_unknown:count", `cluster=~"$cluster"`)), Base: panel.Quiet, Steps: []panel.Step{{From: 1, Color: panel.Hidden}}},
		},
		panel.Sort{Title: "Nodes that fail", Desc: true})
}

func findings() panel.Panel {
	return panel.Table(panel.Frame{
		Title:       "Checks that warn or fail",
		Description: "The worst verdict of each check on each node. A click on the node leads to its board; reasons and remedies are on its own page.",
		Empty:       "no recorded check warns or fails", Width: 12, Height: 11,
	},
		[]panel.Label{panel.Node(), {Name: "check", Title: "Check"}},
		[]panel.Column{{
			Title: "Verdict", Values: panel.Verdicts(),
			Expr: fmt.Sprintf("max by (instance, check) (%s >= %d)", panel.Fleet("fabricd:node_check_status:max"), panel.Warn),
		}},
		panel.Sort{Title: "Verdict", Desc: true})
}

func worst() panel.Panel {
	status := panel.Fleet("fabricd:node_check_status:max")
	count := func(verdict int) string { return fmt.Sprintf("sum by (instance) (%s == bool %d)", status, verdict) }
	return panel.Table(panel.Frame{
		Title:       "Worst finding of each node",
		Description: "The worst verdict of all checks of a node, and how many checks give it. Ports: its RDMA ports, of which so many are active.",
		Empty:       unrecorded("verdicts", "no fabricd is scraped"), Width: 24, Height: 11,
	},
		[]panel.Label{panel.Node()},
		[]panel.Column{
			{Title: "Worst", Expr: "max by (instance) (" + panel.Fleet("fabricd:node_status:max") + ")", Values: panel.Verdicts()},
			{Title: "Checks that fail", Expr: count(panel.Fail), Base: panel.Quiet, Steps: []panel.Step{{From: 1, Color: panel.Bad}}},
			{Title: "Checks that warn", Expr: count(panel.Warn), Base: panel.Quiet, Steps: []panel.Step{{From: 1, Color: panel.Warning}}},
			{Title: "Subjects unknown", Expr: "sum by (instance) (" + panel.Fleet("fabricd_check_unknown") + ")", Base: panel.Quiet, Steps: []panel.Step{{From: 1, Color: panel.Hidden}}},
			{Title: "Ports", Expr: "count by (instance) (" + panel.Fleet("fabricd_rdma_port_state") + ")"},
			{Title: "Ports active", Expr: fmt.Sprintf("sum by (instance) (%s == bool %d)", panel.Fleet("fabricd_rdma_port_state"), panel.PortActive)},
			{Title: "Sends", Expr: "sum by (instance) (" + panel.Fleet("fabricd:rdma_port_transmitted_bytes:rate5m") + ")", Unit: "Bps", Decimal: 1},
			{Title: "Receives", Expr: "sum by (instance) (" + panel.Fleet("fabricd:rdma_port_received_bytes:rate5m") + ")", Unit: "Bps", Decimal: 1},
		},
		panel.Sort{Title: "Worst", Desc: true})
}

func worstOverTime() panel.Panel {
	status := panel.Fleet("fabricd:node_status:max")
	return panel.History(panel.Frame{
		Title:       "Worst verdict of nodes that were warned of in this time",
		Description: "A row a node that had a warning or failure at some moment of the time shown: when it came and when it went.",
		Unit:        "none", Empty: "no warn or fail was recorded in this time", Width: 24, Height: 12,
	}, panel.Verdicts(), panel.ToNode(panel.SeriesLabel), panel.Query{
		Expr:   fmt.Sprintf("%s and max_over_time(%s[$__range] @ end()) >= %d", status, status, panel.Warn),
		Legend: "{{instance}}",
	})
}
