// SPDX-License-Identifier: Apache-2.0

package route

import (
	"encoding/json"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/internal/nettest"
)

// This machine has a loopback address and the rules that every kernel has.
func TestLive(t *testing.T) {
	s, err := live()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.Addresses, func(a Address) bool { return a.Netdev == "lo" && a.Prefix.String() == "127.0.0.1/8" }) {
		t.Errorf("addresses: %+v", s.Addresses)
	}
	if !slices.ContainsFunc(s.Rules, func(r Rule) bool {
		return r.Priority == MainPriority && r.Table == MainTable && r.From.Bits() == 0 && !r.Other
	}) {
		t.Errorf("rules: %+v", s.Rules)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(b)
	if err != nil || !slices.Equal(again.Routes, s.Routes) || !slices.Equal(again.Rules, s.Rules) {
		t.Errorf("%v\n%+v\n%+v", err, again, s)
	}
}

// Rules are what iproute2 was told to make.
func TestRules(t *testing.T) {
	nettest.Enter(t, 0)
	from := netip.MustParsePrefix("10.0.0.0/8")
	for _, test := range []struct {
		words string
		want  Rule
	}{
		{"from 10.0.0.0/8 lookup 1000", Rule{Table: 1000}},
		{"from 10.0.0.0/8 blackhole", Rule{Action: Blackhole}},
		{"from 10.0.0.0/8 unreachable", Rule{Action: Unreachable}},
		{"from 10.0.0.0/8 prohibit", Rule{Action: Prohibit}},
		{"from 10.0.0.0/8 goto 32766", Rule{Action: Goto, Target: 32766}},
		{"from 10.0.0.0/8 goto 1234", Rule{Action: Goto}}, // there is none
		{"from 10.0.0.0/8 nop", Rule{Action: Nop}},
		{"not from 10.0.0.0/8 lookup 100", Rule{Table: 100, Not: true}},
		{"from 10.0.0.0/8 tos 0x10 lookup 100", Rule{Table: 100, Other: true, Where: "tos 0x10"}},
		{"from 10.0.0.0/8 to 10.1.0.0/16 lookup 100", Rule{Table: 100, Other: true, Where: "to 10.1.0.0/16"}},
		{"from 10.0.0.0/8 uidrange 0-5 lookup 100", Rule{Table: 100, Other: true, Where: "uidrange 0-5"}},
		{"from 10.0.0.0/8 lookup 100 suppress_prefixlength 0", Rule{Table: 100, Other: true, Suppress: "suppress_prefixlength 0"}},
		{"from 10.0.0.0/8 lookup 100 protocol 99", Rule{Table: 100}},
		{"from 10.0.0.0/8 lookup 100 realms 7", Rule{Table: 100}},
		{"from 10.0.0.0/8 fwmark 0x200/0xf00 lookup 100", Rule{Table: 100, Other: true, Where: "fwmark 0x200/0xf00"}},
		{"from 10.0.0.0/8 to 10.1.0.0/16 tos 0x10 fwmark 0x5 iif eth1 oif eth2 uidrange 0-5 ipproto tcp sport 80 dport 1-9 lookup 100", Rule{Table: 100, Other: true, Input: "eth1",
			Where: "to 10.1.0.0/16 tos 0x10 fwmark 0x5 iif eth1 oif eth2 uidrange 0-5 ipproto tcp sport 80 dport 1-9"}},
	} {
		rule := append(strings.Fields(test.words), "priority", "500")
		if out, err := exec.Command("ip", append([]string{"rule", "add"}, rule...)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", test.words, err, out)
			continue
		}
		test.want.Priority, test.want.From = 500, from
		s, err := live()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(s.Rules, test.want) {
			t.Errorf("%s: no %+v among %+v", test.words, test.want, s.Rules)
		}
		if out, err := exec.Command("ip", "rule", "del", "priority", "500").CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	}
}

// A recording comes from elsewhere.
func TestParse(t *testing.T) {
	s, err := Parse([]byte(`{"routes": [{"table": 100, "to": "10.0.0.0/8", "netdev": "a\nreboot"}], "rules": [{"action": "prohibit"}]}`))
	if err != nil || strings.Contains(s.Routes[0].Netdev, "\n") || s.Rules[0].Action != Prohibit {
		t.Errorf("%v %+v", err, s)
	}
	for _, text := range []string{`{"rules": [{"action": "x\nreboot"}]}`, `{"rules": [{"action": "throw"}]}`, `{"routes": [{"action": "x\nreboot"}]}`, `{"routes": [{"action": "goto"}]}`} {
		if _, err := Parse([]byte(text)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Add([]byte{2, 24, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0, 8, 0, 1, 0, 10, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &State{}
		for _, family := range []byte{2, 10} {
			s.address(family, b, nil)
			s.route(family, b, nil)
			s.rule(family, b, nil)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"addresses": [{"netdev": "eth0", "prefix": "10.0.0.1/24"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = Parse(b) })
}
