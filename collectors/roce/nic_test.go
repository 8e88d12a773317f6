// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"fmt"
	"testing"
)

func TestDiscards(t *testing.T) {
	silent := "\nnever: warn|fail nic_discards *"
	step := func(at int) func(testing.TB) *rig {
		return func(tb testing.TB) *rig {
			return newRig(tb, "mlx5_core", 1).play("eth0", func(i int) stats {
				if i < at {
					return stats{"rx_discards_phy": 7}
				}
				return stats{"rx_discards_phy": 9000}
			})
		}
	}
	run(t, []row{
		{"old ones", one("mlx5_core", stats{"rx_discards_phy": 9000}, nil), "expect: ok nic_discards eth0" + silent},
		{"growing", func(tb testing.TB) *rig {
			r := one("mlx5_core", stats{"rx_discards_phy": 1, "rx_prio3_discards": 1, "rx_out_of_buffer": 3}, stats{"rx_discards_phy": 40, "rx_prio3_discards": 40})(tb)
			r.Set("ethtool/eth0/rings", "Pre-set maximums:\nRX: 8192\nTX: 8192\nCurrent hardware settings:\nRX: 1024\nTX: 1024")
			return r
		}, "expect: warn nic_discards eth0\nsays: rx_discards_phy +40\nsays: rx_prio3_discards +40\nsays: 1024 of at most 8192\nsays: out_of_buffer +0"},
		{"a step long ago", step(1), "expect: ok nic_discards eth0" + silent},
		{"a step just now", step(6), "expect: warn nic_discards eth0"},
		{"what leaves is no discard of the receiver's", one("mlx5_core", stats{"rx_discards_phy": 1, "tx_discards_phy": 1}, stats{"tx_discards_phy": 40}), "expect: ok nic_discards eth0" + silent},
		{"no receive buffer of the host", one("mlx5_core", stats{"rx_discards_phy": 1, "rx_out_of_buffer": 1}, stats{"rx_out_of_buffer": 40}), "expect: ok nic_discards eth0" + silent},
		{"bnxt, a class", one("bnxt_en", stats{"rx_discard_packets_cos5": 1}, stats{"rx_discard_packets_cos5": 40}), "expect: warn nic_discards eth0\nsays: rx_discard_packets_cos5"},
		{"ice", one("ice", stats{"rx_dropped.nic": 1}, stats{"rx_dropped.nic": 40}), "expect: warn nic_discards eth0\nsays: rx_dropped.nic"},
		{"ixgbe", one("ixgbe", stats{"rx_missed_errors": 1}, stats{"rx_missed_errors": 40}), "expect: warn nic_discards eth0"},
		{"cxgb4", one("cxgb4", stats{"rx_bg1_frames_dropped  ": 1}, stats{"rx_bg1_frames_dropped  ": 40}), "expect: warn nic_discards eth0"},
		{"set back", one("mlx5_core", stats{"rx_discards_phy": 9000}, stats{"rx_discards_phy": -1000}), "expect: ok nic_discards eth0" + silent},
		{"a driver that is not known, with RDMA", one("newnic", stats{"rx_discards": 1}, stats{"rx_discards": 40}), "expect: unknown nic_discards eth0" + silent},
		{"names that nobody knows", one("mlx5_core", stats{"rx_dropped_by_phy": 1}, stats{"rx_dropped_by_phy": 40}), "expect: unknown nic_discards eth0\nsays: none of the names" + silent},
	})
}

func TestStall(t *testing.T) {
	gauge := func(rd, wr int) func(testing.TB) *rig {
		return one("mlx5_core", stats{"outbound_pci_stalled_rd": rd, "outbound_pci_stalled_wr": wr, "outbound_pci_stalled_wr_events": 900}, nil)
	}
	silent := "\nnever: warn|fail nic_pcie_stall *"
	run(t, []row{
		{"ten percent", gauge(10, 3), "expect: ok nic_pcie_stall eth0" + silent},
		{"reads", gauge(11, 3), "expect: warn nic_pcie_stall eth0\nsays: 11 %"},
		{"writes", gauge(0, 93), "expect: warn nic_pcie_stall eth0\nsays: 93 %\nsays: pcie_width"},
		{"no percent", gauge(0, 4000), "expect: unknown nic_pcie_stall eth0" + silent},
		{"not counted", one("mlx5_core", busy(), busy()), "expect: unknown nic_pcie_stall eth0" + silent},
		{"another driver", one("ice", stats{"rx_dropped.nic": 1}, nil), "never: ok|info|unknown|warn|fail nic_pcie_stall *"},
		{"a picture tells", func(tb testing.TB) *rig {
			r := gauge(0, 40)(tb)
			r.First()
			return r
		}, "expect: warn nic_pcie_stall eth0"},
	})
}

func TestSpeed(t *testing.T) {
	// with has n ports, whose first is changed.
	with := func(n int, change func(*rig)) func(testing.TB) *rig {
		return func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", n)
			change(r)
			return r
		}
	}
	set := func(name, content string) func(*rig) {
		return func(r *rig) { r.Dev("0000:11:00.0").Set("net/eth0/"+name, content) }
	}
	silent := "\nnever: warn|fail nic_speed *"
	run(t, []row{
		{"all alike", with(4, func(*rig) {}), "expect: ok nic_speed eth0" + silent},
		{"one of four is slower", with(4, set("speed", "200000")), "expect: warn nic_speed eth0\nsays: 3 of 4\nsays: 400\nnever: warn nic_speed eth1"},
		{"one of three is slower", with(3, set("speed", "200000")), "expect: ok nic_speed eth0" + silent},
		{"one of four is faster", with(4, set("speed", "800000")), silent},
		{"two of four", with(4, func(r *rig) {
			set("speed", "200000")(r)
			r.Dev("0000:21:00.0").Set("net/eth1/speed", "200000")
		}), silent},
		{"half duplex", with(1, set("duplex", "half")), "expect: fail nic_speed eth0\nsays: half"},
		{"no link", with(4, func(r *rig) {
			set("carrier", "0")(r)
			set("speed", "-1")(r)
			set("duplex", "unknown")(r)
		}), "never: ok|info|unknown|warn|fail nic_speed eth0" + silent},
		{"administratively down", with(4, func(r *rig) {
			r.Dev("0000:11:00.0").Fail("net/eth0/carrier", "EINVAL").Fail("net/eth0/speed", "EINVAL").Fail("net/eth0/duplex", "EINVAL")
		}), "never: ok|info|unknown|warn|fail nic_speed eth0" + silent},
		{"link without a speed", with(1, set("speed", "-1")), "expect: unknown nic_speed eth0" + silent},
		{"a speed that is unknown", with(4, set("speed", "4294967295")), "expect: unknown nic_speed eth0" + silent},
		{"a carrier that nobody tells", with(4, func(r *rig) {
			set("speed", "200000")(r)
			r.Dev("0000:11:00.0").Drop("net/eth0/carrier")
		}), "expect: warn nic_speed eth0\nsays: 3 of 4"},
		{"below the plan, where no GPU tells roles", with(4, func(r *rig) {
			r.Set("fabricd.yaml", "plan: {ports: {count: 4, rate_gbps: 800}}")
		}), "expect: warn nic_speed eth0\nsays: the plan says 800"},
		{"slow ports beside them are no compute ports", with(2, func(r *rig) {
			set("speed", "10000")(r)
			r.Dev("0000:11:00.0").Set("infiniband/mlx5_0/ports/1/rate", "10 Gb/sec (1X QDR)")
			r.Set("fabricd.yaml", "plan: {ports: {count: 1, rate_gbps: 400}}")
		}), "expect: ok nic_speed eth0" + silent},
		{"below the plan", with(1, func(r *rig) {
			r.Set("fabricd.yaml", "plan: {ports: {count: 1, rate_gbps: 800}, roles: {eth0: compute}}")
		}), "expect: warn nic_speed eth0\nsays: 800"},
		{"the plan is of compute ports", with(1, func(r *rig) {
			r.Set("fabricd.yaml", "plan: {ports: {count: 1, rate_gbps: 800}, roles: {eth0: storage}}")
		}), "expect: ok nic_speed eth0" + silent},
		{"InfiniBand's interface", with(4, func(r *rig) {
			set("type", "32")(r)
			set("speed", "100000")(r)
		}), "never: ok|info|unknown|warn|fail nic_speed eth0" + silent},
	})
}

func TestFEC(t *testing.T) {
	// film has FEC's counts at each mark.
	film := func(at func(i int) int) func(testing.TB) *rig {
		return func(tb testing.TB) *rig {
			r := newRig(tb, "ice", 1)
			for i, m := range marks() {
				r.At(m).Set("ethtool/eth0/fec", fmt.Sprintf("Active FEC encoding: RS\nStatistics:\n  corrected_blocks: %d\n  uncorrectable_blocks: %d", 1000*i, at(i)))
			}
			return r
		}
	}
	silent := "\nnever: warn|fail nic_fec *"
	run(t, []row{
		{"corrected blocks grow", film(func(int) int { return 2 }), "expect: ok nic_fec eth0" + silent},
		{"uncorrectable ones grow", film(func(i int) int { return 2 + i }), "expect: fail nic_fec eth0\nsays: uncorrectable"},
		{"a step long ago", film(func(i int) int { return min(i, 1) }), "expect: ok nic_fec eth0" + silent},
		{"reset", film(func(i int) int { return 90 - 10*i }), "expect: ok nic_fec eth0" + silent},
		{"could not be read", film(func(int) int { return -1 }), silent},
		{"bnxt's statistics", one("bnxt_en", stats{"rx_fec_uncorrectable_blocks": 1}, stats{"rx_fec_uncorrectable_blocks": 1}), "expect: fail nic_fec eth0"},
		{"a fast port that tells none", func(tb testing.TB) *rig { return newRig(tb, "mlx5_core", 1) }, "expect: unknown nic_fec eth0" + silent},
		{"a slow port needs none", func(tb testing.TB) *rig {
			r := newRig(tb, "igb", 1)
			r.Dev("0000:11:00.0").Set("net/eth0/speed", "1000")
			return r
		}, "never: ok|info|unknown|warn|fail nic_fec *"},
	})
}
