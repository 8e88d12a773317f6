// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

func roleText(t *Tree) string {
	var list []string
	for _, f := range t.NICs {
		list = append(list, short([]*probes.Function{f})+" "+string(t.Role(f)))
	}
	return strings.TrimSpace(strings.Join(list, ", "))
}

func TestRoles(t *testing.T) {
	t.Parallel()
	const gpu = "nodes 2\n00/00:01.0 port\n00/00:01.0/01:00.0 gpu\n"
	nics := func(lines ...string) string { // each at a root port of its own, the first nearest to the GPU
		var b strings.Builder
		for i, line := range lines {
			n := string('2' + byte(i))
			root := map[bool]string{true: "00", false: "40"}[i == 0]
			b.WriteString(root + "/" + root + ":0" + n + ".0 port\n" + root + "/" + root + ":0" + n + ".0/0" + n + ":00.0 " + line + "\n")
		}
		return b.String()
	}
	tests := []struct {
		name, machine string
		plan          config.Plan
		want          string
	}{
		{"nearest, far, slow", gpu + nics("nic rdma=a:400 eth=a0:400000", "nic rdma=b:200 eth=b0:200000", "slow rdma=c:25 eth=c0:25000"), config.Plan{}, "02:00.0 compute, 03:00.0 storage, 04:00.0 management"},
		{"as many as are nearest", gpu + "40/40:01.0 port\n40/40:01.0/41:00.0 nic rdma=a:400\n40/40:02.0 port\n40/40:02.0/42:00.0 nic rdma=b:400\n", config.Plan{}, "41:00.0 compute, 42:00.0 compute"},
		{"no RDMA", gpu + nics("nic rdma=a:400", "nic eth=b0:100000", "slow eth=c0:10000"), config.Plan{}, "02:00.0 compute, 03:00.0 , 04:00.0 management"},
		{"no GPU", strings.Replace(gpu, "gpu", "disk", 1) + nics("nic rdma=a:400", "slow rdma=c:25", "nic rdma=b:400"), config.Plan{}, "02:00.0 , 03:00.0 management, 04:00.0"},
		{"a guest without distances", "guest\nnodes 2\n00/00:04.0 gpu\n00/00:05.0 nic rdma=a:400\n00/00:06.0 slow eth=e:10000", config.Plan{}, "00:05.0 , 00:06.0 management"},
		{"a virtual function has none", gpu + nics("nic vf=03:00.0 rdma=a:400", "nic rdma=b:400"), config.Plan{}, "03:00.0 compute"},

		{"InfiniBand", gpu + nics("nic ib rdma=a:400", "nic ib rdma=b:10"), config.Plan{}, "02:00.0 compute, 03:00.0 management"},
		{"exactly 25 Gb/s", gpu + nics("nic rdma=a:25", "nic rdma=b:26"), config.Plan{}, "02:00.0 management, 03:00.0 compute"},
		{"down, and nobody knows better", gpu + nics("nic rdma=a", "nic rdma=b:400"), config.Plan{}, "02:00.0 compute, 03:00.0 storage"},
		{"all down", gpu + nics("nic rdma=a", "nic rdma=b"), config.Plan{}, "02:00.0 compute, 03:00.0 storage"},
		{"down, its sister is slow", gpu + nics("slow rdma=a eth=a0", "nic rdma=b:400", "slow rdma=c:25"), config.Plan{}, "02:00.0 management, 03:00.0 compute, 04:00.0 management"},
		{"down, its sister is fast", gpu + nics("slow rdma=a eth=a0", "nic rdma=b:400", "slow rdma=c:100"), config.Plan{}, "02:00.0 compute, 03:00.0 storage, 04:00.0 storage"},
		{"down, its sisters differ", gpu + nics("slow rdma=a", "slow rdma=b:25", "slow rdma=c:100"), config.Plan{}, "02:00.0 compute, 03:00.0 management, 04:00.0 storage"},
		{"the rate of a port that is down means nothing", gpu + nics("nic rdma=a eth=a0", "slow rdma=b:400"), config.Plan{}, "02:00.0 compute, 03:00.0 storage"},
		{"two slow ports in one function", gpu + nics("nic rdma=a:400", "slow rdma=b:25 eth=b0:25000 eth=b1:25000"), config.Plan{}, "02:00.0 compute, 03:00.0 management"},

		{"uplink bond", gpu + nics("nic rdma=a:100 eth=a0:100000:bond=bond0", "nic rdma=b:100 eth=b0:100000:bond=bond0", "nic rdma=c:400"), config.Plan{}, "02:00.0 management, 03:00.0 management, 04:00.0 compute"},
		{"half a bond", gpu + nics("nic rdma=a:100 eth=a0:100000:bond=bond0 eth=a1:100000"), config.Plan{}, "02:00.0 compute"},
		{"representors are no ports", gpu + nics("nic rdma=a:100 eth=a0:100000:bond=bond0 rep=r0", "nic rdma=b:100"), config.Plan{}, "02:00.0 management, 03:00.0 compute"},
		{"nothing but bonds", gpu + nics("nic rdma=a:100 eth=a0:100000:bond=bond0", "nic rdma=b:100 eth=b0:100000:bond=bond0"), config.Plan{}, "02:00.0 compute, 03:00.0 management"},
		{"a slow function with fast representors", gpu + nics("slow rdma=a:25 eth=a0:25000 rep=r0", "nic rdma=b:400"), config.Plan{}, "02:00.0 management, 03:00.0 compute"},

		{"plan by RDMA name", gpu + nics("nic rdma=a:400", "nic rdma=b:400"), config.Plan{Roles: map[string]string{"a": "storage"}}, "02:00.0 storage, 03:00.0 compute"},
		{"plan by interface", gpu + nics("nic rdma=a:400 eth=a0:400000", "nic rdma=b:400"), config.Plan{Roles: map[string]string{"a0": "management"}}, "02:00.0 management, 03:00.0 compute"},
		{"plan by address", gpu + nics("nic rdma=a:400", "slow eth=b0:25000"), config.Plan{Roles: map[string]string{"0000:03:00.0": "compute"}}, "02:00.0 compute, 03:00.0 compute"},
		{"plan by a representor's name", gpu + nics("nic rdma=a:400 rep=r0"), config.Plan{Roles: map[string]string{"r0": "storage"}}, "02:00.0 compute"},
		{"cabled, without RDMA", gpu + nics("nic eth=a0:400000", "nic rdma=b:400"), config.Plan{Cabling: []config.Cable{{Port: "a0"}}}, "02:00.0 compute, 03:00.0 storage"},
		{"cabled, though slow", gpu + nics("slow rdma=a:25", "nic rdma=b:400"), config.Plan{Cabling: []config.Cable{{Address: "0000:02:00.0"}}}, "02:00.0 compute, 03:00.0 storage"},
		{"all planned away", gpu + nics("nic rdma=a:400"), config.Plan{Roles: map[string]string{"a": "storage"}}, "02:00.0 storage"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := tree(t, test.machine, test.plan)
			if got := roleText(tree); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestSisters(t *testing.T) {
	t.Parallel()
	tree := tree(t, box, config.Plan{})
	got := map[string]string{}
	for _, f := range tree.NICs {
		got[short([]*probes.Function{f})] = tree.Sisters(f)
	}
	want := map[string]string{"19:00.0": "15b3:1021 compute", "19:00.1": "15b3:1021 compute", "98:00.0": "15b3:1021 storage", "01:00.0": "8086:159b management"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if short(tree.Candidates()) != "19:00.0 19:00.1 98:00.0" {
		t.Errorf("candidates %s", short(tree.Candidates()))
	}
	if gpu := fn(t, tree, "18:00.0"); tree.Role(gpu) != "" || tree.Sisters(gpu) != "10de:2335 " || tree.CardOf(gpu) != nil {
		t.Errorf("a GPU: role %q, %s", tree.Role(gpu), tree.Sisters(gpu))
	}
}

func TestRatesOf(t *testing.T) {
	t.Parallel()
	for attributes, want := range map[string]Rates{
		"": {}, "rdma=a": {}, "rdma=a eth=a0": {},
		"rdma=a:400":                             {Sum: 400, Fastest: 400},
		"rdma=a:400 rdma=b:200":                  {Sum: 600, Fastest: 400},
		"eth=a0:100000":                          {Sum: 100, Fastest: 100},
		"eth=a0:2500":                            {Sum: 2.5, Fastest: 2.5},
		"eth=a0:100000 eth=a1:25000":             {Sum: 125, Fastest: 100},
		"eth=a0:100000 eth=a1":                   {Sum: 100, Fastest: 100},
		"rdma=a:400 eth=a0:200000":               {Sum: 200, Fastest: 200}, // the interface knows better
		"rdma=a:400 eth=a0":                      {Sum: 400, Fastest: 400},
		"rdma=a:400 eth=a0:?":                    {Sum: 400, Fastest: 400},
		"eth=a0:?":                               {Unknown: true},
		"eth=a0:? eth=a1:100000":                 {Sum: 100, Fastest: 100, Unknown: true},
		"eth=a0:100000 rep=r":                    {Sum: 100, Fastest: 100},
		"ipoib=ib0:400000 ipoib=ib0.8001:400000": {Sum: 400, Fastest: 400}, // partitions of one port
		"ipoib=ib0:400000 ipoib=ib1:200000:1":    {Sum: 600, Fastest: 400},
	} {
		tree := tree(t, "00/00:01.0 port\n00/00:01.0/01:00.0 nic "+attributes, config.Plan{})
		if got := RatesOf(tree.NICs[0]); got != want || PortsGbps(tree.NICs[0]) != want.Sum {
			t.Errorf("%s: %+v, want %+v", attributes, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	tree := tree(t, "00/00:01.0 port\n00/00:01.0/01:00.0 nic rdma=z:1 rdma=b:1 eth=y:1 eth=a:1 rep=r", config.Plan{})
	if rdma, netdevs := Names(tree.NICs[0]); !slices.Equal(rdma, []string{"b", "z"}) || !slices.Equal(netdevs, []string{"a", "y"}) {
		t.Errorf("%q, %q", rdma, netdevs)
	}
}
