// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"fmt"
	"testing"
)

const (
	off  = `{"pfc": {"cap": 8, "enabled": []}, "app": []}`
	on3  = `{"pfc": {"cap": 8, "enabled": [3]}}`
	none = "\nnever: warn|fail roce_pfc *"
)

// four are ports of equal cards, the last of which has other settings.
func four(last string) func(testing.TB) *rig {
	return func(tb testing.TB) *rig {
		r := newRig(tb, "mlx5_core", 4).lossless("3").dcb("eth3", last)
		for _, p := range r.ports {
			r.grow(p, busy(), busy())
		}
		return r
	}
}

// bonded are two legs of a bond, whose RDMA device counts both.
func bonded(config string) func(testing.TB) *rig {
	return func(tb testing.TB) *rig {
		r := newRig(tb, "mlx5_core", 2).dcb("eth0", config).dcb("eth1", config)
		r.Drop("sys/class/infiniband/mlx5_1").Drop(r.Dev("0000:21:00.0").Dir + "/infiniband")
		r.Set("sys/class/net/bond0/bonding/mode", "802.3ad 4").Set("sys/class/net/bond0/type", "1").Set("sys/class/net/bond0/mtu", "9000")
		for i, p := range r.ports {
			r.Link(r.Dev(fmt.Sprintf("0000:%x1:00.0", i+1)).Dir+"/net/"+p+"/master", "sys/class/net/bond0")
			r.grow(p, stats{"rx_prio0_bytes": 1, "tx_prio0_bytes": 1}, stats{"rx_prio0_bytes": 50 * gigabyte, "tx_prio0_bytes": 50 * gigabyte})
		}
		port := r.Dev("0000:11:00.0").Dir + "/infiniband/mlx5_0/ports/1/"
		r.Set(port+"gids/0", "0000:0000:0000:0000:0000:ffff:c000:0201").Set(port+"gid_attrs/types/0", "RoCE v2").Set(port+"gid_attrs/ndevs/0", "bond0")
		for i, mark := range marks() {
			r.At(mark).Set(port+"counters/port_rcv_data", fmt.Sprint(25*gigabyte*i)).Set(port+"counters/port_xmit_data", fmt.Sprint(25*gigabyte*i))
		}
		return r.rdma("eth0", stats{"np_cnp_sent": 0, "np_ecn_marked_roce_packets": 0})
	}
}

func TestPFC(t *testing.T) {
	with := func(driver, config string, by stats) func(testing.TB) *rig {
		return func(tb testing.TB) *rig { return newRig(tb, driver, 1).dcb("eth0", config).grow("eth0", by, by) }
	}
	run(t, []row{
		{"on", with("mlx5_core", on3, busy()), "expect: ok roce_pfc eth0\nsays: priority 3" + none},
		{"off, with RDMA", with("mlx5_core", off, busy()), "expect: warn roce_pfc eth0\nsays: RDMA runs here\nsays: pfc set dev eth0"},
		{"off, without RDMA", with("mlx5_core", off, stats{"rx_vport_rdma_unicast_bytes": 0, "rx_prio0_bytes": gigabyte}.and(nil)), "expect: ok roce_pfc eth0" + none},
		{"off, with hardly any RDMA", with("mlx5_core", off, stats{"rx_vport_rdma_unicast_bytes": 64}), "expect: ok roce_pfc eth0" + none},
		{"off, and one reading", func(tb testing.TB) *rig {
			r := with("mlx5_core", off, busy())(tb)
			r.First()
			return r
		}, "expect: unknown roce_pfc eth0" + none},
		{"more on than there can be", with("hns3", `{"pfc": {"cap": 4, "enabled": [0,1,2,3,4,5,6,7]}}`, stats{"mac_rx_pfc_pri3_pkt_num": 0}), "expect: fail roce_pfc eth0\nsays: 4"},
		{"no dcbnl", func(tb testing.TB) *rig { return newRig(tb, "ionic", 1) }, "expect: unknown roce_pfc eth0\nsays: no dcbnl" + none},
		{"dcbnl without PFC", with("ice", `{"dcbx": ["host"]}`, stats{"x": 1}), "expect: unknown roce_pfc eth0" + none},
		{"bnxt says off, and counted pause once", func(tb testing.TB) *rig {
			return newRig(tb, "bnxt_en", 1).dcb("eth0", off).grow("eth0", stats{"rx_pfc_ena_frames_pri3": 900}, nil).rdma("eth0", stats{"rx_bytes": gigabyte, "tx_bytes": gigabyte})
		}, "expect: warn roce_pfc eth0"},
		{"bnxt says off and counts pause", with("bnxt_en", off, stats{"rx_pfc_ena_frames_pri3": 4, "rx_bytes_pri0": 5}), "expect: unknown roce_pfc eth0\nsays: stale\nexpect: unknown roce_priority eth0" + none},
		{"bnxt says off and counts none", func(tb testing.TB) *rig {
			return newRig(tb, "bnxt_en", 1).dcb("eth0", off).grow("eth0", stats{"rx_pfc_ena_frames_pri3": 0}, nil).rdma("eth0", stats{"rx_bytes": gigabyte, "tx_bytes": gigabyte})
		}, "expect: warn roce_pfc eth0"},
		{"legs of a bond", bonded(off), "expect: warn roce_pfc eth0\nexpect: warn roce_pfc eth1\nnever: warn|fail roce_priority *\nnever: ok|warn|fail roce_ecn_silent *"},
		{"one of four differs", four(`{"pfc": {"cap": 8, "enabled": [4]}}`), "expect: warn roce_pfc eth3\nsays: 3 ports of its kind\nnever: warn roce_pfc eth0"},
		{"one of four is off", four(off), "expect: warn roce_pfc eth3\nnever: warn roce_pfc eth0\nnever: warn roce_pfc eth1"},
		{"four alike", four(on3), none},
		{"one of four without link", func(tb testing.TB) *rig {
			r := four(off)(tb)
			r.Dev("0000:41:00.0").Set("net/eth3/carrier", "0").Fail("net/eth3/speed", "EINVAL")
			for _, m := range marks() {
				r.At(m).Set("ethtool/eth3/stats", text(stats{"rx_prio0_bytes": 5}))
			}
			return r
		}, "expect: ok roce_pfc eth3" + none},
		{"iWARP", func(tb testing.TB) *rig {
			r := with("ice", off, stats{"x": 1})(tb)
			r.Dev("0000:11:00.0").Set("infiniband/irdma0/node_type", "4: RNIC")
			return r
		}, "never: ok|info|unknown|warn|fail roce_pfc *"},
		{"refused", func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", 1).grow("eth0", busy(), busy())
			r.Set("manifest.json", `{"sources": {"dcb": "not asked"}}`)
			return r
		}, "expect: unknown roce_pfc eth0\nsays: not asked" + none},
	})
}

func TestPriority(t *testing.T) {
	silent := "\nnever: warn|fail roce_priority *"
	moved := func(from, to string, bytes int) stats {
		s := busy()
		s["rx_prio3_bytes"], s["tx_prio3_bytes"] = s["rx_prio3_bytes"]-bytes, s["tx_prio3_bytes"]-bytes
		return s.and(stats{"rx_prio" + from + "_bytes": bytes, "tx_prio" + to + "_bytes": bytes})
	}
	run(t, []row{
		{"all on the lossless one", one("mlx5_core", busy(), busy()), "expect: ok roce_priority eth0\nsays: DSCP 26" + silent},
		{"a third on priority 0", one("mlx5_core", busy(), moved("0", "0", 35*gigabyte)), "expect: fail roce_priority eth0\nsays: priority 0\nsays: DSCP 26 leads to priority 3"},
		{"4 % on priority 0", one("mlx5_core", busy(), moved("0", "0", 4*gigabyte)), "expect: ok roce_priority eth0" + silent},
		{"the netdev's own traffic", one("mlx5_core", busy(), busy().and(stats{"rx_prio0_bytes": 60 * gigabyte, "tx_prio0_bytes": 60 * gigabyte})), "expect: info roce_priority eth0\nsays: other protocols" + silent},
		{"arrives elsewhere", one("mlx5_core", busy(), busy().and(stats{"rx_prio0_bytes": 101 * gigabyte, "rx_prio3_bytes": gigabyte})), "expect: fail roce_priority eth0\nsays: sent on priority 3 and arrives on priority 0"},
		{"arrives on another lossless one", func(tb testing.TB) *rig {
			return newRig(tb, "mlx5_core", 1).lossless("3,4").grow("eth0", busy(), busy().and(stats{"rx_prio4_bytes": 101 * gigabyte, "rx_prio3_bytes": gigabyte}))
		}, "expect: fail roce_priority eth0\nsays: arrives on priority 4"},
		{"answers come on another", func(tb testing.TB) *rig {
			return newRig(tb, "mlx5_core", 1).lossless("3,4").grow("eth0", busy(), stats{
				"tx_vport_rdma_unicast_bytes": 100 * gigabyte, "rx_vport_rdma_unicast_bytes": gigabyte, "tx_prio3_bytes": 101 * gigabyte, "rx_prio4_bytes": gigabyte,
			})
		}, "expect: ok roce_priority eth0" + silent},
		{"idle", one("mlx5_core", busy(), busy().zero()), "expect: unknown roce_priority eth0\nsays: too little" + silent},
		{"TCP alone", one("mlx5_core", busy(), busy().zero().and(stats{"rx_prio0_bytes": 60 * gigabyte})), "expect: unknown roce_priority eth0" + silent},
		{"no bytes by priority", one("ice", stats{"rx_priority_3_xoff.nic": 1}, nil), "expect: unknown roce_priority eth0\nsays: no bytes by priority" + silent},
		{"RDMA counted by its own driver", func(tb testing.TB) *rig {
			return newRig(tb, "bnxt_en", 1).lossless("3").rdma("eth0", stats{"rx_bytes": 100 * gigabyte, "tx_bytes": 100 * gigabyte}).
				grow("eth0", stats{"rx_bytes_pri0": 1, "rx_bytes_pri3": 1, "tx_bytes_pri0": 1, "tx_bytes_pri3": 1}, stats{"rx_bytes_pri0": 50 * gigabyte, "rx_bytes_pri3": 51 * gigabyte, "tx_bytes_pri0": 50 * gigabyte, "tx_bytes_pri3": 51 * gigabyte})
		}, "expect: fail roce_priority eth0\nsays: rx_bytes_pri0"},
		{"RDMA counted by nobody", one("bnxt_en", stats{"rx_bytes_pri0": 1, "rx_bytes_pri3": 1}, stats{"rx_bytes_pri0": gigabyte, "rx_bytes_pri3": gigabyte}), "expect: info roce_priority eth0\nsays: nobody counts" + silent},
		{"no priority has PFC", func(tb testing.TB) *rig {
			return newRig(tb, "mlx5_core", 1).dcb("eth0", off).grow("eth0", busy(), busy())
		}, "expect: ok roce_priority eth0" + silent},
	})
}

func TestECN(t *testing.T) {
	silent := "\nnever: warn|fail roce_ecn_silent *"
	pause := stats{"rx_prio3_pause": 5, "rx_prio3_pause_duration": 5}
	paused := stats{"rx_prio3_pause": 5000, "rx_prio3_pause_duration": 300_000}
	// port is busy with what its counters rise by besides, and RDMA counters.
	port := func(by, rdma stats) func(testing.TB) *rig {
		return func(tb testing.TB) *rig {
			return newRig(tb, "mlx5_core", 1).lossless("3").grow("eth0", busy().and(pause), busy().and(by)).rdma("eth0", rdma)
		}
	}
	counts := stats{"np_ecn_marked_roce_packets": 0, "np_cnp_sent": 0, "rp_cnp_handled": 0, "rp_cnp_ignored": 0}
	run(t, []row{
		{"paused, no marks", port(paused, counts), "expect: fail roce_ecn_silent eth0\nsays: the switch does not mark\nsays: rx_prio3_pause_duration"},
		{"paused, with marks", port(paused, counts.and(stats{"np_ecn_marked_roce_packets": 90})), "expect: ok roce_ecn_silent eth0" + silent},
		{"paused, with CNPs handled", port(paused, counts.and(stats{"rp_cnp_handled": 1})), "expect: ok roce_ecn_silent eth0" + silent},
		{"neither", port(nil, counts), "expect: ok roce_ecn_silent eth0" + silent},
		{"letting go only", port(stats{"rx_prio3_pause": 90_000}, counts), "expect: ok roce_ecn_silent eth0" + silent},
		{"sent pause", port(stats{"tx_prio3_pause": 5000, "rx_prio3_pause_duration": 0, "tx_prio3_pause_duration": 300_000}, counts), "expect: fail roce_ecn_silent eth0"},
		{"lost, no marks", port(nil, counts.and(stats{"local_ack_timeout_err": 4000, "rx_write_requests": 1})), "expect: fail roce_ecn_silent eth0\nsays: loss"},
		{"no counters of marks", port(paused, stats{"rx_write_requests": 9}), "expect: unknown roce_ecn_silent eth0\nsays: neither marks nor CNPs" + silent},
		{"idle in one interval", func(tb testing.TB) *rig {
			r := port(paused, counts)(tb)
			r.play("eth0", func(i int) stats {
				s := stats{"rx_prio3_pause": 5 + 100*i, "rx_prio3_pause_duration": 5 + 300_000*i}
				for name, n := range busy() {
					s[name] = n * min(i, 4)
				}
				return s
			})
			return r
		}, "expect: unknown roce_ecn_silent eth0\nsays: not under load" + silent},
		{"paused in half of the window", func(tb testing.TB) *rig {
			r := port(paused, counts)(tb)
			r.play("eth0", func(i int) stats {
				s := stats{"rx_prio3_pause": 5 + 100*i, "rx_prio3_pause_duration": 5 + 300_000*min(i, 3)}
				for name, n := range busy() {
					s[name] = n * i
				}
				return s
			})
			return r
		}, "expect: ok roce_ecn_silent eth0" + silent},
		{"packets without bytes", func(tb testing.TB) *rig {
			return newRig(tb, "hns3", 1).lossless("3").grow("eth0", stats{"mac_rx_pfc_pri3_pkt_num": 5}, stats{"mac_rx_pfc_pri3_pkt_num": 5000}).
				rdma("eth0", stats{"rx_pkt": 24_000_000, "tx_pkt": 24_000_000, "rx_cnp_pkt": 0, "tx_cnp_pkt": 0})
		}, "expect: fail roce_ecn_silent eth0"},
		{"few packets without bytes", func(tb testing.TB) *rig {
			return newRig(tb, "hns3", 1).lossless("3").grow("eth0", stats{"mac_rx_pfc_pri3_pkt_num": 5}, stats{"mac_rx_pfc_pri3_pkt_num": 5000}).
				rdma("eth0", stats{"rx_pkt": 24_000, "tx_pkt": 24_000, "rx_cnp_pkt": 0, "tx_cnp_pkt": 0})
		}, "expect: unknown roce_ecn_silent eth0" + silent},
		{"the rate is the RDMA port's where the interface tells none", func(tb testing.TB) *rig {
			r := port(paused, counts)(tb)
			r.Dev("0000:11:00.0").Drop("net/eth0/speed")
			return r
		}, "expect: fail roce_ecn_silent eth0"},
		{"nobody tells a rate", func(tb testing.TB) *rig {
			r := port(paused, counts)(tb)
			r.Dev("0000:11:00.0").Drop("net/eth0/speed", "infiniband/mlx5_0/ports/1/rate")
			return r
		}, "expect: unknown roce_ecn_silent eth0\nsays: rate" + silent},
		{"idle at first, minutes ago", func(tb testing.TB) *rig {
			r := port(busy().zero(), counts)(tb)
			for i, mark := range []string{"15m", "15m10s", "15m20s"} {
				s := busy().and(stats{"rx_prio3_pause": 5000, "rx_prio3_pause_duration": 300_000})
				for name := range s {
					s[name] *= i + 10
				}
				r.At(mark).Set("ethtool/eth0/stats", text(s))
			}
			return r
		}, "expect: fail roce_ecn_silent eth0\nsays: in 20s"},
		{"a picture", func(tb testing.TB) *rig {
			r := port(paused, counts)(tb)
			r.First()
			return r
		}, "expect: unknown roce_ecn_silent eth0" + silent},
		{"a port without RDMA", func(tb testing.TB) *rig {
			r := port(paused, counts)(tb)
			r.Drop("sys/class/infiniband/mlx5_0")
			return r
		}, "never: ok|info|unknown|warn|fail roce_ecn_silent *"},
	})
}

func TestDCQCN(t *testing.T) {
	// ofed has NVIDIA's files, both points on for all priorities.
	ofed := func(n int) func(testing.TB) *rig {
		return func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", n).lossless("3")
			for i := range n {
				d := r.Dev(fmt.Sprintf("0000:%x1:00.0", i+1))
				ecn := fmt.Sprintf("net/eth%d/ecn/", i)
				d.Set(ecn+"roce_np/cnp_dscp", "48").Set(ecn+"roce_rp/rpg_ai_rate", "5").Set(ecn+"roce_rp/dce_tcp_g", "1019")
				for p := range 8 {
					d.Set(fmt.Sprintf("%sroce_np/enable/%d", ecn, p), "1").Set(fmt.Sprintf("%sroce_rp/enable/%d", ecn, p), "1")
				}
			}
			return r
		}
	}
	changed := func(n int, file, content string) func(testing.TB) *rig {
		return func(tb testing.TB) *rig {
			r := ofed(n)(tb)
			r.Dev("0000:11:00.0").Set("net/eth0/ecn/"+file, content)
			return r
		}
	}
	silent := "\nnever: warn|fail roce_dcqcn *"
	debug := "sys/kernel/debug/mlx5/0000:11:00.0/cc_params/"
	run(t, []row{
		{"on", ofed(1), "expect: ok roce_dcqcn mlx5_0" + silent},
		{"reaction point off", changed(1, "roce_rp/enable/3", "0"), "expect: warn roce_dcqcn eth0\nsays: reaction point is off on priority 3"},
		{"notification point off", changed(1, "roce_np/enable/3", "0"), "expect: warn roce_dcqcn eth0\nsays: notification point"},
		{"off on a lossy priority", changed(1, "roce_np/enable/0", "0"), "expect: ok roce_dcqcn eth0" + silent},
		{"switches alone", func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", 1).lossless("3")
			r.Dev("0000:11:00.0").Set("net/eth0/ecn/roce_np/enable/3", "0").Set("net/eth0/ecn/roce_rp/enable/3", "1")
			return r
		}, "expect: warn roce_dcqcn eth0\nsays: notification point is off on priority 3"},
		{"a folder with nothing in it", func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", 1).lossless("3")
			r.Dev("0000:11:00.0").Set("net/eth0/ecn/roce_np/other", "0")
			return r
		}, "expect: unknown roce_dcqcn eth0" + silent},
		{"reads empty", changed(1, "roce_np/enable/3", ""), "expect: unknown roce_dcqcn eth0\nsays: reads empty" + silent},
		{"sisters differ", changed(4, "roce_rp/rpg_ai_rate", "50"), "expect: info roce_dcqcn eth0\nsays: rpg_ai_rate\nexpect: ok roce_dcqcn eth1" + silent},
		{"the kernel's own", func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", 1).lossless("3")
			r.Set(debug+"rp_ai_rate", "5").Set(debug+"np_cnp_dscp", "48")
			return r
		}, "expect: unknown roce_dcqcn eth0\nsays: do not tell" + silent},
		{"locked down", func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", 1).lossless("3")
			r.Set(debug+"rp_ai_rate.err", "EPERM")
			return r
		}, "expect: unknown roce_dcqcn eth0" + silent},
		{"bnxt, off", func(tb testing.TB) *rig {
			r := newRig(tb, "bnxt_en", 1).lossless("3")
			r.Set("sys/kernel/debug/bnxt_re/0000:11:00.0/cc_config/enable_cc", "0").Set("sys/kernel/debug/bnxt_re/0000:11:00.0/cc_config/cc_mode", "1")
			return r
		}, "expect: warn roce_dcqcn eth0\nsays: off altogether"},
		{"bnxt, its switch alone", func(tb testing.TB) *rig {
			r := newRig(tb, "bnxt_en", 1).lossless("3")
			r.Set("sys/kernel/debug/bnxt_re/0000:11:00.0/cc_config/enable_cc", "0")
			return r
		}, "expect: warn roce_dcqcn eth0\nsays: off altogether"},
		{"bnxt, on", func(tb testing.TB) *rig {
			r := newRig(tb, "bnxt_en", 1).lossless("3")
			r.Set("sys/kernel/debug/bnxt_re/0000:11:00.0/cc_config/enable_cc", "1").Set("sys/kernel/debug/bnxt_re/0000:11:00.0/cc_config/cc_mode", "1")
			return r
		}, "expect: ok roce_dcqcn eth0" + silent},
		{"irdma, off", func(tb testing.TB) *rig {
			r := newRig(tb, "ice", 1).lossless("3")
			r.Set("sys/module/irdma/parameters/dcqcn_enable", "N").Set("sys/module/irdma/parameters/dcqcn_T", "55")
			return r
		}, "expect: warn roce_dcqcn irdma0"},
		{"the kernel's irdma has none", func(tb testing.TB) *rig { return newRig(tb, "ice", 1).lossless("3") }, "never: ok|info|unknown|warn|fail roce_dcqcn *"},
		{"nothing there", func(tb testing.TB) *rig { return newRig(tb, "mlx5_core", 1).lossless("3") }, "expect: unknown roce_dcqcn eth0" + silent},
	})
}
