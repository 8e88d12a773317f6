// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"gopkg.in/yaml.v3"
)

// A rulesFile is what matters here of a file of rules, or of promtool's tests of them.
type rulesFile struct {
	Groups []struct {
		Rules []struct{ Alert, Record string }
	}
	Tests []struct {
		Alerts []struct {
			At    string `yaml:"eval_time"`
			Name  string `yaml:"alertname"`
			Fired []any  `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
		Exprs []struct {
			Expr    string
			Samples []any `yaml:"exp_samples"`
		} `yaml:"promql_expr_test"`
	}
}

// tested gives the alerts and records that the tests show at work: of an alert one test
// must see it silent, then firing, then silent again.
func tested(t *testing.T, files []rulesFile) map[string]bool {
	t.Helper()
	done := map[string]bool{}
	record := regexp.MustCompile(`fabricd:[a-z_0-9]+(?::[a-z_0-9]+)?`)
	for _, file := range files {
		for _, test := range file.Tests {
			for _, e := range test.Exprs {
				for _, name := range record.FindAllString(e.Expr, -1) {
					done[name] = done[name] || len(e.Samples) > 0
				}
			}
			fires, silent := map[string][2]time.Duration{}, map[string][2]time.Duration{}
			for _, a := range test.Alerts {
				at, err := model.ParseDuration(a.At)
				if err != nil {
					t.Fatal(err)
				}
				span := silent
				if len(a.Fired) > 0 {
					span = fires
				}
				s, ok := span[a.Name]
				if !ok {
					s = [2]time.Duration{time.Duration(at), time.Duration(at)}
				}
				span[a.Name] = [2]time.Duration{min(s[0], time.Duration(at)), max(s[1], time.Duration(at))}
			}
			for name, f := range fires {
				s, ok := silent[name]
				done[name] = done[name] || ok && s[0] < f[0] && s[1] > f[1]
			}
		}
	}
	return done
}

// No rule is decoration: each alert is seen firing, not firing and resolving, and each
// record is seen with a value.
func TestEveryRuleIsTested(t *testing.T) {
	names, err := filepath.Glob("../../deploy/prometheus/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	var tests []rulesFile
	for _, name := range names {
		var file rulesFile
		b, err := os.ReadFile(name)
		if err == nil {
			err = yaml.Unmarshal(b, &file)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				rules[r.Alert+r.Record] = true
			}
		}
		if strings.HasSuffix(name, "_test.yml") {
			tests = append(tests, file)
		}
	}
	done := tested(t, tests)
	if len(rules) < 50 {
		t.Errorf("%d rules were found", len(rules))
	}
	for name := range maps.Keys(rules) {
		if !done[name] {
			t.Errorf("%s: no test shows its value, or that it is silent, fires and ends", name)
		}
	}
}
