// SPDX-License-Identifier: Apache-2.0

package lab

import "slices"

// Scenarios lists all of them.
func Scenarios() []Scenario {
	return slices.Concat(treeScenarios(), settingScenarios(), nodeScenarios(), linkScenarios(), lossScenarios(), deviceScenarios(), otherScenarios(), rdmaScenarios(), roceScenarios(), placementScenarios(), queueScenarios(), lldpScenarios(), toolScenarios())
}

// Find finds one by its name, or returns nil.
func Find(name string) *Scenario {
	for _, s := range Scenarios() {
		if s.Name == name {
			return &s
		}
	}
	return nil
}

// bareMetal is what every scenario about bare metal wants at least.
func bareMetal(wants ...Want) []Want {
	return append([]Want{Say("ok guest *", "bare metal")}, wants...)
}

// treeScenarios are those of a server that fabricd finds as it is.
func treeScenarios() []Scenario {
	return []Scenario{
		{
			Name: "healthy", About: "nothing: two nodes, 8 GPUs and 8 NICs below four switches", Nodes: 2, Tree: server(0, 1).RDMA(400),
			Steps: []Step{{Name: "healthy", Want: bareMetal(
				Say("ok gpu_nic "+firstGPU, "PIX"), Say("ok pcie_budget mlx5_0", "400"),
				Say("ok pcie_width "+firstGPU, "x16 of x16"), Say("ok pcie_speed "+firstNIC), Say("ok pcie_width "+switchUp),
				Say("ok pcie_acs "+firstGPU), Say("ok pcie_acs "+distantNIC), Say("ok pcie_payload "+firstGPU, "256"),
				Say("ok pcie_lost "+firstGPU), Say("ok pcie_slot "+firstNIC),
				Say("ok numa_unknown "+firstGPU, "node 0"), Say("ok numa_unknown "+distantGPU, "node 1"),
				Say("ok numa_disabled *", "2 socket(s), 2 node(s)"),
				Say("ok pcie_flaps "+firstGPU, "0 changes"),
			)}},
		},
		{
			Name: "width-gpu", About: "a GPU's slot trained with 8 of 16 lanes", Nodes: 2, Tree: server(0, 1),
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok pcie_width " + firstGPU))},
				{Name: "x8", Do: []Action{Knob("link", firstGPU+" 5 8")}, Want: bareMetal(
					Say("fail pcie_width "+firstGPU, "x8 of x16", gpuPort), Say("ok pcie_peer "+firstGPU), Say("ok pcie_width "+secondGPU))},
			},
		},
		{
			Name: "width-switch", About: "a switch's link to its root port trained with 8 of 16 lanes", Nodes: 2, Tree: server(0, 1).Slow(switchUp, Link{5, 8}),
			Steps: []Step{{Name: "x8", Want: bareMetal(
				Say("fail pcie_width "+switchUp, "x8 of x16", rootPort), Say("ok pcie_width "+firstGPU))}},
		},
	}
}

// settingScenarios are those of what firmware or an administrator sets, and of slots.
func settingScenarios() []Scenario {
	return []Scenario{
		{
			Name: "acs", About: "a switch's port between a GPU and a NIC redirects their traffic", Nodes: 2, Tree: onlyQuarter(),
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok pcie_acs " + firstGPU))},
				{Name: "source validation", Do: []Action{Knob("acs", gpuPort+" 1")}, Want: bareMetal(Say("ok pcie_acs " + firstGPU))},
				{Name: "redirect", Do: []Action{Knob("acs", gpuPort+" 1d")}, Want: bareMetal(
					Say("fail pcie_acs "+firstGPU, firstNIC, gpuPort), Say("fail pcie_acs "+firstGPU, secondNIC),
					Say("info pcie_acs "+firstGPU, "NVLink"), Say("ok pcie_acs "+secondGPU))},
				{Name: "off the path", Do: []Action{Knob("acs", gpuPort+" 0"), Knob("acs", rootPort+" 1d")},
					Want: bareMetal(Say("ok pcie_acs " + firstGPU))},
			},
		},
		{
			Name: "slot", About: "a GPU is in a slot of an older generation than its sisters'", Nodes: 2, Tree: server(0, 1).Limit(gpuPort, gen4x16),
			Steps: []Step{{Name: "older", Want: bareMetal(Say("ok pcie_speed "+firstGPU), Say("info pcie_slot "+firstGPU, "platform limit"),
				Say("warn pcie_peer "+firstGPU))}},
		},
		{
			Name: "payload", About: "a port on the way to a GPU uses another maximum payload", Nodes: 2, Tree: onlyQuarter(),
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok pcie_payload " + firstGPU))},
				{Name: "smaller", Do: []Action{Knob("devctl", gpuPort+" mps=128")},
					Want: bareMetal(Say("warn pcie_payload "+firstGPU, gpuPort+" 128"))},
			},
		},
	}
}
