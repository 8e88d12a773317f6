// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

// states makes a film of a link: its state at each step.
func states(d *hosttest.Dev, step time.Duration, links ...string) {
	for i, l := range links {
		if m := mark(step, i); m == "" {
			d.Now(l)
		} else {
			d.At(m).Now(l)
		}
	}
}

// repeat gives n values that go round.
func repeat[T any](n int, values ...T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = values[i%len(values)]
	}
	return list
}

func TestFlaps(t *testing.T) {
	// flap plays a GPU whose link has these states, ten seconds each, while it
	// is so busy.
	flap := func(percents []int, links ...string) func(*host) {
		return func(h *host) {
			loads(h, gpu, step, percents...)
			states(h.Dev(gpu), step, links...)
		}
	}
	busy, idle := repeat(7, 97), repeat(7, 0)
	const ok, warn = "expect: ok pcie_flaps 0000:16:00.0\nonly: yes", "expect: warn pcie_flaps 0000:16:00.0\nonly: yes"
	run(t, oneGPU, []row{
		{"steady", flap(busy, "32x16"), ok},
		{"picture", func(h *host) { h.NVML(hosttest.Busy(gpu, 97)) }, "expect: unknown pcie_flaps 0000:16:00.0\nonly: yes"},
		{"speed", flap(busy, "32x16", "8x16", "32x16", "8x16", "32x16"), "expect: warn pcie_flaps 0000:16:00.0\nsays: 4 times in 1m0s\nonly: yes"},
		{"width", flap(busy, "32x16", "32x8", "32x16", "32x8", "32x16"), warn},
		{"both at once are one change", flap(busy, "32x16", "8x8", "32x16"), ok},
		{"three changes", flap(busy, "32x16", "16x16", "8x16", "32x16"), warn},
		{"two changes", flap(busy, "32x16", "8x16", "32x16"), ok},
		{"idle", flap(idle, "32x16", "8x16", "32x16", "2.5x16", "32x16", "2.5x16", "32x16"), ok},
		{"just not busy", flap(repeat(7, 9), "32x16", "8x16", "32x16", "2.5x16", "32x16", "2.5x16", "32x16"), ok},
		{"busy at the limit", flap(repeat(7, 10), "32x16", "8x16", "32x16", "8x16", "32x16"), warn},
		{"work comes and goes", flap(repeat(7, 0, 97), "2.5x16", "32x16", "2.5x16", "32x16", "2.5x16", "32x16", "2.5x16"),
			"expect: ok pcie_flaps *\nexpect: info pcie_speed *\nonly: yes"},
		{"load not told", flap(repeat(7, -1), "32x16", "8x16", "32x16", "2.5x16", "32x16"), "expect: unknown pcie_flaps *\nsays: load unknown\nonly: yes"},
		{"no source", func(h *host) { states(h.Dev(gpu), step, "32x16", "8x16", "32x16", "2.5x16", "32x16") }, "expect: unknown pcie_flaps *\nonly: yes"},
		{"no source, no change", func(h *host) { every(h, "10s") }, ok + "\nexpect: ok pcie_flaps *\nsays: 0 changes of speed or width in 10s"},
		{"a hole is no change", func(h *host) {
			loads(h, gpu, step, busy...)
			for _, m := range []string{"10s", "30s", "50s"} {
				h.Dev(gpu).At(m).Set("current_link_speed", "Unknown")
			}
			states(h.Dev(gpu), 20*time.Second, "32x16", "32x16", "32x16", "32x16")
		}, ok},
		{"a constant low speed", func(h *host) { loads(h, gpu, step, busy...); h.Dev(gpu).Now("8x16") },
			"expect: ok pcie_flaps *\nexpect: fail pcie_speed *\nonly: yes"},
		{"in ten minutes", func(h *host) {
			loads(h, gpu, time.Minute, repeat(11, 97)...)
			states(h.Dev(gpu), time.Minute, repeat(11, "32x16", "8x16")...)
		}, ok},
		{"in ten minutes, one more", func(h *host) {
			loads(h, gpu, 50*time.Second, repeat(13, 97)...)
			states(h.Dev(gpu), 50*time.Second, repeat(13, "32x16", "8x16")...)
		}, warn},
		{"three in an hour", func(h *host) {
			loads(h, gpu, 20*time.Minute, repeat(4, 97)...)
			states(h.Dev(gpu), 20*time.Minute, "8x16", "32x16", "8x16", "32x16")
		}, ok},
		{"number of the operator", func(h *host) {
			flap(busy, "32x16", "8x16", "32x16", "8x16", "32x16")(h)
			h.Set("fabricd.yaml", "thresholds: {pcie_flaps: {changes: 40}}")
		}, ok},
		{"least of the operator", func(h *host) {
			flap(busy, "32x16", "8x16", "32x16", "8x16", "32x16")(h)
			h.Set("fabricd.yaml", "thresholds: {pcie_flaps: {least: 5}}")
		}, ok},
		{"load of the operator", func(h *host) {
			flap(repeat(7, 60), "32x16", "8x16", "32x16", "8x16", "32x16")(h)
			h.Set("fabricd.yaml", "thresholds: {pcie_flaps: {busy_percent: 61}}")
		}, ok},
		{"suspended in between", func(h *host) {
			loads(h, gpu, step, idle...)
			h.Dev(gpu).At("10s").Set("power/runtime_status", "suspended")
			h.Dev(gpu).At("20s").Set("power/runtime_status", "active")
		}, ok},
	})
	run(t, oneNIC, []row{
		{"NIC", func(h *host) { states(h.Dev(nic), step, "32x16", "8x16", "32x16", "8x16", "32x16") },
			"never: ok|info|warn|fail|unknown pcie_flaps *\nonly: yes"},
	})
	run(t, oneSwitch, []row{
		{"above the switch", func(h *host) {
			loads(h, "0000:18:00.0", step, busy...)
			states(h.Dev("0000:16:00.0"), step, "32x16", "8x16", "32x16", "8x16", "32x16")
		}, "expect: warn pcie_flaps 0000:15:01.0\nexpect: ok pcie_flaps 0000:17:00.0\nonly: yes"},
	})
	run(t, recorded("005b-idle-gpus-change-gear-all-the-time"), []row{
		{"while busy", func(h *host) { h.Replace(`"utilization_gpu":0,`, `"utilization_gpu":97,`) }, "expect: warn pcie_flaps 0000:63:00.0\nexpect: warn pcie_flaps 0000:e3:00.0\nnever: warn|fail pcie_width *"},
	})
	run(t, recorded("212-flaps-width-of-a-busy-card"), []row{
		{"while idle", func(h *host) { h.Replace(`"utilization_gpu":9`, `"utilization_gpu":`) }, "never: warn|fail pcie_flaps *\nonly: yes"},
	})
	run(t, recorded("213-flaps-one-retraining-only"), []row{
		{"three times", func(h *host) {
			for i, m := range []string{"40s", "45s", "50s", "55s"} {
				h.Dev("0000:22:00.0").At(m).Now(repeat(4, "8x16", "32x16")[i])
			}
		}, "expect: warn pcie_flaps 0000:22:00.0\nonly: yes"},
	})
}
