// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	gpus "github.com/fabricd/fabricd/probes/gpu"
)

// ACS control registers.
const (
	srcValid    = 0x01
	reqRedir    = 0x04
	cmpltRedir  = 0x08
	upstreamFwd = 0x10
	allACS      = 0x1d
)

// open has a GPU and a NIC below one switch whose bridges can be looked at and
// redirect nothing.
func open(tb testing.TB) *host {
	h := oneSwitch(tb)
	h.Dev(port).Space(rootPort)
	h.Dev("0000:16:00.0").Space(upstream)
	h.Dev("0000:17:00.0").Space(downwards)
	h.Dev("0000:17:01.0").Space(downwards)
	return h
}

func TestACS(t *testing.T) {
	control := func(address string, control, visible int) func(*host) {
		return func(h *host) { h.Dev(address).Space(space{Type: 6, ACS: control, Visible: visible}) }
	}
	run(t, open, []row{
		{"open", nil, "expect: ok pcie_acs 0000:18:00.0\nexpect: ok pcie_acs 0000:19:00.0\nexpect: ok pcie_acs mlx5_0\nonly: yes"},
		{"ReqRedir", control("0000:17:00.0", reqRedir, 0), "expect: fail pcie_acs 0000:18:00.0\nsays: 0000:17:00.0 (ReqRedir)\nsays: mlx5_0\nsays: setpci\nonly: yes"},
		{"CmpltRedir", control("0000:17:01.0", cmpltRedir, 0), "expect: fail pcie_acs 0000:18:00.0\nsays: 0000:17:01.0 (CmpltRedir)\nonly: yes"},
		{"UpstreamFwd", control("0000:17:01.0", upstreamFwd, 0), "expect: fail pcie_acs 0000:18:00.0\nsays: 0000:17:01.0 (UpstreamFwd)\nonly: yes"},
		{"all on both", func(h *host) { control("0000:17:00.0", allACS, 0)(h); control("0000:17:01.0", allACS, 0)(h) },
			"expect: fail pcie_acs 0000:18:00.0\nsays: 0000:17:00.0 (ReqRedir, CmpltRedir, UpstreamFwd)\nsays: 0000:17:01.0 (\nonly: yes"},
		{"source validation alone", control("0000:17:00.0", srcValid, 0), "expect: ok pcie_acs *\nonly: yes"},
		{"the root port is not on the way", func(h *host) { h.Dev(port).Space(space{Type: 4, ACS: allACS}) }, "expect: ok pcie_acs *\nonly: yes"},
		{"nor is another bridge", func(h *host) { h.Port("0000:17:02.0", "0000:16:00.0", "32x16").Space(space{Type: 6, ACS: allACS}) },
			"expect: ok pcie_acs *\nonly: yes"},
		{"no such capability", control("0000:17:00.0", -1, 0), "expect: ok pcie_acs *\nonly: yes"},
		{"64 bytes", control("0000:17:00.0", 0, 64), "expect: unknown pcie_acs *\nsays: 64 bytes\nsays: 0000:17:00.0\nsays: CAP_SYS_ADMIN\nonly: yes"},
		{"256 bytes", control("0000:17:00.0", 0, 256), "expect: unknown pcie_acs *\nsays: 256 bytes\nonly: yes"},
		{"64 bytes, the other redirects", func(h *host) { control("0000:17:00.0", 0, 64)(h); control("0000:17:01.0", allACS, 0)(h) },
			"expect: fail pcie_acs *\nsays: 0000:17:01.0\nonly: yes"},
		{"no config", func(h *host) { h.Dev("0000:17:00.0").Drop("config") }, "expect: unknown pcie_acs *\nonly: yes"},
		{"refused", func(h *host) { h.Dev("0000:17:00.0").Fail("config", "EACCES") }, "expect: unknown pcie_acs *\nsays: permission denied\nonly: yes"},
		{"all ones", func(h *host) { h.Dev("0000:17:00.0").AllOnes() }, "expect: unknown pcie_acs *\nexpect: fail pcie_lost 0000:17:00.0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); control("0000:17:00.0", reqRedir, 0)(h) }, "expect: unknown pcie_acs *\nsays: ask the host\nonly: yes"},
		{"fast NIC whose RDMA driver is missing", func(h *host) {
			control("0000:17:00.0", reqRedir, 0)(h)
			h.Dev("0000:19:00.0").Set("class", "0x020000").Drop("infiniband").Netdev("eth0", 100)
		}, "expect: fail pcie_acs eth0\nonly: yes"},
		{"slow NIC", func(h *host) {
			control("0000:17:00.0", reqRedir, 0)(h)
			h.Dev("0000:19:00.0").Set("class", "0x020000").Drop("infiniband").Netdev("eth0", 25)
		}, "never: warn|fail pcie_acs *\nonly: yes"},
		{"slow NIC of the plan", func(h *host) {
			control("0000:17:00.0", reqRedir, 0)(h)
			h.Dev("0000:19:00.0").Set("class", "0x020000").Drop("infiniband").Netdev("eth0", 25)
			h.Set("fabricd.yaml", "plan: {roles: {eth0: compute}}")
		}, "expect: fail pcie_acs eth0\nonly: yes"},
		{"two ports of one NIC are one pair", func(h *host) {
			control("0000:17:00.0", reqRedir, 0)(h)
			h.NIC("0000:19:00.1", "0000:17:01.0", "32x16").RDMA("mlx5_1", 200, guid)
		}, "expect: fail pcie_acs 0000:19:00.0\nnever: fail pcie_acs 0000:19:00.1\nonly: yes"},
		{"turned off later", func(h *host) {
			control("0000:17:00.0", reqRedir, 0)(h)
			h.At("10s").Dev("0000:17:00.0").Space(downwards)
		}, "expect: ok pcie_acs *\nonly: yes"},
	})
	apart := func(tb testing.TB) *host {
		h := oneGPU(tb)
		h.Dev(port).Space(space{Type: 4, ACS: allACS})
		h.Port("0000:25:01.0", "", "32x16").Space(space{Type: 4, ACS: allACS})
		h.NIC("0000:26:00.0", "0000:25:01.0", "32x16").RDMA("mlx5_0", 200, guid)
		return h
	}
	run(t, apart, []row{
		{"no switch in common", nil, "never: ok|info|warn|fail|unknown pcie_acs *\nonly: yes"},
		{"no switch in common, guest", func(h *host) { h.Guest() }, "expect: unknown pcie_acs 0000:16:00.0\nnever: ok|warn|fail pcie_acs *\nonly: yes"},
	})
}

// A switch below a switch: its upstream port is on the way, the common one not.
func TestACSOfNestedSwitches(t *testing.T) {
	nested := func(tb testing.TB) *host {
		h := open(tb)
		h.Port("0000:17:02.0", "0000:16:00.0", "32x16").Space(downwards)
		h.Switch("0000:20:00.0", "0000:17:02.0", "32x16", "0000:21:00.0")
		h.Dev("0000:20:00.0").Space(upstream)
		h.Dev("0000:21:00.0").Space(downwards)
		h.GPU("0000:22:00.0", "0000:21:00.0", "32x16")
		return h
	}
	run(t, nested, []row{
		{"open", nil, "expect: ok pcie_acs 0000:22:00.0\nexpect: ok gpu_nic 0000:22:00.0\nsays: PXB\nonly: yes"},
		{"above the inner switch", func(h *host) { h.Dev("0000:17:02.0").Space(space{Type: 6, ACS: reqRedir}) },
			"expect: fail pcie_acs 0000:22:00.0\nsays: 0000:17:02.0\nexpect: ok pcie_acs 0000:18:00.0\nexpect: warn|info pcie_acs 0000:22:00.0"},
		{"at the common port", func(h *host) { h.Dev("0000:16:00.0").Space(space{Type: 5, ACS: allACS}) }, "expect: ok pcie_acs 0000:22:00.0\nonly: yes"},
	})
}

func TestACSBetweenGPUs(t *testing.T) {
	two := func(tb testing.TB) *host {
		h := open(tb)
		h.Dev("0000:19:00.0").Drop("infiniband").Set("class", "0x030200").ID("10de:2330")
		h.Dev("0000:17:00.0").Space(space{Type: 6, ACS: reqRedir})
		return h
	}
	linked := func(active ...bool) func(*host) {
		return func(h *host) {
			a, b := hosttest.Busy("0000:18:00.0", 0), hosttest.Busy("0000:19:00.0", 0)
			for i, on := range active {
				a.NVLinks = append(a.NVLinks, gpus.NVLink{Link: i, Active: &on})
				b.NVLinks = append(b.NVLinks, gpus.NVLink{Link: i, Active: &on})
			}
			h.NVML(a, b)
		}
	}
	run(t, two, []row{
		{"no NVLink", linked(), "expect: warn pcie_acs 0000:18:00.0\nsays: 0000:17:00.0 (ReqRedir)\nexpect: warn pcie_acs 0000:19:00.0\nonly: yes"},
		{"NVLink", linked(true, true), "expect: info pcie_acs 0000:18:00.0\nsays: NVLink\nonly: yes"},
		{"a bridge that is not plugged in", linked(false, false), "expect: warn pcie_acs 0000:18:00.0\nonly: yes"},
		{"one of two", linked(true, false), "expect: info pcie_acs 0000:18:00.0\nexpect: fail nvlink 1\nonly: yes"},
		{"nobody tells", nil, "expect: info|unknown pcie_acs 0000:18:00.0\nonly: yes"},
		{"open", func(h *host) { linked()(h); h.Dev("0000:17:00.0").Space(downwards) }, "expect: ok pcie_acs 0000:18:00.0\nonly: yes"},
		{"not visible", func(h *host) { linked()(h); h.Dev("0000:17:00.0").Space(space{Type: 6, Visible: 64}) }, "expect: unknown pcie_acs 0000:18:00.0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); linked()(h) }, "expect: unknown pcie_acs 0000:18:00.0\nonly: yes"},
	})
}

func TestACSSiblings(t *testing.T) {
	run(t, recorded("027b-acs-off-on-the-plx-ports"), []row{
		{"ACS on the PLX ports", func(h *host) {
			h.Dev("0000:3c:04.0").Space(space{Type: 6, ACS: allACS})
			h.Dev("0000:3c:10.0").Space(space{Type: 6, ACS: allACS})
		}, "expect: fail pcie_acs 0000:3d:00.0\nsays: 3c:04.0\nsays: 3c:10.0\nexpect: ok gpu_nic 0000:3d:00.0\nonly: yes"},
		{"as an ordinary user", func(h *host) {
			h.Dev("0000:3c:04.0").Space(space{Type: 6, Visible: 64})
			h.Dev("0000:3c:10.0").Space(space{Type: 6, Visible: 64})
		}, "expect: unknown pcie_acs 0000:3d:00.0\nonly: yes"},
	})
	run(t, recorded("037-acs-and-translation-at-once"), []row{
		{"in a virtual machine", func(h *host) { h.Guest() }, "never: ok|info|warn|fail pcie_acs *\nexpect: unknown pcie_acs 0000:67:00.0\nexpect: info guest *"},
		{"cured", func(h *host) {
			h.Replace("DMA-FQ", "identity")
			h.Dev("0000:66:04.0").Space(downwards)
			h.Dev("0000:66:10.0").Space(space{Type: 6, ACS: srcValid})
		}, "expect: ok pcie_acs 0000:67:00.0\nexpect: ok pcie_iommu 0000:67:00.0\nonly: yes"},
	})
}
