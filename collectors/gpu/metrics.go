// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"strconv"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
)

type metric = collectors.Metric[row]

func addressLabel() collectors.Label[row] {
	return collectors.Label[row]{Name: "address", Get: func(r *row) string { return r.Address }}
}

func columns() collectors.Columns[row] {
	return collectors.Columns[row]{
		Labels:  []collectors.Label[row]{addressLabel()},
		Checks:  []collectors.Check[row]{replaysCheck(), bar1Check()},
		Metrics: append(deviceMetrics(), pcieMetrics()...),
	}
}

// number makes the value of an answer that may be missing.
func number[T int | uint64](p *T, scale float64) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return float64(*p) * scale, true
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func deviceMetrics() []metric {
	address := addressLabel()
	return []metric{
		{Name: "gpu_info", Help: "1 for each GPU: the driver's index, the product's name and the GPU's UUID.", Source: "NVML index, name, uuid; amdgpu product_name",
			Labels: []collectors.Label[row]{address,
				{Name: "index", Get: func(r *row) string { return strconv.Itoa(r.Index) }},
				{Name: "name", Get: func(r *row) string { return probes.Printable(r.Name) }},
				{Name: "uuid", Get: func(r *row) string { return probes.Printable(r.UUID) }}},
			Get: func(r *row) (float64, bool) { return 1, r.PCIBusID != "" }},
		{Name: "gpu_lost", Help: "1 if the driver lost the GPU: it fell off the bus.", Source: "NVML error GPU is lost",
			Get: func(r *row) (float64, bool) { return flag(r.Lost), r.PCIBusID != "" }},
		{Name: "gpu_reset_required", Help: "1 if the GPU answers nothing before it is reset.", Source: "NVML error reset required",
			Get: func(r *row) (float64, bool) { return flag(r.ResetRequired), r.PCIBusID != "" }},
		{Name: "gpu_utilization_ratio", Help: "Fraction of time in which a kernel ran on the GPU, over the driver's own sampling period.", Source: "NVML utilization.gpu; amdgpu gpu_busy_percent",
			Get: func(r *row) (float64, bool) { return number(r.Utilization, 0.01) }},
		{Name: "gpu_performance_state", Help: "Performance state: 0 is the fastest. Idle data-centre GPUs stay at 0.", Source: "NVML performance state",
			Get: func(r *row) (float64, bool) { return number(r.PerformanceState, 1) }},
		{Name: "gpu_memory_bytes", Help: "Memory of the GPU.", Source: "NVML memory.total; amdgpu mem_info_vram_total",
			Get: func(r *row) (float64, bool) { return number(r.MemoryTotal, 1) }},
		{Name: "gpu_bar1_bytes", Help: "Window through which others reach the GPU's memory.", Source: "NVML BAR1 total; amdgpu mem_info_vis_vram_total",
			Get: func(r *row) (float64, bool) {
				if r.BAR1 == nil {
					return 0, false
				}
				return float64(r.BAR1.Total), true
			}},
		{Name: "gpu_bar1_used_bytes", Help: "Part of that window which is in use.", Source: "NVML BAR1 used; amdgpu mem_info_vis_vram_used",
			Get: func(r *row) (float64, bool) {
				if r.BAR1 == nil {
					return 0, false
				}
				return number(r.BAR1.Used, 1)
			}},
		{Name: "gpu_mig_enabled", Help: "1 if the GPU is split into MIG slices.", Source: "NVML MIG mode",
			Get: func(r *row) (float64, bool) {
				if r.MIG == nil {
					return 0, false
				}
				return flag(*r.MIG), true
			}},
		{Name: "gpu_processes", Help: "Processes that compute on the GPU.", Source: "NVML compute processes",
			Get: func(r *row) (float64, bool) {
				return float64(len(r.Processes)), r.Processes != nil
			}},
		{Name: "gpu_hive_info", Help: "1 for each AMD GPU that XGMI joins with others: those of one hive have one id.", Source: "amdgpu xgmi_hive_id",
			Labels: []collectors.Label[row]{address, {Name: "hive", Get: func(r *row) string { return r.Hive }}},
			Get:    func(r *row) (float64, bool) { return 1, r.Hive != "" }},
	}
}

func pcieMetrics() []metric {
	of := func(get func(*gpu.PCIe) *int) func(*row) (float64, bool) {
		return func(r *row) (float64, bool) {
			if r.PCIe == nil {
				return 0, false
			}
			return number(get(r.PCIe), 1)
		}
	}
	return []metric{
		{Name: "gpu_pcie_generation", Help: "Generation at which the GPU's link runs, as the driver sees it.", Source: "NVML current link generation; amdgpu pp_dpm_pcie",
			Get: of(func(p *gpu.PCIe) *int { return p.Generation })},
		{Name: "gpu_pcie_generation_max", Help: "Generation that GPU and slot can do.", Source: "NVML maximum link generation; amdgpu pp_dpm_pcie",
			Get: of(func(p *gpu.PCIe) *int { return p.GenerationMax })},
		{Name: "gpu_pcie_width_lanes", Help: "Lanes in use, as the driver sees them.", Source: "NVML current link width; amdgpu pp_dpm_pcie",
			Get: of(func(p *gpu.PCIe) *int { return p.Width })},
		{Name: "gpu_pcie_width_max_lanes", Help: "Lanes that GPU and slot have.", Source: "NVML maximum link width; amdgpu pp_dpm_pcie",
			Get: of(func(p *gpu.PCIe) *int { return p.WidthMax })},
		{Name: "gpu_pcie_replays_total", Kind: collectors.Counter, Help: "Packets that were repeated on the GPU's PCI Express link since the driver was loaded.", Source: "NVML PCIe replay counter; amdgpu pcie_replay_count",
			Get: func(r *row) (float64, bool) {
				if r.PCIe == nil {
					return 0, false
				}
				return number(r.PCIe.Replays, 1)
			}},
		{Name: "pcie_link_below_max_busy_seconds_total", Kind: collectors.Counter, Help: "Time that the GPU was seen busy while its link was below what GPU and slot can do. It is busy from 10 % utilisation on, until that falls below 5 %.", Source: "the driver's utilisation, link generation and width",
			Get: func(r *row) (float64, bool) { return r.slowBusy.Seconds(), r.hasSlowBusy }},
	}
}
