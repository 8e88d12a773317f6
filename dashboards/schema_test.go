// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// schemas is where Grafana's own types are, and the program that holds boards against them.
const schemas = "../tools/schema"

// Grafana knows all that our boards say to their panels, and nothing that is wrong
// with testdata/faults.json, where each panel but the first has the fault it is called by.
func TestOptionsAreGrafanas(t *testing.T) {
	node := need(t, "node")
	if _, err := os.Stat(schemas + "/node_modules"); err != nil {
		npm := exec.Command(need(t, "npm"), "ci", "--no-audit", "--no-fund", "--silent")
		npm.Dir = schemas
		if out, err := npm.CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v: %s", err, out)
		}
	}
	args := []string{schemas + "/boards.mjs", "testdata/faults.json"}
	for _, b := range boards() {
		args = append(args, b.file)
	}
	out, err := exec.Command(node, args...).CombinedOutput()
	if err == nil {
		t.Error("the faults were not found")
	}
	reports := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, want := range []string{
		`an unknown option: options: "sparkline": `,
		`an unknown value, in a row: options: "zoomMode": `,
		`an unknown option of an option: options: "unit": `,
		`an option is missing: options: `,
		`a field's unknown setting: fields: "units": `,
		`a setting of a kind that has none: fields, custom: `,
		`an unknown override: mapping of number: `,
		`an override of the wrong type: custom.fillOpacity of number: `,
		`a setting of another cell: custom.cellOptions of number: "mode": `,
		`no such kind: options: `,
	} {
		found := slices.IndexFunc(reports, func(r string) bool { return strings.HasPrefix(r, "faults.json: "+want) })
		if found < 0 {
			t.Errorf("not found: %s", want)
			continue
		}
		reports = slices.Delete(reports, found, found+1)
	}
	for _, r := range reports {
		t.Error(r)
	}
}

// need is where a program is. CI has all that scripts/deps installs.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: scripts/deps installs it", name)
	}
	if err != nil {
		t.Skipf("%s is missing: scripts/deps installs it", name)
	}
	return path
}
