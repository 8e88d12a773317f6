// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
)

func (a *app) manualCommand() {
	var part string
	c := a.command("manual", "Print a manual: of all metrics or of all checks (Markdown), or the reference configuration (YAML).", func() error {
		switch part {
		case "metrics":
			collectors.WriteMetrics(a.stdout, all.List())
		case "checks":
			collectors.WriteChecks(a.stdout, all.List())
		case "config":
			collectors.WriteReference(a.stdout, all.List())
		}
		return nil
	})
	enumVar(c.Arg("part", "metrics, checks or config.").Required(), "manual", &part, "metrics", "checks", "config")
}
