// SPDX-License-Identifier: Apache-2.0

package lab

// Names of the first quarter's ports where its NICs have interfaces.
const (
	firstPort  = "mlx5_0"
	secondPort = "mlx5_1"
	roceNetdev = "eth0"
)

// RDMAKnob writes a line to a file of an RDMA device in debugfs.
func RDMAKnob(device, file, line string) Action {
	return Run("echo '" + line + "' > /sys/kernel/debug/labrdma/" + device + "/" + file)
}

// NICKnob writes a line to a file of an interface in debugfs.
func NICKnob(netdev, file, line string) Action {
	return Run("echo '" + line + "' > /sys/kernel/debug/labnic/" + netdev + "/" + file)
}

// roceQuarter is the server's first quarter, whose first NIC is a RoCE port.
func roceQuarter() *Tree {
	t := onlyQuarter().Without(func(f *Function) bool { return f.Address == secondNIC })
	t.At(firstNIC).With("netdev=" + roceNetdev + ",400000").With("rdma=" + firstPort + ",400,eth")
	return t
}

// roceUp brings the interface up, with an address that routes and room for the largest RDMA MTU.
func roceUp() Action {
	return Run("ip link set " + roceNetdev + " mtu 9000 up && ip addr add 10.0.0.1/24 dev " + roceNetdev)
}

// roceHealthy is what is well in all scenarios of that port. Nobody speaks LLDP to it.
func roceHealthy(wants ...Want) []Want {
	return bareMetal(append(wants, Say("nothing|unknown|warn lldp_silent "+roceNetdev), Say("ok rdma_mtu "+roceNetdev, "4096"))...)
}

// rdmaScenarios are those of RDMA ports.
func rdmaScenarios() []Scenario {
	const grow = "1 port_xmit_packets 100000000" // a second: a few that are lost are no warning
	return []Scenario{
		{
			Name: "rdma-state", About: "InfiniBand ports that no subnet manager configures, or that have no partner", Nodes: 2, Tree: server(0).RDMA(400),
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok rdma_port "+firstPort, "ACTIVE"), Say("ok rdma_rate "+firstPort, "400 Gb/s"), Say("ok rdma_layer "+firstPort))},
				{Name: "INIT", Do: []Action{RDMAKnob(secondPort, "state", "1 2 5")}, Want: bareMetal(
					Say("fail rdma_port "+secondPort, "subnet manager"), Say("ok rdma_port "+firstPort))},
				{Name: "polling", Do: []Action{RDMAKnob(secondPort, "state", "1 1 2")}, Want: bareMetal(
					Say("fail rdma_port "+secondPort, "Polling", "3 of 4"), Say("ok rdma_port "+firstPort))},
				{Name: "two lanes", Do: []Action{RDMAKnob(secondPort, "state", "1 0 0"), RDMAKnob(secondPort, "rate", "1 200 2")}, Want: bareMetal(
					Say("ok rdma_port "+secondPort), Say("fail rdma_rate "+secondPort, "2X"))},
			},
		},
		{
			Name: "rdma-counters", About: "counters that stick, wrap, grow, and one that cannot be read", Nodes: 2, Tree: onlyQuarter().RDMA(400), Daemon: true,
			Before: []Action{RDMAKnob(firstPort, "grow", grow), RDMAKnob(firstPort, "set", "1 out_of_sequence 4294967290")},
			Steps: []Step{
				{Name: "healthy",
					Want: bareMetal(Say("ok rdma_errors "+firstPort), Say("ok rdma_loss "+firstPort), Say("ok rdma_receiver "+firstPort))},
				{Name: "wraps", Do: []Action{RDMAKnob(firstPort, "add", "1 out_of_sequence 20")},
					Want:    bareMetal(Say("info|ok rdma_loss " + firstPort)),
					Metrics: []string{`fabricd_rdma_hw_counter_total{address="` + firstNIC + `",counter="out_of_sequence",device="mlx5_0",port="1"} 4.29496731e+09`}},
				{Name: "one fails", Do: []Action{RDMAKnob(firstPort, "fail", "1 out_of_buffer 1")},
					Want:    bareMetal(Say("ok|info rdma_loss "+firstPort), Say("ok rdma_errors "+firstPort)),
					Metrics: []string{`fabricd_collector_up{collector="rdma"} 1`}},
				{Name: "saturated", Do: []Action{RDMAKnob(firstPort, "set", "1 link_error_recovery 255")},
					Want: bareMetal(Say("warn rdma_errors "+firstPort, "link_error_recovery"), Say("ok rdma_errors "+secondPort))},
			},
		},
		{
			Name: "rdma-flap", About: "a RoCE port loses its cable, and gets it back", Nodes: 2, Tree: roceQuarter(), Daemon: true,
			Steps: []Step{
				{Name: "healthy", Do: []Action{roceUp()}, Want: roceHealthy(Say("ok rdma_port "+roceNetdev), Say("ok rdma_gid "+firstPort, "10.0.0.1"), Say("ok|warn rdma_flap "+roceNetdev))},
				{Name: "cut", Do: []Action{NICKnob(roceNetdev, "carrier", "0")}, Want: roceHealthy(
					Say("fail rdma_port "+roceNetdev, "carrier", "before"), Say("warn rdma_flap "+roceNetdev, "carrier_changes"))},
				{Name: "back", Do: []Action{NICKnob(roceNetdev, "carrier", "1")}, Want: roceHealthy(
					Say("ok|ended rdma_port "+roceNetdev), Say("warn rdma_flap "+roceNetdev))},
				{Name: "switched off", Do: []Action{Run("ip link set " + roceNetdev + " down")}, Want: roceHealthy(
					Say("info|ended rdma_port "+roceNetdev), Say("warn rdma_flap "+roceNetdev))},
			},
		},
		{
			Name: "rdma-cnp", About: "a RoCE port that is told of congestion and tells nobody", Nodes: 2, Tree: roceQuarter(), Window: 2 * second,
			Steps: []Step{
				{Name: "healthy", Do: []Action{roceUp(), RDMAKnob(firstPort, "grow", grow), RDMAKnob(firstPort, "grow", "1 np_ecn_marked_roce_packets 9000"), RDMAKnob(firstPort, "grow", "1 np_cnp_sent 300")},
					Want: roceHealthy(Say("ok roce_cnp " + firstPort))},
				{Name: "no CNP", Do: []Action{RDMAKnob(firstPort, "grow", "1 np_cnp_sent 0")},
					Want: roceHealthy(Say("warn roce_cnp "+firstPort, "notification point"))},
				{Name: "ignored", Do: []Action{RDMAKnob(firstPort, "grow", "1 np_cnp_sent 300"), RDMAKnob(firstPort, "grow", "1 rp_cnp_ignored 50")},
					Want: roceHealthy(Say("warn roce_cnp "+firstPort, "rp_cnp_ignored"))},
			},
		},
		{
			Name: "rdma-again", About: "a device is taken from its driver and given back under a running daemon", Nodes: 2, Tree: onlyQuarter().RDMA(400), Daemon: true,
			Before: []Action{RDMAKnob(firstPort, "grow", grow), RDMAKnob(firstPort, "set", "1 link_downed 7"), RDMAKnob(firstPort, "set", "1 local_ack_timeout_err 5000")},
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok rdma_port "+firstPort), Say("ok rdma_flap "+firstPort), Say("ok rdma_loss "+firstPort))},
				{Name: "gone", Do: []Action{Run("echo " + firstNIC + " > /sys/bus/pci/devices/" + firstNIC + "/driver/unbind")},
					Want: bareMetal(Say("info rdma_port "+firstPort, "unbound"), Say("ok rdma_port "+secondPort), Say("nothing|ended rdma_flap "+firstPort), Say("nothing|ended rdma_loss "+firstPort))},
				// Its counters begin at zero again, which is no loss of 2^32 packets.
				{Name: "back", Do: []Action{Run("echo " + firstNIC + " > /sys/bus/pci/drivers_probe")},
					Want: bareMetal(Say("ok|ended rdma_port "+firstPort), Say("ok rdma_flap "+firstPort), Say("ok rdma_loss "+firstPort))},
			},
		},
		{
			Name: "rdma-optional", About: "nothing: a counter that an administrator enables, which netlink alone tells", Nodes: 2, Tree: roceQuarter(), Daemon: true,
			Packages: []string{"iproute2"},
			Before:   []Action{roceUp(), RDMAKnob(firstPort, "set", "1 cc_rx_ce_pkts 1234567890123")},
			Steps: []Step{
				{Name: "healthy", Do: []Action{Shows("ls /sys/class/infiniband/mlx5_0/ports/1/hw_counters", "np_cnp_sent", "!cc_rx")},
					Want: roceHealthy(Say("ok rdma_port " + roceNetdev))},
				// Any change of a link has the daemon look anew at once, instead of within half a minute.
				{Name: "enabled", Do: []Action{Run("rdma statistic set link mlx5_0/1 optional-counters cc_rx_ce_pkts && ip link set lo mtu 32768")}, Want: roceHealthy(Say("ok roce_cnp " + firstPort)),
					Metrics: []string{`fabricd_rdma_hw_counter_total{address="` + firstNIC + `",counter="cc_rx_ce_pkts",device="mlx5_0",port="1"} 1.234567890123e+12`}},
			},
		},
		{
			Name: "rxe-loss", About: "soft-RoCE on interfaces of no hardware, one of which loses packets", Nodes: 2, Daemon: true,
			Packages: rocePackages, Drivers: roceDrivers,
			Steps: []Step{
				{Name: "healthy", Do: []Action{Run("ip link add va type veth peer name vb"), SoftRoCE("va", "vb"), KeepWriting(), Wait(5 * second)}, Want: bareMetal(
					Say("ok rdma_port rxe0", "ACTIVE"), Say("ok rdma_gid rxe0", roceHere), Say("ok rdma_loss rxe0", "no loss"), Say("ok rdma_loss rxe1"), Say("nothing roce_pfc *"), Say("nothing rdma_rate *")),
					Metrics: []string{`fabricd_rdma_port_info{address="",device="rxe0",firmware="",hca="",link_layer="Ethernet",netdev="va",port="1",protocol="RoCE"`}},
				{Name: "loss", Do: []Action{Run("tc qdisc add dev va root netem loss 3%")}, Want: bareMetal(
					Say("warn rdma_loss rxe0", "rcvd_seq_err"), Say("warn rdma_loss rxe1", "out_of_seq_request"), Say("ok rdma_port rxe1"))},
			},
		},
	}
}
