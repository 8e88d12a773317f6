// SPDX-License-Identifier: Apache-2.0

// Package node is the board of one node: its PCIe links, their errors, the
// placement of GPUs and NICs, its ports with flow control and marks, its transmit
// queues, and fabricd's own health.
package node

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/fabricd/fabricd/dashboards/panel"
)

// Board builds the board.
func Board(limits panel.Limits) (dashboard.Dashboard, error) {
	b := panel.Board("fabricd / node", panel.NodeUID,
		"What the links, placement, ports and queues of one node really are, and what fabricd thinks of it.")
	panel.AddVariables(b, panel.NodeVariables())
	panel.AddRows(b, []panel.Row{
		{Title: "Verdict", Panels: verdictPanels()},
		{Title: "Links to GPUs and NICs", Panels: linkPanels(limits)},
		{Title: "PCIe errors", Panels: errorPanels(limits)},
		{Title: "Placement", Panels: placementPanels()},
		{Title: "Settings", Panels: settingPanels()},
		{Title: "Ports", Panels: portPanels()},
		{Title: "Flow control and marks", Panels: congestionPanels(limits)},
		{Title: "Transmit queues", Panels: queuePanels(limits)},
		{Title: "fabricd itself", Panels: healthPanels()},
	})
	return b.Build()
}
