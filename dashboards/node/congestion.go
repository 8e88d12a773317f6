// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/fabricd/fabricd/dashboards/panel"

// congestionPanels put pause, by priority, beside marks: where the first rises
// without the second, the fabric does not mark.
func congestionPanels(limits panel.Limits) []panel.Panel {
	return []panel.Panel{
		pause(limits, "rx", "Stopped by the switch, by priority", "The switch asks this host to stop: congestion beyond it, or a host there that does not take its data."),
		marks(),
		pause(limits, "tx", "Stops the switch, by priority", "This host asks the switch to stop: it does not take its data fast enough."),
		notifications(), pauseFrames(), flowControl(),
	}
}

func pause(limits panel.Limits, direction, title, why string) panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       title,
		Description: "Share of time in which PFC held a priority. " + why + " roce_pause warns and fails above the dashed lines.",
		Unit:        "percentunit", Empty: panel.Unrecorded("pause times", "no driver tells them"), Width: 12, Height: 9,
	}, []panel.Step{
		{From: limits.Share("roce_pause", "warn_percent"), Color: panel.Warning},
		{From: limits.Share("roce_pause", "fail_percent"), Color: panel.Bad},
	}, panel.Query{
		Expr:   panel.Top("max by (netdev, priority) (" + perSecond("fabricd_roce_pfc_pause_seconds_total", `direction="`+direction+`"`) + ")"),
		Legend: "{{netdev}} priority {{priority}}",
	})
}

func marks() panel.Panel {
	return panel.Graph(panel.Frame{
		Title: "ECN marks",
		Description: "RoCE packets a second that came with a mark of congestion, by port; and those that the NIC marked itself in its " +
			"receive buffer, by priority. Pause without marks: the switches do not mark (roce_ecn_silent).",
		Unit: "pps", Empty: panel.Unrecorded("marks", "no driver counts them"), Width: 12, Height: 9,
	}, nil,
		panel.Query{Expr: byPort(perSecond("fabricd_roce_ecn_marked_packets_total")), Legend: "{{device}}/{{port}} received"},
		panel.Query{Expr: "max by (netdev, priority) (" + perSecond("fabricd_roce_priority_marked_packets_total") + ")", Legend: "{{netdev}} priority {{priority}} marked here"})
}

func notifications() panel.Panel {
	return panel.Graph(panel.Frame{
		Title: "Congestion notifications (CNP)",
		Description: "Packets a second that tell a sender to slow down: sent for marked packets that came in, received and handled, and " +
			"received and ignored, which roce_cnp warns of.",
		Unit: "pps", Empty: panel.Unrecorded("notifications", "no driver counts them"), Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr: "max by (device, port, event) (" + perSecond("fabricd_roce_cnp_total") + ")", Legend: "{{device}}/{{port}} {{event}}",
	})
}

func pauseFrames() panel.Panel {
	return panel.Graph(panel.Frame{
		Title:       "PFC frames, by priority",
		Description: "Frames a second that hold a priority. Direction rx: the switch asked us to stop; tx: we asked the switch. Some drivers count frames and no time.",
		Unit:        "pps", Empty: panel.Unrecorded("PFC frames", "no driver counts them"), Width: 12, Height: 9,
	}, nil, panel.Query{
		Expr:   panel.Top("max by (netdev, priority, direction) (" + perSecond("fabricd_roce_pfc_frames_total") + ")"),
		Legend: "{{netdev}} priority {{priority}} {{direction}}",
	})
}

func flowControl() panel.Panel {
	return panel.Matrix(panel.Frame{
		Title:       "Priorities with flow control",
		Description: "Where PFC is on, of the priorities that carried something or have it, as the driver says. RoCE traffic on another priority is lossy.",
		Empty:       panel.Unrecorded("flow control", "no driver tells of it"), Width: 12, Height: 9,
	}, panel.Cells{Row: "netdev", Column: "priority", Values: switched(panel.None, panel.Good)},
		"max by (netdev, priority) ("+of("fabricd_roce_pfc_enabled")+")")
}
