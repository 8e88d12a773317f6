// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// A ruleFile is what we look at in a file of Prometheus rules.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Alert       string
	Record      string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

// A testFile is what we look at in a file of promtool's unit tests.
type testFile struct {
	Tests []struct {
		AlertRuleTest []struct {
			Alertname string
			ExpAlerts []any `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

// Rules reports the faults of all rule files below dir: expressions that do not
// parse, metrics that do not exist (in texts too), alerts without severity,
// text, runbook in runbooks, or unit tests for firing and for silence.
// A file NAME_test.yml holds unit tests.
func Rules(dir, runbooks string, known Metrics) error {
	tests, files, err := ruleFiles(dir)
	if err != nil {
		return err
	}
	fires, silent, err := tested(tests)
	if err != nil {
		return err
	}
	if known, err = known.WithRules(dir); err != nil {
		return err
	}
	var faults []error
	alerts := 0
	for _, name := range files {
		rules, err := readRules(name, known)
		faults = append(faults, err)
		for _, r := range rules {
			if r.Alert == "" {
				continue
			}
			alerts++
			faults = append(faults, r.texts(runbooks))
			if !fires[r.Alert] || !silent[r.Alert] {
				faults = append(faults, fmt.Errorf("%s: unit tests for firing: %v, for silence: %v", r.Alert, fires[r.Alert], silent[r.Alert]))
			}
		}
	}
	if alerts == 0 {
		faults = append(faults, fmt.Errorf("%s holds no alert", dir))
	}
	return errors.Join(faults...)
}

// ruleFiles lists the files of unit tests and of rules in dir; a Prometheus
// configuration is neither.
func ruleFiles(dir string) (tests, rules []string, err error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.yml"))
	for _, name := range all {
		switch {
		case strings.HasSuffix(name, "_test.yml"):
			tests = append(tests, name)
		case filepath.Base(name) != "prometheus.yml":
			rules = append(rules, name)
		}
	}
	return tests, rules, err
}

func decode(name string, into any) ([]byte, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return raw, nil
}

// readRules reads a rule file and reports what is wrong with its expressions
// and metrics.
func readRules(name string, known Metrics) ([]rule, error) {
	var file ruleFile
	raw, err := decode(name, &file)
	if err != nil {
		return nil, err
	}
	faults := []error{known.inText(string(raw))}
	var rules []rule
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			list, err := selectors(r.Expr)
			if err == nil {
				err = known.exist(list)
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("%s%s: %w", r.Alert, r.Record, err))
			}
			rules = append(rules, r)
		}
	}
	return rules, errors.Join(faults...)
}

// WithRules adds the series that the rules below dir record.
func (m Metrics) WithRules(dir string) (Metrics, error) {
	m = maps.Clone(m)
	_, files, err := ruleFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		var file ruleFile
		if _, err := decode(name, &file); err != nil {
			return nil, err
		}
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				if r.Record != "" {
					m[r.Record] = true
				}
			}
		}
	}
	return m, nil
}

// texts reports what an alert fails to tell the person it wakes.
func (r rule) texts(runbooks string) error {
	var faults []error
	if r.Labels["severity"] == "" {
		faults = append(faults, fmt.Errorf("%s: no severity", r.Alert))
	}
	for _, name := range []string{"summary", "description", "runbook_url"} {
		if r.Annotations[name] == "" {
			faults = append(faults, fmt.Errorf("%s: no %s", r.Alert, name))
		}
	}
	page := path.Base(r.Annotations["runbook_url"])
	if page != r.Alert+".md" {
		faults = append(faults, fmt.Errorf("%s: its runbook is called %s", r.Alert, page))
	}
	if _, err := os.Stat(filepath.Join(runbooks, page)); err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", r.Alert, err))
	}
	return errors.Join(faults...)
}

// tested lists the alerts that some test expects to fire and not to fire.
func tested(files []string) (fires, silent map[string]bool, err error) {
	fires, silent = map[string]bool{}, map[string]bool{}
	for _, name := range files {
		var file testFile
		if _, err := decode(name, &file); err != nil {
			return nil, nil, err
		}
		for _, t := range file.Tests {
			for _, a := range t.AlertRuleTest {
				if len(a.ExpAlerts) > 0 {
					fires[a.Alertname] = true
				} else {
					silent[a.Alertname] = true
				}
			}
		}
	}
	return fires, silent, nil
}
