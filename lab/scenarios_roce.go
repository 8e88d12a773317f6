// SPDX-License-Identifier: Apache-2.0

package lab

// Loads of a RoCE port: RDMA's own count of words a second, and what the interface counts of priority 3 or 0.
const (
	wordsIn  = "1 port_rcv_data 250000000"
	wordsOut = "1 port_xmit_data 250000000"
)

// load lets a port carry a gigabyte a second each way, on a priority.
func load(priority string) []Action {
	return []Action{
		RDMAKnob(firstPort, "grow", wordsIn), RDMAKnob(firstPort, "grow", wordsOut),
		NICKnob(roceNetdev, "grow", "rx_prio"+priority+"_bytes 1000000000"), NICKnob(roceNetdev, "grow", "tx_prio"+priority+"_bytes 1000000000"),
		NICKnob(roceNetdev, "grow", "rx_vport_rdma_unicast_bytes 1000000000"), NICKnob(roceNetdev, "grow", "tx_vport_rdma_unicast_bytes 1000000000"),
	}
}

// pfc3 switches PFC on for priority 3, and off for the others.
func pfc3() Action { return NICKnob(roceNetdev, "pfc", "08 8") }

// roceScenarios are those of lossless Ethernet.
func roceScenarios() []Scenario {
	up := []Action{roceUp(), pfc3()}
	return []Scenario{
		{
			Name: "roce-pfc", About: "PFC is switched on and off: the driver's counters of pause come and go, and its positions get other names", Nodes: 2, Tree: roceQuarter(), Window: 2 * second,
			Steps: []Step{
				{Name: "healthy", Do: up, Want: roceHealthy(Say("ok roce_pfc "+roceNetdev, "priority 3"), Say("ok roce_pause 3"), Say("ok roce_global_pause "+roceNetdev))},
				{Name: "moved", Do: []Action{NICKnob(roceNetdev, "pfc", "10 8")}, Want: roceHealthy(
					Say("ok roce_pfc "+roceNetdev, "priority 4"), Say("ok roce_pause 4"), Say("nothing|ok roce_pause 3"))},
				{Name: "off, with RDMA", Do: append([]Action{NICKnob(roceNetdev, "pfc", "00 8")}, load("3")...), Want: roceHealthy(
					Say("warn roce_pfc "+roceNetdev, "no priority"), Say("nothing|ok roce_pause *"))},
				{Name: "no dcbnl", Do: []Action{NICKnob(roceNetdev, "dcb", "0")}, Want: roceHealthy(Say("unknown roce_pfc "+roceNetdev, "no dcbnl"))},
			},
		},
		{
			Name: "roce-pause", About: "a pause storm in each direction", Nodes: 2, Tree: roceQuarter(), Window: 2 * second,
			Steps: []Step{
				{Name: "healthy", Do: up, Want: roceHealthy(Say("ok roce_pause 3"))},
				{Name: "received", Do: []Action{NICKnob(roceNetdev, "pause", "3 600000000")}, Want: roceHealthy(
					Say("fail roce_pause 3", "the peer held"), Say("nothing|unknown|ok nic_queue_stuck *"), Say("nothing|unknown|ok nic_queue_full *"))},
				{Name: "sent", Do: []Action{NICKnob(roceNetdev, "pause", "3 0"), NICKnob(roceNetdev, "send_pause", "3 600000000"), NICKnob(roceNetdev, "grow", "tx_pause_storm_error_events 1")},
					Want: roceHealthy(Say("fail roce_pause 3", "storm", "this host"))},
			},
		},
		{
			Name: "roce-priority", About: "RDMA runs on a priority that is not lossless", Nodes: 2, Tree: roceQuarter(), Window: 2 * second,
			Steps: []Step{
				{Name: "healthy", Do: append(up, load("3")...), Want: roceHealthy(Say("ok roce_priority " + roceNetdev))},
				{Name: "on priority 0", Do: append([]Action{NICKnob(roceNetdev, "grow", "rx_prio3_bytes 0"), NICKnob(roceNetdev, "grow", "tx_prio3_bytes 0")}, load("0")...),
					Want: roceHealthy(Say("fail roce_priority "+roceNetdev, "priority 0"))},
			},
		},
		{
			Name: "roce-ecn", About: "a switch pauses and never marks; its healthy twin marks", Nodes: 2, Tree: roceQuarter(), Daemon: true,
			Before: append(append(up, load("3")...), NICKnob(roceNetdev, "grow", "rx_prio3_pause_duration 20000")),
			Steps: []Step{
				// It has to be so for half a minute.
				{Name: "silent", Do: []Action{Wait(35 * second)},
					Want:    roceHealthy(Say("fail roce_ecn_silent "+roceNetdev, "does not mark"), Say("ok roce_pause 3")),
					Metrics: []string{`fabricd_roce_pause_prevention_seconds{netdev="` + roceNetdev + `"} 8`}},
				{Name: "marks", Do: []Action{RDMAKnob(firstPort, "grow", "1 np_ecn_marked_roce_packets 900"), RDMAKnob(firstPort, "grow", "1 np_cnp_sent 30")},
					Want: roceHealthy(Say("ok|ended roce_ecn_silent "+roceNetdev), Say("ok roce_pause 3"))},
			},
		},
		{
			Name: "nic-host", About: "a NIC that the host serves too slowly, and a bad cable", Nodes: 2, Tree: roceQuarter(), Window: 2 * second,
			Steps: []Step{
				{Name: "healthy", Do: up, Want: roceHealthy(Say("ok nic_discards "+roceNetdev), Say("ok nic_pcie_stall "+roceNetdev), Say("ok nic_fec "+roceNetdev), Say("ok nic_speed "+roceNetdev))},
				{Name: "discards", Do: []Action{NICKnob(roceNetdev, "grow", "rx_discards_phy 500"), NICKnob(roceNetdev, "set", "outbound_pci_stalled_wr 40")},
					Want: roceHealthy(Say("warn nic_discards "+roceNetdev, "rx_discards_phy"), Say("warn nic_pcie_stall "+roceNetdev, "40 %"))},
				{Name: "cable", Do: []Action{NICKnob(roceNetdev, "grow", "rx_discards_phy 0"), NICKnob(roceNetdev, "set", "outbound_pci_stalled_wr 0"), NICKnob(roceNetdev, "grow", "fec_uncorrectable_blocks 3"), NICKnob(roceNetdev, "speed", "100 half")},
					Want: roceHealthy(Say("fail nic_fec "+roceNetdev), Say("fail nic_speed "+roceNetdev, "half"), Say("info|ok|warn rdma_rate *"))},
			},
		},
	}
}
