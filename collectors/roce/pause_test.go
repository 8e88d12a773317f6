// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"strings"
	"testing"
)

const quiet = "\nnever: warn|fail roce_pause *\nnever: fail roce_ecn_silent *"

// Every driver's pause is judged by what its driver counts, and by no more.
func TestPause(t *testing.T) {
	mlx5 := stats{"rx_prio3_pause": 9000, "tx_prio3_pause": 400, "rx_prio3_pause_duration": 90000, "tx_prio3_pause_duration": 1800, "rx_prio3_pause_transition": 4000}
	run(t, []row{
		{"mlx5, stands still", one("mlx5_core", mlx5, nil), "expect: ok roce_pause eth0" + quiet},
		{"mlx5, received for 4 %", one("mlx5_core", mlx5, stats{"rx_prio3_pause": 100, "rx_prio3_pause_duration": 400_000}), "expect: ok roce_pause 3\nsays: 4.0 %" + quiet},
		{"mlx5, received for 12 %", one("mlx5_core", mlx5, stats{"rx_prio3_pause": 100, "rx_prio3_pause_duration": 1_200_000}), "expect: warn roce_pause eth0\nsays: 12 %\nsays: the peer held\nsays: fabric"},
		{"mlx5, sent for 70 %", one("mlx5_core", mlx5, stats{"tx_prio3_pause": 100, "tx_prio3_pause_duration": 7_000_000, "rx_prio3_pause_duration": 600_000}), "expect: fail roce_pause eth0\nsays: 70 %\nsays: this host is slow"},
		{"mlx5, letting go only", one("mlx5_core", mlx5, stats{"rx_prio3_pause": 1_100_000}), "expect: ok roce_pause eth0" + quiet},
		{"mlx5, a storm ends it", one("mlx5_core", mlx5.and(stats{"tx_pause_storm_error_events": 3}), stats{"tx_prio3_pause": 9, "tx_prio3_pause_duration": 200_000, "tx_pause_storm_error_events": 1}),
			"expect: fail roce_pause 3\nsays: storm\nsays: tx_pause_storm_error_events\nsays: this host"},
		{"mlx5, a storm of nobody", one("mlx5_core", mlx5.and(stats{"tx_pause_storm_warning_events": 3}), stats{"tx_pause_storm_warning_events": 2}), "expect: fail roce_pause eth0\nsays: storm"},
		{"mlx5, a storm in frames alone", one("mlx5_core", mlx5.and(stats{"tx_pause_storm_error_events": 3}), stats{"tx_prio3_pause": 5, "tx_pause_storm_error_events": 1}),
			"expect: fail roce_pause 3\nsays: storm"},
		{"mlx5, old storms", one("mlx5_core", mlx5.and(stats{"tx_pause_storm_error_events": 3}), nil), quiet},
		{"bnxt", one("bnxt_en", stats{"rx_pfc_ena_frames_pri3": 1, "pfc_pri3_rx_duration_us": 5}, stats{"rx_pfc_ena_frames_pri3": 500, "pfc_pri3_rx_duration_us": 5_500_000}), "expect: fail roce_pause eth0\nsays: pfc_pri3_rx_duration_us"},
		{"bnxt, sent", one("bnxt_en", stats{"tx_pfc_ena_frames_pri3": 1, "pfc_pri3_tx_duration_us": 5}, stats{"pfc_pri3_tx_duration_us": 1_000_000}), "expect: warn roce_pause eth0\nsays: this host"},
		{"ice counts frames", one("ice", stats{"rx_priority_3_xoff.nic": 5, "rx_priority_3_xon.nic": 5}, stats{"rx_priority_3_xoff.nic": 70_000, "rx_priority_3_xon.nic": 70_000}), "expect: unknown roce_pause eth0\nsays: rx_priority_3_xoff.nic" + quiet},
		{"ice, letting go only", one("ice", stats{"rx_priority_3_xoff.nic": 5, "rx_priority_3_xon.nic": 5}, stats{"rx_priority_3_xon.nic": 70_000}), "expect: ok roce_pause eth0" + quiet},
		{"i40e counts transitions", one("i40e", stats{"port.rx_priority_3_xoff": 5, "port.rx_priority_3_xon_2_xoff": 1}, stats{"port.rx_priority_3_xoff": 70, "port.rx_priority_3_xon_2_xoff": 60}), "expect: unknown roce_pause eth0\nsays: at most" + quiet},
		{"i40e, older names", one("i40e", stats{"port.tx_priority_3_xoff_tx": 5}, stats{"port.tx_priority_3_xoff_tx": 70}), "expect: unknown roce_pause eth0\nsays: sent 420 frames" + quiet},
		{"ixgbe", one("ixgbe", stats{"rx_pb_3_pxoff": 5}, stats{"rx_pb_3_pxoff": 70}), "expect: unknown roce_pause eth0" + quiet},
		{"ionic", one("ionic", stats{"rx_pripause_3_1us_count": 5, "frames_rx_pripause": 9}, stats{"rx_pripause_3_1us_count": 2_000_000, "frames_rx_pripause": 70}), "expect: warn roce_pause eth0\nsays: 20 %"},
		{"ionic could not read", one("ionic", stats{"rx_pripause_3_1us_count": -1, "tx_pripause_3_1us_count": 5}, nil), "expect: ok roce_pause eth0" + quiet},
		{"hns3, an unknown unit", one("hns3", stats{"mac_rx_pfc_pri3_pkt_num": 5, "mac_rx_pfc_pri3_xoff_time": 7}, stats{"mac_rx_pfc_pri3_pkt_num": 60, "mac_rx_pfc_pri3_xoff_time": 90_000_000}), "expect: unknown roce_pause eth0\nsays: unit" + quiet},
		{"cxgb4", one("cxgb4", stats{"rx_ppp3_frames         ": 5}, stats{"rx_ppp3_frames         ": 70}), "expect: unknown roce_pause eth0\nsays: rx_ppp3_frames" + quiet},
		{"mlx4 counts whose transmitter waited", one("mlx4_en", stats{"rx_pause_prio_3": 14812, "tx_pause_duration_prio_3": 5, "tx_pause_transition_prio_3": 7}, stats{"rx_pause_prio_3": 70, "tx_pause_duration_prio_3": 3_000_000}), "expect: warn roce_pause eth0\nsays: 30 %\nsays: the peer held"},
		{"a counter that starts again", one("mlx5_core", mlx5.and(stats{"rx_prio3_pause_duration": 60_000_000}), stats{"rx_prio3_pause_duration": -9_900_000}), "expect: ok roce_pause eth0" + quiet},
		{"PFC off: mlx5 names no pause", func(tb testing.TB) *rig {
			return newRig(tb, "mlx5_core", 1).dcb("eth0", off).grow("eth0", busy(), busy())
		}, "never: ok|info|warn|fail|unknown roce_pause *"},
		{"PFC on and not counted", one("mlx5_core", busy(), busy()), "expect: unknown roce_pause 3\nsays: names no counter" + quiet},
		{"PFC on and no statistics", func(tb testing.TB) *rig { return newRig(tb, "mlx5_core", 1).lossless("3") }, "expect: unknown roce_pause 3\nsays: no statistics" + quiet},
		{"the first pause ever, bnxt", first("bnxt_en", "pfc_pri3_rx_duration_us", "rx_pfc_ena_frames_pri3"), "expect: fail roce_pause 3\nsays: 60 %\nnever: ok|unknown roce_pause 4"},
		{"the first pause ever, ionic", first("ionic", "tx_pripause_3_1us_count"), "expect: fail roce_pause 3\nsays: 60 %"},
		{"a pause that ended minutes ago", late(60_000_000, 0), "expect: ok roce_pause 3" + quiet},
		{"a pause in the last seconds of minutes", late(0, 20_000_000), "expect: fail roce_pause 3\nsays: 100 % of 20s"},
		{"a picture", func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", 1).lossless("3").grow("eth0", mlx5, nil)
			r.First()
			return r
		}, "expect: unknown roce_pause eth0\nsays: second"},
	})
}

// first has PFC off as far as dcbnl tells, and counters of priorities that were
// never paused before the last 10 s.
func first(driver string, names ...string) func(testing.TB) *rig {
	return func(tb testing.TB) *rig {
		return newRig(tb, driver, 1).dcb("eth0", off).play("eth0", func(i int) stats {
			s := stats{}
			for _, name := range names {
				s[name], s[strings.ReplaceAll(name, "3", "4")] = 0, 0
				if i == len(marks())-1 {
					s[name] = 6_000_000 * i // of a minute
				}
			}
			return s
		})
	}
}

// late is paused for so many µs in the first minute of a quarter of an hour, and
// for so many in its last 20 s.
func late(before, after int) func(testing.TB) *rig {
	return func(tb testing.TB) *rig {
		r := newRig(tb, "mlx5_core", 1).lossless("3").grow("eth0", stats{"rx_prio3_pause": 1, "rx_prio3_pause_duration": 1}, stats{"rx_prio3_pause_duration": before / 6})
		now := stats{"rx_prio3_pause": 1, "rx_prio3_pause_duration": 1 + before/6*6}
		r.At("15m").Set("ethtool/eth0/stats", text(now))
		now["rx_prio3_pause_duration"] += after
		r.At("15m20s").Set("ethtool/eth0/stats", text(now))
		return r
	}
}

// PFC is moved to another priority: what is counted there now is no rise.
func TestPauseRelabelled(t *testing.T) {
	r := newRig(t, "mlx5_core", 1).lossless("3").play("eth0", func(i int) stats {
		if i < 3 {
			return stats{"rx_prio3_pause": 5, "rx_prio3_pause_duration": 10 + i}
		}
		return stats{"rx_prio4_pause": 900_000, "rx_prio4_pause_duration": 55_000_000 + i}
	})
	r.At("30s").Set("dcb/eth0.json", `{"pfc": {"cap": 8, "enabled": [4]}}`)
	r.Expect("expect: ok roce_pause 4" + quiet)
}

func TestGlobalPause(t *testing.T) {
	silent := "\nnever: warn|fail roce_global_pause *"
	ctrl := stats{"rx_pause_ctrl_phy": 900, "tx_pause_ctrl_phy": 7, "rx_prio3_pause": 400, "rx_prio4_pause": 500, "rx_prio3_pause_duration": 1, "rx_prio4_pause_duration": 1}
	run(t, []row{
		{"stands still", one("mlx5_core", ctrl, nil), "expect: ok roce_global_pause eth0" + silent},
		{"no statistics", func(tb testing.TB) *rig { return newRig(tb, "mlx5_core", 1).lossless("3") }, "expect: unknown roce_global_pause eth0" + silent},
		{"the peer pauses us", one("mlx5_core", ctrl, stats{"rx_pause_ctrl_phy": 50}), "expect: warn roce_global_pause eth0\nsays: the peer pauses us\nsays: rx_pause_ctrl_phy"},
		{"we pause the peer", one("mlx5_core", ctrl, stats{"tx_pause_ctrl_phy": 50}), "expect: warn roce_global_pause eth0\nsays: we pause the peer"},
		{"as many as PFC frames", one("mlx5_core", ctrl, stats{"rx_pause_ctrl_phy": 1000, "rx_prio3_pause": 1000}), "expect: ok roce_global_pause eth0" + silent},
		{"a frame for two priorities", one("mlx5_core", ctrl, stats{"rx_pause_ctrl_phy": 1000, "rx_prio3_pause": 1000, "rx_prio4_pause": 1000}), "expect: ok roce_global_pause eth0" + silent},
		{"read at another instant", one("mlx5_core", ctrl, stats{"rx_pause_ctrl_phy": 1030, "rx_prio3_pause": 1000}), "expect: ok roce_global_pause eth0" + silent},
		{"more than PFC frames", one("mlx5_core", ctrl, stats{"rx_pause_ctrl_phy": 9000, "rx_prio3_pause": 1000}), "expect: warn roce_global_pause eth0"},
		{"fewer than of one priority: not among them", one("mlx5_core", ctrl, stats{"rx_pause_ctrl_phy": 40, "rx_prio3_pause": 1000}), "expect: warn roce_global_pause eth0"},
		{"its own counter", one("mlx5_core", ctrl.and(stats{"rx_global_pause": 1}), stats{"rx_global_pause": 30, "rx_pause_ctrl_phy": 30}), "expect: warn roce_global_pause eth0\nsays: rx_global_pause"},
		{"bnxt", one("bnxt_en", stats{"rx_pause_frames": 1, "tx_pause_frames": 1}, stats{"tx_pause_frames": 30}), "expect: warn roce_global_pause eth0\nsays: tx_pause_frames"},
		{"ice, XON alone", one("ice", stats{"link_xoff_rx.nic": 1, "link_xon_rx.nic": 4}, stats{"link_xon_rx.nic": 4}), "expect: ok roce_global_pause eth0" + silent},
		{"a step long ago", func(tb testing.TB) *rig {
			return newRig(tb, "mlx5_core", 1).lossless("3").play("eth0", func(i int) stats { return stats{"rx_pause_ctrl_phy": 900 * min(i, 2)} })
		}, "expect: ok roce_global_pause eth0" + silent},
		{"ordinary Ethernet may pause", func(tb testing.TB) *rig {
			r := newRig(tb, "ice", 1).grow("eth0", stats{"link_xoff_rx.nic": 1}, stats{"link_xoff_rx.nic": 4})
			r.Drop("sys/class/infiniband/irdma0")
			return r
		}, "never: ok|info|unknown|warn|fail roce_global_pause *"},
	})
}
