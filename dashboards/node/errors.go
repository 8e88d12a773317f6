// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/fabricd/fabricd/dashboards/panel"
)

func errorPanels(limits panel.Limits) []panel.Panel {
	return []panel.Panel{messages(), correctableShare(limits), errorNames(), rootPorts()}
}

// perMinute is the unit in which pcie_aer counts.
func perMinute(counter, by string, matchers ...string) string {
	return "sum by (" + by + ") (" + perSecond(counter, matchers...) + ") * 60"
}

func messages() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "AER messages by severity",
		Description: "Errors that each function reported. Any non-fatal or fatal one fails pcie_aer; correctable ones have a limit, to the right.",
		Unit:        "cpm", Empty: panel.Unrecorded("AER messages", "the kernel shows no AER counters"), Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr: panel.Top(perMinute("fabricd_pcie_aer_messages_total", "address, severity")), Legend: "{{address}} {{severity}}",
	})
}

// correctableShare divides by pcie_aer's limit: errors a minute for each GT/s.
func correctableShare(limits panel.Limits) panel.Panel {
	rate := perMinute("fabricd_pcie_aer_messages_total", "address", `severity="correctable"`)
	each := limits.Of("pcie_aer", "per_minute")
	limit := fmt.Sprintf("%s / 1e9 * %g", byAddress(of("fabricd_pcie_link_transfers_per_second")), each)
	return panel.Graph(panel.Frame{
		Title: "Correctable errors against their limit",
		Description: fmt.Sprintf("Correctable errors a minute, as a share of what pcie_aer tolerates at the link's present speed "+
			"(%g a minute for each GT/s). It warns above the dashed line.", each),
		Unit: "percentunit", Empty: panel.Unrecorded("AER messages", "the kernel shows no AER counters"), Width: 12, Height: 9,
	}, []panel.Step{{From: 1, Color: panel.Warning}}, panel.Query{
		Expr: panel.Top(rate + " / on (address) (" + limit + ")"), Legend: "{{address}}",
	})
}

func errorNames() panel.Panel {
	return panel.Graph(panel.Frame{
		Title: "AER errors by name",
		Description: "What the errors are. BadTLP, BadDLLP, RxErr and Timeout point at the signal (seating, riser, retimer); " +
			"they are counted at the port that saw them, often the partner of the culprit.",
		Unit: "cpm", Empty: panel.Unrecorded("AER errors", "the kernel shows no AER counters"), Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr: panel.Top(perMinute("fabricd_pcie_aer_errors_total", "address, severity, error")), Legend: "{{address}} {{severity}} {{error}}",
	})
}

func rootPorts() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "Root port totals",
		Description: "Error messages that each root port received from below. If only these rise, the source is not known.",
		Unit:        "cpm", Empty: panel.Unrecorded("root ports", "the kernel shows no AER counters of them"), Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr: panel.Top(perMinute("fabricd_pcie_aer_rootport_errors_total", "address, severity")), Legend: "{{address}} {{severity}}",
	})
}
