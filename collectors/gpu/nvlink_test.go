// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"fmt"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"github.com/fabricd/fabricd/probes/gpu"
)

func of[T any](v T) *T { return &v }

// linked is a GPU with so many active NVLinks, each with these errors.
func linked(address string, errors gpu.NVLinkErrors, active ...bool) gpu.Device {
	d := gpu.Device{PCIBusID: address, Name: "H100"}
	for i, on := range active {
		d.NVLinks = append(d.NVLinks, gpu.NVLink{Link: i, Active: &on, Version: of(4), RemoteType: "switch", Errors: &errors})
	}
	return d
}

func TestNVLink(t *testing.T) {
	none := gpu.NVLinkErrors{Replay: of(uint64(7)), CRCFlit: of(uint64(900))}
	film := func(devices ...gpu.Device) func(*hosttest.Host) {
		return func(h *hosttest.Host) {
			for i, d := range devices {
				at := h
				if i > 0 {
					at = h.At(fmt.Sprintf("%ds", 20*i))
				}
				at.NVML(d)
			}
		}
	}
	up := linked(address, none, true, true)
	grown := linked(address, gpu.NVLinkErrors{Replay: of(uint64(7)), CRCFlit: of(uint64(905))}, true, true)
	fifth := func(effective, symbol uint64) gpu.Device {
		return linked(address, gpu.NVLinkErrors{Effective: &effective, Symbol: &symbol}, true, true)
	}
	fourth := func(data uint64) gpu.Device {
		d := linked(address, gpu.NVLinkErrors{Replay: of(uint64(0)), CRCData: &data}, true)
		d.NVLinks[0].Version = of(6)
		return d
	}
	with := func(d gpu.Device, change func(*gpu.Device)) gpu.Device { change(&d); return d }
	for _, test := range []struct {
		name   string
		change func(*hosttest.Host)
		expect string
	}{
		{"picture", film(up), "expect: unknown nvlink 0000:16:00.0\nsays: 2 of 2\nsays: second\nnever: ok|fail|warn nvlink *"},
		{"well", film(up, up), "expect: ok nvlink 0000:16:00.0\nsays: 2 of 2"},
		{"one inactive", film(linked(address, none, true, false, true)), "expect: fail nvlink 1\nsays: NVLink 1 is inactive\nnever: ok|unknown nvlink *\nnever: fail nvlink 0"},
		{"no state told", film(with(linked(address, none, true, true, true), func(d *gpu.Device) { d.NVLinks[1].Active = nil })), "expect: unknown nvlink 0000:16:00.0\nsays: 2 of 3 NVLinks are active; of 1\nnever: ok|fail|warn nvlink *"},
		{"no state told, another inactive", film(with(linked(address, none, true, true, false), func(d *gpu.Device) { d.NVLinks[1].Active = nil })), "expect: fail nvlink 2\nnever: ok nvlink *"},
		{"all inactive", film(linked(address, none, false, false)), "expect: ok nvlink *\nsays: none of 2\nnever: warn|fail nvlink *"},
		{"errors grow", film(up, grown), "expect: warn nvlink 0\nsays: crc_flit by 5\nexpect: warn nvlink 1\nnever: ok nvlink *"},
		{"grew long ago", film(up, grown, grown), "expect: ok nvlink 0000:16:00.0"},
		{"fourth NVLink: what it corrects", film(fourth(7), fourth(900)), "expect: ok nvlink 0000:16:00.0"},
		{"third NVLink: data CRC", film(linked(address, gpu.NVLinkErrors{CRCData: of(uint64(7))}, true), linked(address, gpu.NVLinkErrors{CRCData: of(uint64(8))}, true)), "expect: warn nvlink 0\nsays: crc_data by 1"},
		{"counters that were reset", film(grown, up), "expect: ok nvlink 0000:16:00.0"},
		{"fifth NVLink: corrected errors", film(fifth(0, 100), fifth(0, 5000)), "expect: ok nvlink 0000:16:00.0"},
		{"fifth NVLink: others", film(fifth(0, 100), fifth(1, 100)), "expect: warn nvlink 0\nexpect: warn nvlink 1\nsays: effective by 1"},
		{"no counters", film(with(linked(address, none, true, true), func(d *gpu.Device) {
			for i := range d.NVLinks {
				d.NVLinks[i].Errors = nil
			}
		})), "expect: unknown nvlink *\nsays: no error counters"},
		{"none", film(hosttest.Busy(address, 3)), "expect: ok nvlink *\nsays: no NVLink"},
		{"MIG", film(with(linked(address, none, true, false), func(d *gpu.Device) { d.MIG = of(true) })), "expect: ok nvlink *\nsays: MIG"},
		{"answers an error", film(with(hosttest.Busy(address, 3), func(d *gpu.Device) { d.Failed = []string{"nvlinks"} })), "expect: unknown nvlink *\nsays: error"},
		{"left out", func(h *hosttest.Host) {
			h.Set("gpu.json", `{"left_out": ["nvlinks", "bar1"], "devices": [{"pci_bus_id": "0000:16:00.0"}]}`)
		}, "expect: unknown nvlink *\nsays: in time\nexpect: unknown gpu_bar1 *\nsays: in time"},
		{"lost", film(gpu.Device{PCIBusID: address, Lost: true}), "expect: unknown nvlink *\nsays: pcie_lost\nexpect: fail pcie_lost *"},
		{"wants a reset", film(gpu.Device{PCIBusID: address, ResetRequired: true}), "expect: unknown nvlink *\nexpect: fail pcie_lost *\nsays: reset"},
		{"not registered", film(with(up, func(d *gpu.Device) { d.Fabric = &gpu.Fabric{State: "in_progress"} })), "expect: info nvlink *\nsays: in_progress"},
		{"registration failed, all inactive", film(with(linked(address, none, false, false), func(d *gpu.Device) { d.Fabric = &gpu.Fabric{State: "completed", Status: "timeout"} })), "expect: warn nvlink *\nsays: timeout"},
		{"not registered, no links told", film(with(hosttest.Busy(address, 3), func(d *gpu.Device) { d.Fabric = &gpu.Fabric{State: "not_started"} })), "expect: info nvlink *\nsays: not_started"},
		{"registration failed", film(with(up, func(d *gpu.Device) { d.Fabric = &gpu.Fabric{State: "completed", Status: "timeout"} })), "expect: warn nvlink *\nsays: timeout"},
		{"fabric unwell", film(with(up, func(d *gpu.Device) {
			d.Fabric = &gpu.Fabric{State: "completed", Status: "success", Trouble: []string{"degraded_bandwidth"}}
		})), "expect: warn nvlink *\nsays: degraded_bandwidth"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := oneGPU(t)
			test.change(h)
			h.Expect(test.expect + "\nonly: yes")
		})
	}
}

// A GPU without any link among sisters that have theirs is worth a look.
func TestUnlinked(t *testing.T) {
	h := hosttest.New(t)
	var devices []gpu.Device
	for i := range 4 {
		port, address := fmt.Sprintf("0000:%d5:01.0", i+1), fmt.Sprintf("0000:%d6:00.0", i+1)
		h.Port(port, "", "32x16")
		h.GPU(address, port, "32x16")
		devices = append(devices, linked(address, gpu.NVLinkErrors{}, i < 3, i < 3))
	}
	h.NVML(devices...)
	h.Expect("expect: info nvlink 0000:46:00.0\nsays: 3 of 4\nnever: info|warn|fail nvlink 0000:16:00.0\nonly: yes")
}

func TestBAR1(t *testing.T) {
	sizes := func(bar1, memory uint64) gpu.Device {
		return gpu.Device{PCIBusID: address, BAR1: &gpu.BAR1{Total: bar1}, MemoryTotal: &memory}
	}
	for name, test := range map[string]struct {
		device gpu.Device
		expect string
	}{
		"smaller":   {sizes(256<<20, 80<<30), "expect: info gpu_bar1 0000:16:00.0\nsays: 256 MiB\nsays: 80 GiB"},
		"as large":  {sizes(80<<30, 80<<30), "expect: ok gpu_bar1 *"},
		"not told":  {hosttest.Busy(address, 1), "expect: unknown gpu_bar1 *\nsays: BAR1"},
		"by little": {sizes(80<<30-1<<20, 80<<30), "expect: info gpu_bar1 *\nsays: 85898297344 bytes"},
		"zero":      {sizes(0, 80<<30), "expect: unknown gpu_bar1 *"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			oneGPU(t).NVML(test.device).Expect(test.expect + "\nonly: yes")
		})
	}
}
