// SPDX-License-Identifier: Apache-2.0

package lab

import "strings"

// nodeScenarios are those of NUMA nodes.
func nodeScenarios() []Scenario {
	near := func(f *Function) bool { return f.Class == nicClass && strings.HasPrefix(f.Address, "0001:") }
	return []Scenario{
		{
			Name: "nic-node", About: "the GPUs of node 0 have all NICs on node 1", Nodes: 2, Tree: server(0, 1).RDMA(400).Without(near),
			Steps: []Step{{Name: "far", Want: bareMetal(
				Say("warn gpu_nic 0001:*", "crosses between nodes"), Say("warn gpu_nic "+firstGPU), Say("ok gpu_nic "+distantGPU, "PIX"))}},
		},
		{
			Name: "node-unknown", About: "the firmware gives no proximity for one of two host bridges", Nodes: 2, Tree: server(0, -1),
			Steps: []Step{{Name: "unknown", Want: bareMetal(Say("ok numa_unknown "+firstGPU, "node 0"), Say("warn numa_unknown 0002:*", "gives no proximity"))}},
		},
		{
			Name: "numa-off", About: "numa=off on the command line of a machine with two sockets", Nodes: 2, Append: "numa=off", Tree: server(-1, -1),
			Steps: []Step{{Name: "off", Want: bareMetal(
				Say("warn numa_disabled *", "2 sockets but one NUMA node", "numa=off"), Say("ok numa_unknown "+firstGPU, "one NUMA node"))}},
		},
		{
			Name: "one-node", About: "nothing: one socket, one node", Tree: server(-1, -1),
			Steps: []Step{{Name: "healthy", Want: bareMetal(Say("ok numa_disabled *"), Say("ok numa_unknown "+firstGPU))}},
		},
	}
}
