// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

const nic, gpu, port = "0000:16:00.0", "0000:16:00.0", "0000:15:01.0"

func TestWidth(t *testing.T) {
	run(t, oneNIC, []row{
		{"full", nil, "expect: ok pcie_width 0000:16:00.0\nonly: yes"},
		{"narrow", func(h *host) { h.Dev(nic).Now("32x8") },
			"expect: fail pcie_width 0000:16:00.0\nsays: x8 of x16\nsays: 0000:15:01.0\nsays: mlx5_0\nexpect: fail pcie_width 0000:15:01.0\nexpect: fail pcie_width mlx5_0\nonly: yes"},
		{"narrow slot", func(h *host) { h.Dev(port).PCIe("32x8"); h.Dev(nic).PCIe("32x8 of 32x16") },
			"expect: ok pcie_width 0000:16:00.0\nexpect: info pcie_slot 0000:16:00.0\nonly: yes"},
		{"narrower than its narrow slot", func(h *host) { h.Dev(port).PCIe("32x8"); h.Dev(nic).PCIe("32x4 of 32x16").RDMA("mlx5_0", 100, guid) },
			"expect: fail pcie_width *\nsays: x4 of x8\nonly: yes"},
		{"narrow card", func(h *host) { h.Dev(nic).PCIe("32x8") }, "expect: ok pcie_width *\nonly: yes"},
		{"the port's own state is not asked", func(h *host) { h.Dev(port).PCIe("32x4 of 32x16") }, "expect: ok pcie_width *\nonly: yes"},
		{"InfiniBand or Ethernet", func(h *host) { h.Dev(nic).Now("32x8").Set("class", "0x020000").Netdev("eth0", 100) },
			"expect: fail pcie_width eth0\nonly: yes"},
		{"virtual function", func(h *host) { h.NIC("0000:16:00.1", port, "2.5x0 of 2.5x0").VirtualOf(nic) },
			"expect: ok pcie_width 0000:16:00.0\nnever: ok|info|warn|fail|unknown * 0000:16:00.1\nonly: yes"},
		{"second function with another maximum", func(h *host) { h.NIC("0000:16:00.1", port, "32x16 of 32x4") },
			"expect: ok pcie_width 0000:16:00.0\nnever: ok|info|warn|fail|unknown pcie_width 0000:16:00.1\nonly: yes"},
		{"second function that claims more", func(h *host) {
			h.Dev(nic).PCIe("32x8")
			h.NIC("0000:16:00.1", port, "32x8 of 32x16")
		}, "expect: ok pcie_width 0000:16:00.0\nonly: yes"},
		{"integrated function", func(h *host) { h.NIC("0000:17:00.0", "", "2.5x255 of 2.5x255") },
			"never: ok|info|warn|fail|unknown pcie_width 0000:17:00.0\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4")
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "32x2 of 32x4")
		}, "expect: info pcie_width 0000:21:00.0\nonly: yes"},
		{"disk that cannot be read", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4")
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "32x2 of 32x4").Fail("current_link_width", "EIO")
		}, "never: ok|info|warn|fail|unknown pcie_width 0000:21:00.0\nonly: yes"},
		{"suspended", func(h *host) { h.Dev(nic).Now("32x8").Set("power/runtime_status", "suspended") },
			"expect: unknown pcie_width *\nsays: suspended\nonly: yes"},
		{"awake", func(h *host) { h.Dev(nic).Now("32x8").Set("power/runtime_status", "active") }, "expect: fail pcie_width *\nonly: yes"},
		{"excluded port", func(h *host) { h.Dev(nic).Now("32x8"); h.Set("fabricd.yaml", `devices: {exclude: ["0000:15:*"]}`) },
			"expect: unknown pcie_width 0000:16:00.0\nsays: not visible\nonly: yes"},
		{"excluded", func(h *host) { h.Dev(nic).Now("32x8"); h.Set("fabricd.yaml", `devices: {exclude: ["0000:16:*"]}`) },
			"never: ok|info|warn|fail|unknown * 0000:16:00.0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); h.Dev(nic).Now("32x8") }, "expect: unknown pcie_width *\nsays: virtual machine\nonly: yes"},
		{"guest at full width", func(h *host) { h.Guest() }, "expect: ok pcie_width *\nonly: yes"},
	})
}

func TestWidthAttributes(t *testing.T) {
	for _, test := range []struct{ name, file, content, expect, says string }{
		{"no lanes", "current_link_width", "0", "unknown", "width 0"},
		{"no link capability", "current_link_width", "255", "unknown", "no number of lanes"},
		{"empty", "current_link_width", "", "unknown", "no number of lanes"},
		{"a word", "current_link_width", "Unknown", "unknown", "no number of lanes"},
		{"negative", "current_link_width", "-1", "unknown", "no number of lanes"},
		{"long", "current_link_width", "16" + strings.Repeat("0", 5000), "unknown", "no number of lanes"},
		{"error", "current_link_width.err", "EIO", "unknown", "EIO"},
		{"permission", "current_link_width.err", "EPERM", "unknown", "permission denied"},
		{"spaces", "current_link_width", " 16 ", "ok", "x16"},
		{"port: no lanes", "../max_link_width", "0", "unknown", "not visible"},
		{"port: error", "../max_link_width.err", "EIO", "unknown", "not visible"},
		{"port: word", "../max_link_width", "Unknown", "unknown", "not visible"},
		{"device: no lanes", "max_link_width", "0", "unknown", "the device does not say"},
		{"device: empty", "max_link_width", "", "unknown", "does not say"},
		{"device: word", "max_link_width", "Unknown", "unknown", "does not say"},
		{"device: error", "max_link_width.err", "EIO", "unknown", "does not say"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := oneNIC(t)
			if strings.Contains(test.file, "max") {
				h.Dev(nic).Now("32x8")
			}
			h.Dev(nic).Set(test.file, test.content)
			h.Expect("expect: " + test.expect + " pcie_width 0000:16:00.0\nsays: " + test.says + "\nonly: yes")
		})
	}
}

func TestWidthOnTheWay(t *testing.T) {
	run(t, oneSwitch, []row{
		{"full", nil, "expect: ok pcie_width 0000:16:00.0\nexpect: ok pcie_width 0000:18:00.0\nexpect: ok pcie_width 0000:19:00.0\nonly: yes"},
		{"above the switch", func(h *host) { h.Dev("0000:16:00.0").Now("32x8"); h.Dev(port).Now("32x8") },
			"expect: fail pcie_width 0000:16:00.0\nsays: x8 of x16\nexpect: fail pcie_width 0000:18:00.0,0000:19:00.0\nnever: fail pcie_width 0000:18:00.0\nnever: fail pcie_width 0000:19:00.0\nonly: yes"},
		{"at the switch", func(h *host) { h.Dev("0000:19:00.0").Now("32x8"); h.Dev("0000:17:01.0").Now("32x8") },
			"expect: fail pcie_width 0000:17:01.0\nnever: fail pcie_width 0000:16:00.0\nonly: yes"},
		{"NVSwitch", func(h *host) {
			h.Port("0000:17:02.0", "0000:16:00.0", "16x4")
			h.Add("0000:1a:00.0", "0000:17:02.0", "068000", "10de:22a3", "16x2 of 16x4")
		}, "expect: fail pcie_width 0000:1a:00.0\nonly: yes"},
		{"disk below the same switch", func(h *host) {
			h.Port("0000:17:02.0", "0000:16:00.0", "16x4")
			h.Add("0000:1a:00.0", "0000:17:02.0", "010802", "144d:a80c", "16x2 of 16x4")
		}, "expect: info pcie_width 0000:1a:00.0\nonly: yes"},
	})
	run(t, cardWithSwitch, []row{
		{"inside a card", nil, "expect: ok pcie_width 0000:16:00.0\nexpect: ok pcie_speed 0000:16:00.0\nnever: ok|info|warn|fail|unknown pcie_width 0000:17:01.0\nonly: yes"},
		{"inside a card, below its maximum", func(h *host) {
			h.Dev("0000:18:00.0").PCIe("2.5x1 of 16x16")
			h.Dev("0000:17:01.0").PCIe("2.5x1 of 16x16")
		},
			"expect: ok pcie_width 0000:16:00.0\nonly: yes"},
		{"slot of such a card", func(h *host) { h.Dev("0000:16:00.0").Now("16x8") },
			"expect: fail pcie_width 0000:16:00.0\nsays: x8 of x16\nonly: yes"},
		{"switch of another maker joins slots", func(h *host) {
			h.Dev("0000:16:00.0").ID("1000:c030")
			h.Dev("0000:17:01.0").ID("1000:c030").PCIe("16x16")
			h.Dev("0000:18:00.0").PCIe("16x8 of 16x16")
		}, "expect: fail pcie_width 0000:18:00.0\nonly: yes"},
	})
}

func TestWidthOfGuests(t *testing.T) {
	onRootBus := func(tb testing.TB) *host {
		h := hosttest.New(tb).Guest()
		h.GPU("0000:00:06.0", "", "32x16")
		return h
	}
	run(t, onRootBus, []row{
		{"full", nil, "expect: ok pcie_width 0000:00:06.0\nonly: yes"},
		{"narrow", func(h *host) { h.Dev("0000:00:06.0").Now("32x8") }, "expect: unknown pcie_width 0000:00:06.0\nsays: virtual machine\nonly: yes"},
		{"no link files", func(h *host) {
			h.Dev("0000:00:06.0").Drop("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
		}, "expect: unknown pcie_width 0000:00:06.0\nexpect: unknown pcie_speed 0000:00:06.0\nexpect: unknown pcie_lost 0000:00:06.0\nonly: yes"},
		{"no hypervisor, no port", func(h *host) { h.CPU("physical id: 0"); h.Dev("0000:00:06.0").Now("32x8") },
			"expect: unknown pcie_width 0000:00:06.0\nsays: not visible\nonly: yes"},
		{"lanes of zero", func(h *host) { h.Dev("0000:00:06.0").PCIe("2.5x0 of 2.5x0") },
			"never: ok|warn|fail pcie_width *\nnever: ok|warn|fail pcie_speed *\nonly: yes"},
	})
}

// What the recorded cases' siblings say.
func TestWidthSiblings(t *testing.T) {
	run(t, recorded("006b-h100-busy-gen3-x8"), []row{
		{"idle", func(h *host) { h.Replace(`"utilization_gpu":95`, `"utilization_gpu":0`) },
			"expect: fail pcie_width 0000:bb:00.0\nsays: x8\nexpect: info pcie_speed 0000:bb:00.0\nsays: idle\nonly: yes"},
	})
}
