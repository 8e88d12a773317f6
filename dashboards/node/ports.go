// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/fabricd/fabricd/dashboards/panel"

func portPanels() []panel.Panel {
	return []panel.Panel{ports(), portsOverTime(), traffic(), portErrors(), losses()}
}

// byPort reduces expr to one series for each RDMA port.
func byPort(expr string) string { return "max by (device, port) (" + expr + ")" }

func perSecond(counter string, matchers ...string) string {
	return panel.PerSecond(of(counter, matchers...))
}

func ports() panel.Panel {
	rate := func(counter string) string { return byPort("rate(" + of(counter) + "[5m])") }
	return panel.Table(panel.Frame{
		Title:       "RDMA ports",
		Description: "Each port with its rate and what it carries, as averages of 5 minutes. Rates of ports that are not active mean nothing and are left out.",
		Empty:       panel.Unrecorded("RDMA ports", "there are none"), Width: 24, Height: 10,
	},
		[]panel.Label{
			{Name: "device", Title: "Device"}, {Name: "port", Title: "Port"}, {Name: "netdev", Title: "Netdev"},
			{Name: "link_layer", Title: "Link layer"}, {Name: "hca", Title: "Model"}, {Name: "firmware", Title: "Firmware"},
		},
		[]panel.Column{
			{Expr: "max by (device, port, netdev, link_layer, hca, firmware) (" + of("fabricd_rdma_port_info") + ")"},
			{Title: "State", Expr: byPort(of("fabricd_rdma_port_state")), Values: panel.PortStates()},
			{Title: "Rate", Unit: "Bps", Decimal: 1, Expr: byPort(of("fabricd_rdma_port_rate_bytes_per_second"))},
			{Title: "Sends", Unit: "Bps", Decimal: 1, Expr: rate("fabricd_rdma_transmitted_bytes_total")},
			{Title: "Receives", Unit: "Bps", Decimal: 1, Expr: rate("fabricd_rdma_received_bytes_total")},
			{Title: "Marked", Unit: "pps", Decimal: 1, Expr: rate("fabricd_roce_ecn_marked_packets_total")},
		},
		panel.Sort{Title: "Device"})
}

func portsOverTime() panel.Panel {
	return panel.History(panel.Frame{
		Title:       "State of each port over time",
		Description: "What state each port was in when Prometheus asked. Shorter breaks are in the carrier's changes and in rdma_flap.",
		Unit:        "none", Empty: panel.Unrecorded("RDMA ports", "there are none"), Width: 12, Height: 10,
	}, panel.PortStates(), nil, panel.Query{Expr: byPort(of("fabricd_rdma_port_state")), Legend: "{{device}}/{{port}}"})
}

func traffic() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "RDMA traffic",
		Description: "Bytes of RDMA traffic a second of each port. Ports of one node that carry less than their sisters hold these back.",
		Unit:        "Bps", Empty: panel.Unrecorded("RDMA traffic", "no driver counts it"), Width: 12, Height: 10,
	}, nil,
		panel.Query{Expr: byPort(perSecond("fabricd_rdma_transmitted_bytes_total")), Legend: "{{device}}/{{port}} sent"},
		panel.Query{Expr: byPort(perSecond("fabricd_rdma_received_bytes_total")), Legend: "{{device}}/{{port}} received"})
}

func portErrors() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Errors of ports",
		Description: "Errors and events a minute by the kernel's name of the counter, the 20 most. Narrow counters stick at their maximum.",
		Unit:        "cpm", Empty: panel.Unrecorded("errors of ports", "no driver counts them"), Width: 12, Height: 10,
	}, nil, panel.Query{
		Expr: panel.Top(perMinute("fabricd_rdma_port_errors_total", "device, port, error")), Legend: "{{device}}/{{port}} {{error}}",
	})
}

func losses() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Packets lost or late, and discarded",
		Description: "Events a minute that tell of lost or late RDMA packets, by cause, and packets that the NIC discarded for want of room. rdma_loss and nic_discards judge them.",
		Unit:        "cpm", Empty: panel.Unrecorded("losses", "no driver counts them"), Width: 12, Height: 10,
	}, nil,
		panel.Query{Expr: panel.Top(perMinute("fabricd_rdma_loss_events_total", "device, port, cause")), Legend: "{{device}}/{{port}} {{cause}}"},
		panel.Query{Expr: panel.Top(perMinute("fabricd_nic_discards_total", "netdev, direction, counter")), Legend: "{{netdev}} {{direction}} {{counter}}"})
}
