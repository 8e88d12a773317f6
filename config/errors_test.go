// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is wrong is said in one line that begins with file and line.
func TestParseErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"unknown key", "plans: {}\n", `f:1: field plans is not a known key`},
		{"unknown key below", "plan:\n  ports:\n    counts: 8\n", `f:3: field counts is not a known key`},
		{"unknown key in a list", "mute:\n  - check: pcie_width\n    reason: r\n    untill: 2026-12-31\n", `f:4: field untill is not a known key`},
		{"two unknown keys", "plans: {}\n\nmutes: []\n", `f:1: field plans is not a known key; 3: field mutes is not a known key`},
		{"number as a key", "1: 2\n", `f:1: field 1 is not a known key`},
		{"duplicate key", "plan: {}\nmute: []\nplan: {}\n", `f:3: mapping key "plan" already defined at line 1`},
		{"duplicate role", "plan:\n  roles:\n    eth0: compute\n    eth0: storage\n", `f:4: mapping key "eth0" already defined at line 3`},
		{"tab", "plan:\n\tports: {}\n", `f:2: found character that cannot start any token (a tab? YAML wants spaces)`},
		{"nested in one line", "plan:\n  ports: count: 8\n", `f:2: mapping values are not allowed in this context`},

		{"unknown role", "plan:\n  roles:\n    eth0: compute\n    eth1: backup\n", `f:4: plan.roles.eth1: "backup" is not a role (want compute, storage or management)`},
		{"empty role", "plan:\n  roles:\n    eth1:\n", `f:3: plan.roles.eth1: "" is not a role (want compute, storage or management)`},
		{"cable without an end", "plan:\n  cabling:\n    - {port: a, switch: s}\n    - {switch: leaf-01}\n", `f:4: plan.cabling.1: a cable names either a port or an address`},
		{"cable with two ends", "plan:\n  cabling:\n    - {port: a, address: \"0000:18:00.0\"}\n", `f:3: plan.cabling.0: a cable names either a port or an address`},
		{"empty cable", "plan:\n  cabling:\n    -\n", `f:3: plan.cabling.0: a cable names either a port or an address`},
		{"negative count", "plan:\n  ports: {count: -1}\n", `f:2: plan.ports: count and rate_gbps are not negative`},
		{"negative rate", "plan:\n  ports:\n    rate_gbps: -400\n", `f:3: plan.ports: count and rate_gbps are not negative`},

		{"unknown check", "thresholds:\n  pcie_with: {x: 1}\n", `f:2: thresholds.pcie_with: there is no check of this name`},
		{"unknown threshold", "thresholds:\n  pcie_flaps:\n    change: 1\n", `f:3: thresholds.pcie_flaps.change: the check has no such threshold (changes, within)`},
		{"threshold of a check without any", "thresholds:\n  pcie_width: {x: 1}\n", `f:2: thresholds.pcie_width.x: the check has no such threshold (it has none)`},
		{"threshold that is a word", "thresholds:\n  pcie_speed:\n    busy: often\n", `f:3: thresholds.pcie_speed.busy: "often" is neither a number nor a duration`},
		{"negative threshold", "thresholds:\n  pcie_speed: {busy: -1}\n", `f:2: thresholds.pcie_speed.busy: "-1" is neither a number nor a duration`},
		{"threshold that is never reached", "thresholds:\n  pcie_speed: {busy: 101}\n", `f:2: thresholds.pcie_speed.busy: "101" is more than 100 percent of time`},
		{"unknown collector", "collectors:\n  pcie: {}\n  nvme: {}\n", `f:3: collectors.nvme: there is no collector of this name (pcie, gpu)`},
		{"negative interval", "collectors:\n  pcie: {interval: -1s}\n", `f:2: collectors.pcie.interval: an interval is at least 1ms`},
		{"interval too short", "collectors:\n  pcie:\n    interval: 999us\n", `f:3: collectors.pcie.interval: an interval is at least 1ms`},

		{"interval too long for one that samples", "collectors:\n  pcie: {interval: 10s}\n  gpu:\n    interval: 1001ms\n", `f:4: collectors.gpu.interval: an interval of this collector is at most 1s`},

		{"mute of no check", "mute:\n  - {reason: r}\n", `f:2: mute.0: a mute names a check`},
		{"mute without a reason", "mute:\n  - {check: pcie_width, reason: r}\n  - {check: pcie_width}\n", `f:3: mute.1: a mute gives its reason: whoever is on call has to understand it`},
		{"mute of an unknown check", "mute:\n  - {check: pcie_with, reason: r}\n", `f:2: mute.0: no check is named "pcie_with"`},
		{"mute of a glob without match", "mute:\n  - {check: \"rdma_*\", reason: r}\n", `f:2: mute.0: no check is named "rdma_*"`},
		{"bad glob of checks", "mute:\n  - {check: \"pcie_[\", reason: r}\n", `f:2: mute.0: "pcie_[" is not a glob`},
		{"bad glob of subjects", "mute:\n  - {check: pcie_width, subject: \"[\", reason: r}\n", `f:2: mute.0: "[" is not a glob`},
		{"bad glob of devices", "devices:\n  exclude:\n    - \"0000:*\"\n    - \"0000:[\"\n", `f:4: devices.exclude.1: "0000:[" is not a glob over PCI addresses`},
		{"empty glob of devices", "devices: {exclude: [\"\"]}\n", `f:1: devices.exclude.0: "" is not a glob over PCI addresses`},
		{"null glob of devices", "devices:\n  exclude:\n    - ~\n", `f:3: devices.exclude.0: "~" is not a glob over PCI addresses`},

		{"count is a word", "plan: {ports: {count: eight}}\n", `f:1: plan.ports.count: "eight" is not a whole number`},
		{"count without a value", "plan:\n  ports:\n    count:\n", `f:3: plan.ports.count: "" is not a whole number`},
		{"rate without end", "plan: {ports: {rate_gbps: Inf}}\n", `f:1: plan.ports.rate_gbps: "Inf" is not a number`},
		{"negative rate below a count", "plan:\n  ports:\n    count: 8\n    rate_gbps: -400\n", `f:4: plan.ports: count and rate_gbps are not negative`},
		{"negative rail", "plan:\n  cabling:\n    - port: a\n      rail: -1\n", `f:4: plan.cabling.0.rail: a rail is not negative`},
		{"null cable after a good one", "plan:\n  cabling:\n    - {port: a, switch: s}\n    - ~\n", `f:4: plan.cabling.1: a cable names either a port or an address`},
		{"port is a mapping", "plan:\n  cabling:\n    - {port: {}}\n", `f:3: plan.cabling.0.port: a mapping is not text`},
		{"subject without a value", "mute:\n  - check: pcie_width\n    subject:\n    reason: r\n", `f:3: mute.0.subject: has no value`},
		{"until is no date", "mute: [{check: pcie_width, reason: r, until: soon}]\n", `f:1: mute.0.until: "soon" is neither a date (2027-01-31) nor a time of RFC 3339 (2027-01-31T18:00:00+01:00)`},
		{"enabled without a value", "collectors: {gpu: {enabled: }}\n", `f:1: collectors.gpu.enabled: "" is neither true nor false`},
		{"key of two lines", "plan: {roles: {\"a\\nb\": z}}\n", `f:1: plan.roles."a\nb": "z" is not a role (want compute, storage or management)`},
		{"mistake in a merged mapping", "plan:\n  roles:\n    <<: {a: compute, b: backup}\n    a: storage\n", `f:3: plan.roles.b: "backup" is not a role (want compute, storage or management)`},
		{"mapping within itself", "plan: &a\n  ports: *a\n", `f:2: field ports is not a known key`},
		{"unknown key after a mistake", "plan: {roles: {a: b}}\nplans: {}\n", `f:1: plan.roles.a: "b" is not a role (want compute, storage or management)`},
		{"mistake after an unknown key", "plans: {}\nplan: {roles: {a: b}}\n", `f:1: field plans is not a known key`},
		{"wrong indent at the end of a block", "plan:\n  ports:\n    count: 1\n   rate_gbps: 2\n", `f:4: did not find expected key`},
		{"less indent than the first line", "  plan: {}\nmute: []\n", `f:2: did not find expected <document start> (indented less than the first line?)`},

		{"two documents", "plan: {}\n---\nplan: {}\n", `f: holds more than one YAML document`},
		{"a second document that is broken", "plan: {}\n---\n[\n", `f: holds more than one YAML document`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse("f", []byte(test.in), everything())
			if err == nil {
				t.Fatalf("no error, but %+v", c)
			}
			if err.Error() != test.want {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
			if c != nil {
				t.Errorf("an error, and %+v", c)
			}
		})
	}
}

// Where the message is the YAML library's own, at least file and line are right.
func TestParseErrorsLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"error in the first line", "plan: ports: {}\n", `^f:1: mapping values are not allowed`},
		{"unclosed quote", "plan:\n  roles:\n    a: \"compute\n", `^f:[34]: found unexpected end of stream`},
		{"unclosed quote in the first line", "\"plan\n", `^f:[12]: found unexpected end of stream`},
		{"unclosed brace", "mute: []\nplan:\n  ports: {count: 8\ncollectors: {}\n", `^f:[34]: did not find expected ',' or '}'`},
		{"wrong indent", "plan:\n  ports:\n    count: 1\n   rate_gbps: 2\n", `^f:[234]: did not find expected key`},
		{"key beside a list", "mute:\n  - check: pcie_width\n    reason: r\n  subject: x\n", `^f:[234]: did not find expected '-' indicator`},
		{"control character", "plan: {}\n# \x01\n", `^f: control characters are not allowed|^f:2: control characters`},
		{"not UTF-8", "plan: {}\n# \xff\n", `^f: invalid leading UTF-8 octet|^f:2: invalid leading UTF-8 octet`},
		{"unknown anchor", "plan: {}\nmute: *known\n", `^f: unknown anchor 'known' referenced|^f:2: unknown anchor`},
		{"directive", "%YAML 1.2\n%WHAT\n---\n", `^f:2: `},
		{"no mapping", "just text\n", `^f:1: cannot unmarshal`},
		{"a list", "- plan\n", `^f:1: cannot unmarshal`},
		{"until is no date", "mute:\n  - check: pcie_width\n    reason: r\n    until: tomorrow\n", `^f:4: .*tomorrow`},
		{"until is an impossible date", "mute:\n  - {check: pcie_width, reason: r, until: 2026-02-30}\n", `^f:2: .*2026-02-30`},
		{"until without seconds", "mute:\n  - {check: pcie_width, reason: r, until: 2026-12-31 18:00}\n", `^f:2: .*2026-12-31 18:00`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("f", []byte(test.in), everything())
			if err == nil {
				t.Fatal("no error")
			}
			if !regexp.MustCompile(test.want).MatchString(err.Error()) {
				t.Errorf("got %s, want %s", err, test.want)
			}
			if strings.Contains(err.Error(), "2006-01-02") {
				t.Errorf("%s: names the layout of Go's library", err)
			}
		})
	}
}

// A value of the wrong type is named with its key, and no part of it is taken.
func TestParseTypes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, line, key string }{
		{"count is a word", "plan:\n  ports:\n    count: eight\n", "3", "count"},
		{"count is a fraction", "plan:\n  ports:\n    count: 7.5\n", "3", "count"},
		{"count is huge", "plan:\n  ports:\n    count: 99999999999999999999\n", "3", "count"},
		{"rate is no number", "plan:\n  ports:\n    rate_gbps: .nan\n", "3", "ports"},
		{"rate is without end", "plan:\n  ports:\n    rate_gbps: .inf\n", "3", "ports"},
		{"rail is a fraction", "plan:\n  cabling:\n    - {port: a, rail: 0.5}\n", "3", "rail"},
		{"rail is negative", "plan:\n  cabling:\n    - {port: a, rail: -1}\n", "3", "cabling.0"},
		{"interval without a unit", "collectors:\n  pcie:\n    interval: 10\n", "3", "interval"},
		{"interval is a word", "collectors:\n  pcie:\n    interval: often\n", "3", "interval"},
		{"enabled is a word", "collectors:\n  pcie:\n    enabled: sometimes\n", "3", "enabled"},
		{"exclude is no list", "devices:\n  exclude: \"0000:18:*\"\n", "2", "exclude"},
		{"cable is a word", "plan:\n  cabling:\n    - eth0\n", "3", "cabling"},
		{"role is a list", "plan:\n  roles:\n    eth0: [compute]\n", "3", "eth0"},
		{"budget is nothing", "budget:\n  all: 0\n", "2", "budget.all"},
		{"budget is more than all", "budget: {judge: 101}\n", "1", "budget.judge"},
		{"threshold is a word", "thresholds:\n  pcie_speed:\n    busy: often\n", "3", "busy"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse("f", []byte(test.in), everything())
			if err == nil {
				t.Fatalf("no error, but %+v", c)
			}
			if text := err.Error(); !strings.HasPrefix(text, "f:"+test.line+": ") || !strings.Contains(text, test.key) {
				t.Errorf("%s: want f:%s: … with the key %s", text, test.line, test.key)
			}
		})
	}
}

// Of several mistakes the first is named, not any.
func TestParseErrorsOrder(t *testing.T) {
	t.Parallel()
	const in = "plan:\n  roles:\n    e: backup\n    d: backup\n    c: backup\n    b: backup\n    a: backup\n"
	for range 20 {
		if _, err := Parse("f", []byte(in), Known{}); err == nil || !strings.HasPrefix(err.Error(), "f:3: ") {
			t.Fatalf("got %v, want line 3", err)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if c, err := Load(write("good.yaml", reference), everything()); err != nil || c.Plan.Ports.Count != 8 {
		t.Errorf("%+v, %v", c, err)
	}
	bad := write("bad.yaml", "plan:\n  ports: {count: -1}\n")
	if _, err := Load(bad, everything()); err == nil || !strings.HasPrefix(err.Error(), bad+":2: ") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{filepath.Join(dir, "absent.yaml"), dir} {
		if _, err := Load(name, everything()); err == nil || !strings.HasPrefix(err.Error(), "configuration file: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	huge := write("huge.yaml", "")
	if err := os.Truncate(huge, maxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(huge, everything()); err == nil || err.Error() != huge+": larger than 16 MiB" {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(reference))
	for _, s := range []string{
		"", "plan: {roles: {eth0: x}}", "plan:\n\tports: {}\n", "a: &a [*a]", "<<: {plan: {}}", "---\n---\n", "\xef\xbb\xbf{}", "\xff\xfep\x00", "? {}\n: 1",
		"thresholds: {pcie_speed: {busy: \"a\\nb\"}}", "mute: [{check: \"[\", reason: r, until: 1}]", "collectors: {pcie: {interval: 1ns}}", "\"a\\nb\": 1", "plan: !!binary x",
	} {
		f.Add([]byte(s))
	}
	known := everything()
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse("f", b, known)
		if (c == nil) == (err == nil) {
			t.Fatalf("%+v, %v", c, err)
		}
		if err == nil {
			return
		}
		if text := err.Error(); !strings.HasPrefix(text, "f:") || strings.ContainsAny(text, "\n\r") {
			t.Errorf("no good line: %q", text)
		}
	})
}
