// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"github.com/fabricd/fabricd/probes/gpu"
)

const address = "0000:16:00.0"

func oneGPU(tb testing.TB) *hosttest.Host {
	h := hosttest.New(tb)
	h.Port("0000:15:01.0", "", "32x16")
	h.GPU(address, "0000:15:01.0", "32x16")
	return h
}

// replays makes a film of the replay counter; -1 is a reading without it.
func replays(h *hosttest.Host, step time.Duration, generation int, counts ...int) {
	for i, n := range counts {
		p := &gpu.PCIe{}
		if generation > 0 {
			p.Generation = &generation
		}
		if n >= 0 {
			p.Replays = new(uint64)
			*p.Replays = uint64(n)
		}
		at := h
		if i > 0 {
			at = h.At((time.Duration(i) * step).String())
		}
		at.NVML(gpu.Device{PCIBusID: "00000000:16:00.0", PCIe: p})
	}
}

func TestReplays(t *testing.T) {
	const ok, warn, unknown = "expect: ok pcie_replays 0000:16:00.0\nonly: yes", "expect: warn pcie_replays 0000:16:00.0\nonly: yes", "expect: unknown pcie_replays 0000:16:00.0\nonly: yes"
	film := func(step time.Duration, generation int, counts ...int) func(*hosttest.Host) {
		return func(h *hosttest.Host) { replays(h, step, generation, counts...) }
	}
	for _, test := range []struct {
		name   string
		change func(*hosttest.Host)
		expect string
	}{
		{"no source", func(*hosttest.Host) {}, "expect: unknown pcie_replays 0000:16:00.0\nsays: gpu.json\nonly: yes"},
		{"driver of another kind", func(h *hosttest.Host) { h.Dev(address).Driver("vfio-pci") }, "expect: unknown pcie_replays *\nsays: bound to vfio-pci\nonly: yes"},
		{"picture", film(time.Minute, 5, 0), unknown},
		{"picture of many", film(time.Minute, 5, 90000), unknown},
		{"none", film(time.Minute, 5, 0, 0), ok},
		{"old ones", film(time.Minute, 5, 90000, 90000), ok},
		{"as many as 32 GT/s excuse", film(time.Minute, 5, 0, 4), ok},
		{"one more", film(time.Minute, 5, 0, 5), "expect: warn pcie_replays 0000:16:00.0\nsays: 5 packets\nsays: 32 GT/s\nonly: yes"},
		{"slower link", film(time.Minute, 4, 0, 3), warn},
		{"as many as 16 GT/s excuse", film(time.Minute, 4, 0, 2), ok},
		{"generation not told, few for the GPU", film(time.Minute, 0, 0, 3), ok},
		{"generation not told, many for it", film(time.Minute, 0, 0, 8), warn},
		{"two in a second", film(time.Second, 5, 0, 2), ok},
		{"three in a second", film(time.Second, 5, 0, 3), warn},
		{"some in an hour", film(time.Hour, 5, 0, 200), ok},
		{"reset", film(time.Minute, 5, 8812, 2), ok},
		{"reset and rising", film(time.Minute, 5, 8812, 2, 102), warn},
		{"not told", film(time.Minute, 5, -1, -1), unknown},
		{"not told any more", film(time.Minute, 5, 0, 100, -1), unknown},
		{"not told in between", film(time.Minute, 5, 0, -1, 100), warn},
		{"number of the operator", func(h *hosttest.Host) {
			replays(h, time.Minute, 5, 0, 90)
			h.Set("fabricd.yaml", "thresholds: {pcie_replays: {per_minute: 3}}")
		}, ok},
		{"least of the operator", func(h *hosttest.Host) {
			replays(h, time.Minute, 5, 0, 90)
			h.Set("fabricd.yaml", "thresholds: {pcie_replays: {least: 91}}")
		}, ok},
		{"no link told at all", func(h *hosttest.Host) {
			h.NVML(hosttest.Busy(address, 3))
			h.At("1m").NVML(hosttest.Busy(address, 4))
		}, unknown},
		{"guest", func(h *hosttest.Host) { h.Guest(); replays(h, time.Minute, 5, 0, 90) }, warn},
		{"lost", func(h *hosttest.Host) {
			replays(h, time.Minute, 5, 0, 0)
			h.At("2m").NVML(gpu.Device{PCIBusID: address, Lost: true})
		}, "expect: unknown pcie_replays *\nexpect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"lost, with values from before", func(h *hosttest.Host) {
			replays(h, time.Minute, 5, 0, 0)
			one := uint64(1)
			for at, lost := range map[string]gpu.Device{"2m": {Lost: true}, "3m": {ResetRequired: true}} {
				lost.PCIBusID, lost.MemoryTotal, lost.BAR1, lost.PCIe = address, &one, &gpu.BAR1{Total: 1}, &gpu.PCIe{Replays: &one}
				h.At(at).NVML(lost)
			}
		}, "expect: unknown pcie_replays *\nsays: pcie_lost\nexpect: unknown gpu_bar1 *\nsays: pcie_lost\nexpect: fail pcie_lost 0000:16:00.0\nonly: yes"},
		{"left out for a reason", func(h *hosttest.Host) {
			h.Set("gpu.json", `{"left_out": ["bar1", "pcie_replays"], "left_out_why": {"bar1": "fabricd-nvml: exit status 127 in bar1"}, "devices": [{"pci_bus_id": "0000:16:00.0"}]}`)
		}, "expect: unknown gpu_bar1 *\nsays: twice: fabricd-nvml: exit status 127\nexpect: unknown pcie_replays *\nsays: in time\nonly: yes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := oneGPU(t)
			test.change(h)
			h.Expect(test.expect)
		})
	}
}

// Answers that cannot be believed cost the GPUs' load and nothing else.
func TestBrokenAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no JSON": "driver: 580", "cut": `{"devices": [{"index": 0,`, "a list": "[]", "a number": "7",
		"no address":     `{"devices": [{"index": 0, "utilization_gpu": 99}]}`,
		"wrong address":  `{"devices": [{"index": 0, "pci_bus_id": "GPU-0", "utilization_gpu": 99}]}`,
		"a word for it":  `{"devices": [{"index": 0, "pci_bus_id": "0000:16:00.0", "utilization_gpu": "99"}]}`,
		"null":           `{"devices": [{"index": 0, "pci_bus_id": "0000:16:00.0", "utilization_gpu": null}]}`,
		"no devices":     `{"devices": []}`,
		"only a version": `{"driver_version": "1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := oneGPU(t).Set("gpu.json", text)
			h.Dev(address).Now("2.5x16")
			h.Expect("expect: info pcie_speed 0000:16:00.0\nsays: load unknown\nexpect: ok pcie_lost 0000:16:00.0\nonly: yes")
		})
	}
}

func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		`{"driver_version": "580", "devices": [{"index": 0, "pci_bus_id": "00000000:16:00.0", "utilization_gpu": 97, "lost": false}]}`,
		`{"devices": [{"pci_bus_id": "00000000:16:00.0", "utilization_gpu": -1, "pcie": {"generation": 99, "replays": 18446744073709551615}, "nvlinks": [{}]}]}`,
		`{"devices": [{"pci_bus_id": "16:0"}]}`, `{"devices": null}`, ``,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := oneGPU(t).Set("gpu.json.hex", hosttest.Hex(text))
		h.At("10s").Set("proc/uptime", "10")
		for _, x := range h.Findings() {
			if x.Status == collectors.None || x.Reason == "" {
				t.Errorf("%+v", x)
			}
		}
	})
}
