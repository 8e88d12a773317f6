// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/fabricd/fabricd/dashboards/panel"

func healthPanels() []panel.Panel {
	return []panel.Panel{collectors(), readTime(), readTimes(), readTimesNative(), overruns()}
}

func byCollector(expr string) string { return "max by (collector) (" + expr + ")" }

// slowestReads is the time that 99 of 100 reads stay below, over a range.
func slowestReads(over string) string {
	return "histogram_quantile(0.99, sum by (collector, le) (rate(" + of("fabricd_collector_read_seconds_bucket") + "[" + over + "])))"
}

func collectors() panel.Panel {
	return panel.Table(panel.Frame{
		Title:       "Collectors",
		Description: "How each collector does. The period in force is longer than the configured one where reads cost more than their budget.",
		Empty:       panel.Unrecorded("collectors", "fabricd is not scraped"), Width: 12, Height: 8,
	},
		[]panel.Label{{Name: "collector", Title: "Collector"}},
		[]panel.Column{
			{Title: "State", Expr: byCollector(of("fabricd_collector_up")), Values: []panel.Value{
				{Number: 0, Text: "fails", Color: panel.Bad}, {Number: 1, Text: "reads", Color: panel.Good},
			}},
			{Title: "Period", Expr: byCollector(of("fabricd_collector_period_seconds")), Unit: "s"},
			{Title: "Last reading", Expr: "time() - " + byCollector(of("fabricd_collector_last_read_timestamp_seconds")), Unit: "s"},
			{Title: "p99 of a read", Expr: slowestReads("1h"), Unit: "s"},
			{Title: "Overruns in 1 h", Expr: byCollector("increase(" + of("fabricd_collector_overruns_total") + "[1h])"),
				Base: panel.Good, Steps: []panel.Step{{From: 1, Color: panel.Warning}}},
		},
		panel.Sort{Title: "Collector"})
}

func readTime() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Slowest reads (p99)",
		Description: "The time that 99 of 100 reads of a collector stay below, from the classic buckets.",
		Unit:        "s", Empty: "no classic buckets are stored", Width: 12, Height: 8,
	}, nil, panel.Query{Expr: slowestReads("$__rate_interval"), Legend: "{{collector}}"})
}

func readTimes() panel.Panel {
	return panel.Heatmap(panel.Frame{
		Title:       "Read times",
		Description: "How long reads take, all collectors together: reads a second in each bucket.",
		Unit:        "s", Empty: "no classic buckets are stored", Width: 12, Height: 8,
	}, panel.Query{
		Expr: "sum by (le) (" + perSecond("fabricd_collector_read_seconds_bucket") + ")", Legend: "{{le}}",
	})
}

func readTimesNative() panel.Panel {
	return panel.NativeHeatmap(panel.Frame{
		Title:       "Read times, native histogram",
		Description: "The same from the native histogram, with finer steps. Only where Prometheus stores native histograms.",
		Unit:        "s", Empty: "no native histograms are stored", Width: 12, Height: 8,
	}, panel.Query{Expr: "sum(" + perSecond("fabricd_collector_read_seconds") + ")"})
}

func overruns() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Overruns",
		Description: "Ticks that a collector missed because its last read was not done yet.",
		Unit:        "cpm", Empty: panel.Unrecorded("overruns", "fabricd is not scraped"), Width: 24, Height: 8,
	}, nil, panel.Query{
		Expr: byCollector(perSecond("fabricd_collector_overruns_total")) + " * 60", Legend: "{{collector}}",
	})
}
