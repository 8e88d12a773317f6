// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"strings"
)

// chatter sends large packets out of an interface that nobody answers: a group's address needs no neighbour.
func chatter(netdev, subnet, group string) Action {
	return Run("ip link set " + netdev + " up; ip addr add " + subnet + ".1/24 dev " + netdev + "; ip route add " + group + "/32 dev " + netdev +
		"; for i in 1 2 3; do (while :; do ping -q -i 0.01 -s 60000 " + group + "; sleep 1; done) < /dev/null > /dev/null 2>&1 & done") // it may begin before the link is up
}

// far puts an interface into a network namespace of its own, where iperf3 serves each of several subnets.
func far(netdev string, subnets ...string) Action {
	script := "set -e; ip netns add far; ip link set " + netdev + " netns far; ip -n far link set " + netdev + " up"
	for _, subnet := range subnets {
		script += fmt.Sprintf("; ip -n far addr add %[1]s.2/24 dev %[2]s; ip netns exec far iperf3 -s -D -B %[1]s.2", subnet, netdev)
	}
	return Run(script)
}

// transfer sends by TCP out of an interface until the end, as soon as there is a way: as much as leaves an emulated
// processor something to look with.
func transfer(netdev, subnet string) Action {
	return Run(fmt.Sprintf("ip addr add %[1]s.1/24 dev %[2]s; ip link set %[2]s up; "+
		"(while :; do iperf3 -b 20M -t 86400 -B %[1]s.1 -c %[1]s.2; sleep 1; done) </dev/null >/tmp/iperf3.%[2]s 2>&1 &", subnet, netdev))
}

// lateInterrupts has an interface of e1000e's tell of what was sent a hundred times a second at most: QEMU sends at once, and
// nothing would ever be seen in flight.
func lateInterrupts(netdev string) Action { return Run("ethtool -C " + netdev + " rx-usecs 10000") }

// agree waits until what a program in the kernel samples of an interface's queues is what their files say in the same
// seconds: the limit, which the kernel adapts, and how much is in flight at most. Neither meets the other's moments.
func agree(netdev string) Action {
	const words = "by a BPF program|by open files|the same limit|as much in flight"
	return Shows(`watch() { fabricd probe queue --interval 5ms --netdev `+netdev+` "$@"; }
files() { capsh --drop=cap_sys_admin,cap_bpf,cap_perfmon --shell=/bin/sh -- -c "fabricd probe queue --interval 5ms --netdev `+netdev+` $*"; }
watch --for 50ms; files --for 50ms
watch --for 2s --format csv >/tmp/program & files --for 2s --format csv >/tmp/files; wait $!
awk -F, '
	function near(of, by) { return of["program"] <= by * of["files"] && of["files"] <= by * of["program"] }
	FNR > 1 { way = substr(FILENAME, 6); n[way]++; if ($4 > most[way]) most[way] = $4; if ($5 > limit[way]) limit[way] = $5 }
	END {
		for (way in n) print way ": " n[way] " samples, up to " most[way] " bytes, limit " limit[way]
		if (limit["files"] > 3000 && near(limit, 1.1)) print "the same limit"
		if (most["files"] > 0 && near(most, 3)) print "as much in flight"
	}' /tmp/program /tmp/files`, strings.Split(words, "|")...)
}

// quietWire is what is said of wires that lead nowhere, once they were listened to for long enough.
func quietWire() Want { return Say("warn|unknown|nothing lldp_silent *") }

// shown waits until a series of the daemon's has a value, which may be the guest's shell's to find.
func shown(series, value string) Action {
	return Run(fmt.Sprintf(`want="%s"
for i in $(seq 300); do
	is=$(wget -qO- %s/metrics | grep -F '%s ')
	[ "${is##* }" = "$want" ] && exit 0
	usleep 200000
done
echo "$is, want $want" >&2
exit 1`, value, daemonURL, series))
}

// samples is why queues are not replayed.
const samples = "what the kernel samples is not in a recording"

// queueScenarios are those of transmit queues.
func queueScenarios() []Scenario {
	labnic := func(file, line string) Action {
		return Run("echo '" + line + "' > /sys/kernel/debug/labnic/eth0/" + file)
	}
	ethernet := onlyQuarter()
	ethernet.At(firstNIC).With("netdev=eth0,400000")
	traffic := Step{
		Name: "traffic", Unreplayed: samples, Do: []Action{chatter("eth0", "192.0.2", "239.0.0.1")},
		Want:    bareMetal(Say("ok nic_queue_stuck eth0"), quietWire()),
		Metrics: []string{`fabricd_nic_queue_limits_used{netdev="eth0"} 1`},
	}
	return []Scenario{
		machine(Scenario{
			Name: "queues", About: "nothing: e1000e uses byte queue limits, and a program in the kernel samples of its queues what their files say", Daemon: true, FineTimers: true,
			Packages: []string{"iproute2", "ethtool", "iperf3", "libcap2-bin"},
			Steps: []Step{{
				Name: "traffic", Unreplayed: samples,
				Do:   []Action{far("eth0", "192.0.2", "203.0.113"), transfer("eth1", "192.0.2"), transfer("eth2", "203.0.113"), lateInterrupts("eth1"), agree("eth1")},
				Want: bareMetal(Say("ok nic_queue_stuck eth1"), Say("ok|warn nic_queue_full eth1"), Say("ok nic_queue_stuck eth2"), Say("ok|warn nic_queue_full eth2"), quietWire()),
				Metrics: []string{
					`fabricd_nic_queue_limits_used{netdev="eth1"} 1`, `fabricd_nic_queue_limits_used{netdev="eth2"} 1`,
					`fabricd_nic_queue_sampler_info{reason="",way="timer"} 1`,
				},
			}},
		}),
		{
			Name: "queues-unlimited", About: "nothing: drivers without byte queue limits, of which no depth can be seen", Guest: true, Daemon: true,
			Drivers: []string{"vmxnet3", "virtio_pci", "virtio_net"}, Devices: []string{
				"-netdev hubport,id=hub0,hubid=0 -device vmxnet3,romfile=,addr=0x8,netdev=hub0",
				"-netdev hubport,id=hub1,hubid=0 -device virtio-net-pci,romfile=,addr=0x9,netdev=hub1",
			},
			Steps: []Step{{
				Name: "traffic", Unreplayed: samples,
				Do: []Action{chatter("eth0", "192.0.2", "239.0.0.1"), chatter("eth1", "198.51.100", "239.0.0.2"),
					shown(`fabricd_nic_queue_limits_used{netdev="eth0"}`, "0"),
					shown(`fabricd_nic_queue_limits_used{netdev="eth1"}`, "$(case $(uname -r) in 6.[1-9].*|6.10.*) echo 0;; *) echo 1;; esac)")}, // Linux 6.11 has virtio use them
				Want: []Want{Say("info guest *"), Say("unknown nic_queue_full eth0", "does not use byte queue limits"), Say("ok|unknown nic_queue_full eth1"), quietWire()},
			}},
		},
		{
			Name: "queue-stuck", About: "a NIC sends nothing of what a queue hands over", Nodes: 2, Tree: ethernet, Daemon: true, Config: "thresholds: {nic_queue_stuck: {seconds: 2}}",
			Steps: []Step{
				traffic,
				{Name: "paused, and its clock set", Unreplayed: samples, Do: []Action{Monitor("stop"), Wait(4 * second), Monitor("cont"), Run("date -s @$(($(date +%s) + 3600))")},
					Want: bareMetal(Say("ok nic_queue_stuck eth0"), Say("ok nic_queue_full eth0"), quietWire())},
				{Name: "stuck", Unreplayed: samples, Do: []Action{labnic("stuck", "0 1"), Wait(3 * second)},
					Want: bareMetal(Say("fail nic_queue_stuck eth0", "in flight"), Say("info nic_queue_full eth0", "nic_queue_stuck"), quietWire())},
			},
		},
		{
			Name: "queue-count", About: "nothing: under load the queues become fewer, then more", Nodes: 2, Tree: ethernet, Daemon: true, Packages: []string{"ethtool"},
			Steps: []Step{
				traffic,
				{Name: "fewer", Unreplayed: samples, Do: []Action{Run("ethtool -L eth0 combined 2"), shown(`fabricd_nic_queues{netdev="eth0"}`, "2")},
					Want: bareMetal(Say("ok nic_queue_stuck eth0"), quietWire())},
				{Name: "more", Unreplayed: samples, Do: []Action{Run("ethtool -L eth0 combined 8"), shown(`fabricd_nic_queues{netdev="eth0"}`, "8")},
					Want: bareMetal(Say("ok nic_queue_stuck eth0"), quietWire())},
			},
		},
		{
			Name: "queue-again", About: "under load an interface goes with its device, and comes back", Nodes: 2, Tree: ethernet, Daemon: true,
			Steps: []Step{
				traffic,
				{Name: "pulled", Unreplayed: samples, Do: []Action{Knob("remove", firstNIC)},
					Want: bareMetal(Say("fail pcie_lost "+firstNIC, "vanished"), Say("nothing|ended nic_queue_stuck eth0"), Say("nothing|ended nic_queue_full eth0"), quietWire())},
				{Name: "back", Unreplayed: samples, Do: []Action{Knob("add", firstNIC), chatter("eth0", "192.0.2", "239.0.0.1")},
					Want: bareMetal(Say("ended pcie_lost "+firstNIC), Say("ok nic_queue_stuck eth0"), quietWire())},
			},
		},
	}
}
