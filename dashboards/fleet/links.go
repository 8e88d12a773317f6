// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	"github.com/fabricd/fabricd/dashboards/panel"
)

func linkPanels(limits panel.Limits) []panel.Panel {
	return []panel.Panel{portsOverTime(), ports(), carriers(limits)}
}

func portsOverTime() panel.Panel {
	state := panel.Fleet("fabricd_rdma_port_state", onRail)
	return panel.History(panel.Frame{
		Title: "Ports that were not active in this time",
		Description: "A row a port that was not active at some moment of the time shown. One that is never active may be unused; " +
			"the check rdma_port tells such ports from those that should be up.",
		Unit: "none", Empty: "no recorded port was other than active", Width: 24, Height: 12,
	}, panel.PortStates(), panel.ToNode(panel.SeriesLabel), panel.Query{
		Expr:   fmt.Sprintf("%s and min_over_time(%s[$__range] @ end()) < %d", state, state, panel.PortActive),
		Legend: "{{instance}} {{device}}/{{port}}",
	})
}

func ports() panel.Panel {
	return panel.Matrix(panel.Frame{
		Title:       "State of each port",
		Description: "The state of each RDMA port as the driver and the subnet manager have it now.",
		Empty:       panel.Unrecorded("RDMA ports", "there are none"), Width: 12, Height: 12,
	}, panel.Cells{Row: "instance", Column: "rail", Values: panel.PortStates(), Link: panel.ToNode(panel.FirstField)},
		`label_join(max by (instance, device, port) (`+panel.Fleet("fabricd_rdma_port_state", onRail)+`), "rail", "/", "device", "port")`)
}

func carriers(limits panel.Limits) panel.Panel {
	return panel.Matrix(panel.Frame{
		Title: "Ups and downs in 30 minutes",
		Description: "How often the carrier of each interface came or went, between scrapes too. " +
			"Orange from where rdma_flap warns of ports that were up.",
		Empty: panel.Unrecorded("interfaces", "there are none"), Width: 12, Height: 12,
	}, panel.Cells{Row: "instance", Column: "netdev", Base: panel.None, Steps: []panel.Step{{From: limits.Of("rdma_flap", "least"), Color: panel.Warning}}, Link: panel.ToNode(panel.FirstField)},
		"round(max by (instance, netdev) (increase("+panel.Fleet("fabricd_nic_carrier_changes_total")+"[30m])))")
}
