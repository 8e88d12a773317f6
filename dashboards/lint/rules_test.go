// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const soundRules = `groups:
  - name: g
    rules:
      - record: node:fabricd_a:max
        expr: max(fabricd_a)
      - alert: FabricdA
        expr: fabricd_a == 3 or up{job="fabricd"} == 0
        labels: {severity: critical}
        annotations:
          summary: short
          description: '{{ with query "fabricd_b_total" }}{{ . | first | value }}{{ end }}'
          runbook_url: https://example.org/docs/runbooks/FabricdA.md
`

const soundTests = `rule_files: [a.yml]
tests:
  - alert_rule_test:
      - {eval_time: 1m, alertname: FabricdA, exp_alerts: [{exp_labels: {severity: critical}}]}
      - {eval_time: 2m, alertname: FabricdA, exp_alerts: []}
`

// ruleTree writes rules, their tests and a runbook, and lints them.
func ruleTree(t *testing.T, rules, tests, runbook string) error {
	t.Helper()
	dir, pages := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(dir, "a.yml"):          rules,
		filepath.Join(dir, "a_test.yml"):     tests,
		filepath.Join(dir, "prometheus.yml"): "global: {}\n",
		filepath.Join(pages, runbook):        "# page\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Rules(dir, pages, known)
}

func TestSoundRules(t *testing.T) {
	if err := ruleTree(t, soundRules, soundTests, "FabricdA.md"); err != nil {
		t.Error(err)
	}
}

func TestFaultyRules(t *testing.T) {
	faults := map[string]fault{
		"does not parse":             {`max(fabricd_a)`, `max(fabricd_a`, "node:fabricd_a:max"},
		"no such metric":             {`fabricd_a == 3`, `fabricd_x == 3`, "fabricd_x"},
		"no such foreign metric":     {`up{job`, `down{job`, `"down"`},
		"no such metric in a text":   {`query "fabricd_b_total"`, `query "fabricd_b"`, "no such metric: fabricd_b"},
		"no such metric in a record": {`max(fabricd_a)`, `max(fabricd_y)`, "fabricd_y"},
		"no severity":                {`severity: critical`, `team: a`, "no severity"},
		"no summary":                 {`summary: short`, `summry: short`, "no summary"},
		"no description":             {`description:`, `text:`, "no description"},
		"no runbook":                 {`runbook_url:`, `url:`, "no runbook_url"},
		"another's runbook":          {`runbooks/FabricdA.md`, `runbooks/FabricdB.md`, "FabricdB.md"},
		"untested":                   {`alert: FabricdA`, `alert: FabricdC`, "unit tests for firing: false"},
		"no alert at all":            {`alert: FabricdA`, `record: a`, "holds no alert"},
	}
	report(t, faults, soundRules, func(t *testing.T, rules string) error {
		return ruleTree(t, rules, soundTests, "FabricdA.md")
	})
}

func TestMissingPagesAndTests(t *testing.T) {
	reported(t, ruleTree(t, soundRules, soundTests, "other.md"), "no such file")
	neverSilent := strings.Replace(soundTests, "exp_alerts: []", "exp_alerts: [{}]", 1)
	reported(t, ruleTree(t, soundRules, neverSilent, "FabricdA.md"), "for silence: false")
	neverFires := strings.Replace(soundTests, "exp_alerts: [{exp_labels: {severity: critical}}]", "exp_alerts: []", 1)
	reported(t, ruleTree(t, soundRules, neverFires, "FabricdA.md"), "for firing: false")
	reported(t, ruleTree(t, soundRules, ":", "FabricdA.md"), "a_test.yml")
	reported(t, ruleTree(t, "groups: 1", soundTests, "FabricdA.md"), "a.yml")
	reported(t, Rules(t.TempDir(), t.TempDir(), known), "holds no alert")
}
