// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"github.com/prometheus/client_golang/prometheus"
)

// twoAMD has two MI300X that XGMI joins, below one switch.
func twoAMD(tb testing.TB) *hosttest.Host {
	h := hosttest.New(tb)
	h.Port("0000:15:01.0", "", "32x16")
	h.Switch("0000:16:00.0", "0000:15:01.0", "32x16", "0000:17:00.0", "0000:17:01.0")
	for i, address := range []string{"0000:18:00.0", "0000:19:00.0"} {
		h.Add(address, fmt.Sprintf("0000:17:0%d.0", i), "120000", "1002:74a1", "32x16").Driver("amdgpu").
			Set("gpu_busy_percent", "0").Set("mem_info_vram_total", "206141652992").Set("mem_info_vis_vram_total", "206141652992").
			Set("pcie_replay_count", "0").Set("xgmi_hive_info/xgmi_hive_id", "77").
			Set("pp_dpm_pcie", "0: 2.5GT/s, x16 250Mhz\n1: 32.0GT/s, x16 250Mhz *")
	}
	return h
}

// What AMD's driver tells makes the checks of links know the load.
func TestAMD(t *testing.T) {
	slow := func(h *hosttest.Host) *hosttest.Dev {
		return h.Dev("0000:18:00.0").Now("2.5x16").Set("pp_dpm_pcie", "0: 2.5GT/s, x16 250Mhz *\n1: 32.0GT/s, x16 250Mhz")
	}
	busy := func(h *hosttest.Host) {
		h.Dev("0000:18:00.0").Set("gpu_busy_percent", "97")
		h.At("20s").Set("proc/uptime", "20")
	}
	for name, test := range map[string]struct {
		change func(*hosttest.Host)
		expect string
	}{
		"idle":          {func(h *hosttest.Host) { slow(h) }, "expect: info pcie_speed 0000:18:00.0\nsays: idle"},
		"busy":          {func(h *hosttest.Host) { slow(h); busy(h) }, "expect: fail pcie_speed 0000:18:00.0"},
		"suspended":     {func(h *hosttest.Host) { slow(h).Set("power/runtime_status", "suspended") }, "expect: unknown gpu_bar1 0000:18:00.0\nsays: suspended"},
		"not told":      {func(h *hosttest.Host) { slow(h).Drop("gpu_busy_percent") }, "expect: info pcie_speed *\nsays: load unknown"},
		"driver's name": {func(h *hosttest.Host) { h.Dev("0000:18:00.0").Driver("vfio-pci") }, "expect: unknown pcie_replays *\nsays: vfio-pci"},
		"small window":  {func(h *hosttest.Host) { h.Dev("0000:18:00.0").Set("mem_info_vis_vram_total", "268435456") }, "expect: info gpu_bar1 0000:18:00.0"},
		"replays": {func(h *hosttest.Host) { h.At("60s").Dev("0000:18:00.0").Set("pcie_replay_count", "600") },
			"expect: warn pcie_replays 0000:18:00.0\nexpect: ok pcie_replays 0000:19:00.0"},
		"XGMI": {func(h *hosttest.Host) { h.Dev("0000:17:00.0").Space(hosttest.Space{Type: 6, ACS: 4}) }, "expect: info pcie_acs 0000:18:00.0\nsays: XGMI"},
		"no XGMI": {func(h *hosttest.Host) {
			h.Dev("0000:17:00.0").Space(hosttest.Space{Type: 6, ACS: 4})
			h.Dev("0000:18:00.0").Drop("xgmi_hive_info")
		}, "expect: warn pcie_acs 0000:18:00.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := twoAMD(t)
			test.change(h)
			h.Expect(test.expect + "\nnever: ok|unknown nvlink *\nonly: yes")
		})
	}
}

// exposed gives the values of a family by address.
func exposed(t *testing.T, h *hosttest.Host, family string) map[string]float64 {
	t.Helper()
	e, err := hosttest.Play(h.Text())
	if err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewPedanticRegistry()
	if err := e.Register(r); err != nil {
		t.Fatal(err)
	}
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range all {
		if f.GetName() != collectors.Prefix+family {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "address" {
					values[l.GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
	}
	return values
}

// The time on a slow link counts while the GPU is busy: from 10 % on, until it
// falls below 5 %.
func TestSlowBusy(t *testing.T) {
	const step = 10 * time.Second
	for _, test := range []struct {
		percents string
		slow     string // for each: s slow, f fast
		want     float64
	}{
		{"0 0 0", "sss", 0},
		{"97 97 97", "sss", 20},
		{"97 97 97", "fff", 0},
		{"97 97 97", "fss", 10},
		{"9 9 9", "sss", 0},
		{"10 6 5", "sss", 20},
		{"10 4 10 10", "ssss", 10},
	} {
		h := twoAMD(t)
		for i, percent := range strings.Fields(test.percents) {
			d := h.Dev("0000:18:00.0")
			if i > 0 {
				d = h.At((time.Duration(i) * step).String()).Dev("0000:18:00.0")
			}
			level := "0: 2.5GT/s, x16 250Mhz *\n1: 32.0GT/s, x16 250Mhz"
			if test.slow[i] == 'f' {
				level = "0: 2.5GT/s, x16 250Mhz\n1: 32.0GT/s, x16 250Mhz *"
			}
			d.Set("gpu_busy_percent", percent).Set("pp_dpm_pcie", level)
		}
		if got := exposed(t, h, "pcie_link_below_max_busy_seconds_total"); got["0000:18:00.0"] != test.want || len(got) != 2 {
			t.Errorf("%s %s: %v, want %v", test.percents, test.slow, got, test.want)
		}
	}
	untold := twoAMD(t)
	untold.Dev("0000:18:00.0").Drop("gpu_busy_percent")
	if got := exposed(t, untold, "pcie_link_below_max_busy_seconds_total"); len(got) != 1 {
		t.Errorf("without a load: %v", got)
	}
}
