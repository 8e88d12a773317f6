// SPDX-License-Identifier: Apache-2.0

// Package health is the board of fabricd itself on all nodes: where it does not
// answer, what it cannot read, and what it costs.
package health

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/fabricd/fabricd/dashboards/panel"
)

// Board builds the board.
func Board(panel.Limits) (dashboard.Dashboard, error) {
	b := panel.Board("fabricd / its own health", panel.HealthUID,
		"Whether fabricd itself does its work: answers, collectors, periods, and what it costs the nodes.")
	panel.AddVariables(b, panel.FleetVariables())
	panel.AddRows(b, []panel.Row{
		{Title: "Does it watch?", Panels: []panel.Panel{counts(), daemons(), states(), failing(), errors()}},
		{Title: "Is it in time?", Panels: []panel.Panel{slowest(), periods(), overruns(), late(), reads(), readsNative()}},
		{Title: "What does it cost?", Panels: []panel.Panel{processor(), memory(), scrapes()}},
	})
	return b.Build()
}

// job selects what Prometheus itself and the client library say of fabricd.
const job = `job="fabricd"`

func counts() panel.Panel {
	up, collectors := panel.Fleet("up", job), panel.Fleet("fabricd_collector_up")
	zero := func(expr, of string) string { return "count(" + expr + ") or count(" + of + ") * 0" }
	return panel.Counts(panel.Frame{
		Title:       "Daemons and collectors",
		Description: "Nodes whose fabricd answers or does not, collectors that read or miss readings, and devices whose read hangs in a driver.",
		Unit:        "none", Empty: "not recorded", Width: 24, Height: 4,
	},
		panel.Count{Name: "nodes answer", Expr: zero(up+" == 1", up), Color: panel.Good},
		panel.Count{Name: "do not", Expr: zero(up+" == 0", up), Color: panel.Bad},
		panel.Count{Name: "collectors read", Expr: zero(collectors+" == 1", collectors), Color: panel.Good},
		panel.Count{Name: "miss readings", Expr: zero(collectors+" == 0", collectors), Color: panel.Warning},
		panel.Count{Name: "devices hang", Expr: "sum(" + panel.Fleet("fabricd_collector_units", `state="stale"`) + ")", Color: panel.Bad},
	)
}

func daemons() panel.Panel {
	one := func(expr string) string { return "max by (instance) (" + expr + ")" }
	return panel.Table(panel.Frame{
		Title:       "Daemons",
		Description: "Each node's fabricd: its age, what it costs, how much it exports and how long that takes Prometheus.",
		Empty:       panel.Unrecorded("daemons", "no fabricd is scraped"), Width: 24, Height: 11,
	},
		[]panel.Label{panel.Node(), {Name: "version", Title: "Version"}},
		[]panel.Column{
			{Expr: "max by (instance, version) (" + panel.Fleet("fabricd_build_info") + ")"},
			{Title: "Answers", Expr: one(panel.Fleet("up", job)), Values: []panel.Value{{Number: 0, Text: "no", Color: panel.Bad}, {Number: 1, Text: "yes", Color: panel.Good}}},
			{Title: "Runs for", Unit: "s", Expr: "time() - " + one(panel.Fleet("process_start_time_seconds", job))},
			{Title: "Processor", Unit: "percentunit", Decimal: 2, Expr: one("rate(" + panel.Fleet("process_cpu_seconds_total", job) + "[5m])")},
			{Title: "Memory", Unit: "bytes", Decimal: 1, Expr: one(panel.Fleet("process_resident_memory_bytes", job))},
			{Title: "Series", Expr: one(panel.Fleet("scrape_samples_scraped", job))},
			{Title: "Scrape", Unit: "s", Decimal: 1, Expr: one(panel.Fleet("scrape_duration_seconds", job))},
		},
		panel.Sort{Title: "Node"})
}

func states() panel.Panel {
	return panel.Matrix(panel.Frame{
		Title: "Collectors",
		Description: "Whether every device of a collector has a fresh reading. Empty where the machine has nothing for it to read. " +
			"Checks of what is missed are unknown, not ok.",
		Empty: panel.Unrecorded("collectors", "no fabricd is scraped"), Width: 12, Height: 12,
	}, panel.Cells{Row: "instance", Column: "collector", Link: panel.ToNode(panel.FirstField), Values: []panel.Value{
		{Number: 0, Text: "misses", Color: panel.Bad}, {Number: 1, Text: "reads", Color: panel.Good},
	}}, "max by (instance, collector) ("+panel.Fleet("fabricd_collector_up")+")")
}

func failing() panel.Panel {
	return panel.Table(panel.Frame{
		Title:       "Collectors that miss readings",
		Description: "Where the alerts FabricdCollectorDown and FabricdCollectorStale look. Stale devices neither answer nor fail: the driver hangs.",
		Empty:       "no recorded collector misses readings", Width: 12, Height: 12,
	},
		[]panel.Label{panel.Node(), {Name: "collector", Title: "Collector"}},
		[]panel.Column{
			{Expr: "max by (instance, collector) (" + panel.Fleet("fabricd_collector_up") + " == 0)"},
			{Title: "Stale devices", Expr: missing("max by (instance, collector) (" + panel.Fleet("fabricd_collector_units", `state="stale"`) + ")"),
				Base: panel.Quiet, Steps: []panel.Step{{From: 1, Color: panel.Bad}}},
			{Title: "Last reading", Unit: "s", Expr: missing("time() - max by (instance, collector) (" + panel.Fleet("fabricd_collector_last_read_timestamp_seconds") + ")")},
		},
		panel.Sort{Title: "Node"})
}

// missing keeps the collectors that miss readings.
func missing(expr string) string {
	return "(" + expr + ") and on (instance, collector) (" + panel.Fleet("fabricd_collector_up") + " == 0)"
}

func errors() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Errors by reason",
		Description: "Reads, or parts of them, that failed, a minute over all nodes.",
		Unit:        "cpm", Empty: "no recorded collector had an error", Width: 24, Height: 8,
	}, nil, panel.Query{
		Expr:   panel.Top("sum by (collector, reason) (" + panel.PerSecond(panel.Fleet("fabricd_collector_errors_total")) + ") * 60"),
		Legend: "{{collector}} {{reason}}",
	})
}
