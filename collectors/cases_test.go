// SPDX-License-Identifier: Apache-2.0

package collectors_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"golang.org/x/tools/txtar"
)

const hosts = "testdata/hosts"

// Every recorded host is held to what its comment says of the checks that exist.
func TestRecordings(t *testing.T) {
	checks := hosttest.Checks()
	exists := func(name string) bool { return checks[name] != nil }
	for _, name := range recordings(t) {
		t.Run(strings.TrimSuffix(name, ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(hosts, name))
			if err != nil {
				t.Fatal(err)
			}
			c, err := hosttest.ParseCase(string(txtar.Parse(text).Comment))
			if err != nil {
				t.Fatal(err)
			}
			e, err := hosttest.Play(text)
			if err != nil {
				t.Fatal(err)
			}
			findings := e.State().Findings
			for _, wrong := range c.Limit(exists).Judge(findings) {
				t.Error(wrong)
			}
			hosttest.Sound(t, findings)
			distinct(t, e.AppendText(nil, collectors.Exposition{}))
		})
	}
}

// distinct fails the test where an exposition has a series twice.
func distinct(t *testing.T, exposition []byte) {
	t.Helper()
	seen := map[string]bool{}
	for line := range strings.Lines(string(exposition)) {
		series, _, _ := strings.Cut(line, "} ")
		if strings.HasPrefix(line, "#") || !strings.Contains(line, "{") {
			continue
		}
		if seen[series] {
			t.Errorf("%s} is there twice", series)
		}
		seen[series] = true
	}
}

func play(t *testing.T, text []byte) []collectors.Finding {
	t.Helper()
	e, err := hosttest.Play(text)
	if err != nil {
		t.Fatal(err)
	}
	return e.State().Findings
}

// recordings lists the recorded hosts, by their names below testdata/hosts.
func recordings(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(hosts), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".txtar" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 100 {
		t.Fatalf("%d recordings below %s: some are missing", len(names), hosts)
	}
	return names
}

// A recording that says "only: yes" of checks that do not exist yet still
// forbids false alarms of those that do.
func TestOnlyCountsWithoutExpectations(t *testing.T) {
	c, err := hosttest.ParseCase("expect: fail no_such_check *\nonly: yes")
	if err != nil {
		t.Fatal(err)
	}
	c = c.Limit(func(string) bool { return false })
	text, err := os.ReadFile(filepath.Join(hosts, "cases/052-two-gpus-no-near-nic.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if wrong := c.Judge(play(t, text)); len(wrong) != 2 {
		t.Errorf("%q, want two unexpected warnings of gpu_nic", wrong)
	}
}

// What a case says is looked at: with the opposite said, it does not hold.
func TestRecordingsCanFail(t *testing.T) {
	opposite := strings.NewReplacer("expect: fail pcie_speed", "expect: ok pcie_speed", "never: warn|fail pcie_width", "expect: warn|fail pcie_width")
	text, err := os.ReadFile(filepath.Join(hosts, "cases/020a-one-hdr-nic-at-half-rate.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	comment := string(txtar.Parse(text).Comment)
	findings := play(t, text)
	for _, test := range []struct {
		comment string
		wrong   int
	}{
		{comment, 0},
		{comment + "only: yes\n", 0},
		{opposite.Replace(comment), 2},
		{strings.ReplaceAll(comment, "says: 126", "says: 252"), 1},
		{"only: yes\n", 2},
	} {
		c, err := hosttest.ParseCase(test.comment)
		if err != nil {
			t.Fatal(err)
		}
		exists := func(name string) bool { return hosttest.Checks()[name] != nil }
		if wrong := c.Limit(exists).Judge(findings); len(wrong) != test.wrong {
			t.Errorf("%s\n%d failures, want %d: %q", test.comment, len(wrong), test.wrong, wrong)
		}
	}
}
