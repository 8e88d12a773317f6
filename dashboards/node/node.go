// SPDX-License-Identifier: Apache-2.0

// Package node is the board of one node: its PCIe links, their errors, the
// placement of GPUs and NICs, and fabricd's own health.
package node

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/fabricd/fabricd/dashboards/panel"
)

// Board builds the board.
func Board() (dashboard.Dashboard, error) {
	b := dashboard.NewDashboardBuilder("fabricd / node: PCIe and NUMA").
		Uid("fabricd-node").
		Description("What the PCIe links and the NUMA placement of one node really are, and what fabricd thinks of it.").
		Tags([]string{"fabricd", "pcie", "numa"}).
		Time("now-6h", "now").
		Timezone("browser").
		Refresh("30s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair)
	for _, v := range panel.NodeVariables() {
		b.WithVariable(v)
	}
	panel.AddRows(b, []panel.Row{
		{Title: "Verdict", Panels: verdictPanels()},
		{Title: "Links to GPUs and NICs", Panels: linkPanels()},
		{Title: "PCIe errors", Panels: errorPanels()},
		{Title: "Placement", Panels: placementPanels()},
		{Title: "Settings", Panels: settingPanels()},
		{Title: "fabricd itself", Panels: healthPanels()},
	})
	return b.Build()
}
