// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
)

func finding(check string, status collectors.Status, address, reason string) collectors.Finding {
	return collectors.Finding{Check: check, Status: status, Subject: collectors.Subject{{Name: "address", Value: address}}, Reason: reason}
}

func TestCompare(t *testing.T) {
	narrow := finding("pcie_width", collectors.Fail, "0001:03:00.0", "x8 of x16")
	over := narrow
	over.Ended = true
	for _, test := range []struct {
		name    string
		want    []Want
		finding collectors.Finding
		wrong   string // "" for none
	}{
		{"as wanted", []Want{Say("fail pcie_width 0001:03:00.0", "x8", "x16")}, narrow, ""},
		{"one of two statuses", []Want{Say("warn|fail pcie_width *")}, narrow, ""},
		{"glob", []Want{Say("fail pcie_width 0001:*")}, narrow, ""},
		{"nothing wanted", nil, narrow, "unwanted: fail pcie_width"},
		{"other words", []Want{Say("fail pcie_width *", "x4")}, narrow, "but: fail pcie_width"},
		{"other subject", []Want{Say("fail pcie_width 0002:*")}, narrow, "wanted: fail pcie_width 0002:*"},
		{"other status", []Want{Say("ok pcie_width *")}, narrow, "unwanted: fail"},
		{"what ended does not alarm", nil, over, ""},
		{"what ended is not there", []Want{Say("fail pcie_width *")}, over, "but: ended"},
		{"nothing", []Want{Say("nothing pcie_lost *"), Say("fail pcie_width *")}, narrow, ""},
		{"something", []Want{Say("nothing pcie_width *")}, narrow, "wanted: nothing"},
		{"ended", []Want{Say("ended pcie_width *")}, over, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := strings.Join(compare(test.want, []collectors.Finding{test.finding}), "\n")
			if (got == "") != (test.wrong == "") || !strings.Contains(got, test.wrong) {
				t.Errorf("compare says %q, want %q", got, test.wrong)
			}
		})
	}
}

func TestDiffer(t *testing.T) {
	ok := finding("pcie_width", collectors.OK, "0001:03:00.0", "")
	bad := finding("pcie_width", collectors.Fail, "0001:03:00.0", "")
	old := finding("pcie_aer", collectors.Fail, "0001:03:00.0", "")
	over := bad
	over.Ended = true
	list := func(f ...collectors.Finding) []collectors.Finding { return f }
	for _, test := range []struct {
		name           string
		live, replayed []collectors.Finding
		all            bool
		wrong          int
	}{
		{"the same", list(ok, old), list(ok, old), true, 0},
		{"the same but for what needs hindsight", list(ok, old), list(ok), false, 0},
		{"what needs hindsight", list(ok, old), list(ok), true, 1},
		{"another status", list(ok), list(bad), true, 1},
		{"one missing", list(bad), nil, true, 1},
		{"one too many", nil, list(bad), true, 1},
		{"what was not looked at yet", nil, list(ok), true, 0},
		{"over and well", list(over), list(ok), true, 0},
		{"over and gone", list(over), nil, true, 0},
		{"over, but the recording does not know", list(over), list(bad), true, 1},
	} {
		if wrong := differ(test.live, test.replayed, test.all); len(wrong) != test.wrong {
			t.Errorf("%s: %q, want %d", test.name, wrong, test.wrong)
		}
	}
}

// The tables themselves: names that are not used twice, wants that can be read, a twin for what fails.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		if seen[s.Name] || s.About == "" || len(s.Steps) == 0 {
			t.Errorf("%s: named twice, without a word about it, or without steps", s.Name)
		}
		seen[s.Name] = true
		for _, step := range s.Steps {
			for _, w := range step.Want {
				w.fields()
			}
			if len(step.Metrics) > 0 && !s.Daemon {
				t.Errorf("%s: metrics of a daemon that does not run", s.Name)
			}
		}
	}
	if Find("healthy") == nil || Find("no such") != nil {
		t.Error("Find finds what it should not, or not what it should")
	}
}

func TestTree(t *testing.T) {
	text := server(0, 1).Slow(switchUp, Link{5, 8}).String()
	for _, line := range []string{
		rootPort + " - root 8086:352a 060400 maxspeed=5 maxwidth=16 curspeed=5 curwidth=8 node=0\n",
		switchUp + " " + rootPort + " up 1000:c030 060400 maxspeed=5 maxwidth=16 curspeed=5 curwidth=8\n",
		distantNIC + " 0002:09:03.0 ep 15b3:1021 020700 maxspeed=5 maxwidth=16 curspeed=5 curwidth=16\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the tree has no line %q:\n%s", line, text)
		}
	}
	if n := strings.Count(text, " ep "); n != 16 {
		t.Errorf("%d devices, want 16", n)
	}
}
