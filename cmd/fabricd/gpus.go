// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
)

// startGPUs makes the source that asks NVIDIA's driver. The program behind it
// is started at the first question.
func (a *app) startGPUs() (probes.GPUSource, error) {
	if err := gpu.CheckProgram(a.host.nvml); err != nil {
		return nil, usage("--gpu.nvml-path: %w", err)
	}
	a.gpus = gpu.NewClient(a.host.nvml)
	return a.gpus, nil
}

// close ends what open began.
func (a *app) close() {
	if a.gpus != nil {
		a.gpus.Close()
	}
}

// awaitGPUs lets a command that looks only once see the GPUs' load, where one
// of the collectors asks for it.
func awaitGPUs(ctx context.Context, h *probes.Host, list []collectors.Collector) {
	for _, c := range list {
		if c.Doc().Name == "gpu" {
			h.AwaitGPUs(ctx)
			return
		}
	}
}
