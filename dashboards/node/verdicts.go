// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/fabricd/fabricd/dashboards/panel"
)

func verdictPanels() []panel.Panel {
	return []panel.Panel{answers(), worst(), counts(), findings(), checksOverTime(), findingsOverTime()}
}

func answers() panel.Panel {
	return panel.Stat(panel.Frame{
		Title:       "fabricd",
		Description: "Whether the last scrape of this node's fabricd worked. While it does not, nothing below is watched.",
		Unit:        "none", Empty: "not recorded", Width: 4, Height: 4,
	}, []panel.Value{{Number: 0, Text: "does not answer", Color: panel.Bad}, {Number: 1, Text: "answers", Color: panel.Good}},
		panel.Query{Expr: "max(" + of("up") + ")"})
}

func worst() panel.Panel {
	return panel.Stat(panel.Frame{
		Title:       "Worst finding",
		Description: "The worst verdict now of all checks. Unknown only where nothing could be judged at all.",
		Unit:        "none", Empty: "not recorded", Width: 4, Height: 4,
	}, panel.Verdicts(), panel.Query{Expr: "max(" + verdict() + ")"})
}

// counts never makes up a zero: without a daemon there is no data.
func counts() panel.Panel {
	var list []panel.Count
	status := of("fabricd_check_status")
	for _, v := range panel.Verdicts() {
		expr := fmt.Sprintf("sum(%s == bool %d)", status, v.Number)
		switch v.Number {
		case panel.Unknown:
			expr = "count(" + of("fabricd_check_unknown") + ") or count(" + status + ") * 0"
		case panel.Muted:
			expr = "count(" + of("fabricd_check_muted") + ") or count(" + status + ") * 0"
		}
		list = append(list, panel.Count{Name: v.Text, Expr: expr, Color: v.Color})
	}
	return panel.Counts(panel.Frame{
		Title:       "Findings",
		Description: "How many subjects each verdict is given to now. Unknown could not be read or has no history yet: it is not ok.",
		Unit:        "none", Empty: "not recorded", Width: 16, Height: 4,
	}, list...)
}

func findings() panel.Panel {
	expr := fmt.Sprintf("max by (check, subject) (%s >= %d or -%s or %d * %s)",
		of("fabricd_check_status"), panel.Info,
		of("fabricd_check_unknown"),
		panel.Muted, of("fabricd_check_muted"))
	return panel.Table(panel.Frame{
		Title:       "Findings that are not ok",
		Description: "Reasons and remedies: fabricd check on the node, or its page. The subject names PCI addresses, devices, ports or interfaces.",
		Empty:       "no finding but ok was recorded", Width: 12, Height: 10,
	},
		[]panel.Label{{Name: "check", Title: "Check"}, {Name: "subject", Title: "Subject"}},
		[]panel.Column{{Title: "Verdict", Expr: expr, Values: panel.Verdicts()}},
		panel.Sort{Title: "Verdict", Desc: true})
}

func checksOverTime() panel.Panel {
	return panel.Timeline(panel.Frame{
		Title:       "Worst verdict of each check",
		Description: "One bar a check: the worst it said of any subject. Purple where it could judge none.",
		Unit:        "none", Empty: panel.Unrecorded("verdicts", "fabricd is not scraped"), Width: 12, Height: 10,
	}, panel.Verdicts(), panel.Query{Expr: "max by (check) (" + verdict() + ")", Legend: "{{check}}"})
}

func findingsOverTime() panel.Panel {
	status := of("fabricd_check_status")
	expr := fmt.Sprintf("%s and max_over_time(%s[$__range] @ end()) >= %d", status, status, panel.Warn)
	return panel.Timeline(panel.Frame{
		Title:       "Subjects that were warned of in this time",
		Description: "One bar for each finding that was warn or fail at some moment of the time shown: when it came, when it went.",
		Unit:        "none", Empty: "no warn or fail was recorded in this time", Width: 24, Height: 8,
	}, panel.Verdicts(), panel.Query{Expr: expr, Legend: "{{check}} {{subject}}"})
}
