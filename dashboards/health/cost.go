// SPDX-License-Identifier: Apache-2.0

package health

import "github.com/fabricd/fabricd/dashboards/panel"

func slowest() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Slowest reads of each collector (p99)",
		Description: "The time that 99 of 100 reads stay below, over all nodes, from the classic buckets.",
		Unit:        "s", Empty: "no classic buckets are stored", Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr:   "histogram_quantile(0.99, sum by (collector, le) (" + panel.PerSecond(panel.Fleet("fabricd_collector_read_seconds_bucket")) + "))",
		Legend: "{{collector}}",
	})
}

func periods() panel.Panel {
	one := "max by (instance, collector) (" + panel.Fleet("fabricd_collector_period_seconds") + ")"
	return panel.Graph(panel.Frame{
		Title: "Periods against those of most nodes",
		Description: "The longest period in force of a collector, divided by what half of the nodes have at most: 1 where it is as usual, more where reads " +
			"cost more than their budget. FabricdCollectorStretched fires above the dashed line.",
		Unit: "none", Empty: panel.Unrecorded("periods", "no fabricd is scraped"), Width: 12, Height: 9,
	}, []panel.Step{{From: 4, Color: panel.Warning}}, panel.Query{
		Expr:   panel.Top(one + " / on (collector) group_left () quantile by (collector) (0.5, " + one + ")"),
		Legend: "{{instance}} {{collector}}",
	})
}

func overruns() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Overruns",
		Description: "Ticks a minute that a collector missed because its last read was not done yet, the 20 most.",
		Unit:        "cpm", Empty: panel.Unrecorded("overruns", "no fabricd is scraped"), Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr:   panel.Top("max by (instance, collector) (" + panel.PerSecond(panel.Fleet("fabricd_collector_overruns_total")) + ") * 60"),
		Legend: "{{instance}} {{collector}}",
	})
}

func late() panel.Panel {
	taken := panel.PerSecond(panel.Fleet("fabricd_nic_queue_sample_ticks_total"))
	missed := panel.PerSecond(panel.Fleet("fabricd_nic_queue_sample_missed_ticks_total"))
	return panel.Graph(panel.Frame{
		Title: "Samples of transmit queues that came late",
		Description: "Share of samples that were not taken because the one before came too late or took too long, the 20 nodes with most. " +
			"What was missed is missing in depths, not in counters.",
		Unit: "percentunit", Empty: panel.Unrecorded("samples", "no queue is sampled"), Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr:   panel.Top("max by (instance) (" + missed + " / (" + taken + " + " + missed + "))"),
		Legend: "{{instance}}",
	})
}

func reads() panel.Panel {
	return panel.Heatmap(panel.Frame{
		Title:       "Read times",
		Description: "How long reads take, all nodes and collectors together: reads a second in each classic bucket.",
		Unit:        "s", Empty: "no classic buckets are stored", Width: 12, Height: 9,
	}, panel.Query{Expr: "sum by (le) (" + panel.PerSecond(panel.Fleet("fabricd_collector_read_seconds_bucket")) + ")", Legend: "{{le}}"})
}

func readsNative() panel.Panel {
	return panel.NativeHeatmap(panel.Frame{
		Title:       "Read times, native histogram",
		Description: "The same from the native histogram, with finer steps. Only where Prometheus stores native histograms.",
		Unit:        "s", Empty: "no native histograms are stored", Width: 12, Height: 9,
	}, panel.Query{Expr: "sum(" + panel.PerSecond(panel.Fleet("fabricd_collector_read_seconds")) + ")"})
}

func processor() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Processor time",
		Description: "Share of one processor that fabricd takes, the 20 nodes with most.",
		Unit:        "percentunit", Empty: panel.Unrecorded("processor time", "no fabricd is scraped as job fabricd"), Width: 8, Height: 9,
	}, nil, panel.Query{Expr: panel.Top(panel.PerSecond(panel.Fleet("process_cpu_seconds_total", job))), Legend: "{{instance}}"})
}

func memory() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Memory",
		Description: "Resident memory of fabricd, the 20 nodes with most.",
		Unit:        "bytes", Empty: panel.Unrecorded("memory", "no fabricd is scraped as job fabricd"), Width: 8, Height: 9,
	}, nil, panel.Query{Expr: panel.Top(panel.Fleet("process_resident_memory_bytes", job)), Legend: "{{instance}}"})
}

func scrapes() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Scrapes",
		Description: "How long Prometheus takes to scrape fabricd, the 20 slowest nodes.",
		Unit:        "s", Empty: panel.Unrecorded("scrapes", "no fabricd is scraped as job fabricd"), Width: 8, Height: 9,
	}, nil, panel.Query{Expr: panel.Top(panel.Fleet("scrape_duration_seconds", job)), Legend: "{{instance}}"})
}
