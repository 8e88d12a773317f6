// SPDX-License-Identifier: Apache-2.0

// Package gpu knows what the GPU driver says of its devices: how busy they
// are and what they have. It does not know PCI Express or NUMA; collectors
// that need a GPU's load read it from here.
package gpu

import (
	"context"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
)

// New makes the collector.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[gpu.Snapshot]{
		Name:  "gpu",
		Help:  "GPUs as their driver sees them: load, performance state, memory.",
		Every: time.Second,
		Floor: 100 * time.Millisecond,
		Open: func(ctx context.Context, h *probes.Host, _ string) (collectors.Reader[gpu.Snapshot], error) {
			h.AwaitGPUs(ctx)
			if _, err := h.GPUs(); err != nil {
				return nil, err
			}
			return reader{h}, nil
		},
		Tables: []collectors.Table[gpu.Snapshot]{
			collectors.Rows(func(s *gpu.Snapshot) []gpu.Device { return s.Devices }, columns()),
		},
	})
}

type reader struct{ h *probes.Host }

func (r reader) Read(time.Duration) (*gpu.Snapshot, error) { return r.h.GPUs() }
func (r reader) Close()                                    {}

func columns() collectors.Columns[gpu.Device] {
	address := collectors.Label[gpu.Device]{Name: "address", Get: func(d *gpu.Device) string { return d.Address }}
	whole := func(p *int, scale float64) (float64, bool) {
		if p == nil {
			return 0, false
		}
		return float64(*p) * scale, true
	}
	return collectors.Columns[gpu.Device]{
		Labels: []collectors.Label[gpu.Device]{address},
		Checks: []collectors.Check[gpu.Device]{replaysCheck()},
		Metrics: []collectors.Metric[gpu.Device]{
			{Name: "gpu_info", Help: "1 for each GPU: the driver's index and the product's name.", Source: "NVML name, index",
				Labels: []collectors.Label[gpu.Device]{address,
					{Name: "index", Get: func(d *gpu.Device) string { return strconv.Itoa(d.Index) }},
					{Name: "name", Get: func(d *gpu.Device) string { return probes.Printable(d.Name) }}},
				Get: func(*gpu.Device) (float64, bool) { return 1, true }},
			{Name: "gpu_utilization_ratio", Help: "Fraction of time in which a kernel ran on the GPU, over the driver's own sampling period.", Source: "NVML utilization.gpu",
				Get: func(d *gpu.Device) (float64, bool) { return whole(d.Utilization, 0.01) }},
			{Name: "gpu_performance_state", Help: "Performance state: 0 is the fastest. Idle data-centre GPUs stay at 0.", Source: "NVML performance state",
				Get: func(d *gpu.Device) (float64, bool) { return whole(d.PerformanceState, 1) }},
			{Name: "gpu_memory_bytes", Help: "Memory of the GPU.", Source: "NVML memory.total",
				Get: func(d *gpu.Device) (float64, bool) {
					if d.MemoryTotal == nil {
						return 0, false
					}
					return float64(*d.MemoryTotal), true
				}},
			{Name: "gpu_pcie_replays_total", Kind: collectors.Counter, Help: "Packets that were repeated on the GPU's PCI Express link since the driver was loaded.", Source: "NVML PCIe replay counter",
				Get: func(d *gpu.Device) (float64, bool) {
					if d.PCIe == nil || d.PCIe.Replays == nil {
						return 0, false
					}
					return float64(*d.PCIe.Replays), true
				}},
		},
	}
}
