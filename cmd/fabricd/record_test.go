// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
)

// judged gives what check says, one line a finding.
func judged(t testing.TB, line func(collectors.Finding) string, args ...string) []string {
	t.Helper()
	code, out, errs := fabricd(append([]string{"check", "--format", "json", "--window", "300ms"}, args...)...)
	var r collectors.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code >= exitUsage {
		t.Fatalf("check %v: %d, %v, %s", args, code, err, errs)
	}
	var list []string
	for _, f := range r.Findings {
		list = append(list, line(f))
	}
	slices.Sort(list)
	return list
}

func wholeFinding(f collectors.Finding) string {
	return fmt.Sprintf("%s %s %s %s %v %s %s", f.Status, f.Check, f.Subject, f.Reason, f.Evidence, f.Remedy, f.Since)
}

func statusOf(f collectors.Finding) string { return fmt.Sprintf("%s %s", f.Status, f.Check) }

// A recording that is recorded again gives the same findings: to the letter
// with identities, and without them the same but for names of neighbours.
func TestRecordAgain(t *testing.T) {
	hosts, err := filepath.Glob("../../collectors/testdata/hosts/*.txtar")
	if err != nil || len(hosts) == 0 {
		t.Fatal(hosts, err)
	}
	cases, err := filepath.Glob("../../collectors/testdata/hosts/cases/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cases { // films, in which things change, go and come back
		if b, err := os.ReadFile(name); err != nil || bytes.Contains(b, []byte("\n-- at/")) {
			hosts = append(hosts, name)
		}
	}
	for _, host := range hosts {
		t.Run(filepath.Base(host), func(t *testing.T) {
			dir := t.TempDir()
			for _, way := range []struct {
				flags []string
				line  func(collectors.Finding) string
			}{{[]string{"--keep-identities"}, wholeFinding}, {nil, statusOf}} {
				again := filepath.Join(dir, fmt.Sprint(len(way.flags)))
				args := append([]string{"record", "--host", host, "-o", again}, way.flags...)
				if code, _, errs := fabricd(args...); code != 0 {
					t.Fatal(errs)
				}
				got, want := judged(t, way.line, "--host", again), judged(t, way.line, "--host", host)
				if !slices.Equal(got, want) {
					t.Errorf("%v: got\n%s\nwant\n%s", way.flags, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// The machine at hand and its recording give the same verdicts, but for those
// that a still picture says it cannot give and those that the machine did not:
// how much goes on decides about some, and both are read at their own time.
func TestRecordThisMachine(t *testing.T) {
	recording := filepath.Join(t.TempDir(), "here.txtar")
	code, out, errs := fabricd("record", "--output", recording)
	if code != 0 || out != "" || !strings.Contains(errs, "entries") {
		t.Fatal(code, out, errs)
	}
	open := make(map[string]bool) // what is not compared
	verdictsOf := func(isOpen func(collectors.Finding) bool, args ...string) map[string]string {
		verdicts := make(map[string]string)
		judged(t, func(f collectors.Finding) string {
			subject := fmt.Sprint(f.Check, " ", f.Subject)
			verdicts[subject] = fmt.Sprint(f.Status)
			open[subject] = open[subject] || f.Status == collectors.Unknown && isOpen(f)
			return subject
		}, args...)
		return verdicts
	}
	live := verdictsOf(func(collectors.Finding) bool { return true })
	again := verdictsOf(func(f collectors.Finding) bool {
		return strings.HasPrefix(f.Reason, "one reading only") || f.Check == "lldp_silent"
	}, "--host", recording)
	isOpen := func(subject, _ string) bool { return open[subject] }
	maps.DeleteFunc(live, isOpen)
	maps.DeleteFunc(again, isOpen)
	if !maps.Equal(live, again) || len(live) == 0 {
		t.Errorf("recorded:\n%v\nlive:\n%v", again, live)
	}
	b, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := os.Hostname(); err == nil && len(name) > 5 && strings.Contains(name, "-") && bytes.Contains(b, []byte(name)) {
		t.Error("the host's name is in the recording")
	}
	addresses, _ := filepath.Glob("/sys/class/net/*/address")
	for _, file := range addresses {
		address, err := os.ReadFile(file)
		if text := bytes.TrimSpace(address); err == nil && len(text) > 0 && !bytes.HasPrefix(text, []byte("00:00:00:00:00:00")) && bytes.Contains(b, text) {
			t.Errorf("%s is in the recording", file)
		}
	}
}

func TestRecordFilm(t *testing.T) {
	code, out, errs := fabricd("record", "-o", "-", "--for", "1s", "--every", "500ms", "--keep-identities")
	if code != 0 || !strings.HasPrefix(out, "-- manifest.json --\n") || !strings.Contains(out, "\n-- at/") || !strings.Contains(errs, "identities are kept") {
		t.Errorf("%d %.300s %s", code, out, errs)
	}
}

// Mistakes are told in a line, before anything is read or written.
func TestRecordMistakes(t *testing.T) {
	const host = "../../collectors/testdata/hosts/h200-vm-idle.txtar"
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := there + "-not"
	tests := []struct {
		args []string
		want string
	}{
		{nil, "--output"},
		{[]string{"-o", there}, "--force"},
		{[]string{"-o", filepath.Dir(there), "--force"}, "not a regular file"},
		{[]string{"-o", "/no/such/folder/x"}, "no such file"},
		{[]string{"-o", fresh, "--for", "60s"}, "both --for and --every"},
		{[]string{"-o", fresh, "--every", "60s"}, "both --for and --every"},
		{[]string{"-o", fresh, "--for", "0s", "--every", "0s"}, "both --for and --every"},
		{[]string{"-o", fresh, "--for=-1s", "--every", "1s"}, "both --for and --every"},
		{[]string{"-o", fresh, "--for", "1000h", "--every", "1s"}, "10000 readings"},
		{[]string{"-o", fresh, "--for", "1s", "--every", "2s"}, "longer than --for"},
		{[]string{"-o", fresh, "--for", "soon", "--every", "2s"}, "soon"},
		{[]string{"-o", fresh, "--host", host, "--for", "60s", "--every", "10s"}, "own marks"},
		{[]string{"-o", fresh, "--host", there}, "not a recording"},
		{[]string{"-o", fresh, "--device-exclude", "["}, "is not a glob"},
	}
	for _, test := range tests {
		code, out, errs := fabricd(append([]string{"record"}, test.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, test.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: %d %q, want %q", test.args, code, errs, test.want)
		}
	}
	if b, _ := os.ReadFile(there); string(b) != "mine" {
		t.Error("a file was overwritten")
	}
	if names, _ := os.ReadDir(filepath.Dir(there)); len(names) != 1 {
		t.Errorf("%v is left", names)
	}
}
