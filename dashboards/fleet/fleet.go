// SPDX-License-Identifier: Apache-2.0

// Package fleet is the board of all nodes: which of them has the worst finding,
// which port carries less or is paused more than its sisters, whose link came
// and went, and what differs from the majority. It asks the recorded series of
// deploy/prometheus, which are a few for each port.
package fleet

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/fabricd/fabricd/dashboards/panel"
)

// onRail keeps the series of the picked rails.
const onRail = `device=~"$rail"`

// Board builds the board.
func Board(limits panel.Limits) (dashboard.Dashboard, error) {
	b := panel.Board("fabricd / fleet", panel.FleetUID,
		"All nodes at a glance: worst findings, node × port bandwidth, pause and marks, links that came and went, and what is not as on most nodes.")
	panel.AddVariables(b, append(panel.FleetVariables(), panel.RailVariable()))
	panel.AddRows(b, []panel.Row{
		{Title: "The fleet now", Panels: statusPanels()},
		{Title: "Bandwidth, node × port", Panels: bandwidthPanels()},
		{Title: "Congestion, node × port", Panels: congestionPanels(limits)},
		{Title: "Links over time", Panels: linkPanels(limits)},
		{Title: "Unlike the others", Panels: oddPanels()},
	})
	return b.Build()
}

// unrecorded is panel.Unrecorded for what the rules record.
func unrecorded(what, why string) string {
	return panel.Unrecorded(what, why+", the recording rules are not loaded")
}
