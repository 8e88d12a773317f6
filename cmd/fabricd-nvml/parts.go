// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"math"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/fabricd/fabricd/probes/gpu"
)

// A part is one question to the driver about one GPU.
type part struct {
	name string
	// every is how often it is asked: 0 in each round, once what does not change.
	every time.Duration
	// symbols are the library's functions that it needs.
	symbols []string
	// ask enters the answer, or that there is none.
	ask func(nvml.Device, *gpu.Device) nvml.Return
	// clear takes the answer back.
	clear func(*gpu.Device)
}

// links says whether it is about NVLinks.
func (p part) links() bool { return strings.HasPrefix(p.name, "nvlinks") }

const (
	once   = -1
	slow   = 10 * time.Second
	slower = time.Minute
)

// again says how long to wait after an answer.
func (p part) again(ret nvml.Return) time.Duration {
	if p.every != once {
		return p.every
	}
	if ret == nvml.SUCCESS {
		return math.MaxInt64 / 2
	}
	return slower
}

// parts lists what a snapshot consists of. Measured on an H200 (driver 580): the
// replay counter costs half a millisecond, BAR1 and MIG a third of one, 18
// NVLinks a fifth without any being there, the rest a hundred microseconds or
// less; first calls up to two milliseconds. What takes longer, as the
// throughput counters that block for 21 ms, has no place here.
func parts() []part {
	return append(append(identity(), link()...),
		part{"performance_state", 0, []string{"nvmlDeviceGetPerformanceState"}, askPerformanceState, func(d *gpu.Device) { d.PerformanceState = nil }},
		part{"utilization", 0, []string{"nvmlDeviceGetUtilizationRates"}, askUtilization, func(d *gpu.Device) { d.Utilization = nil }},
		part{"processes", 0, []string{"nvmlDeviceGetComputeRunningProcesses"}, askProcesses, func(d *gpu.Device) { d.Processes = nil }},
		part{"bar1", slow, []string{"nvmlDeviceGetBAR1MemoryInfo"}, askBAR1, func(d *gpu.Device) { d.BAR1 = nil }},
		part{"mig", slow, []string{"nvmlDeviceGetMigMode"}, askMIG, func(d *gpu.Device) { d.MIG = nil }},
		part{"nvlinks", slow, []string{"nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkVersion", "nvmlDeviceGetNvLinkErrorCounter", "nvmlDeviceGetFieldValues"},
			askNVLinks, func(d *gpu.Device) { d.NVLinks = nil }},
		part{"nvlinks_remote", slow, []string{"nvmlDeviceGetNvLinkRemoteDeviceType"}, askRemotes, func(*gpu.Device) {}},
		part{"fabric", slow, []string{"nvmlDeviceGetGpuFabricInfoV"}, askFabric, func(d *gpu.Device) { d.Fabric = nil }},
	)
}

func nothing(*gpu.Device) {}

// identity is who a GPU is.
func identity() []part {
	text := func(ask func(nvml.Device) (string, nvml.Return), to func(*gpu.Device) *string) func(nvml.Device, *gpu.Device) nvml.Return {
		return func(h nvml.Device, d *gpu.Device) nvml.Return {
			s, ret := ask(h)
			if ret == nvml.SUCCESS {
				*to(d) = s
			}
			return ret
		}
	}
	return []part{
		{"index", once, []string{"nvmlDeviceGetIndex"}, askIndex, nothing},
		{"name", once, []string{"nvmlDeviceGetName"}, text(nvml.Device.GetName, func(d *gpu.Device) *string { return &d.Name }), nothing},
		{"uuid", once, []string{"nvmlDeviceGetUUID"}, text(nvml.Device.GetUUID, func(d *gpu.Device) *string { return &d.UUID }), nothing},
		{"minor", once, []string{"nvmlDeviceGetMinorNumber"}, whole(nvml.Device.GetMinorNumber, func(d *gpu.Device) **int { return &d.Minor }), nothing},
		{"memory", once, []string{"nvmlDeviceGetMemoryInfo"}, askMemory, nothing},
	}
}

// link is the GPU's PCI Express link.
func link() []part {
	of := func(name string, every time.Duration, symbol string, ask func(nvml.Device) (int, nvml.Return), to func(*gpu.PCIe) **int) part {
		field := func(d *gpu.Device) **int { return to(pcie(d)) }
		return part{name, every, []string{symbol}, whole(ask, field), func(d *gpu.Device) { *field(d) = nil }}
	}
	return []part{
		of("pcie_generation", 0, "nvmlDeviceGetCurrPcieLinkGeneration", nvml.Device.GetCurrPcieLinkGeneration, func(p *gpu.PCIe) **int { return &p.Generation }),
		of("pcie_width", 0, "nvmlDeviceGetCurrPcieLinkWidth", nvml.Device.GetCurrPcieLinkWidth, func(p *gpu.PCIe) **int { return &p.Width }),
		of("pcie_generation_max", slower, "nvmlDeviceGetMaxPcieLinkGeneration", nvml.Device.GetMaxPcieLinkGeneration, func(p *gpu.PCIe) **int { return &p.GenerationMax }),
		of("pcie_generation_device_max", slower, "nvmlDeviceGetGpuMaxPcieLinkGeneration", nvml.Device.GetGpuMaxPcieLinkGeneration, func(p *gpu.PCIe) **int { return &p.GenerationDeviceMax }),
		of("pcie_width_max", slower, "nvmlDeviceGetMaxPcieLinkWidth", nvml.Device.GetMaxPcieLinkWidth, func(p *gpu.PCIe) **int { return &p.WidthMax }),
		{"pcie_replays", 0, []string{"nvmlDeviceGetPcieReplayCounter"}, askReplays, func(d *gpu.Device) { pcie(d).Replays = nil }},
	}
}

func pcie(d *gpu.Device) *gpu.PCIe {
	if d.PCIe == nil {
		d.PCIe = &gpu.PCIe{}
	}
	return d.PCIe
}

// given gives a value that the driver gave, or nil.
func given[T any](v T, ret nvml.Return) *T {
	if ret != nvml.SUCCESS {
		return nil
	}
	return &v
}

// whole makes a question for a number.
func whole(ask func(nvml.Device) (int, nvml.Return), to func(*gpu.Device) **int) func(nvml.Device, *gpu.Device) nvml.Return {
	return func(h nvml.Device, d *gpu.Device) nvml.Return {
		v, ret := ask(h)
		*to(d) = given(v, ret)
		return ret
	}
}

func askIndex(h nvml.Device, d *gpu.Device) nvml.Return {
	v, ret := h.GetIndex()
	if ret == nvml.SUCCESS {
		d.Index = v
	}
	return ret
}

func askMemory(h nvml.Device, d *gpu.Device) nvml.Return {
	m, ret := h.GetMemoryInfo()
	d.MemoryTotal = given(m.Total, ret)
	return ret
}

func askReplays(h nvml.Device, d *gpu.Device) nvml.Return {
	v, ret := h.GetPcieReplayCounter()
	pcie(d).Replays = given(uint64(uint32(v)), ret)
	return ret
}

func askPerformanceState(h nvml.Device, d *gpu.Device) nvml.Return {
	v, ret := h.GetPerformanceState()
	if d.PerformanceState = given(int(v), ret); v == nvml.PSTATE_UNKNOWN {
		d.PerformanceState = nil
	}
	return ret
}

func askUtilization(h nvml.Device, d *gpu.Device) nvml.Return {
	v, ret := h.GetUtilizationRates()
	d.Utilization = given(int(v.Gpu), ret)
	return ret
}

func askBAR1(h nvml.Device, d *gpu.Device) nvml.Return {
	v, ret := h.GetBAR1MemoryInfo()
	d.BAR1 = given(gpu.BAR1{Total: v.Bar1Total, Used: &v.Bar1Used}, ret)
	return ret
}

func askMIG(h nvml.Device, d *gpu.Device) nvml.Return {
	mode, _, ret := h.GetMigMode()
	d.MIG = given(mode == nvml.DEVICE_MIG_ENABLE, ret)
	return ret
}

// maxProcesses bounds what is told of one GPU.
const maxProcesses = 1024

// askProcesses lists the processes; one that uses several MIG slices once.
func askProcesses(h nvml.Device, d *gpu.Device) nvml.Return {
	list, ret := h.GetComputeRunningProcesses()
	d.Processes = nil
	if ret != nvml.SUCCESS {
		return ret
	}
	d.Processes = []gpu.Process{}
	seen := map[uint32]int{}
	for _, p := range list {
		var used *uint64
		if p.UsedGpuMemory != math.MaxUint64 { // not available
			used = &p.UsedGpuMemory
		}
		at, known := seen[p.Pid]
		switch {
		case !known && len(d.Processes) < maxProcesses:
			seen[p.Pid] = len(d.Processes)
			d.Processes = append(d.Processes, gpu.Process{PID: int(p.Pid), UsedMemory: used})
		case known && used != nil && d.Processes[at].UsedMemory != nil:
			sum := *d.Processes[at].UsedMemory + *used
			d.Processes[at].UsedMemory = &sum
		}
	}
	return ret
}
