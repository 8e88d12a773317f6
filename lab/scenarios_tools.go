// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"encoding/binary"
)

const (
	labnicFS = "/sys/kernel/debug/labnic/"
	labdcb   = "dcb pfc set dev eth0 prio-pfc all:off "
)

// wired is the first quarter of the server with two interfaces of labnic's, which a wire joins.
func wired() *Tree {
	t := onlyQuarter()
	t.At(firstNIC).With("netdev=eth0,400000")
	t.At(secondNIC).With("netdev=eth1,400000")
	return t
}

// wire joins them and switches them on.
func wire() Action {
	return Run("set -e; echo eth1 > " + labnicFS + "eth0/peer; ip link set eth0 up; ip link set eth1 up")
}

// toolScenarios are of the tools that other scenarios use: they prove the lab, with hardly a word of fabricd's.
func toolScenarios() []Scenario {
	fromGuest := func(frame []byte) bool { return len(frame) > 14 && binary.BigEndian.Uint16(frame[12:]) == lldpType }
	return []Scenario{
		{
			Name: "labnic", About: "nothing: an interface whose PFC is switched on and off, and that is paused", Nodes: 2, Tree: wired(),
			Packages: []string{"iproute2", "ethtool"},
			Steps: []Step{
				{Name: "without PFC", Do: []Action{wire(), Shows("ethtool -i eth0; ethtool -S eth0; dcb pfc show dev eth0",
					"driver: mlx5_core", "rx_prio3_packets:", "!rx_prio3_pause", "prio-pfc 0:off 1:off 2:off 3:off")}, Want: bareMetal()},
				{Name: "with PFC", Do: []Action{Run(labdcb + "3:on"), Shows("ethtool -S eth0; dcb pfc show dev eth0", "rx_prio3_pause:", "!rx_prio2_pause", "3:on 4:off")},
					Want: bareMetal()},
				{Name: "paused", Do: []Action{Run("echo '3 200000' > " + labnicFS + "eth0/pause"), Shows("ethtool -S eth0", "rx_prio3_pause: 1\n")}, Want: bareMetal()},
				{Name: "without PFC again", Do: []Action{Run(labdcb), Shows("ethtool -S eth0", "!rx_prio3_pause")}, Want: bareMetal()},
			},
		},
		{
			Name: "rxe", About: "nothing: soft-RoCE over two interfaces, which carry traffic", Nodes: 2, Tree: wired(),
			Packages: rocePackages, Drivers: roceDrivers,
			Steps: []Step{{Name: "traffic", Do: []Action{wire(), SoftRoCE("eth0", "eth1"), WriteBandwidth(30),
				Shows("cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; ethtool -S eth0; rdma link", "!tx_prio3_packets: 0\n", "tx_prio3_packets: ", "rxe1/1 state ACTIVE")},
				Want: bareMetal(Say("ok rdma_port rxe0"), Say("ok|info rdma_gid rxe1"), Say("nothing roce_pfc *"))}},
		},
		{
			Name: "switch", About: "nothing: a switch that says who it is, hears who its neighbour is, and pauses it",
			Wires: wires(), Drivers: []string{"virtio_pci", "virtio_net"},
			Packages: []string{"lldpd", "tcpdump"},
			Steps: []Step{
				{Name: "LLDP", Do: []Action{
					// An lldpcli of its own writes its settings back as it found them: who says something before loses it.
					Run("ip link set eth0 up; mkdir -p /run/lldpd; lldpd -d </dev/null >/tmp/lldpd 2>&1 &"),
					Shows("cat /tmp/lldpd", "lldpd should resume operations"),
					Run("lldpcli configure system hostname lab-guest; lldpcli configure lldp tx-interval 1"),
					Send(0, LLDP("leaf-01", "Ethernet12", PFCTLV(true, 1<<3))),
					Shows("lldpcli show neighbors details", "leaf-01", "Ethernet12"),
					Receive(0, "LLDP frame with its name", func(f []byte) bool { return fromGuest(f) && bytes.Contains(f, []byte("lab-guest")) }),
				}, Want: bareMetal(Say("nothing|unknown lldp_silent eth0"))},
				{Name: "pause", Do: []Action{
					Run("tcpdump -Z root -i eth0 -c 1 -w /tmp/pause ether proto 0x8808 2>/tmp/log & timeout 20 sh -c 'while ! grep -q listening /tmp/log; do usleep 50000; done' || { cat /tmp/log >&2; false; }"),
					Send(0, PFC(1<<3, 0xffff)),
					Shows("od -An -v -tx1 /tmp/pause | tr -d ' \\n'", "0180c2000001"+"020000005a01"+"8808"+"0101"+"0008"+"000000000000ffff"),
				}, Want: bareMetal(Say("nothing|unknown lldp_silent eth0"))},
			},
		},
	}
}
