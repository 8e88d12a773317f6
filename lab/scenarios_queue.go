// SPDX-License-Identifier: Apache-2.0

package lab

// chatter sends large packets out of an interface that nobody answers: a group's address needs no neighbour.
func chatter(netdev, subnet, group string) Action {
	return Run("ip link set " + netdev + " up; ip addr add " + subnet + ".1/24 dev " + netdev + "; ip route add " + group + "/32 dev " + netdev +
		"; for i in 1 2 3; do setsid ping -q -i 0.01 -s 60000 " + group + " < /dev/null > /dev/null 2>&1 & done")
}

// quietWire is what is said of wires that lead nowhere, once they were listened to for long enough.
func quietWire() Want { return Say("warn|unknown|nothing lldp_silent *") }

// queueScenarios are those of transmit queues.
func queueScenarios() []Scenario {
	labnic := func(file, line string) Action {
		return Run("echo '" + line + "' > /sys/kernel/debug/labnic/eth0/" + file)
	}
	ethernet := onlyQuarter()
	ethernet.At(firstNIC).With("netdev=eth0,400000")
	return []Scenario{
		machine(Scenario{
			Name: "queues", About: "nothing: e1000e uses byte queue limits, and a program in the kernel samples its queues", Daemon: true,
			Steps: []Step{{
				Name: "traffic", Unreplayed: "what the kernel samples is not in a recording",
				Do:   []Action{chatter("eth0", "192.0.2", "239.0.0.1"), chatter("eth1", "198.51.100", "239.0.0.2"), chatter("eth2", "203.0.113", "239.0.0.3")},
				Want: bareMetal(Say("ok nic_queue_stuck eth0"), Say("ok nic_queue_full eth1"), Say("ok nic_queue_stuck eth2"), quietWire()),
				Metrics: []string{
					`fabricd_nic_queue_limits_used{netdev="eth1"} 1`, `fabricd_nic_queue_limits_used{netdev="eth2"} 1`,
					`fabricd_nic_queue_sampler_info{reason="",way="timer"} 1`,
				},
			}},
		}),
		{
			Name: "queue-stuck", About: "a NIC sends nothing of what a queue hands over", Tree: ethernet, Daemon: true,
			Steps: []Step{
				{Name: "traffic", Do: []Action{chatter("eth0", "192.0.2", "239.0.0.1")},
					Want:    bareMetal(Say("ok nic_queue_stuck eth0"), quietWire()),
					Metrics: []string{`fabricd_nic_queue_limits_used{netdev="eth0"} 1`}},
				{Name: "stuck", Unreplayed: "what the kernel samples is not in a recording", Do: []Action{labnic("stuck", "0 1"), Wait(8 * second)},
					Want: bareMetal(Say("fail nic_queue_stuck eth0", "in flight"), Say("info nic_queue_full eth0", "nic_queue_stuck"), quietWire())},
			},
		},
	}
}
