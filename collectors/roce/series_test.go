// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

// exposition plays a machine and gives the lines that hold a text.
func exposition(t *testing.T, r *rig, text string) []string {
	t.Helper()
	e, err := hosttest.Play(r.Text())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(e.AppendText(nil, collectors.Exposition{}))) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, text) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

// exports fails the test unless a machine exports just these lines of those
// that hold a text.
func exports(t *testing.T, r *rig, text string, want ...string) {
	t.Helper()
	got := exposition(t, r, text)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A node of ten ports with all that an mlx5 card counts and has set, its RDMA
// counters, GPUs' worth of DSCPs and congestion control stays below 4,000 series.
func TestSeries(t *testing.T) {
	r := newRig(t, "mlx5_core", 10)
	var apps []string
	for dscp := range 64 {
		apps = append(apps, fmt.Sprintf(`{"selector": "dscp", "protocol": %d, "priority": %d}`, dscp, dscp/8))
	}
	for i, p := range r.ports {
		r.dcb(p, `{"dcbx": ["host"], "pfc": {"cap": 8, "enabled": [3]}, "ets": {"cap": 8, "tc_algorithm": ["ets","ets","ets","ets","ets","ets","ets","ets"], "tc_bandwidth": [12,12,12,16,12,12,12,12], "priority_tc": [0,1,2,3,4,5,6,7]},
			"app": [`+strings.Join(apps, ",")+`], "buffer": {"priority_buffer": [0,0,0,1,0,0,0,0], "size_bytes": [262016,262016,0,0,0,0,0,0], "total_bytes": 524032}}`)
		by := busy().and(stats{"rx_prio3_pause": 1, "tx_prio3_pause": 1, "rx_prio3_pause_duration": 1, "tx_prio3_pause_duration": 1, "rx_prio3_pause_transition": 1,
			"rx_pause_ctrl_phy": 1, "tx_pause_ctrl_phy": 1, "tx_pause_storm_warning_events": 1, "tx_pause_storm_error_events": 1, "tx_discards_phy": 1, "rx_prio3_discards": 1,
			"outbound_pci_stalled_rd": 1, "outbound_pci_stalled_wr": 1, "outbound_pci_stalled_rd_events": 1, "outbound_pci_stalled_wr_events": 1, "rx_buffer_passed_thres_phy": 1})
		for n := range 8 {
			by = by.and(stats{fmt.Sprintf("rx_prio%d_bytes", n): 9, fmt.Sprintf("rx_prio%d_packets", n): 9, fmt.Sprintf("tx_prio%d_bytes", n): 9, fmt.Sprintf("tx_prio%d_packets", n): 9})
		}
		r.grow(p, by, by)
		r.Set("ethtool/"+p+"/rings", "Pre-set maximums:\nRX: 8192\nTX: 8192\nCurrent hardware settings:\nRX: 1024\nTX: 1024").Set("ethtool/"+p+"/pause", "RX: off\nTX: off")
		d := r.Dev(fmt.Sprintf("0000:%x1:00.0", i+1))
		for _, name := range strings.Fields(`rpg_ai_rate rpg_byte_reset clamp_tgt_rate clamp_tgt_rate_after_time_inc dce_tcp_g dce_tcp_rtt rpg_gd rpg_hai_rate initial_alpha_value
			rpg_max_rate rpg_min_dec_fac rpg_min_rate rate_reduce_monitor_period rate_to_set_on_first_cnp rpg_threshold rpg_time_reset`) {
			d.Set("net/"+p+"/ecn/roce_rp/"+name, "1")
		}
		for n := range 8 {
			d.Set(fmt.Sprintf("net/%s/ecn/roce_rp/enable/%d", p, n), "1").Set(fmt.Sprintf("net/%s/ecn/roce_np/enable/%d", p, n), "1")
		}
		counters := stats{}
		for n := range 30 {
			counters[fmt.Sprintf("some_counter_%d", n)] = 1
		}
		r.rdma(p, counters)
	}
	if n := len(exposition(t, r, "")); n > 4000 || n < 2000 {
		t.Errorf("%d series", n)
	} else {
		t.Logf("%d series, %d of them of roce", n, len(exposition(t, r, "fabricd_roce_"))+len(exposition(t, r, "fabricd_nic_"))+len(exposition(t, r, "fabricd_dcqcn_")))
	}
}

func TestMetrics(t *testing.T) {
	pfc := one("mlx5_core", stats{"rx_prio3_pause": 40, "tx_prio3_pause": -1, "rx_prio3_pause_duration": 2_500_000, "rx_prio0_bytes": 7, "rx_prio1_bytes": 0, "outbound_pci_stalled_wr": 38}, nil)(t)
	exports(t, pfc, "fabricd_roce_pfc_frames_total", `fabricd_roce_pfc_frames_total{direction="rx",netdev="eth0",priority="3"} 40`) // all ones is absent
	exports(t, pfc, "fabricd_roce_pfc_pause_seconds_total", `fabricd_roce_pfc_pause_seconds_total{direction="rx",netdev="eth0",priority="3"} 2.5`)
	exports(t, pfc, "fabricd_roce_priority_bytes_total", `fabricd_roce_priority_bytes_total{direction="rx",netdev="eth0",priority="0"} 7`)
	exports(t, pfc, "fabricd_roce_pfc_enabled", `fabricd_roce_pfc_enabled{netdev="eth0",priority="0"} 0`, `fabricd_roce_pfc_enabled{netdev="eth0",priority="3"} 1`)
	exports(t, pfc, "fabricd_roce_dscp_priority", `fabricd_roce_dscp_priority{dscp="26",netdev="eth0"} 3`)
	exports(t, pfc, "fabricd_nic_pcie_stall_ratio", `fabricd_nic_pcie_stall_ratio{access="write",netdev="eth0"} 0.38`)
	exports(t, pfc, "fabricd_roce_counters_unmatched", `fabricd_roce_counters_unmatched{netdev="eth0"} 0`)
	pfc.Set("ethtool/eth0/pfc-prevention-tout", "pfc-prevention-tout: 8000")
	exports(t, pfc, "fabricd_roce_pause_prevention_seconds", `fabricd_roce_pause_prevention_seconds{netdev="eth0"} 8`)
	ofed := one("mlx5_core", stats{"rx_prio3_pause": 1}, nil)(t)
	exports(t, ofed, "fabricd_roce_pause_prevention_seconds")
	ofed.Dev("0000:11:00.0").Set("net/eth0/settings/pfc_stall_prevention", "auto").Set("net/eth0/qos/buffer_size", "Port buffer size = 9000\nBuffer\tSize\n1\t7000\t0\t\t0").
		Set("net/eth0/qos/prio2buffer", "Priority\tBuffer\n0\t\t0\n1\t\t0\n2\t\t0\n3\t\t1\n4\t\t0\n5\t\t0\n6\t\t0\n7\t\t0")
	exports(t, ofed, "fabricd_roce_pause_prevention_seconds", `fabricd_roce_pause_prevention_seconds{netdev="eth0"} 0.1`)
	exports(t, ofed, "fabricd_roce_buffer_", `fabricd_roce_buffer_bytes{buffer="1",netdev="eth0"} 7000`, `fabricd_roce_buffer_total_bytes{netdev="eth0"} 9000`)
	other := one("mlx5_core", stats{"rx_priority3_pause": 40, "rx_discards_phy": 1}, nil)(t)
	exports(t, other, "fabricd_roce_counters_unmatched", `fabricd_roce_counters_unmatched{netdev="eth0"} 1`)
	exports(t, one("nobody", stats{"x": 1}, nil)(t), "fabricd_roce_counters_unmatched")
	stale := newRig(t, "bnxt_en", 1).dcb("eth0", off).grow("eth0", stats{"rx_pfc_ena_frames_pri3": 4}, nil)
	exports(t, stale, "fabricd_roce_dcb_stale", `fabricd_roce_dcb_stale{netdev="eth0"} 1`)
	exports(t, stale, "fabricd_roce_pfc_enabled")
}

// An interface that goes, comes back, or comes back under another name is read
// for what it is; what was counted before says nothing of it.
func TestInterfacesChange(t *testing.T) {
	gone := func(r *rig, mark string) {
		r.At(mark).Remove("sys/class/net/eth0", r.Dev("0000:11:00.0").Dir+"/net/eth0", "ethtool/eth0", "dcb/eth0.json")
	}
	back := func(r *rig, mark, name string) {
		dir := r.Dev("0000:11:00.0").Dir + "/net/" + name
		h := r.At(mark).Link("sys/class/net/"+name, dir).Link(dir+"/device", r.Dev("0000:11:00.0").Dir)
		h.Set(dir+"/type", "1").Set(dir+"/mtu", "9000").Set(dir+"/carrier", "1").Set(dir+"/speed", "400000").Set("ethtool/"+name+"/driver", "driver: mlx5_core")
	}
	fresh := func(r *rig, mark, name string, n int) {
		r.At(mark).Set("ethtool/"+name+"/stats", text(stats{"rx_discards_phy": n}))
	}
	run(t, []row{
		{"comes back with counters from zero", func(tb testing.TB) *rig {
			r := one("mlx5_core", stats{"rx_discards_phy": 50}, nil)(tb)
			for _, mark := range marks()[3:] {
				r.Discard("at/" + mark)
			}
			gone(r, "25s")
			back(r, "35s", "eth0")
			fresh(r, "35s", "eth0", 0)
			fresh(r, "45s", "eth0", 0)
			return r
		}, "expect: ok nic_discards eth0\nnever: warn|fail nic_discards *\nnever: warn|fail pcie_lost *"},
		{"comes back and discards", func(tb testing.TB) *rig {
			r := one("mlx5_core", stats{"rx_discards_phy": 50}, nil)(tb)
			gone(r, "65s")
			back(r, "75s", "eth0")
			fresh(r, "75s", "eth0", 5)
			fresh(r, "85s", "eth0", 9)
			return r
		}, "expect: warn nic_discards eth0\nsays: +4"},
		{"is renamed", func(tb testing.TB) *rig {
			r := one("mlx5_core", stats{"rx_discards_phy": 50}, nil)(tb)
			gone(r, "65s")
			back(r, "65s", "eth7")
			fresh(r, "65s", "eth7", 500)
			fresh(r, "75s", "eth7", 500)
			return r
		}, "expect: ok nic_discards eth7\nnever: ok|warn|fail nic_discards eth0\nnever: warn|fail nic_discards *"},
		{"is a virtual function", func(tb testing.TB) *rig {
			r := one("mlx5_core", stats{"rx_discards_phy": 50}, stats{"rx_discards_phy": 50})(tb)
			r.NIC("0000:11:00.1", "0000:10:01.0", "32x16").Driver("mlx5_core")
			r.Dev("0000:11:00.0").VirtualOf("0000:11:00.1")
			return r
		}, "never: ok|unknown|warn|fail nic_discards *\nnever: ok|unknown|warn|fail roce_pfc *"},
		{"may not be asked", func(tb testing.TB) *rig {
			r := newRig(tb, "mlx5_core", 1).lossless("3")
			r.Set("manifest.json", `{"sources": {"ethtool": "refused: EPERM"}}`)
			return r
		}, "expect: unknown nic_discards eth0\nsays: EPERM\nexpect: unknown roce_global_pause eth0\nexpect: unknown roce_pause 3"},
	})
}
