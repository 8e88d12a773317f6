// SPDX-License-Identifier: Apache-2.0

package route

import (
	"encoding/json"
	"slices"
	"testing"
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
