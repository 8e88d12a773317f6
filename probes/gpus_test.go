// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"slices"
	"testing"

	"github.com/fabricd/fabricd/probes/gpu"
)

// A gpuSource notes what it is asked.
type gpuSource struct {
	awaited int
	exclude []string
}

func (s *gpuSource) Snapshot(exclude []string) (*gpu.Snapshot, error) {
	s.exclude = exclude
	return &gpu.Snapshot{DriverVersion: "live"}, nil
}

func (s *gpuSource) Await(_ context.Context, exclude []string) {
	s.awaited, s.exclude = s.awaited+1, exclude
}

func TestGPUSource(t *testing.T) {
	t.Parallel()
	source := &gpuSource{}
	h, _ := live(t, Options{GPUs: source, Exclude: []string{"0000:18:*"}})
	h.AwaitGPUs(t.Context())
	if s, err := h.GPUs(); err != nil || s.DriverVersion != "live" || source.awaited != 1 || !slices.Equal(source.exclude, []string{"0000:18:*"}) {
		t.Errorf("%+v, %v, %+v", s, err, source)
	}
	h.SetExclude(nil)
	if h.GPUs(); source.exclude != nil { //nolint:errcheck // it gives none
		t.Errorf("%+v", source)
	}
	mustLive(t).AwaitGPUs(t.Context())

	*source = gpuSource{}
	r := record(t, Options{GPUs: source}, "gpu.json", `{"driver_version": "recorded", "devices": []}`)
	r.AwaitGPUs(t.Context())
	if s, err := r.GPUs(); err != nil || s.DriverVersion != "recorded" || source.awaited != 0 {
		t.Errorf("%+v, %v, %+v", s, err, source)
	}
}
