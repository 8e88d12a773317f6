// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

const step = 10 * time.Second

func TestSpeed(t *testing.T) {
	run(t, oneNIC, []row{
		{"full", nil, "expect: ok pcie_speed 0000:16:00.0\nonly: yes"},
		{"slow", func(h *host) { h.Dev(nic).Now("8x16").RDMA("mlx5_0", 100, guid) },
			"expect: fail pcie_speed 0000:16:00.0\nsays: 8 GT/s of 32 GT/s\nsays: 0000:15:01.0\nexpect: fail pcie_speed mlx5_0\nonly: yes"},
		{"old spelling", func(h *host) {
			h.Dev(nic).RDMA("mlx5_0", 100, guid).Set("current_link_speed", "8 GT/s").Set("max_link_speed", "16 GT/s")
			h.Dev(port).Set("max_link_speed", "16 GT/s")
		}, "expect: fail pcie_speed 0000:16:00.0\nsays: 8 GT/s of 16 GT/s\nonly: yes"},
		{"slow slot", func(h *host) { h.Dev(port).PCIe("16x16"); h.Dev(nic).PCIe("16x16 of 32x16") },
			"expect: ok pcie_speed 0000:16:00.0\nexpect: info pcie_slot 0000:16:00.0\nonly: yes"},
		{"slow card", func(h *host) { h.Dev(nic).PCIe("16x16") }, "expect: ok pcie_speed *\nexpect: ok pcie_slot *\nonly: yes"},
		{"idle NICs do not slow down", func(h *host) { h.Dev(nic).Now("2.5x16").RDMA("mlx5_0", 0, guid) }, "expect: fail pcie_speed *\nonly: yes"},
		{"capped at the port", func(h *host) {
			h.Dev(nic).Now("8x16").RDMA("mlx5_0", 100, guid)
			h.Dev(port).Space(hosttest.Space{Type: 4, Target: 3, ACS: -1})
		}, "expect: fail pcie_speed *\nsays: deliberately capped\nsays: 0000:15:01.0 is 8 GT/s\nonly: yes"},
		{"the cap is below the state", func(h *host) {
			h.Dev(nic).Now("8x16").RDMA("mlx5_0", 100, guid)
			h.Dev(port).Space(hosttest.Space{Type: 4, Target: 1, ACS: -1})
		}, "expect: fail pcie_speed *\nonly: yes"},
		{"the width cannot be read", func(h *host) { h.Dev(nic).Now("8x16").Fail("current_link_width", "EIO") },
			"expect: fail pcie_speed *\nexpect: unknown pcie_width *\nexpect: unknown pcie_budget *\nonly: yes"},
		{"a link that is down", func(h *host) { h.Dev(nic).Now("2.5x0") }, "expect: unknown pcie_speed *\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4")
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "16x4 of 32x4")
		}, "expect: info pcie_speed 0000:21:00.0\nonly: yes"},
		{"suspended", func(h *host) { h.Dev(nic).Now("2.5x16").Set("power/runtime_status", "suspended") },
			"expect: unknown pcie_speed *\nsays: suspended\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); h.Dev(nic).Now("8x16") }, "expect: unknown pcie_speed *\nsays: virtual machine\nonly: yes"},
		{"excluded port", func(h *host) {
			h.Dev(nic).Now("8x16")
			h.Set("fabricd.yaml", `devices: {exclude: ["0000:15:*"]}`)
		}, "expect: unknown pcie_speed *\nsays: not visible\nonly: yes"},
		{"virtual function", func(h *host) { h.NIC("0000:16:00.1", port, "2.5x0 of 32x16").VirtualOf(nic) },
			"never: ok|info|warn|fail|unknown pcie_speed 0000:16:00.1\nonly: yes"},
	})
	run(t, oneSwitch, []row{
		{"above a GPU and a NIC", func(h *host) { h.Dev("0000:16:00.0").Now("8x16"); h.Dev("0000:19:00.0").RDMA("mlx5_0", 100, guid) },
			"expect: fail pcie_speed 0000:16:00.0\nnever: fail pcie_speed 0000:18:00.0\nonly: yes"},
		{"NVSwitch", func(h *host) {
			h.Port("0000:17:02.0", "0000:16:00.0", "16x4")
			h.Add("0000:1a:00.0", "0000:17:02.0", "068000", "10de:22a3", "2.5x4 of 16x4")
		}, "expect: fail pcie_speed 0000:1a:00.0\nonly: yes"},
	})
}

func TestSpeedAttributes(t *testing.T) {
	for _, test := range []struct{ name, file, content, expect string }{
		{"unknown", "current_link_speed", "Unknown", "unknown"},
		{"unknown speed", "current_link_speed", "Unknown speed", "unknown"},
		{"empty", "current_link_speed", "", "unknown"},
		{"conventional PCI", "current_link_speed", "33 MHz PCI", "unknown"},
		{"negative", "current_link_speed", "-1", "unknown"},
		{"long", "current_link_speed", strings.Repeat("9", 5000), "unknown"},
		{"much after it", "current_link_speed", "32.0 GT/s PCIe" + strings.Repeat(" x", 5000), "ok"},
		{"error", "current_link_speed.err", "EIO", "unknown"},
		{"permission", "current_link_speed.err", "EPERM", "unknown"},
		{"device: unknown", "max_link_speed", "Unknown", "unknown"},
		{"device: error", "max_link_speed.err", "EIO", "unknown"},
		{"port: unknown", "../max_link_speed", "Unknown", "unknown"},
		{"port: empty", "../max_link_speed", "", "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := oneNIC(t)
			if strings.Contains(test.file, "max") {
				h.Dev(nic).Now("16x16")
			}
			h.Dev(nic).Set(test.file, test.content)
			h.Expect("expect: " + test.expect + " pcie_speed 0000:16:00.0\nexpect: ok|unknown pcie_width 0000:16:00.0\nonly: yes")
		})
	}
}

func TestSpeedOfGPUs(t *testing.T) {
	slow := func(tb testing.TB) *host {
		h := oneGPU(tb)
		h.Dev(gpu).Now("2.5x16")
		return h
	}
	film := func(step time.Duration, percents ...int) func(*host) {
		return func(h *host) { loads(h, gpu, step, percents...) }
	}
	const fail, info, unknown = "expect: fail pcie_speed *\nsays: busy\nonly: yes", "expect: info pcie_speed *\nsays: idle\nonly: yes", "expect: unknown pcie_speed *\nonly: yes"
	const noLoad = "expect: info pcie_speed *\nsays: load unknown\nonly: yes"
	run(t, slow, []row{
		{"no source", nil, noLoad},
		{"no source, film", func(h *host) { every(h, "10s", "20s") }, noLoad},
		{"utilisation not told", film(step, -1, -1), noLoad},
		{"another GPU's load", func(h *host) { loads(h, "0000:17:00.0", step, 99, 99) }, noLoad},
		{"idle picture", film(step, 0), info},
		{"busy picture", film(step, 97), unknown},
		{"busy", film(step, 97, 96, 97), fail},
		{"busy at the limit", film(step, 10, 10), fail},
		{"just not busy", film(step, 10, 9), info},
		{"just not busy at first", film(step, 9, 10), "expect: info|unknown pcie_speed *\nonly: yes"},
		{"window too short", film(5*time.Second, 97, 97), unknown},
		{"window long enough", film(5*time.Second, 97, 97, 97), fail},
		{"window a little too short", film(9999*time.Millisecond, 97, 97), unknown},
		{"busy at times", film(step, 97, 0, 97, 0, 97), info},
		{"the work ended", film(step, 97, 97, 97, 0), info},
		{"the work began just now", film(5*time.Second, 0, 0, 0, 97, 97), "expect: info|unknown pcie_speed *\nonly: yes"},
		{"the work began a while ago", film(step, 0, 97, 97, 97), fail},
		{"the source went", film(step, 97, 97, -1), noLoad},
		{"limits of the operator", func(h *host) {
			loads(h, gpu, 20*time.Second, 60, 60)
			h.Set("fabricd.yaml", "thresholds: {pcie_speed: {busy_percent: 70}}")
		}, info},
		{"time of the operator", func(h *host) {
			loads(h, gpu, 20*time.Second, 60, 60)
			h.Set("fabricd.yaml", "thresholds: {pcie_speed: {busy_for: 21s}}")
		}, unknown},
		{"guest, idle", func(h *host) { h.Guest(); loads(h, gpu, step, 0, 0) }, info},
		{"guest, busy", func(h *host) { h.Guest(); loads(h, gpu, step, 97, 97) }, "expect: unknown pcie_speed *\nsays: virtual machine\nonly: yes"},
		{"guest, load not told", func(h *host) { h.Guest() }, unknown},
		{"woken up", func(h *host) { loads(h, gpu, step, 0, 97, 97); h.Dev(gpu).At("10s").Now("32x16") }, "expect: ok pcie_speed *\nonly: yes"},
		{"slow in between only", func(h *host) {
			loads(h, gpu, step, 97, 97, 97, 97)
			h.Dev(gpu).Now("32x16").At("10s").Now("8x16").At("20s").Now("32x16")
		}, "expect: ok pcie_speed *\nonly: yes"},
		{"slow from some moment on", func(h *host) {
			loads(h, gpu, step, 97, 97, 97, 97)
			h.Dev(gpu).Now("32x16").At("20s").Now("8x16")
		}, fail},
	})
}

// A link above several GPUs has to be fast while any of them is busy.
func TestSpeedAboveGPUs(t *testing.T) {
	two := func(tb testing.TB) *host {
		h := hosttest.New(tb)
		h.Port("0000:15:01.0", "", "32x16")
		h.Switch("0000:16:00.0", "0000:15:01.0", "32x16", "0000:17:00.0", "0000:17:01.0")
		h.GPU("0000:18:00.0", "0000:17:00.0", "32x16")
		h.GPU("0000:19:00.0", "0000:17:01.0", "32x16")
		h.Dev("0000:16:00.0").Now("2.5x16")
		return h
	}
	both := func(h *host, a, b int) {
		h.NVML(hosttest.Busy("0000:18:00.0", a), hosttest.Busy("0000:19:00.0", b))
		every(h, "10s", "20s")
	}
	run(t, two, []row{
		{"both idle", func(h *host) { both(h, 0, 9) }, "expect: info pcie_speed 0000:16:00.0\nsays: idle\nonly: yes"},
		{"one busy", func(h *host) { both(h, 0, 90) }, "expect: fail pcie_speed 0000:16:00.0\nexpect: ok pcie_speed 0000:18:00.0\nonly: yes"},
		{"one not told", func(h *host) { h.NVML(hosttest.Busy("0000:18:00.0", 0)); every(h, "20s") },
			"expect: info pcie_speed 0000:16:00.0\nsays: load unknown\nonly: yes"},
		{"one not told, the other busy", func(h *host) { h.NVML(hosttest.Busy("0000:18:00.0", 90)); every(h, "20s") },
			"expect: fail pcie_speed 0000:16:00.0\nonly: yes"},
	})
}

func TestSpeedSiblings(t *testing.T) {
	run(t, recorded("003a-rtx50-wakes-to-gen5"), []row{
		{"stuck at Gen1 under load", func(h *host) { h.At("20s").Dev("0000:41:00.0").Now("2.5x16") },
			"expect: fail pcie_speed 0000:41:00.0\nsays: 2.5 GT/s\nsays: 32 GT/s\nnever: warn|fail pcie_flaps *\nonly: yes"},
	})
	run(t, recorded("020a-one-hdr-nic-at-half-rate"), []row{
		{"healthy", func(h *host) { h.Dev("0000:8d:00.0").Set("current_link_speed", "16.0 GT/s PCIe") },
			"expect: ok pcie_speed 0000:8d:00.0\nexpect: ok pcie_budget 0000:8d:00.0\nonly: yes"},
	})
	run(t, recorded("001-hwloc-idle-half-rate"), []row{
		{"busy", func(h *host) { h.Replace(`"utilization_gpu":0`, `"utilization_gpu":55`) }, "expect: unknown|fail pcie_speed 0000:52:00.0\nnever: warn|fail pcie_peer *"},
		{"NVML absent", func(h *host) { h.Drop("gpu.json") }, "expect: info|ok pcie_speed 0000:52:00.0\nsays: unknown\nonly: yes"},
	})
	run(t, recorded("073-max-speed-unknown"), []row{
		{"width back", func(h *host) { h.Dev("0000:41:00.0").Set("current_link_width", "16") }, "only: yes"},
	})
}
