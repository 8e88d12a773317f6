// SPDX-License-Identifier: Apache-2.0

package lab

// linkScenarios are those of links that change, and of errors, under a running daemon.
func linkScenarios() []Scenario {
	return []Scenario{
		{
			Name: "retrain", About: "a GPU's link trains down and up again", Nodes: 2, Tree: onlyQuarter(), Daemon: true,
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok pcie_width " + firstGPU)), Metrics: []string{`fabricd_nic_queue_sampler_info{reason="",way="none"} 1`}},
				{Name: "gen1", Do: []Action{Knob("link", firstGPU+" 1 16")},
					Want: bareMetal(Say("info pcie_speed "+firstGPU, "2.5 GT/s of 32 GT/s", "load unknown"))},
				{Name: "x4", Do: []Action{Knob("link", firstGPU+" 5 4")},
					Want: bareMetal(Say("fail pcie_width "+firstGPU, "x4 of x16"), Say("unknown pcie_flaps "+firstGPU, "load unknown"))},
				{Name: "up again", Do: []Action{Knob("link", firstGPU+" 5 16")},
					Want: bareMetal(Say("ended pcie_width "+firstGPU), Say("ok pcie_speed "+firstGPU))},
			},
		},
		{
			Name: "aer-tree", About: "a NIC's link has errors that are corrected, and then one that is not", Nodes: 2, Tree: onlyQuarter(), Daemon: true,
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok pcie_aer " + firstNIC))},
				{Name: "corrected", Do: []Action{Knob("aer", firstNIC+" correctable 40"), Wait(second), Knob("aer", firstNIC+" correctable 40"), Wait(second),
					Knob("aer", firstNIC+" correctable 40"), Wait(second), Knob("aer", firstNIC+" correctable 40"), Wait(second), Knob("aer", firstNIC+" correctable 40"), Wait(second)},
					Want: bareMetal(Say("warn pcie_aer "+firstNIC, "BadTLP", nicPort))},
				// The kernel does not read an endpoint's registers after a fatal error: its link may be down. Only the root port counts.
				{Name: "fatal", Do: []Action{Knob("aer", secondNIC+" fatal 10")},
					Want: bareMetal(Say("warn|ended pcie_aer "+firstNIC), Say("fail pcie_aer "+rootPort, "fatal", "source unknown"))},
			},
		},
	}
}
