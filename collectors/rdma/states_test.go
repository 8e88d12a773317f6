// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"fmt"
	"strings"
	"testing"
)

const down, polling, noRate = "state 1: DOWN", "phys_state 2: Polling", "rate 10"

// silence takes the link of a port away.
func silence(h *host, ports ...int) {
	for _, i := range ports {
		port(h.Dev(nic(i)), "mlx5_"+string(rune('0'+i)), down, polling, noRate)
	}
}

func TestState(t *testing.T) {
	run(t, four, []row{
		{"up", nil, "expect: ok rdma_port mlx5_0\nsays: ACTIVE"},
		{"one of four without partner", func(h *host) { silence(h, 2) }, "expect: fail rdma_port mlx5_2\nsays: Polling\nsays: 3 of 4\nnever: fail rdma_port mlx5_0\nexpect: info rdma_rate mlx5_2"},
		{"half of them", func(h *host) { silence(h, 1, 2) }, "expect: info rdma_port mlx5_2"},
		{"all, never cabled", func(h *host) { silence(h, 0, 1, 2, 3) }, "expect: info rdma_port mlx5_0"},
		{"half, the plan counts four", func(h *host) { silence(h, 1, 2); h.Set("fabricd.yaml", "plan: {ports: {count: 4}}") },
			"expect: fail rdma_port mlx5_1\nexpect: fail rdma_port mlx5_2\nsays: 4 compute ports, of which 2"},
		{"two-port cards with one cable each, the plan counts three", func(h *host) {
			for i := range 4 {
				d := h.Add(strings.TrimSuffix(nic(i), "0")+"1", fmt.Sprintf("0000:17:%02x.0", i+1), "020700", "15b3:1021", "32x16").Driver("mlx5_core")
				d.RDMA(fmt.Sprintf("mlx5_%d", i+4), 400, "")
				port(d, fmt.Sprintf("mlx5_%d", i+4), down, polling, noRate)
			}
			silence(h, 1, 2)
			h.Set("fabricd.yaml", "plan: {ports: {count: 3}}")
		}, "expect: fail rdma_port mlx5_1\nsays: 3 compute ports\nexpect: info rdma_port mlx5_2\nexpect: info rdma_port mlx5_4\nexpect: info rdma_port mlx5_5"},
		{"half, the plan counts two", func(h *host) { silence(h, 1, 2); h.Set("fabricd.yaml", "plan: {ports: {count: 2}}") }, "expect: info rdma_port mlx5_1"},
		{"the plan counts one more than there are", func(h *host) { h.Set("fabricd.yaml", "plan: {ports: {count: 5}}") },
			"expect: warn rdma_port compute ports\nsays: asks for 5, and this machine has 4\nexpect: ok rdma_port mlx5_0"},
		{"as many as the plan counts", func(h *host) { h.Set("fabricd.yaml", "plan: {ports: {count: 4}}") }, "never: warn|fail|unknown rdma_port *"},
		{"fewer, but some are not seen", func(h *host) {
			h.Set("fabricd.yaml", `{plan: {ports: {count: 4}}, devices: {exclude: ["`+nic(2)+`"]}}`)
		}, "expect: unknown rdma_port compute ports\nsays: excluded"},
		{"half, the plan names one", func(h *host) {
			silence(h, 1, 2)
			h.Set("fabricd.yaml", `plan: {cabling: [{address: "`+nic(1)+`", switch: leaf, switch_port: Ethernet1}]}`)
		}, "expect: fail rdma_port mlx5_1\nsays: the plan\nexpect: info rdma_port mlx5_2"},
		{"never configured", func(h *host) { port(h.Dev(nic(1)), "mlx5_1", "state 2: INIT") }, "expect: fail rdma_port mlx5_1\nsays: subnet manager"},
		{"configured, not activated", func(h *host) { port(h.Dev(nic(1)), "mlx5_1", "state 3: ARMED") }, "expect: fail rdma_port mlx5_1\nsays: ARMED"},
		{"INIT while it trains", func(h *host) {
			port(h.Dev(nic(1)), "mlx5_1", "state 2: INIT", "phys_state 4: PortConfigurationTraining")
		}, "expect: fail rdma_port mlx5_1\nsays: no partner"},
		{"recovering", func(h *host) { port(h.Dev(nic(1)), "mlx5_1", "state 5: ACTIVE_DEFER") }, "expect: info rdma_port mlx5_1"},
		{"switched off", func(h *host) { port(h.Dev(nic(1)), "mlx5_1", down, "phys_state 3: Disabled", noRate) }, "expect: info rdma_port mlx5_1\nsays: off"},
		{"does not answer", func(h *host) { port(h.Dev(nic(1)), "mlx5_1", "state.err EIO") }, "expect: unknown rdma_port mlx5_1\nsays: EIO\nexpect: ok rdma_port mlx5_0"},
		{"its directory cannot be looked at", func(h *host) { h.Drop(h.Dev(nic(1)).Dir + "/infiniband/mlx5_1/ports/1/state") }, "expect: unknown rdma_port mlx5_1\nexpect: unknown rdma_rate mlx5_1"},
		{"no state", func(h *host) { port(h.Dev(nic(1)), "mlx5_1", "state 0: NOP") }, "expect: unknown rdma_port mlx5_1"},
		{"nonsense", func(h *host) {
			port(h.Dev(nic(1)), "mlx5_1", "state \x1b[31m", "phys_state 99: \x00", "rate NaN Gb/sec (4X NDR)")
		}, "expect: unknown rdma_port mlx5_1"},
		{"of a virtual function", func(h *host) {
			h.Add("0000:21:00.1", "0000:17:02.0", "020700", "15b3:1021", "").Driver("mlx5_core").VirtualOf(nic(1)).RDMA("mlx5_9", 0, "")
		}, "expect: info rdma_port mlx5_9\nsays: virtual"},
		{"an excluded device", func(h *host) { silence(h, 2); h.Set("fabricd.yaml", `devices: {exclude: ["`+nic(2)+`"]}`) }, "expect: ok rdma_port mlx5_0\nnever: fail rdma_port mlx5_2"},
	})
}

// A port that was up is expected to be, whatever its sisters do.
func TestStateLost(t *testing.T) {
	lose := func(h *host) { port(later(h, 0), "mlx5_0", down, polling, noRate) }
	run(t, one, []row{
		{"lost", lose, "expect: fail rdma_port mlx5_0\nsays: before"},
		{"lost, and back", func(h *host) {
			lose(h)
			port(h.Dev(nic(0)).At("90s"), "mlx5_0", "state 4: ACTIVE", "phys_state 5: LinkUp", "rate 400 Gb/sec (4X NDR)")
		}, "expect: ok rdma_port mlx5_0"},
		{"never there", func(h *host) { silence(h, 0); film(h) }, "expect: info rdma_port mlx5_0"},
		{"came", func(h *host) {
			silence(h, 0)
			port(later(h, 0), "mlx5_0", "state 4: ACTIVE", "phys_state 5: LinkUp", "rate 400 Gb/sec (4X NDR)")
		}, "expect: ok rdma_port mlx5_0"},
		{"lost with the device replaced", func(h *host) {
			d := h.Dev(nic(0))
			h.At("30s").Remove("sys/class/infiniband/mlx5_0", d.Dir+"/infiniband/mlx5_0")
			infiniBand(later(h, 0), "mlx5_0")
			lose(h)
		}, "expect: fail rdma_port mlx5_0\nsays: before"},
	})
}

// Over Ethernet a port is DOWN and Disabled whenever its interface has no carrier.
func TestStateEthernet(t *testing.T) {
	cut := func(h *host, i int, flags string) {
		name := string(rune('0' + i))
		d := h.Dev(nic(i))
		port(d, "mlx5_"+name, down, "phys_state 3: Disabled", "rate 40 Gb/sec (4X QDR)")
		d.Set("net/eth"+name+"/carrier", "0").Set("net/eth"+name+"/speed", "-1").Set("net/eth"+name+"/flags", flags)
	}
	run(t, fourRoCE, []row{
		{"up", nil, "expect: ok rdma_port eth0\nexpect: ok rdma_rate mlx5_0\nsays: 400 Gb/s"},
		{"no carrier", func(h *host) { cut(h, 1, "0x1003") }, "expect: fail rdma_port eth1\nsays: carrier"},
		{"administratively down", func(h *host) { cut(h, 1, "0x1002") }, "expect: info rdma_port eth1\nsays: administratively"},
		{"flags that cannot be read", func(h *host) { cut(h, 1, "0x1002"); h.Dev(nic(1)).Fail("net/eth1/flags", "EACCES") }, "expect: fail rdma_port eth1"},
		{"flags that are no number", func(h *host) { cut(h, 1, "up") }, "expect: fail rdma_port eth1"},
		{"three of four", func(h *host) { cut(h, 1, "0x1003"); cut(h, 2, "0x1003"); cut(h, 3, "0x1003") }, "expect: info rdma_port eth1"},
	})
}

func TestRate(t *testing.T) {
	rate := func(text string, ports ...int) func(*host) {
		return func(h *host) {
			for _, i := range ports {
				port(h.Dev(nic(i)), "mlx5_"+string(rune('0'+i)), "rate "+text)
			}
		}
	}
	run(t, four, []row{
		{"equal", nil, "expect: ok rdma_rate mlx5_0\nsays: 400 Gb/s (4X NDR)"},
		{"two lanes of four", rate("200 Gb/sec (2X NDR)", 1), "expect: fail rdma_rate mlx5_1\nsays: 2X"},
		{"one lane of four", rate("100 Gb/sec (1X NDR)", 1), "expect: fail rdma_rate mlx5_1\nsays: 1X"},
		{"split cables everywhere", rate("200 Gb/sec (2X NDR)", 0, 1, 2, 3), "expect: info rdma_rate mlx5_0\nsays: split"},
		{"two of four split", rate("200 Gb/sec (2X NDR)", 0, 1), "expect: fail rdma_rate mlx5_0\nexpect: fail rdma_rate mlx5_1"},
		{"slower", rate("200 Gb/sec (4X HDR)", 1), "expect: warn rdma_rate mlx5_1\nsays: 3 of 4\nsays: 400"},
		{"half of them slower", rate("200 Gb/sec (4X HDR)", 0, 1), "expect: ok rdma_rate mlx5_0"},
		{"faster", rate("800 Gb/sec (4X XDR)", 1), "expect: ok rdma_rate mlx5_1\nexpect: warn pcie_budget *"},
		{"as all, below the plan", func(h *host) { h.Set("fabricd.yaml", "plan: {ports: {rate_gbps: 800}}") },
			"expect: warn rdma_rate mlx5_0\nsays: 800\nexpect: warn rdma_rate mlx5_1\nexpect: warn rdma_rate mlx5_2\nexpect: warn rdma_rate mlx5_3"},
		{"a plan that does not mean storage", func(h *host) {
			h.Set("fabricd.yaml", "plan: {ports: {rate_gbps: 800}, roles: {mlx5_0: storage, mlx5_1: storage, mlx5_2: storage, mlx5_3: storage}}")
		}, "expect: ok rdma_rate mlx5_0"},
		{"slower, of another role", func(h *host) {
			rate("200 Gb/sec (4X HDR)", 1)(h)
			h.Set("fabricd.yaml", "plan: {roles: {mlx5_1: storage}}")
		}, "expect: ok rdma_rate mlx5_1"},
		{"not a rate", rate("fast", 1), "expect: unknown rdma_rate mlx5_1"},
		{"EINVAL", func(h *host) { port(h.Dev(nic(1)), "mlx5_1", "rate.err EINVAL") }, "expect: unknown rdma_rate mlx5_1\nexpect: ok rdma_port mlx5_1"},
	})
	run(t, one, []row{
		{"one lane, nothing to compare with", rate("25 Gb/sec (1X EDR)", 0), "expect: fail rdma_rate mlx5_0"},
		{"two lanes, nothing to compare with", rate("200 Gb/sec (2X NDR)", 0), "expect: info rdma_rate mlx5_0"},
		{"two lanes, below the plan", func(h *host) {
			rate("200 Gb/sec (2X NDR)", 0)(h)
			h.Set("fabricd.yaml", "plan: {ports: {rate_gbps: 400}}")
		}, "expect: warn rdma_rate mlx5_0\nsays: 400"},
	})
	run(t, fourRoCE, []row{
		{"lanes are made up", rate("400 Gb/sec (8X HDR)", 1), "expect: ok rdma_rate mlx5_1"},
		{"slower, without an interface that says so", func(h *host) {
			rate("200 Gb/sec (4X HDR)", 1)(h)
			h.Dev(nic(1)).Fail("net/eth1/speed", "EINVAL")
		}, "expect: warn rdma_rate mlx5_1\nsays: 200"},
		{"slower, which its interface does not know", rate("200 Gb/sec (4X HDR)", 1), "expect: warn rdma_rate mlx5_1\nsays: 3 of 4\nexpect: ok nic_speed eth1"},
		{"slower, as its interface says", func(h *host) {
			rate("200 Gb/sec (4X HDR)", 1)(h)
			h.Dev(nic(1)).Set("net/eth1/speed", "200000")
		}, "expect: info rdma_rate mlx5_1\nsays: nic_speed\nexpect: warn nic_speed eth1"},
		{"slower, as its interface says, of whose kind as many are", func(h *host) {
			rate("200 Gb/sec (4X HDR)", 1)(h)
			h.Dev(nic(1)).Set("net/eth1/speed", "200000")
			for i := 4; i < 6; i++ {
				above := fmt.Sprintf("0000:17:%02x.0", i+1)
				h.Port(above, "0000:16:00.0", "32x16")
				h.NIC(nic(i), above, "32x16").Netdev(fmt.Sprintf("eth%d", i), 200)
			}
			h.Set("fabricd.yaml", "plan: {roles: {eth4: compute, eth5: compute}}")
		}, "expect: warn rdma_rate mlx5_1\nsays: 3 of 4\nexpect: ok nic_speed eth1"},
	})
	run(t, oneRoCE, []row{{"a virtual function slower than the others", func(h *host) {
		for i := range 4 {
			address, name := fmt.Sprintf("0000:20:01.%d", i), fmt.Sprintf("mlx5_%d", i+1)
			d := h.Add(address, "0000:17:01.0", "020000", "15b3:101e", "").Driver("mlx5_core").VirtualOf(nic(0))
			roce(d, name)
			if i == 1 {
				port(d, name, "rate 100 Gb/sec (4X EDR)")
				d.Set("net/eth2/speed", "100000")
			}
		}
	}, "expect: warn rdma_rate mlx5_2\nsays: 3 of 4\nnever: ok|info|warn|unknown nic_speed eth2"}})
}

func TestLayer(t *testing.T) {
	ethernet := func(h *host, list ...int) {
		for _, i := range list {
			port(h.Dev(nic(i)), "mlx5_"+string(rune('0'+i)), "link_layer Ethernet")
			gids(h.Dev(nic(i)), "mlx5_"+string(rune('0'+i)), "eth0", "0000:0000:0000:0000:0000:ffff:0a00:0001 v2")
		}
	}
	run(t, four, []row{
		{"one of four", func(h *host) { ethernet(h, 2) }, "expect: warn rdma_layer mlx5_2\nsays: Ethernet\nexpect: ok rdma_layer mlx5_0"},
		{"half", func(h *host) { ethernet(h, 1, 2) }, "expect: ok rdma_layer mlx5_2"},
		{"storage on Ethernet", func(h *host) { ethernet(h, 2); h.Set("fabricd.yaml", "plan: {roles: {mlx5_2: storage}}") }, "expect: ok rdma_layer mlx5_2"},
		{"another model", func(h *host) { ethernet(h, 2); h.Dev(nic(2)).ID("15b3:101d") }, "expect: ok rdma_layer mlx5_2"},
		{"unknown", func(h *host) { port(h.Dev(nic(2)), "mlx5_2", "link_layer Unknown") }, "expect: unknown rdma_layer mlx5_2"},
	})
	run(t, func(tb testing.TB) *host { return server(tb, 3, infiniBand) }, []row{
		{"one of three", func(h *host) { ethernet(h, 2) }, "expect: warn rdma_layer mlx5_2\nexpect: ok rdma_layer mlx5_0\nexpect: ok rdma_layer mlx5_1"},
	})
	run(t, func(tb testing.TB) *host { return server(tb, 2, infiniBand) }, []row{
		{"two, each another", func(h *host) { ethernet(h, 1) }, "expect: ok rdma_layer mlx5_0\nexpect: ok rdma_layer mlx5_1"},
	})
}

// A device that was there and is not, while its PCI function is, is not passed over.
func TestGone(t *testing.T) {
	leave := func(h *host) { h.At("10s").Remove(h.Dev(nic(2)).Dir+"/infiniband", "sys/class/infiniband/mlx5_2") }
	plan := `plan: {cabling: [{address: "` + nic(2) + `", switch: leaf, switch_port: Ethernet1}]}`
	run(t, four, []row{
		{"nobody expects it", leave, "expect: unknown rdma_port mlx5_2\nsays: another network namespace\nexpect: ok rdma_port mlx5_1\nnever: ok|info|warn|fail rdma_rate mlx5_2"},
		{"the plan names it", func(h *host) { leave(h); h.Set("fabricd.yaml", plan) }, "expect: fail rdma_port mlx5_2\nsays: mlx5_2 is gone"},
		{"unbound", func(h *host) { leave(h); h.At("10s").Remove(h.Dev(nic(2)).Dir + "/driver") }, "expect: info rdma_port mlx5_2\nsays: unbound"},
		{"never active", func(h *host) { silence(h, 2); leave(h) }, "never: ok|info|unknown|warn|fail rdma_port mlx5_2"},
		{"renamed", func(h *host) { leave(h); h.Dev(nic(2)).At("10s").RDMA("rocep2", 400, "") }, "never: ok|info|unknown|warn|fail rdma_port mlx5_2\nexpect: ok rdma_port rocep2"},
		{"the function went too", func(h *host) { leave(h); h.Dev(nic(2)).At("10s").Gone() }, "never: ok|info|unknown|warn|fail rdma_port mlx5_2\nexpect: fail pcie_lost " + nic(2)},
		{"the function went too, which the plan counts", func(h *host) {
			h.Set("fabricd.yaml", "plan: {ports: {count: 4}}")
			leave(h)
			h.Dev(nic(2)).At("10s").Gone()
		}, "never: warn|fail|unknown rdma_port compute*\nexpect: fail pcie_lost " + nic(2)},
	})
}
