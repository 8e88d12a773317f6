// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	gpus "github.com/fabricd/fabricd/probes/gpu"
)

func TestLost(t *testing.T) {
	run(t, oneNIC, []row{
		{"there", nil, "expect: ok pcie_lost 0000:16:00.0\nonly: yes"},
		{"width 63", func(h *host) { h.Dev(nic).Set("current_link_width", "63").Set("current_link_speed", "Unknown") },
			"expect: fail pcie_lost 0000:16:00.0\nsays: 63\nexpect: unknown pcie_width *\nexpect: unknown pcie_speed *\nonly: yes"},
		{"width 63 from some moment on", func(h *host) {
			h.At("10s").Dev(nic).Set("current_link_width", "63").Set("current_link_speed", "Unknown speed")
		},
			"expect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"width 63, read between", func(h *host) { h.Dev(nic).Set("current_link_width", "63") }, "expect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"and answers again", func(h *host) {
			h.At("10s").Dev(nic).Set("current_link_width", "63").Set("current_link_speed", "Unknown")
			h.At("20s").Dev(nic).Now("32x16")
		}, "expect: ok pcie_lost 0000:16:00.0\nonly: yes"},
		{"width 0 is not lost", func(h *host) { h.Dev(nic).Now("2.5x0") }, "expect: unknown pcie_lost 0000:16:00.0\nonly: yes"},
		{"width 255 is not lost", func(h *host) { h.Dev(nic).Set("current_link_width", "255") }, "never: fail pcie_lost *\nonly: yes"},
		{"EINVAL", func(h *host) { h.Dev(nic).Fail("current_link_speed", "EINVAL").Fail("current_link_width", "EINVAL") },
			"expect: fail pcie_lost mlx5_0\nsays: EINVAL\nexpect: unknown pcie_width *\nonly: yes"},
		{"ENODEV", func(h *host) { h.Dev(nic).Fail("current_link_speed", "ENODEV").Fail("current_link_width", "ENODEV") },
			"expect: fail pcie_lost *\nsays: ENODEV\nonly: yes"},
		{"one of both", func(h *host) { h.Dev(nic).Fail("current_link_width", "ENODEV") }, "expect: fail pcie_lost *\nonly: yes"},
		{"EIO is not lost", func(h *host) { h.Dev(nic).Fail("current_link_speed", "EIO").Fail("current_link_width", "EIO") },
			"expect: unknown pcie_lost *\nexpect: unknown pcie_width *\nonly: yes"},
		{"EPERM is not lost", func(h *host) { h.Dev(nic).Fail("current_link_speed", "EPERM").Fail("current_link_width", "EPERM") },
			"expect: unknown pcie_lost *\nonly: yes"},
		{"config all ones", func(h *host) { h.Dev(nic).AllOnes() }, "expect: fail pcie_lost *\nsays: all ones\nonly: yes"},
		{"suspended", func(h *host) { h.Dev(nic).Set("power/runtime_status", "suspended").Set("current_link_width", "63") },
			"expect: unknown pcie_lost 0000:16:00.0\nsays: suspended\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4")
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "32x4").Set("current_link_width", "63").Set("current_link_speed", "Unknown")
		}, "expect: fail pcie_lost 0000:21:00.0\nonly: yes"},
		{"empty slot", func(h *host) { h.Port("0000:20:01.0", "", "2.5x0 of 32x16") }, "never: warn|fail|unknown pcie_lost 0000:20:01.0\nonly: yes"},
		{"virtual function", func(h *host) { h.NIC("0000:16:00.1", port, "2.5x0 of 2.5x0").VirtualOf(nic) },
			"never: ok|info|warn|fail|unknown pcie_lost 0000:16:00.1\nonly: yes"},
		{"integrated", func(h *host) { h.NIC("0000:40:00.0", "", "2.5x255 of 2.5x255") }, "expect: unknown|ok pcie_lost 0000:40:00.0\nonly: yes"},
		{"excluded", func(h *host) {
			h.At("10s").Dev(nic).Gone()
			h.Set("fabricd.yaml", `devices: {exclude: ["0000:16:*"]}`)
		}, "never: ok|info|warn|fail|unknown pcie_lost *\nonly: yes"},
	})
}

func TestLostGPU(t *testing.T) {
	said := func(mark string) func(*host) {
		return func(h *host) { h.At(mark).NVML(gpus.Device{PCIBusID: "00000000:16:00.0", Lost: true}) }
	}
	run(t, oneGPU, []row{
		{"NVML says so", said(""), "expect: fail pcie_lost 0000:16:00.0\nsays: NVML\nonly: yes"},
		{"NVML says so later", func(h *host) { h.NVML(hosttest.Busy(gpu, 9)); said("10s")(h) }, "expect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"NVML no longer says so", func(h *host) { said("")(h); h.At("10s").NVML(hosttest.Busy(gpu, 9)) }, "expect: ok pcie_lost 0000:16:00.0\nonly: yes"},
		{"NVML forgets it", func(h *host) { h.NVML(hosttest.Busy(gpu, 9)); h.At("10s").NVML() }, "expect: ok pcie_lost 0000:16:00.0\nonly: yes"},
		{"another one", func(h *host) { h.NVML(gpus.Device{PCIBusID: "00000000:17:00.0", Lost: true}) }, "expect: ok pcie_lost 0000:16:00.0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); said("10s")(h) }, "expect: fail pcie_lost 0000:16:00.0\nonly: yes"},
	})
}

func TestVanished(t *testing.T) {
	run(t, oneNIC, []row{
		{"gone", func(h *host) { h.At("10s").Dev(nic).Gone() }, "expect: fail pcie_lost 0000:16:00.0\nsays: vanished\nsays: mlx5_core\nexpect: fail pcie_lost mlx5_0\nonly: yes"},
		{"directory only", func(h *host) { h.At("10s").Remove(h.Dev(nic).Dir) }, "expect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"still gone", func(h *host) { h.At("10s").Dev(nic).Gone(); every(h, "20s", "30s") }, "expect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"back", func(h *host) {
			h.At("10s").Dev(nic).Gone()
			h.At("20s").NIC(nic, port, "32x16").RDMA("mlx5_0", 200, guid)
		}, "expect: ok pcie_lost 0000:16:00.0\nonly: yes"},
		{"removed and found again at once", func(h *host) {
			d := h.At("10s").Dev(nic).Gone()
			h.At("10s").NIC(nic, port, "32x16").RDMA("mlx5_0", 200, guid)
			d.At("20s").Now("32x8")
		}, "expect: ok pcie_lost 0000:16:00.0\nexpect: fail pcie_width 0000:16:00.0\nonly: yes"},
		{"no driver was ever bound", func(h *host) { h.Dev(nic).Drop("driver"); h.At("10s").Dev(nic).Gone() },
			"expect: info pcie_lost 0000:16:00.0\nsays: no driver\nonly: yes"},
		{"unbound before", func(h *host) {
			h.At("10s").Remove(h.Dev(nic).Dir + "/driver")
			h.At("20s").Dev(nic).Gone()
		}, "expect: info pcie_lost 0000:16:00.0\nonly: yes"},
		{"unbound as it went", func(h *host) {
			h.At("10s").Remove(h.Dev(nic).Dir + "/driver")
			h.At("10s").Dev(nic).Gone()
		}, "expect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"unbound and bound again before", func(h *host) {
			h.At("10s").Remove(h.Dev(nic).Dir + "/driver")
			h.At("20s").Dev(nic).Driver("vfio-pci")
			h.At("30s").Dev(nic).Gone()
		}, "expect: fail pcie_lost 0000:16:00.0\nsays: vfio-pci\nonly: yes"},
		{"virtual functions", func(h *host) {
			for _, n := range []string{"1", "2"} {
				a := "0000:16:00." + n
				h.NIC(a, port, "2.5x0 of 2.5x0").VirtualOf(nic)
				h.At("10s").Dev(a).Gone()
			}
			h.Dev(nic).Set("sriov_numvfs", "2").At("10s").Set("sriov_numvfs", "0")
		}, "expect: info pcie_lost 0000:16:00.1\nexpect: info pcie_lost 0000:16:00.2\nexpect: ok pcie_lost 0000:16:00.0\nonly: yes"},
		{"with its virtual functions", func(h *host) {
			h.NIC("0000:16:00.1", port, "2.5x0 of 2.5x0").VirtualOf(nic)
			h.At("10s").Dev("0000:16:00.1").Gone()
			h.At("10s").Dev(nic).Gone()
		}, "expect: fail pcie_lost 0000:16:00.0\nexpect: info pcie_lost 0000:16:00.1\nonly: yes"},
		{"second function", func(h *host) {
			h.NIC("0000:16:00.1", port, "32x16").RDMA("mlx5_1", 200, guid)
			h.At("10s").Dev("0000:16:00.1").Gone()
		}, "expect: fail pcie_lost mlx5_1\nexpect: ok pcie_lost mlx5_0\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4")
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "32x4").Driver("nvme").At("10s").Gone()
		}, "expect: fail pcie_lost 0000:21:00.0\nonly: yes"},
		{"came and went", func(h *host) {
			h.At("10s").Port("0000:20:01.0", "", "32x4")
			h.At("10s").NIC("0000:21:00.0", "0000:20:01.0", "32x4")
			h.At("20s").Dev("0000:21:00.0").Gone()
		}, "expect: fail pcie_lost 0000:21:00.0\nonly: yes"},
		{"unreadable bus", func(h *host) { h.At("10s").Remove("sys/bus/pci/devices") }, "never: ok pcie_lost *"},
	})
	run(t, oneSwitch, []row{
		{"a whole switch", func(h *host) { h.At("10s").Dev("0000:16:00.0").Gone() },
			"expect: fail pcie_lost 0000:18:00.0\nexpect: fail pcie_lost 0000:19:00.0\nexpect: info pcie_lost 0000:16:00.0\nexpect: info pcie_lost 0000:17:00.0\nonly: yes"},
		{"a root port too", func(h *host) { h.At("10s").Dev(port).Gone() },
			"expect: fail pcie_lost 0000:18:00.0\nexpect: fail pcie_lost 0000:19:00.0\nexpect: info pcie_lost 0000:15:01.0\nonly: yes"},
		{"a switch without devices", func(h *host) {
			h.Port("0000:17:02.0", "0000:16:00.0", "32x16")
			h.Switch("0000:20:00.0", "0000:17:02.0", "32x16", "0000:21:00.0")
			h.At("10s").Dev("0000:20:00.0").Gone()
		}, "expect: fail pcie_lost 0000:20:00.0\nexpect: ok pcie_lost 0000:18:00.0"},
		{"the GPU's sound function", func(h *host) {
			h.Add("0000:18:00.1", "0000:17:00.0", "040300", "10de:22ba", "32x16").Driver("snd_hda_intel")
			h.At("10s").Dev("0000:18:00.1").Gone()
			h.At("10s").Dev("0000:18:00.0").Gone()
		}, "expect: fail pcie_lost 0000:18:00.0\nexpect: info pcie_lost 0000:18:00.1\nonly: yes"},
		{"orderly, then the bridge", func(h *host) {
			h.At("10s").Remove(h.Dev("0000:18:00.0").Dir + "/driver")
			h.At("20s").Dev("0000:18:00.0").Gone()
		}, "expect: info pcie_lost 0000:18:00.0\nexpect: ok pcie_lost 0000:19:00.0\nonly: yes"},
	})
	run(t, recorded("215-lost-nothing-that-was-never-there"), []row{
		{"one goes", func(h *host) { h.At("20s").Dev(h.Addresses()[len(h.Addresses())-1]).Gone() }, "expect: fail|info pcie_lost *"},
	})
	run(t, recorded("214-lost-nic-answers-all-ones"), []row{
		{"vanishes in the end", func(h *host) { h.At("90s").Dev("0000:39:00.0").Gone() },
			"expect: fail pcie_lost 0000:39:00.0\nsays: vanished\nnever: warn|fail pcie_lost 0000:17:00.0\nonly: yes"},
		{"was unbound before", func(h *host) {
			h.Drop("sys/devices/pci0000:38/0000:38:01.0/0000:39:00.0/driver")
			h.At("90s").Dev("0000:39:00.0").Gone()
		}, "expect: info pcie_lost 0000:39:00.0\nonly: yes"},
	})
}
