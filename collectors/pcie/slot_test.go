// SPDX-License-Identifier: Apache-2.0

package pcie_test

import "testing"

func TestSlot(t *testing.T) {
	run(t, oneNIC, []row{
		{"equal", nil, "expect: ok pcie_slot 0000:16:00.0\nonly: yes"},
		{"slower port", func(h *host) { h.Dev(port).PCIe("16x16"); h.Dev(nic).PCIe("16x16 of 32x16") },
			"expect: info pcie_slot 0000:16:00.0\nsays: 0000:15:01.0 16 GT/s\nsays: 32 GT/s\nexpect: info pcie_slot mlx5_0\nonly: yes"},
		{"narrower port", func(h *host) { h.Dev(port).PCIe("32x8"); h.Dev(nic).PCIe("32x8 of 32x16") },
			"expect: info pcie_slot 0000:16:00.0\nsays: x8\nonly: yes"},
		{"port that could do more", func(h *host) { h.Dev(port).PCIe("64x16") }, "expect: ok pcie_slot *\nonly: yes"},
		{"slower port and a fault", func(h *host) { h.Dev(port).PCIe("16x16"); h.Dev(nic).PCIe("8x16 of 32x16").RDMA("mlx5_0", 100, guid) },
			"expect: info pcie_slot *\nexpect: fail pcie_speed *\nsays: 8 GT/s of 16 GT/s\nonly: yes"},
		{"slower, but wider", func(h *host) { h.Dev(port).PCIe("16x16"); h.Dev(nic).PCIe("16x8 of 32x8").RDMA("mlx5_0", 100, guid) }, "expect: info pcie_slot *\nonly: yes"},
		{"unknown speed of the device", func(h *host) { h.Dev(nic).Set("max_link_speed", "Unknown") }, "expect: unknown pcie_slot *\nonly: yes"},
		{"unknown speed, narrower port", func(h *host) {
			h.Dev(port).PCIe("32x8")
			h.Dev(nic).PCIe("32x8 of 32x16").Set("max_link_speed", "Unknown")
		}, "expect: info pcie_slot *\nonly: yes"},
		{"unknown width of the port", func(h *host) { h.Dev(port).Set("max_link_width", "0") }, "expect: unknown pcie_slot *\nonly: yes"},
		{"nothing known of the device", func(h *host) { h.Dev(nic).Fail("max_link_speed", "EIO").Fail("max_link_width", "EIO") },
			"expect: unknown pcie_slot *\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "16x2")
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "16x2 of 32x4")
		}, "never: ok|info|warn|fail|unknown pcie_slot 0000:21:00.0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); h.Dev(port).PCIe("16x16") }, "never: ok|info|warn|fail pcie_slot *\nonly: yes"},
		{"no port", func(h *host) { h.NIC("0000:40:00.0", "", "32x16") }, "never: ok|info|warn|fail pcie_slot 0000:40:00.0\nonly: yes"},
		{"virtual function", func(h *host) { h.NIC("0000:16:00.1", port, "2.5x0 of 64x16").VirtualOf(nic) },
			"never: ok|info|warn|fail|unknown pcie_slot 0000:16:00.1\nexpect: ok pcie_slot 0000:16:00.0\nonly: yes"},
	})
	run(t, oneSwitch, []row{
		{"the switch's slot", func(h *host) { h.Dev(port).PCIe("16x16"); h.Dev("0000:16:00.0").PCIe("16x16 of 32x16") },
			"expect: info pcie_slot 0000:16:00.0\nexpect: ok pcie_slot 0000:19:00.0\nonly: yes"},
	})
	run(t, cardWithSwitch, []row{
		{"a card with a switch", func(h *host) { h.Dev(port).PCIe("8x16"); h.Dev("0000:16:00.0").PCIe("8x16 of 16x16") },
			"expect: info pcie_slot 0000:16:00.0\nnever: info pcie_slot 0000:17:01.0\nonly: yes"},
	})
	run(t, recorded("010-gen4-card-in-gen3-board"), []row{
		{"in a Gen4 board", func(h *host) { h.Replace("8.0 GT/s PCIe", "16.0 GT/s PCIe") }, "never: info pcie_slot 0000:00:03.1\nonly: yes"},
	})
}

func TestBudget(t *testing.T) {
	run(t, oneNIC, []row{
		{"enough", nil, "expect: ok pcie_budget 0000:16:00.0\nsays: 504.1\nsays: 200\nonly: yes"},
		{"Gen3 x8 for two ports of 100", func(h *host) {
			h.Dev(port).PCIe("8x8")
			h.Dev(nic).PCIe("8x8").RDMA("mlx5_0", 100, guid)
			h.NIC("0000:16:00.1", port, "8x8").RDMA("mlx5_1", 100, guid)
		}, "expect: warn pcie_budget 0000:16:00.0,0000:16:00.1\nsays: 63\nsays: 200\nexpect: warn pcie_budget mlx5_0,mlx5_1\nonly: yes"},
		{"only one of them active", func(h *host) {
			h.Dev(port).PCIe("16x8")
			h.Dev(nic).PCIe("16x8").RDMA("mlx5_0", 100, guid)
			h.NIC("0000:16:00.1", port, "16x8").RDMA("mlx5_1", 0, guid)
		}, "expect: ok pcie_budget *\nsays: 100 Gb/s\nonly: yes"},
		{"both active", func(h *host) {
			h.Dev(port).PCIe("16x8")
			h.Dev(nic).PCIe("16x8").RDMA("mlx5_0", 100, guid)
			h.NIC("0000:16:00.1", port, "16x8").RDMA("mlx5_1", 100, guid)
		}, "expect: warn pcie_budget *\nsays: 126\nsays: 200\nonly: yes"},
		{"no port active", func(h *host) { h.Dev(port).PCIe("8x1"); h.Dev(nic).PCIe("8x1").RDMA("mlx5_0", 0, guid) }, "expect: ok pcie_budget *\nonly: yes"},
		{"Gen6 x8 is Gen5 x16", func(h *host) { h.Dev(port).PCIe("64x8"); h.Dev(nic).PCIe("64x8 of 64x16").RDMA("mlx5_0", 400, guid) },
			"expect: ok pcie_budget *\nonly: yes"},
		{"Gen5 x16 for 800", func(h *host) { h.Dev(nic).RDMA("mlx5_0", 800, guid) }, "expect: warn pcie_budget *\nsays: 504.1\nsays: 800\nonly: yes"},
		{"two-thirds of a lane", func(h *host) {
			h.Dev(port).PCIe("2.5x4")
			h.Dev(nic).PCIe("2.5x4 of 8x8").Set("class", "0x020000").Drop("infiniband").Netdev("eth0", 10)
		}, "expect: warn pcie_budget eth0\nsays: 8 Gb/s\nsays: 10\nonly: yes"},
		{"VFs", func(h *host) { h.NIC("0000:16:00.1", port, "2.5x0 of 2.5x0").VirtualOf(nic).RDMA("mlx5_1", 400, guid) },
			"expect: ok pcie_budget mlx5_0\nsays: want 200\nonly: yes"},
		{"an interface over InfiniBand counts once", func(h *host) {
			h.Dev(nic).Netdev("ib0", 200).Set("net/ib0/type", "32").Netdev("ib0.8001", 200).Set("net/ib0.8001/type", "32").Netdev("ib0.8002", 200).Set("net/ib0.8002/type", "32")
		}, "expect: ok pcie_budget *\nsays: want 200\nonly: yes"},
		{"representors", func(h *host) {
			h.Dev(nic).Netdev("eth0", 200).Set("net/eth0/phys_port_name", "p0").Netdev("eth0_1", 400).Set("net/eth0_1/phys_port_name", "pf0vf1")
		}, "expect: ok pcie_budget *\nsays: want 200\nonly: yes"},
		{"carrier without a speed", func(h *host) {
			h.Dev(nic).Drop("infiniband").Netdev("eth0", 100).Fail("net/eth0/speed", "EINVAL")
		}, "expect: unknown pcie_budget eth0\nonly: yes"},
		{"link not known", func(h *host) { h.Dev(nic).Fail("current_link_width", "EIO") }, "expect: unknown pcie_budget *\nsays: 200\nonly: yes"},
		{"integrated", func(h *host) { h.NIC("0000:40:00.0", "", "2.5x255 of 2.5x255").Netdev("eth0", 100) },
			"never: ok|info|warn|fail|unknown pcie_budget eth0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); h.Dev(nic).Now("8x1") }, "expect: unknown pcie_budget *\nonly: yes"},
		{"no names", func(h *host) { h.Dev(nic).Drop("infiniband") }, "expect: ok pcie_budget 0000:16:00.0\nonly: yes"},
	})
	run(t, oneSwitch, []row{
		{"narrow above the switch", func(h *host) {
			h.Dev(port).PCIe("8x8")
			h.Dev("0000:16:00.0").PCIe("8x8 of 32x16")
		}, "expect: warn pcie_budget mlx5_0\nsays: 63\nsays: 0000:16:00.0 at 8 GT/s x8\nexpect: info pcie_slot 0000:16:00.0\nonly: yes"},
	})
}

// A card in several slots has the paths of all of them, and one cable for two
// functions of the same number.
func TestBudgetOfCards(t *testing.T) {
	two := func(first, second string) func(testing.TB) *host {
		return func(tb testing.TB) *host {
			h := oneNIC(tb)
			h.Dev(port).PCIe("16x8")
			h.Dev(nic).PCIe("16x8").RDMA("mlx5_0", 200, first)
			h.Port("0000:95:01.0", "", "16x8")
			h.NIC("0000:96:00.0", "0000:95:01.0", "16x8").RDMA("mlx5_1", 200, second)
			return h
		}
	}
	run(t, two(guid, guid), []row{
		{"socket-direct", nil, "expect: ok pcie_budget 0000:16:00.0,0000:96:00.0\nsays: 252\nsays: want 200\nonly: yes"},
		{"one path lost lanes", func(h *host) { h.Dev("0000:96:00.0").Now("16x4") },
			"expect: warn pcie_budget *\nsays: 189\nexpect: fail pcie_width 0000:96:00.0\nonly: yes"},
		{"one path not known", func(h *host) { h.Dev("0000:96:00.0").Fail("current_link_width", "EIO") }, "expect: unknown pcie_budget *\nonly: yes"},
		{"two cables", func(h *host) {
			h.NIC("0000:16:00.1", port, "16x8").RDMA("mlx5_2", 200, guid)
			h.NIC("0000:96:00.1", "0000:95:01.0", "16x8").RDMA("mlx5_3", 200, guid)
		}, "expect: warn pcie_budget *\nsays: 252\nsays: want 400\nonly: yes"},
		{"second halves down", func(h *host) {
			h.NIC("0000:16:00.1", port, "16x8").RDMA("mlx5_2", 0, guid)
			h.NIC("0000:96:00.1", "0000:95:01.0", "16x8").RDMA("mlx5_3", 0, guid)
		}, "expect: ok pcie_budget *\nsays: want 200\nonly: yes"},
	})
	for name, g := range map[string][2]string{
		"two cards":            {guid, "946d:ae03:0000:0002"},
		"GUIDs of zero":        {"0000:0000:0000:0000", "0000:0000:0000:0000"},
		"absent GUIDs":         {"", ""},
		"a GUID and one of 0s": {guid, "0000:0000:0000:0000"},
	} {
		run(t, two(g[0], g[1]), []row{
			{name, nil, "expect: warn pcie_budget 0000:16:00.0\nsays: 126\nexpect: warn pcie_budget 0000:96:00.0\nonly: yes"},
		})
	}
	run(t, recorded("012a-two-100g-ports-in-gen3-x8"), []row{
		{"Gen4 slot", func(h *host) { h.Replace("8.0 GT/s PCIe", "16.0 GT/s PCIe") }, "expect: warn pcie_budget *\nsays: 126\nonly: yes"},
	})
	run(t, recorded("019a-100g-card-in-gen3-x8"), []row{
		{"in a slot of sixteen lanes", func(h *host) { h.Dev("0000:31:00.0").Now("8x16"); h.Dev(h.Parent("0000:31:00.0")).PCIe("8x16") },
			"expect: ok pcie_budget 0000:31:00.0\nsays: 126\nonly: yes"},
		{"its port is down", func(h *host) {
			h.Replace("ACTIVE", "DOWN")
			h.Discard(h.Dev("0000:31:00.0").Dir + "/net")
		}, "expect: ok pcie_budget 0000:31:00.0\nsays: no port\nonly: yes"},
	})
	run(t, recorded("012a-two-100g-ports-in-gen3-x8"), []row{
		{"one port active", func(h *host) { unplug(h, "0000:31:00.1") }, "expect: warn pcie_budget 0000:31:00.0,0000:31:00.1\nsays: 63\nsays: want 100\nonly: yes"},
		{"one port active in a Gen4 slot", func(h *host) { unplug(h, "0000:31:00.1"); h.Replace("8.0 GT/s PCIe", "16.0 GT/s PCIe") },
			"expect: ok pcie_budget *\nonly: yes"},
	})
	run(t, recorded("119-socket-direct-pairs-one-cable-each"), []row{
		{"two cards", nil, "expect: ok pcie_budget 0000:3b:00.0,0000:af:00.0\nsays: want 100\nexpect: ok pcie_budget 0000:5e:00.0,0000:d8:00.0\nonly: yes"},
		{"GUIDs that name nothing", func(h *host) { h.Replace("b859:9f03:0000:0001", "0000:0000:0000:0000") }, "expect: ok pcie_budget 0000:3b:00.0\nexpect: ok pcie_budget 0000:af:00.0\nexpect: ok pcie_budget 0000:5e:00.0,0000:d8:00.0\nonly: yes"},
	})
	run(t, recorded("122-gb10-one-cable-four-functions"), []row{
		{"one cable", nil, "expect: ok pcie_budget *\nsays: 252\nsays: 200\nnever: warn|fail pcie_budget *"},
	})
}

// unplug takes the cable out of all ports of a function.
func unplug(h *host, address string) {
	d := h.Dev(address)
	d.Drop("infiniband", "net")
	d.RDMA("mlx5_1", 0, guid)
}
