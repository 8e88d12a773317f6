// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

type space = hosttest.Space

// endpoint and the ports of a path as they should be.
var (
	endpoint  = space{Type: 0, ACS: -1}
	rootPort  = space{Type: 4, ACS: -1}
	upstream  = space{Type: 5, ACS: -1}
	downwards = space{Type: 6}
)

func TestIOMMU(t *testing.T) {
	grouped := func(address, domain string) func(*host) {
		return func(h *host) { h.Dev(address).Group("7", domain) }
	}
	run(t, oneSwitch, []row{
		{"none", nil, "expect: ok pcie_iommu 0000:18:00.0\nexpect: ok pcie_iommu 0000:19:00.0\nonly: yes"},
		{"identity", grouped("0000:18:00.0", "identity"), "expect: ok pcie_iommu 0000:18:00.0\nonly: yes"},
		{"translating GPU", grouped("0000:18:00.0", "DMA"), "expect: warn pcie_iommu 0000:18:00.0\nsays: DMA\nsays: iommu=pt\nonly: yes"},
		{"lazily translating GPU", grouped("0000:18:00.0", "DMA-FQ"), "expect: warn pcie_iommu 0000:18:00.0\nsays: DMA-FQ\nonly: yes"},
		{"translating compute NIC", grouped("0000:19:00.0", "DMA-FQ"), "expect: warn pcie_iommu 0000:19:00.0\nsays: mlx5_0\nonly: yes"},
		{"NIC of the plan", func(h *host) {
			grouped("0000:19:00.0", "DMA-FQ")(h)
			h.Set("fabricd.yaml", "plan: {roles: {mlx5_0: storage}}")
		}, "expect: info pcie_iommu 0000:19:00.0\nonly: yes"},
		{"slow NIC", func(h *host) {
			grouped("0000:19:00.0", "DMA-FQ")(h)
			h.Dev("0000:19:00.0").RDMA("mlx5_0", 25, guid)
		}, "expect: info pcie_iommu 0000:19:00.0\nonly: yes"},
		{"plain NIC", func(h *host) {
			grouped("0000:19:00.0", "DMA-FQ")(h)
			h.Dev("0000:19:00.0").Drop("infiniband").Netdev("eth0", 100)
		}, "expect: info pcie_iommu eth0\nonly: yes"},
		{"handed to a virtual machine", grouped("0000:18:00.0", "unmanaged"), "expect: info pcie_iommu 0000:18:00.0\nonly: yes"},
		{"blocked", grouped("0000:18:00.0", "blocked"), "expect: info pcie_iommu 0000:18:00.0\nonly: yes"},
		{"old kernel", grouped("0000:18:00.0", ""), "expect: unknown pcie_iommu 0000:18:00.0\nonly: yes"},
		{"empty", func(h *host) { grouped("0000:18:00.0", "DMA")(h); h.Set("sys/kernel/iommu_groups/7/type", "") },
			"expect: unknown pcie_iommu 0000:18:00.0\nonly: yes"},
		{"refused", func(h *host) { grouped("0000:18:00.0", "DMA")(h); h.Set("sys/kernel/iommu_groups/7/type.err", "EPERM") },
			"expect: unknown pcie_iommu 0000:18:00.0\nonly: yes"},
		{"bridge", grouped("0000:17:00.0", "DMA"), "never: ok|info|warn|fail|unknown pcie_iommu 0000:17:00.0\nonly: yes"},
		{"virtual function", func(h *host) {
			h.NIC("0000:19:00.1", "0000:17:01.0", "2.5x0 of 2.5x0").VirtualOf("0000:19:00.0").Group("8", "DMA")
		}, "never: warn|fail pcie_iommu *\nonly: yes"},
		{"guest without one", func(h *host) { h.Guest() }, "expect: unknown pcie_iommu 0000:18:00.0\nonly: yes"},
		{"from some moment on", func(h *host) {
			grouped("0000:18:00.0", "identity")(h)
			h.At("10s").Set("sys/kernel/iommu_groups/7/type", "DMA-FQ")
		}, "expect: warn pcie_iommu 0000:18:00.0\nonly: yes"},
	})
	run(t, recorded("034-amd-iommu-identity-is-fine"), []row{
		{"not passed through", func(h *host) { h.Replace("identity", "DMA-FQ") },
			"expect: warn pcie_iommu 0000:41:00.0\nsays: DMA-FQ\nexpect: warn pcie_iommu 0000:61:00.0\nonly: yes"},
	})
}

// known gives the NIC and its port configuration space.
func known(tb testing.TB) *host {
	h := oneNIC(tb)
	h.Dev(nic).Space(endpoint)
	h.Dev(port).Space(rootPort)
	return h
}

func TestPayload(t *testing.T) {
	run(t, known, []row{
		{"equal", nil, "expect: ok pcie_payload 0000:16:00.0\nsays: 512\nonly: yes"},
		{"card below its port", func(h *host) { h.Dev(nic).Space(space{Payload: 128, ACS: -1}) },
			"expect: warn pcie_payload 0000:16:00.0\nsays: 0000:16:00.0 128\nsays: 0000:15:01.0 512\nonly: yes"},
		{"card above its port", func(h *host) { h.Dev(port).Space(space{Type: 4, Payload: 256, ACS: -1}) },
			"expect: warn pcie_payload mlx5_0\nsays: 0000:15:01.0 256\nonly: yes"},
		{"agreed on less", func(h *host) {
			h.Dev(nic).Space(space{Payload: 128, ACS: -1})
			h.Dev(port).Space(space{Type: 4, Payload: 128, ACS: -1})
		}, "expect: ok pcie_payload *\nsays: 128\nonly: yes"},
		{"small read requests", func(h *host) { h.Dev(nic).Space(space{Request: 256, ACS: -1}) }, "expect: info pcie_payload *\nsays: 256 bytes\nonly: yes"},
		{"large read requests", func(h *host) { h.Dev(nic).Space(space{Request: 4096, ACS: -1}) }, "expect: ok pcie_payload *\nonly: yes"},
		{"strict order", func(h *host) { h.Dev(nic).Space(space{Strict: true, ACS: -1}) }, "expect: info pcie_payload *\nsays: relaxed ordering\nonly: yes"},
		{"both", func(h *host) { h.Dev(nic).Space(space{Strict: true, Request: 128, ACS: -1}) },
			"expect: info pcie_payload *\nsays: relaxed ordering\nsays: 128 bytes\nonly: yes"},
		{"of 100 Gb/s", func(h *host) { h.Dev(nic).Space(space{Strict: true, ACS: -1}).RDMA("mlx5_0", 100, guid) }, "expect: info pcie_payload *\nonly: yes"},
		{"of less", func(h *host) { h.Dev(nic).Space(space{Strict: true, Request: 128, ACS: -1}).RDMA("mlx5_0", 56, guid) }, "expect: ok pcie_payload *\nonly: yes"},
		{"without an active port", func(h *host) { h.Dev(nic).Space(space{Strict: true, Request: 128, ACS: -1}).RDMA("mlx5_0", 0, guid) },
			"expect: ok pcie_payload *\nonly: yes"},
		{"GPU", func(h *host) {
			h.Dev(nic).Space(space{Strict: true, Request: 128, ACS: -1}).Set("class", "0x030200").ID("10de:2330")
		},
			"expect: ok pcie_payload *\nonly: yes"},
		{"limits of the operator", func(h *host) {
			h.Dev(nic).Space(space{Request: 512, ACS: -1})
			h.Set("fabricd.yaml", "thresholds: {pcie_payload: {read_request: 1024}}")
		}, "expect: info pcie_payload *\nonly: yes"},
		{"rate of the operator", func(h *host) {
			h.Dev(nic).Space(space{Request: 128, ACS: -1})
			h.Set("fabricd.yaml", "thresholds: {pcie_payload: {fast: 400}}")
		}, "expect: ok pcie_payload *\nonly: yes"},
		{"64 bytes", func(h *host) { h.Dev(nic).Space(space{Visible: 64}) }, "expect: unknown pcie_payload *\nsays: 64 bytes\nsays: CAP_SYS_ADMIN\nonly: yes"},
		{"256 bytes", func(h *host) { h.Dev(nic).Space(space{Visible: 256}) }, "expect: ok pcie_payload *\nonly: yes"},
		{"64 bytes of the port", func(h *host) { h.Dev(port).Space(space{Type: 4, Visible: 64}) }, "expect: unknown pcie_payload *\nsays: 0000:15:01.0\nonly: yes"},
		{"no config of the port", func(h *host) { h.Dev(port).Drop("config") }, "expect: unknown pcie_payload *\nsays: 0000:15:01.0\nonly: yes"},
		{"refused", func(h *host) { h.Dev(nic).Fail("config", "EPERM") }, "expect: unknown pcie_payload *\nsays: permission denied\nonly: yes"},
		{"too short", func(h *host) { h.Dev(nic).Set("config.hex", "de10") }, "expect: unknown pcie_payload *\nonly: yes"},
		{"all ones", func(h *host) { h.Dev(nic).AllOnes() }, "expect: unknown pcie_payload *\nsays: pcie_lost\nexpect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"none", func(h *host) { h.Dev(nic).Drop("config") }, "expect: unknown pcie_payload *\nonly: yes"},
		{"suspended", func(h *host) { h.Dev(nic).Set("power/runtime_status", "suspended") }, "expect: unknown pcie_payload *\nonly: yes"},
		{"guest below a port that is made up", func(h *host) { h.Guest(); h.Dev(port).Space(space{Type: 4, Payload: 128, ACS: -1}) },
			"expect: unknown pcie_payload *\nsays: virtual machine\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); h.Dev(nic).Space(space{Request: 128, ACS: -1}) }, "expect: info|unknown pcie_payload *\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4").Space(rootPort)
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "32x4").Space(space{Payload: 128, ACS: -1})
		}, "never: ok|info|warn|fail|unknown pcie_payload 0000:21:00.0\nonly: yes"},
		{"no port", func(h *host) { h.NIC("0000:40:00.0", "", "32x16").Space(endpoint) }, "expect: unknown pcie_payload 0000:40:00.0\nonly: yes"},
	})
}

func TestASPM(t *testing.T) {
	const l0s, l1 = 1, 2
	run(t, known, []row{
		{"off", nil, "expect: ok pcie_aspm 0000:16:00.0\nonly: yes"},
		{"L1 at both ends", func(h *host) {
			h.Dev(nic).Space(space{ASPM: l1, ACS: -1})
			h.Dev(port).Space(space{Type: 4, ASPM: l0s | l1, ACS: -1})
		}, "expect: info pcie_aspm 0000:16:00.0\nsays: L1\nexpect: info pcie_aspm mlx5_0\nonly: yes"},
		{"L1 at one end", func(h *host) { h.Dev(nic).Space(space{ASPM: l1, ACS: -1}) }, "expect: ok pcie_aspm 0000:16:00.0\nonly: yes"},
		{"L0s", func(h *host) {
			h.Dev(nic).Space(space{ASPM: l0s, ACS: -1})
			h.Dev(port).Space(space{Type: 4, ASPM: l0s, ACS: -1})
		}, "expect: ok pcie_aspm 0000:16:00.0\nonly: yes"},
		{"sysfs on", func(h *host) { h.Dev(nic).Drop("config").Set("link/l1_aspm", "1") }, "expect: info pcie_aspm 0000:16:00.0\nonly: yes"},
		{"sysfs off", func(h *host) { h.Dev(nic).Drop("config").Set("link/l1_aspm", "0") }, "expect: ok pcie_aspm 0000:16:00.0\nonly: yes"},
		{"sysfs empty", func(h *host) { h.Dev(nic).Drop("config").Set("link/l1_aspm", "") }, "expect: unknown pcie_aspm 0000:16:00.0\nonly: yes"},
		{"64 bytes and sysfs", func(h *host) { h.Dev(nic).Space(space{Visible: 64}).Set("link/l1_aspm", "1") }, "expect: info pcie_aspm 0000:16:00.0\nonly: yes"},
		{"64 bytes", func(h *host) { h.Dev(nic).Space(space{Visible: 64}) }, "expect: unknown pcie_aspm 0000:16:00.0\nsays: 64 bytes\nonly: yes"},
		{"no config", func(h *host) { h.Dev(nic).Drop("config") }, "expect: unknown pcie_aspm 0000:16:00.0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); h.Dev(nic).Drop("config") }, "expect: unknown pcie_aspm 0000:16:00.0\nsays: virtual machine\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4").Space(space{Type: 4, ASPM: l1, ACS: -1})
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "32x4").Space(space{ASPM: l1, ACS: -1})
		}, "never: info|warn|fail pcie_aspm 0000:21:00.0\nonly: yes"},
	})
	run(t, oneSwitch, []row{
		{"above the switch", func(h *host) {
			h.Dev(port).Space(space{Type: 4, ASPM: l1, ACS: -1})
			h.Dev("0000:16:00.0").Space(space{Type: 5, ASPM: l1, ACS: -1})
		}, "expect: info pcie_aspm 0000:16:00.0\nonly: yes"},
	})
}
