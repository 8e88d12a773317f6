// SPDX-License-Identifier: Apache-2.0

package gdr_test

import (
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"github.com/fabricd/fabricd/probes/gpu"
)

const (
	openDriver   = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build"
	closedDriver = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Fri Feb 24 03:29:56 UTC 2023"
	inboxCore    = "ib_core 491520 9 mlx5_ib, Live 0x0000000000000000\n"
	ofedCore     = "ib_core 491520 9 mlx5_ib, Live 0x0000000000000000 (OE)\n"
	peermem      = "nvidia_peermem 16384 0 - Live 0x0000000000000000 (PO)\n"
)

// machine has a GPU and a NIC below one switch, and what a kernel and its
// drivers tell.
func machine(tb testing.TB, kernel, driver, modules string) *hosttest.Host {
	h := hosttest.New(tb)
	h.Port("0000:15:01.0", "", "32x16")
	h.Switch("0000:16:00.0", "0000:15:01.0", "32x16", "0000:17:00.0", "0000:17:01.0")
	h.GPU("0000:18:00.0", "0000:17:00.0", "32x16")
	h.NIC("0000:19:00.0", "0000:17:01.0", "32x16").RDMA("mlx5_0", 400, "946d:ae03:0000:0001")
	h.Set("proc/sys/kernel/osrelease", kernel).Set("proc/modules", modules)
	if driver != "" {
		h.Set("proc/driver/nvidia/version", driver)
	}
	return h
}

func TestGDR(t *testing.T) {
	type host = hosttest.Host
	nvMem := func(h *host) { h.Set("sys/kernel/mm/memory_peers/nv_mem/version", "535.183.01") }
	module := func(uses string) func(*host) {
		return func(h *host) {
			h.Set("sys/module/nvidia_peermem/version", "535.183.01").Set("sys/module/nvidia_peermem/refcnt", uses)
		}
	}
	for _, test := range []struct {
		name, kernel, driver, modules string
		change                        func(*host)
		expect                        string
	}{
		{"registered peer memory", "5.4.0", closedDriver, ofedCore + peermem, nvMem, "expect: ok gdr 0000:18:00.0\nsays: nv_mem is registered\nexpect: ok gdr mlx5_0"},
		{"the legacy client", "5.4.0", closedDriver, ofedCore, func(h *host) { h.Set("sys/kernel/mm/memory_peers/nv_mem_nc/version", "1") }, "expect: ok gdr *\nsays: nv_mem_nc"},
		{"dma-buf", "6.8.0-60-generic", openDriver, inboxCore, nil, "expect: ok gdr *\nsays: dma-buf possible\nsays: 6.8.0"},
		{"the first kernel with dma-buf", "5.12.0", openDriver, inboxCore, nil, "expect: ok gdr *\nsays: dma-buf"},
		{"a kernel too old", "5.11.22-4-pve", openDriver, inboxCore, nil, "expect: fail gdr *\nsays: older than 5.12\nsays: 570.133.20 (open)"},
		{"the closed driver", "6.8.0", closedDriver, inboxCore, nil, "expect: fail gdr *\nsays: no peer memory module\nsays: 535.183.01 (closed)"},
		{"a kernel without a version", "", openDriver, inboxCore, nil, "expect: unknown gdr *\nsays: not known"},
		{"a NIC driver without it", "6.8.0", openDriver, inboxCore, func(h *host) { h.Dev("0000:19:00.0").Driver("hns3") }, "expect: fail gdr *\nsays: hns3"},
		{"loaded on the kernel's core, not registered", "5.15.0", closedDriver, inboxCore + peermem, module("0"), "expect: fail gdr *\nsays: no peer memory client is registered\nsays: kernel's own RDMA core"},
		{"loaded on OFED, not registered", "5.15.0", closedDriver, ofedCore + peermem, func(h *host) {
			module("0")(h)
			h.Set("sys/kernel/mm/memory_peers/other/version", "1")
		}, "expect: fail gdr *\nsays: no peer memory client is registered"},
		{"loaded on OFED that lists nobody", "5.15.0", closedDriver, ofedCore + peermem, module("0"), "expect: ok gdr *\nsays: weak evidence"},
		{"loaded and used", "5.15.0", closedDriver, inboxCore + peermem, module("2"), "expect: ok gdr *\nsays: weak evidence\nsays: used (2)"},
		{"told to refuse", "6.8.0", openDriver, inboxCore, func(h *host) { h.Set("proc/driver/nvidia/params", "GrdmaPciTopoCheckOverride: 2") }, "expect: fail gdr *\nsays: GrdmaPciTopoCheckOverride"},
		{"told to allow", "6.8.0", openDriver, inboxCore, func(h *host) { h.Set("proc/driver/nvidia/params", "GrdmaPciTopoCheckOverride: 1") }, "expect: ok gdr *"},
		{"no driver", "6.8.0", "", inboxCore, nil, "expect: unknown gdr *\nsays: /proc/driver/nvidia/version"},
		{"peer memory unloaded later", "5.4.0", closedDriver, ofedCore, func(h *host) {
			nvMem(h)
			h.At("10s").Remove("sys/kernel/mm/memory_peers/nv_mem/version")
		}, "expect: fail gdr *\nsays: peer"},

		{"translation on the way", "6.8.0", openDriver, inboxCore, func(h *host) { h.Dev("0000:18:00.0").Group("7", "DMA-FQ") }, "expect: info gdr *\nsays: IOMMU translates\nsays: pcie_iommu"},
		{"passed through", "6.8.0", openDriver, inboxCore, func(h *host) { h.Dev("0000:18:00.0").Group("7", "identity") }, "expect: ok gdr *"},
		{"a domain that is not told", "6.8.0", openDriver, inboxCore, func(h *host) { h.Dev("0000:18:00.0").Group("7", "") }, "expect: ok gdr *\nsays: not visible\nsays: IOMMU domain"},
		{"guest", "6.8.0", openDriver, inboxCore, func(h *host) { h.Guest() }, "expect: ok gdr *\nsays: not visible: the host's ACS and IOMMU"},
		{"far", "6.8.0", openDriver, inboxCore, func(h *host) {
			h.Dev("0000:19:00.0").Drop("infiniband")
			h.Port("0000:25:01.0", "", "32x16")
			h.NIC("0000:26:00.0", "0000:25:01.0", "32x16").RDMA("mlx5_9", 400, "946d:ae03:0000:0009")
			h.Drop("sys/class/infiniband/mlx5_0")
		}, "expect: info gdr mlx5_9\nsays: NODE\nsays: PXB"},

		{"AMD", "6.8.0", "", inboxCore, func(h *host) { h.Dev("0000:18:00.0").ID("1002:74a1").Driver("amdgpu") }, "expect: ok gdr *\nsays: amdgpu"},
		{"AMD, registered", "5.4.0", "", ofedCore, func(h *host) {
			h.Dev("0000:18:00.0").ID("1002:74a1").Driver("amdgpu")
			h.Set("sys/kernel/mm/memory_peers/amdkfd/version", "1.0")
		}, "expect: ok gdr *\nsays: amdkfd"},
		{"AMD on an old kernel", "5.4.0", "", inboxCore, func(h *host) { h.Dev("0000:18:00.0").ID("1002:74a1").Driver("amdgpu") }, "expect: unknown gdr *"},
		{"another maker", "6.8.0", "", inboxCore, func(h *host) { h.Dev("0000:18:00.0").ID("1da3:1020").Set("class", "0x120000") }, "expect: unknown gdr *"},
		{"no RDMA", "6.8.0", openDriver, inboxCore, func(h *host) {
			h.Dev("0000:19:00.0").Drop("infiniband")
			h.Drop("sys/class/infiniband/mlx5_0")
		}, "never: ok|info|warn|fail|unknown gdr *"},
		{"modules that are not visible", "5.4.0", closedDriver, inboxCore, func(h *host) { h.Drop("proc/modules") }, "expect: unknown gdr *\nsays: /proc/modules: absent\nsays: closed"},
		{"modules that are not visible, dma-buf", "6.8.0", openDriver, inboxCore, func(h *host) { h.Drop("proc/modules") }, "expect: ok gdr *\nsays: dma-buf possible\nsays: not visible"},
		{"modules in sysfs alone", "5.4.0", closedDriver, inboxCore, func(h *host) { h.Drop("proc/modules").Set("sys/module/ib_core/refcnt", "1") }, "expect: fail gdr *\nsays: no peer memory module"},
		{"modules in sysfs alone, OFED's core", "5.4.0", closedDriver, "", func(h *host) {
			module("0")(h)
			h.Drop("proc/modules").Set("sys/module/ib_core/taint", "OE")
		}, "expect: ok gdr *\nsays: weak evidence"},
		{"modules in sysfs alone, a core of unknown origin", "5.4.0", closedDriver, "", func(h *host) {
			module("0")(h)
			h.Drop("proc/modules").Set("sys/module/ib_core/refcnt", "3")
		}, "expect: unknown gdr *\nsays: not visible"},
		{"an entry without a version", "5.4.0", closedDriver, ofedCore, func(h *host) { h.Set("sys/kernel/mm/memory_peers/nv_mem/num_alloc_mrs", "3") }, "expect: ok gdr *\nsays: nv_mem is registered"},
		{"another NIC driver", "6.8.0", openDriver, inboxCore, func(h *host) { h.Dev("0000:19:00.0").Driver("mana") }, "expect: unknown gdr *\nsays: mana"},
		{"a GPU handed on", "6.8.0", openDriver, inboxCore, func(h *host) { h.Dev("0000:18:00.0").Driver("vfio-pci") }, "expect: unknown gdr *\nsays: bound to vfio-pci"},
		{"a lost GPU", "6.8.0", openDriver, inboxCore, func(h *host) { h.NVML(gpu.Device{PCIBusID: "0000:18:00.0", Lost: true}) }, "expect: unknown gdr *\nsays: pcie_lost"},
		{"a driver that may not be asked", "6.8.0", "", inboxCore, func(h *host) { h.Set("proc/driver/nvidia/version.err", "EACCES") }, "expect: unknown gdr *\nsays: version: permission denied"},
		{"parameters that may not be read", "6.8.0", openDriver, inboxCore, func(h *host) { h.Set("proc/driver/nvidia/params.err", "EACCES") }, "expect: ok gdr *\nsays: params: permission denied"},
		{"clients that may not be listed", "5.4.0", closedDriver, inboxCore, func(h *host) { h.Set("sys/kernel/mm/memory_peers.err", "EACCES") }, "expect: unknown gdr *\nsays: memory_peers: "},
		{"hostile modules", "6.8.0", openDriver, "x\n\x1b[31m ( ) - - -\nib_core\n" + inboxCore, nil, "expect: ok gdr *"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := machine(t, test.kernel, test.driver, test.modules)
			if test.change != nil {
				test.change(h)
			}
			h.Expect(test.expect)
		})
	}
}

// What redirects between the two is named, and whose check judges it.
func TestRedirected(t *testing.T) {
	h := hosttest.Load(t, "../testdata/hosts/cases/037-acs-and-translation-at-once.txtar")
	h.Expect("expect: info gdr 0000:67:00.0\nsays: ACS redirects at 0000:66:04.0\nsays: pcie_acs")
}
