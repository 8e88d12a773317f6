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
	h    *probes.Host
	busy busyTimes
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
	return &Reading{Snapshot: *s, SlowBusy: r.busy.follow(at, s.Devices)}, nil
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
		return nil, err
	}
	devices := []gpu.Device{*d}
	return &Reading{Snapshot: gpu.Snapshot{Devices: devices}, SlowBusy: r.busy.follow(at, devices)}, nil
}

// busyPercent is the utilisation from which a GPU is busy; one that was busy
// stays so until it falls below idlePercent, so that the pause between two
// steps of a job ends nothing.
const (
	busyPercent = 10
	idlePercent = 5
)

// busyTimes follows how long GPUs are busy on a slow link.
type busyTimes struct {
	at   time.Duration
	gpus map[string]busyTime
}

type busyTime struct {
	busy, slow bool
	total      time.Duration
}

// follow takes a moment's answers. A GPU of which load and link are not known
// keeps what it had and is not told of.
func (b *busyTimes) follow(at time.Duration, devices []gpu.Device) map[string]time.Duration {
	if b.gpus == nil {
		b.gpus = map[string]busyTime{}
	}
	told := make(map[string]time.Duration, len(devices))
	for i := range devices {
		d := &devices[i]
		was, known := b.gpus[d.Address]
		now := busyTime{total: was.total}
		slow, ok := belowMax(d.PCIe)
		if d.Utilization == nil || !ok {
			if known {
				b.gpus[d.Address] = now
			}
			continue
		}
		now.busy, now.slow = *d.Utilization >= busyPercent || was.busy && *d.Utilization >= idlePercent, slow
		if was.busy && was.slow && now.busy && now.slow {
			now.total += at - b.at
		}
		b.gpus[d.Address], told[d.Address] = now, now.total
	}
	b.at = at
	return told
}

// belowMax says whether a link is slower or narrower than GPU and slot can be.
func belowMax(p *gpu.PCIe) (below, known bool) {
	if p == nil || p.Generation == nil || p.GenerationMax == nil || p.Width == nil || p.WidthMax == nil {
		return false, false
	}
	return *p.Generation < *p.GenerationMax || *p.Width < *p.WidthMax, true
}
