// SPDX-License-Identifier: Apache-2.0

package routeplan

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes/route"
)

// obey does to a state what the plan's commands do to the kernel's.
func obey(p *Plan, s *route.State) {
	for _, i := range p.Surplus {
		s.Rules = slices.DeleteFunc(s.Rules, func(r route.Rule) bool { return i.Rule != nil && r == *i.Rule })
		s.Routes = slices.DeleteFunc(s.Routes, func(r route.Route) bool { return i.Route != nil && r == *i.Route })
	}
	for _, r := range p.Rails {
		for _, i := range r.Items {
			switch {
			case i.InForce:
			case i.Rule != nil:
				s.Rules = append(s.Rules, *i.Rule)
			default:
				s.Routes = append(slices.DeleteFunc(s.Routes, func(r route.Route) bool { return r.Table == i.Route.Table && r.To == i.Route.To }), *i.Route)
			}
		}
	}
}

func rule(priority, table int, from string) route.Rule {
	return route.Rule{Priority: priority, Table: table, From: netip.MustParsePrefix(from)}
}

// Once its commands were run a plan is in force, and stays the same.
func TestConverges(t *testing.T) {
	via := func(table int, to, gateway string) route.Route {
		return route.Route{Table: table, To: netip.MustParsePrefix(to), Gateway: netip.MustParseAddr(gateway), Netdev: "eth0"}
	}
	for _, test := range []struct {
		name      string
		addresses []string
		routes    []route.Route
		rules     []route.Rule
		says      string // by the first plan
	}{
		{"two addresses in one network", []string{"eth0 10.0.0.3/24", "eth0 10.0.0.2/24"}, nil, nil, "ip route replace 10.0.0.0/24 dev eth0 src 10.0.0.2 table 100\n"},
		{"of IPv6", []string{"eth0 fd00::abcd/64", "eth0 fd00::2/64"}, []route.Route{via(254, "::/0", "fe80::99")}, nil, "default via fe80::99 dev eth0 src fd00::2 table 100\n"},
		{"two networks", []string{"eth0 10.0.0.2/24", "eth0 10.5.0.2/24"}, []route.Route{via(254, "10.9.0.0/16", "10.0.0.9"), via(254, "0.0.0.0/0", "10.5.0.1")}, nil, "default via 10.5.0.1 dev eth0 src 10.5.0.2 table 100\n"},
		{"an alias of one address", []string{"eth0 10.0.0.2/24", "eth0 10.0.0.3/32"}, nil, nil, "from 10.0.0.3/32 lookup 100"},
		{"a wider route than the first", []string{"eth0 10.0.0.2/24"}, []route.Route{via(254, "10.9.0.0/16", "10.0.0.9"), via(200, "0.0.0.0/0", "10.0.0.7"), via(254, "0.0.0.0/0", "10.0.0.1")}, nil, "default via 10.0.0.1 dev"},
		{"one address on two rails", []string{"eth0 10.0.0.2/24", "eth1 10.0.0.2/24"}, nil, nil, "10.0.0.2 is on eth0 and on eth1: no rule can tell"},
		{"a rule behind the main table's", []string{"eth0 10.0.0.2/24"}, nil, []route.Rule{rule(40000, 100, "10.0.0.2/32")}, "ip rule del from 10.0.0.2/32 lookup 100 priority 40000\n"},
		{"a rule of another priority", []string{"eth0 10.0.0.2/24"}, nil, []route.Rule{rule(2000, 100, "10.0.0.2/32")}, "# in force: ip rule add from 10.0.0.2/32"},
		{"a rule for elsewhere", []string{"eth0 10.0.0.2/24"}, nil, []route.Rule{rule(900, 200, "10.0.0.2/32")}, "ip rule del from 10.0.0.2/32 lookup 200 priority 900\n"},
		{"a later rule", []string{"eth0 10.0.0.2/24"}, nil, []route.Rule{rule(1001, 200, "10.0.0.0/24")}, "ip rule add"},
		{"a rule for another network", []string{"eth0 10.0.0.2/24"}, nil, []route.Rule{rule(500, 200, "10.0.1.0/24"), rule(501, 200, "::/0")}, "ip rule add"},
	} {
		s := state(test.addresses...)
		s.Routes = test.routes
		s.Rules = append([]route.Rule{rule(0, 255, "0.0.0.0/0"), rule(32766, 254, "0.0.0.0/0"), rule(0, 255, "::/0"), rule(32766, 254, "::/0")}, test.rules...)
		rails := []Rail{{Netdev: "eth0"}, {Number: 1, Netdev: "eth1"}}
		p, err := New(rails, s, Default())
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := written(t, rails, s)
		obey(p, s)
		again, _, _ := written(t, rails, s)
		if !strings.Contains(first, test.says) || !strings.Contains(again, "rules and routes are in force.\n") || strings.Contains(first, "arp_ignore") {
			t.Errorf("%s: want %q and then peace:\n%s\n%s", test.name, test.says, first, again)
		}
	}
}

// Others' rules that come first are named in every format, and none is deleted.
func TestAhead(t *testing.T) {
	change := func(r route.Rule, f func(*route.Rule)) route.Rule { f(&r); return r }
	does := func(priority int, from string, a route.Action, target int) route.Rule {
		return route.Rule{Priority: priority, From: netip.MustParsePrefix(from), Action: a, Target: target}
	}
	asks := func(where, input string) func(*route.Rule) {
		return func(r *route.Rule) { r.Other, r.Where, r.Input = true, where, input }
	}
	other, not := func(r *route.Rule) { r.Other = true }, func(r *route.Rule) { r.Not = true }
	for _, test := range []struct {
		name string
		rule route.Rule
		says string // "": it is not in the way
	}{
		{"a network's", rule(500, 200, "10.0.0.0/24"), "'from 10.0.0.0/24 lookup 200 priority 500'; it comes before the plan's and takes their packets. "},
		{"everybody's", rule(500, 254, "0.0.0.0/0"), "'from all lookup 254 priority 500'"},
		{"of the same priority", rule(1000, 200, "10.0.0.0/24"), "'from 10.0.0.0/24 lookup 200 priority 1000'"},
		{"with conditions", change(rule(700, 200, "0.0.0.0/0"), other), "may take their packets. "},
		{"refuses", does(500, "10.0.0.0/8", route.Prohibit, 0), "'from 10.0.0.0/8 prohibit priority 500'; it comes before the plan's and drops their packets. "},
		{"refuses this very address", does(500, "10.0.0.2/32", route.Blackhole, 0), "'from 10.0.0.2/32 blackhole priority 500'"},
		{"refuses some", change(does(500, "0.0.0.0/0", route.Unreachable, 0), other), "may drop their packets. "},
		{"refuses others", does(500, "10.1.0.0/16", route.Unreachable, 0), ""},
		{"refuses what nobody took", does(2000, "10.0.0.2/32", route.Prohibit, 0), ""},
		{"leads past it", does(500, "0.0.0.0/0", route.Goto, 32766), "'from all goto 32766 priority 500'; it comes before the plan's and takes their packets past them. "},
		{"leads to it", does(500, "0.0.0.0/0", route.Goto, 1000), ""},
		{"leads nowhere", does(500, "0.0.0.0/0", route.Goto, 0), ""},
		{"does nothing", does(500, "0.0.0.0/0", route.Nop, 0), ""},
		{"of all but this", change(rule(500, 200, "10.0.0.0/24"), not), ""},
		{"of all but another", change(rule(500, 200, "10.1.0.0/16"), not), "'not from 10.1.0.0/16 lookup 200 priority 500'"},
		{"of all but some of this", change(change(rule(500, 200, "10.0.0.0/24"), not), other), "may take"},
		{"of another family", change(change(rule(500, 200, "::/0"), not), other), ""},
		{"of a VRF, in which no rail is", change(rule(1000, 0, "0.0.0.0/0"), other), ""},
		{"for packets that came from others", change(rule(500, 55, "0.0.0.0/0"), asks("iif eth1", "eth1")), ""},
		{"for all but those", change(change(rule(500, 55, "0.0.0.0/0"), asks("iif eth1", "eth1")), not), "'not from all iif eth1 lookup 55 priority 500'"},
		{"for the machine's own", change(rule(500, 55, "0.0.0.0/0"), asks("iif lo", "lo")), "'from all iif lo lookup 55 priority 500'"},
		{"a mark's", change(rule(9, 2004, "0.0.0.0/0"), asks("fwmark 0x200/0xf00", "")), "'from all fwmark 0x200/0xf00 lookup 2004 priority 9'; it comes before the plan's and has conditions beside the source and may take their packets. Its owner has to decide whether that is meant; with --priority 8 the plan's come first.\n"},
		{"that leads where the plan does", change(rule(999, 100, "10.0.0.2/32"), func(r *route.Rule) { r.Other, r.Suppress = true, "suppress_prefixlength 0" }), ""},
		{"the very first", change(rule(1, 2004, "0.0.0.0/0"), asks("fwmark 0x200/0xf00", "")), "has to decide whether that is meant.\n"},
		{"what is found but the default", change(rule(500, 254, "0.0.0.0/0"), func(r *route.Rule) { r.Other, r.Suppress = true, "suppress_prefixlength 0" }), "'from all lookup 254 suppress_prefixlength 0 priority 500'"},
	} {
		s := state("eth0 10.0.0.2/24")
		s.Rules = []route.Rule{rule(0, 255, "0.0.0.0/0"), rule(32766, 254, "0.0.0.0/0"), test.rule}
		rails := []Rail{{Netdev: "eth0"}}
		for _, missing := range []string{"2 of 2 rules and routes are not in force", "All 2 rules and routes are in force"} {
			p, err := New(rails, s, Default())
			if err != nil {
				t.Fatal(err)
			}
			says := []string{test.says, missing + "; one that is not the plan's stands in the way.\n"}
			if test.says == "" {
				says = []string{missing + ".\n"}
			}
			ip, networkd, netplan := written(t, rails, s)
			for _, text := range []string{ip, networkd, netplan} {
				for _, want := range says {
					if !strings.Contains(text, want) || strings.Contains(text, "rule del") || strings.Contains(text, "delete") {
						t.Errorf("%s: want %q:\n%s", test.name, want, text)
					}
				}
			}
			obey(p, s)
		}
	}
	s := state("eth0 10.0.0.2/24")
	s.Rules = []route.Rule{rule(900, 200, "10.0.0.2/32")}
	ip, networkd, netplan := written(t, []Rail{{Netdev: "eth0"}}, s)
	for text, want := range map[string]string{ip: "\nip rule del", networkd: ": ip rule del", netplan: ": ip rule del"} {
		if !strings.Contains(text, want+" from 10.0.0.2/32 lookup 200 priority 900\n") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s.Rules = []route.Rule{change(rule(1000, 0, "0.0.0.0/0"), other)}
	if ip, _, _ := written(t, []Rail{{Netdev: "eth0", Above: true}}, s); !strings.Contains(ip, "'from all lookup [l3mdev-table] priority 1000'") {
		t.Errorf("a rail that may be in a VRF:\n%s", ip)
	}
}
