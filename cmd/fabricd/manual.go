// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
)

func (a *app) manualCommand() {
	var part string
	c := a.command("manual", "Print a manual in Markdown: of all metrics, or of all checks and their thresholds.", func() error {
		if part == "metrics" {
			collectors.WriteMetrics(a.stdout, all.List())
		} else {
			collectors.WriteChecks(a.stdout, all.List())
		}
		return nil
	})
	c.Arg("part", "metrics or checks.").Required().EnumVar(&part, "metrics", "checks")
}
