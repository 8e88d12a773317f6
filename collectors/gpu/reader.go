// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/amdgpu"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/pci"
)

func open(ctx context.Context, h *probes.Host, unit string) (collectors.Reader[Reading], error) {
	if unit != nvidia {
		f := h.Inventory().Function(unit)
		if f == nil {
			return nil, &fs.PathError{Op: "find", Path: unit, Err: fs.ErrNotExist}
		}
		card, err := amdgpu.Open(h, f)
		if err != nil {
			return nil, err
		}
		return &amdReader{host: h, card: card, address: unit, id: f.Identity()}, nil
	}
	h.AwaitGPUs(ctx)
	r := &reader{h: h}
	if _, err := h.GPUs(); errors.Is(err, fs.ErrNotExist) && !r.expected() {
		return nil, err
	}
	return r, nil
}

// A reader asks NVIDIA's driver.
type reader struct {
	h     *probes.Host
	busy  busyTimes
	last  time.Time     // when the driver was asked for the newest answer
	asked time.Duration // the same by the engine's clock
}

func (r *reader) Close() {}

// expected says whether the machine has a GPU that NVIDIA's driver is bound to.
func (r *reader) expected() bool {
	return slices.ContainsFunc(r.h.Inventory().Functions, func(f *probes.Function) bool {
		return f.Kind == pci.GPU && f.Vendor == pci.VendorNVIDIA && f.Driver == "nvidia"
	})
}

// Read gives the newest answer. Where there is none the reading says why: the
// machine's GPUs are judged all the same. Only a source that is absent, though
// the driver is there, is no failure.
func (r *reader) Read(at time.Duration) (*Reading, error) {
	s, err := r.h.GPUs()
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil {
		r.busy.interrupt()
	}
	switch {
	case absent && !r.expected():
		return nil, err
	case absent && r.h.Recorded():
		return &Reading{Trouble: "the recording holds no answers of NVIDIA's driver (gpu.json)"}, nil
	case absent:
		return &Reading{Trouble: err.Error()}, nil
	case err != nil:
		return &Reading{Trouble: err.Error()}, err
	}
	switch {
	case s.Asked.IsZero():
		r.asked = at
	case !s.Asked.Equal(r.last):
		r.last, r.asked = s.Asked, at-time.Since(s.Asked)
	}
	return &Reading{Snapshot: *s, Asked: r.asked, SlowBusy: r.busy.follow(r.asked, s.Devices)}, nil
}

// An amdReader asks AMD's driver about one GPU.
type amdReader struct {
	host    *probes.Host
	card    *amdgpu.Card
	address string
	id      uint64
	busy    busyTimes
}

func (r *amdReader) Close() { r.card.Close() }

func (r *amdReader) Read(at time.Duration) (*Reading, error) {
	if f := r.host.Inventory().Function(r.address); f != nil && f.Identity() != r.id {
		return nil, collectors.ErrReopen
	}
	d, err := r.card.Read()
	if err != nil {
		r.busy.interrupt()
		return nil, err
	}
	devices := []gpu.Device{*d}
	return &Reading{Snapshot: gpu.Snapshot{Devices: devices}, Asked: at, SlowBusy: r.busy.follow(at, devices)}, nil
}
