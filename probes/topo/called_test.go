// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

// A plan's name of an interface is this machine's where one alone can be meant.
func TestPlanNames(t *testing.T) {
	for _, test := range []struct {
		plan    string
		netdevs string // name[:phys_port_name[:dev_port]]
		want    string // a plan's own name is not changed; else all that it may mean
	}{
		{"enp1s0f0", "enp1s0f0np0 enp1s0f1np1", "enp1s0f0np0"},
		{"enp1s0f1", "enp1s0f0np0 enp1s0f1np1", "enp1s0f1np1"},
		{"ens1f0", "ens1f0np0:p0", "ens1f0np0"},
		{"eno1", "eno1np0 eno2np1", "eno1np0"},
		{"enP2p1s0", "enP2p1s0np0", "enP2p1s0np0"},
		{"enp1s0f0np0", "enp1s0f0:p0", "enp1s0f0"}, // the plan is of a newer system
		{"enp1s0f0np0", "enp1s0f0", ""},            // which port it is the driver does not say
		{"enp1s0f0np1", "enp1s0f0:p0", ""},
		{"enp1s0f0np1", "enp1s0f0np0:p0", ""},
		{"enp1s0f0", "enp1s0f0 enp1s0f0np0", ""}, // there is one of this very name
		{"enp1s0", "enp1s0np0 enp1s0np1", "enp1s0np0 enp1s0np1"},
		{"enp1s0", "enp1s0np1::1", ""}, // of the first port enp1s0 is the name
		{"enp1s0", "enp1s0f0np0", ""},
		{"enp1s0f0", "enp11s0f0np0 enp1s0f01np0 enp1s0f0v0 enp1s0f0npf0vf1", ""},
		{"rail0", "rail0np0", ""}, // no predictable name
		{"enp3", "enp4", ""},
		{"", "enp1s0f0np0", ""},
		{"mlx5_0", "enp1s0f0np0", ""},
	} {
		inv := &probes.Inventory{}
		for item := range strings.FieldsSeq(test.netdevs) {
			parts := strings.Split(item+"::", ":")
			inv.Netdevs = append(inv.Netdevs, &probes.Netdev{Name: parts[0], PhysPortName: parts[1], DevPort: len(parts[2])})
		}
		if got := Alike(inv, test.plan); !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s among %s may be %v, want %q", test.plan, test.netdevs, got, test.want)
		}
		want := test.want
		if len(strings.Fields(want)) != 1 {
			want = test.plan
		}
		p := New(inv, config.Plan{Cabling: []config.Cable{{Port: test.plan}}, Roles: map[string]string{test.plan: config.RoleStorage}}).Plan()
		if p.Cabling[0].Port != want || p.Role(want) != config.RoleStorage {
			t.Errorf("%s among %s is %+v, want %q", test.plan, test.netdevs, p, want)
		}
	}
}
