// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
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

// What a runbook tells to run exists.
func TestRunbooksNameCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d runbooks, %v", len(pages), err)
	}
	commands := map[string]bool{}
	for _, c := range newApp(io.Discard, io.Discard).Model().FlattenedCommands() {
		for i, words := 1, strings.Fields(c.FullCommand); i <= len(words); i++ {
			commands[strings.Join(words[:i], " ")] = true
		}
	}
	names := slices.Sorted(maps.Keys(known().Thresholds))
	call := regexp.MustCompile(`(?m)(?:^|[` + "`" + `;] ?|GOOD )fabricd ((?:probe |lldp |run )?[a-z]+)(?:.*--only '?([a-z0-9_*,]+)'?)?`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			if !commands[m[1]] && !commands[strings.Fields(m[1])[0]] {
				t.Errorf("%s: there is no command fabricd %s", filepath.Base(page), m[1])
			}
			for glob := range strings.SplitSeq(m[2], ",") {
				if matches := func(name string) bool { ok, _ := path.Match(glob, name); return ok }; glob != "" && !slices.ContainsFunc(names, matches) {
					t.Errorf("%s: there is no check %s", filepath.Base(page), glob)
				}
			}
		}
	}
}
