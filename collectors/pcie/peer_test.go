// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

// narrowSlot puts the fourth card into a slot of eight lanes.
func narrowSlot(h *host, link string) {
	h.Dev("0000:d0:01.0").PCIe(link)
	h.Dev("0000:d1:00.0").PCIe(link + " of 32x16")
}

func TestPeer(t *testing.T) {
	run(t, fourNICs, []row{
		{"equal", nil, "expect: ok pcie_peer 0000:a1:00.0\nexpect: ok pcie_peer 0000:d1:00.0\nonly: yes"},
		{"narrow slot", func(h *host) { narrowSlot(h, "32x8") },
			"expect: warn pcie_peer 0000:d1:00.0\nsays: 32 GT/s x8\nsays: 32 GT/s x16\nexpect: warn pcie_peer mlx5_3\nexpect: ok pcie_peer 0000:a1:00.0\nonly: yes"},
		{"slow slot", func(h *host) { narrowSlot(h, "16x16") }, "expect: warn pcie_peer 0000:d1:00.0\nonly: yes"},
		{"better slot", func(h *host) { h.Dev("0000:d0:01.0").PCIe("64x16"); h.Dev("0000:d1:00.0").PCIe("32x16 of 64x16") },
			"expect: ok pcie_peer 0000:a1:00.0\nexpect: fail pcie_speed 0000:d1:00.0\nonly: yes"},
		{"a slot that can do more", func(h *host) { h.Dev("0000:d0:01.0").PCIe("64x16"); h.Dev("0000:d1:00.0").PCIe("64x16") },
			"expect: ok pcie_peer 0000:a1:00.0\nexpect: ok pcie_peer 0000:d1:00.0\nonly: yes"},
		{"the width failed", func(h *host) { h.Dev("0000:d1:00.0").Now("32x8") },
			"expect: fail pcie_width 0000:d1:00.0\nexpect: ok pcie_peer 0000:d1:00.0\nonly: yes"},
		{"the speed failed", func(h *host) { h.Dev("0000:d1:00.0").Now("16x16") },
			"expect: fail pcie_speed 0000:d1:00.0\nexpect: ok pcie_peer 0000:d1:00.0\nonly: yes"},
		{"two and two", func(h *host) {
			narrowSlot(h, "32x8")
			h.Dev("0000:c0:01.0").PCIe("32x8")
			h.Dev("0000:c1:00.0").PCIe("32x8 of 32x16")
		}, "expect: ok pcie_peer 0000:d1:00.0\nsays: no majority\nonly: yes"},
		{"the majority is narrow", func(h *host) {
			narrowSlot(h, "32x8")
			for _, c := range []string{"b", "c"} {
				h.Dev("0000:" + c + "0:01.0").PCIe("32x8")
				h.Dev("0000:" + c + "1:00.0").PCIe("32x8 of 32x16")
			}
		}, "expect: ok pcie_peer 0000:a1:00.0\nonly: yes"},
		{"another model", func(h *host) { narrowSlot(h, "32x8"); h.Dev("0000:d1:00.0").ID("15b3:1019") },
			"never: ok|info|warn|fail|unknown pcie_peer *\nonly: yes"},
		{"another role", func(h *host) {
			narrowSlot(h, "32x8")
			h.Set("fabricd.yaml", `plan: {roles: {mlx5_3: storage, mlx5_0: compute, mlx5_1: compute, mlx5_2: compute}}`)
		}, "never: ok|info|warn|fail|unknown pcie_peer *\nonly: yes"},
		{"three cards and a socket-direct half", func(h *host) { narrowSlot(h, "32x8"); h.Dev("0000:d1:00.0").RDMA("mlx5_3", 200, guid[:18]+"c") },
			"never: ok|info|warn|fail|unknown pcie_peer *\nonly: yes"},
		{"two ports a card", func(h *host) {
			narrowSlot(h, "32x8")
			for i, c := range []string{"a", "b", "c", "d"} {
				h.NIC("0000:"+c+"1:00.1", "0000:"+c+"0:01.0", "32x16").RDMA("mlx5_"+string(rune('4'+i)), 0, guid[:18]+c)
			}
		}, "expect: warn pcie_peer 0000:d1:00.0\nnever: ok|info|warn|fail|unknown pcie_peer 0000:d1:00.1\nonly: yes"},
		{"devices of the operator", func(h *host) {
			narrowSlot(h, "32x8")
			h.Set("fabricd.yaml", "thresholds: {pcie_peer: {devices: 5}}")
		}, "never: ok|info|warn|fail|unknown pcie_peer *\nonly: yes"},
		{"slack of the operator", func(h *host) {
			narrowSlot(h, "32x8")
			h.Set("fabricd.yaml", "thresholds: {pcie_peer: {less_percent: 60}}")
		}, "expect: ok pcie_peer 0000:d1:00.0\nonly: yes"},
		{"lost", func(h *host) {
			h.Dev("0000:d1:00.0").Set("current_link_width", "63").Set("current_link_speed", "Unknown")
		},
			"expect: fail pcie_lost 0000:d1:00.0\nexpect: unknown pcie_peer 0000:d1:00.0\nexpect: ok pcie_peer 0000:a1:00.0\nonly: yes"},
		{"nothing known", func(h *host) {
			h.Dev("0000:d1:00.0").Fail("max_link_speed", "EIO").Fail("max_link_width", "EIO").Fail("current_link_width", "EIO")
			h.Dev("0000:d0:01.0").Fail("max_link_speed", "EIO").Fail("max_link_width", "EIO")
		}, "expect: unknown pcie_peer 0000:d1:00.0\nonly: yes"},
		{"maximum not known", func(h *host) {
			h.Dev("0000:d1:00.0").Set("max_link_speed", "Unknown").Now("16x16")
			h.Dev("0000:d0:01.0").Set("max_link_speed", "Unknown")
		}, "expect: warn pcie_peer 0000:d1:00.0\nsays: 16 GT/s x16\nonly: yes"},
		{"virtual functions", func(h *host) {
			for _, n := range []string{"1", "2", "3", "4"} {
				h.NIC("0000:a1:00."+n, "0000:a0:01.0", "2.5x0 of 2.5x0").VirtualOf("0000:a1:00.0").ID("15b3:101e")
			}
		}, "never: ok|info|warn|fail|unknown pcie_peer 0000:a1:00.1\nonly: yes"},
	})
}

func TestPeerOfGPUs(t *testing.T) {
	idle := func(h *host, address string) {
		h.Dev(address).Now("2.5x16")
		h.NVML(hosttest.Busy("0000:a1:00.0", 99), hosttest.Busy("0000:b1:00.0", 99), hosttest.Busy("0000:c1:00.0", 99), hosttest.Busy("0000:d1:00.0", 0))
		every(h, "20s")
	}
	run(t, fourGPUs, []row{
		{"one idle", func(h *host) { idle(h, "0000:d1:00.0") }, "expect: info pcie_speed 0000:d1:00.0\nexpect: ok pcie_peer 0000:d1:00.0\nonly: yes"},
		{"one busy", func(h *host) {
			for _, c := range []string{"a", "b", "c"} {
				h.Dev("0000:" + c + "1:00.0").Now("2.5x16")
			}
		}, "expect: ok pcie_peer 0000:d1:00.0\nonly: yes"},
		{"narrow slot", func(h *host) { narrowSlot(h, "32x8") }, "expect: warn pcie_peer 0000:d1:00.0\nonly: yes"},
		{"narrow slot, idle", func(h *host) { narrowSlot(h, "32x8"); h.Dev("0000:d1:00.0").Now("2.5x8") }, "expect: warn pcie_peer 0000:d1:00.0\nonly: yes"},
		{"three only", func(h *host) { narrowSlot(h, "32x8"); h.Dev("0000:a1:00.0").ID("10de:2331") }, "never: ok|info|warn|fail|unknown pcie_peer *\nonly: yes"},
	})
	guests := func(tb testing.TB) *host {
		h := hosttest.New(tb).Guest()
		for _, c := range []string{"a", "b", "c", "d"} {
			h.GPU("0000:00:0"+c+".0", "", "32x16")
		}
		return h
	}
	run(t, guests, []row{
		{"guest", nil, "expect: ok pcie_peer 0000:00:0d.0\nonly: yes"},
		{"guest, one with half the lanes", func(h *host) { h.Dev("0000:00:0d.0").Now("32x8") },
			"expect: unknown pcie_width 0000:00:0d.0\nexpect: warn pcie_peer 0000:00:0d.0\nsays: x8\nexpect: ok pcie_peer 0000:00:0a.0\nonly: yes"},
		{"guest, one idle", func(h *host) { h.Dev("0000:00:0d.0").Now("2.5x16") }, "expect: ok pcie_peer 0000:00:0d.0\nonly: yes"},
		{"guest, all with half the lanes", func(h *host) {
			for _, c := range []string{"a", "b", "c", "d"} {
				h.Dev("0000:00:0" + c + ".0").Now("32x8")
			}
		}, "expect: ok pcie_peer 0000:00:0d.0\nonly: yes"},
		{"guest without links", func(h *host) {
			for _, c := range []string{"a", "b", "c", "d"} {
				h.Dev("0000:00:0"+c+".0").Drop("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
			}
		}, "never: ok|warn|fail pcie_peer *\nonly: yes"},
	})
	run(t, recorded("210-peer-one-of-four-gpus-in-an-x8-slot"), []row{
		{"a slot like the others'", func(h *host) { h.Dev("0000:a2:00.0").PCIe("16x16"); h.Dev("0000:a1:01.1").PCIe("16x16") }, "never: warn|fail pcie_peer *\nonly: yes"},
	})
}
