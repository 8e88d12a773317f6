// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
)

func finding(status collectors.Status, check, address, reason string) collectors.Finding {
	return collectors.Finding{
		Check: check, Status: status, Reason: reason, Remedy: "Reseat the card",
		Subject: collectors.Subject{{Name: "address", Value: address}, {Name: "netdev", Value: "eth0"}},
	}
}

// The scorer has to fail where a case does not hold.
func TestJudge(t *testing.T) {
	findings := []collectors.Finding{
		finding(collectors.Fail, "pcie_width", "0000:16:00.0", "x8 of x16"),
		finding(collectors.Warn, "pcie_budget", "0000:16:00.0", "63 Gb/s"),
		finding(collectors.Info, "pcie_speed", "0000:17:00.0", "Idle"),
		finding(collectors.Info, "pcie_speed", "0000:18:00.0", "8 GT/s"),
		finding(collectors.Unknown, "pcie_acs", "0000:17:00.0", "64 bytes"),
	}
	for _, test := range []struct{ name, comment, wrong string }{
		{"nothing is said", "", ""},
		{"it holds", "expect: fail pcie_width 0000:16:00.0\nsays: X8\nsays: reseat\nexpect: warn pcie_budget eth0\nnever: warn pcie_speed *\nonly: yes", ""},
		{"several statuses", "expect: ok|fail pcie_width *\nnever: ok|warn pcie_width *", ""},
		{"any check", "expect: unknown * 0000:17:00.0", ""},
		{"a subject may be left out", "expect: info pcie_speed", ""},
		{"words in any of the findings that match", "expect: info pcie_speed *\nsays: gt/s\nsays: idle", ""},
		{"missing finding", "expect: fail pcie_lost 0000:16:00.0", "no fail pcie_lost 0000:16:00.0"},
		{"other status", "expect: warn pcie_width 0000:16:00.0", "no warn pcie_width 0000:16:00.0; it says: fail pcie_width 0000:16:00.0/eth0: x8 of x16"},
		{"other subject", "expect: fail pcie_width 0000:17:00.0", "no fail pcie_width 0000:17:00.0"},
		{"a part of a subject is none", "expect: fail pcie_width 0000:16", "no fail pcie_width 0000:16"},
		{"a check is no glob", "expect: fail pcie_* *", "no fail pcie_* *"},
		{"says something else", "expect: fail pcie_width *\nsays: x4", `fail pcie_width * does not say "x4"`},
		{"says belongs to the line above", "expect: fail pcie_width *\nexpect: info pcie_speed 0000:17:00.0\nsays: x8", `does not say "x8"`},
		{"false alarm", "never: warn|fail pcie_width *", "false fail pcie_width"},
		{"false alarm of any check", "never: fail * *", "false fail pcie_width"},
		{"unexpected warning", "expect: fail pcie_width *\nonly: yes", "unexpected warn pcie_budget"},
		{"a wrong expectation excuses nothing", "expect: warn pcie_budget 0000:17:00.0\nexpect: fail pcie_width *\nonly: yes", "unexpected warn pcie_budget"},
		{"only: no", "only: no", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := ParseCase("source: nowhere\n" + test.comment)
			if err != nil {
				t.Fatal(err)
			}
			wrong := strings.Join(c.Judge(findings), "\n")
			if (wrong == "") != (test.wrong == "") || !strings.Contains(wrong, test.wrong) {
				t.Errorf("it says %q, want %q", wrong, test.wrong)
			}
		})
	}
}

func TestJudgeCountsEachFailure(t *testing.T) {
	c, err := ParseCase("expect: fail a b\nexpect: ok c *\nnever: warn w *\nonly: yes")
	if err != nil {
		t.Fatal(err)
	}
	wrong := c.Judge([]collectors.Finding{finding(collectors.Warn, "w", "x", "y"), finding(collectors.Fail, "v", "x", "y")})
	if len(wrong) != 5 {
		t.Errorf("%d failures, want 5: %q", len(wrong), wrong)
	}
}

func TestLimit(t *testing.T) {
	c, err := ParseCase("expect: fail there x\nexpect: ok absent x\nexpect: info * x\nnever: warn absent *\nnever: warn there *\nonly: yes")
	if err != nil {
		t.Fatal(err)
	}
	got := c.Limit(func(check string) bool { return check == "there" })
	if len(got.Expect) != 2 || len(got.Never) != 1 || !got.Only {
		t.Errorf("%+v", got)
	}
	if len(c.Expect) != 3 || len(c.Never) != 2 {
		t.Errorf("the whole case was changed: %+v", c)
	}
}

func TestParseCaseErrors(t *testing.T) {
	for _, comment := range []string{"says: x", "expect: bad pcie_width *", "never: warn|fial pcie_width *", "expect:"} {
		if c, err := ParseCase(comment); err == nil {
			t.Errorf("%q is taken for %+v", comment, c)
		}
	}
}
