// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"context"
	"io/fs"
	"time"

	"github.com/fabricd/fabricd/probes/gpu"
)

// A GPUSource asks the GPU driver of this machine, but not the GPUs whose
// addresses match an exclusion. *gpu.Client is one.
type GPUSource interface {
	// Snapshot gives the newest answer. It does not wait for one.
	Snapshot(exclude []string) (*gpu.Snapshot, error)
	// Await waits for the first answer, or for the reason why there is none.
	Await(ctx context.Context, exclude []string)
}

// gpuPatience is how long the first answer is waited for. A driver without
// persistence mode initialises its GPUs first, at seconds each; a longer wait
// would keep all from hearing that there is no answer.
const gpuPatience = 5 * time.Second

// AwaitGPUs waits until GPUs has something to say on a live host, but no
// longer than some seconds from when it is first called.
func (h *Host) AwaitGPUs(ctx context.Context) {
	if h.Recorded() || h.options.GPUs == nil {
		return
	}
	h.gpus.Lock()
	if h.gpus.until.IsZero() {
		h.gpus.until = time.Now().Add(gpuPatience)
	}
	ctx, cancel := context.WithDeadline(ctx, h.gpus.until)
	h.gpus.Unlock()
	defer cancel()
	h.options.GPUs.Await(ctx, *h.exclude.Load())
}

// GPUs gives what NVML answers; on a live host the newest answer, without
// waiting for one. On a host without that source the error is fs.ErrNotExist.
func (h *Host) GPUs() (*gpu.Snapshot, error) {
	switch {
	case h.Recorded():
	case h.options.GPUs != nil:
		return h.options.GPUs.Snapshot(*h.exclude.Load())
	default:
		return nil, &fs.PathError{Op: "ask", Path: "NVML", Err: fs.ErrNotExist}
	}
	b, err := h.ReadFile("gpu.json")
	if err != nil {
		return nil, err
	}
	h.gpus.Lock()
	defer h.gpus.Unlock()
	if h.gpus.last == nil || !bytes.Equal(b, h.gpus.raw) {
		s, err := gpu.Parse(b)
		if err != nil {
			return nil, err
		}
		h.gpus.raw, h.gpus.last = b, s
	}
	return h.gpus.last, nil
}
