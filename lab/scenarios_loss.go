// SPDX-License-Identifier: Apache-2.0

package lab

// lossScenarios are those of devices that go, under a running daemon.
func lossScenarios() []Scenario {
	return []Scenario{
		{
			Name: "lost", About: "a GPU answers all ones, then answers again; another vanishes and comes back", Nodes: 2, Tree: onlyQuarter(), Daemon: true,
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok pcie_lost "+firstGPU), Say("ok pcie_lost "+secondGPU))},
				{Name: "all ones", Do: []Action{Knob("lost", firstGPU+" 1")}, Want: bareMetal(Say("fail pcie_lost " + firstGPU))},
				{Name: "answers again", Do: []Action{Knob("lost", firstGPU+" 0")}, Want: bareMetal(Say("ended pcie_lost "+firstGPU), Say("ok pcie_width "+firstGPU))},
				{Name: "gone", Do: []Action{Knob("remove", secondGPU)}, Want: bareMetal(Say("fail pcie_lost "+secondGPU, "vanished"))},
				{Name: "back again", Do: []Action{Knob("add", secondGPU)}, Want: bareMetal(Say("ended pcie_lost "+secondGPU), Say("ok pcie_width "+secondGPU))},
				{Name: "taken out", Do: []Action{Run("echo " + secondNIC + " > /sys/bus/pci/devices/" + secondNIC + "/driver/unbind"), Wait(2 * second), Knob("remove", secondNIC)},
					Want: bareMetal(Say("ok|ended pcie_lost "+secondGPU), Say("info pcie_lost "+secondNIC, "bound", "before it went"))},
			},
		},
	}
}
