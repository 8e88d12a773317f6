// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// An asked is what an alert asks of fabricd_check_status.
type asked struct {
	alert  string
	checks *regexp.Regexp
	not    bool // all checks but these
	exact  bool // that status alone, not the worse ones as well
	status int
}

func (a asked) of(check string, status int) bool {
	return a.checks.MatchString(check) != a.not && (status == a.status || !a.exact && status > a.status)
}

// askedFor reads the shipped alerts.
func askedFor(t *testing.T) []asked {
	t.Helper()
	files, err := filepath.Glob("../../deploy/prometheus/fabricd-*.yml")
	if err != nil {
		t.Fatal(err)
	}
	selector := regexp.MustCompile(`fabricd_check_status\{check(=|=~|!~)"([^"]+)"\} (==|>=) ([23])`)
	var list []asked
	for _, name := range files {
		var file struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
		b, err := os.ReadFile(name)
		if err == nil {
			err = yaml.Unmarshal(b, &file)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				for _, m := range selector.FindAllStringSubmatch(r.Expr, -1) {
					if r.Alert == "" {
						continue
					}
					status, _ := strconv.Atoi(m[4])
					list = append(list, asked{r.Alert, regexp.MustCompile("^(?:" + m[2] + ")$"), m[1] == "!~", m[3] == "==", status})
				}
			}
		}
	}
	return list
}

// quiet are the checks that never warn.
var quiet = []string{"pcie_slot", "pcie_aspm", "guest", "gpu_bar1", "lldp_many"}

// Each warning and each failure of each check raises just one alert, and that
// alert's runbook says what the check means.
func TestEveryCheckHasAnAlert(t *testing.T) {
	alerts := askedFor(t)
	for check := range known().Thresholds {
		for status := 2; status <= 3; status++ {
			var names []string
			for _, a := range alerts {
				if a.of(check, status) {
					names = append(names, a.alert)
				}
			}
			if len(names) != 1 {
				t.Errorf("%s, status %d: alerts %q, want one", check, status, names)
				continue
			}
			runbook, err := os.ReadFile("../../docs/runbooks/" + names[0] + ".md")
			if err != nil {
				t.Error(err)
				continue
			}
			if !strings.Contains(string(runbook), "`"+check+"`") && !isQuiet(check) {
				t.Errorf("the runbook of %s does not name %s", names[0], check)
			}
		}
	}
}

func isQuiet(check string) bool {
	for _, name := range quiet {
		if name == check {
			return true
		}
	}
	return false
}
