// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxb200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	shapes "github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

// The machines of eight GPUs that go-nvml's own mock has: what they are, and
// that MIG slices are no GPUs.
func TestShapes(t *testing.T) {
	t.Parallel()
	has := []string{
		"nvmlDeviceGetIndex", "nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMigMode",
	}
	for name, make := range map[string]func() *shapes.Server{"A100": dgxa100.New, "H100": dgxh100.New, "H200": dgxh200.New, "B200": dgxb200.New} {
		lib := make()
		lib.LookupSymbolFunc = func(symbol string) error {
			if slices.Contains(has, symbol) {
				return nil
			}
			return errors.New("missing")
		}
		own := lib.DeviceGetHandleByPciBusIdFunc
		lib.DeviceGetHandleByPciBusIdFunc = func(id string) (nvml.Device, nvml.Return) { return own(strings.TrimPrefix(id, "0000")) } // it has short addresses
		gpus := fstest.MapFS{}
		for i := range 8 {
			gpus[fmt.Sprintf("0000:%02x:00.0/information", i)] = &fstest.MapFile{}
		}
		mig, ret := lib.DeviceGetHandleByIndex(3)
		if ret != nvml.SUCCESS {
			t.Fatal(ret)
		}
		mig.SetMigMode(nvml.DEVICE_MIG_ENABLE)
		s, err := open(lib, gpus)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.snapshot(round{at: time.Now(), doing: func(string) error { return nil }})
		if err != nil || len(got.Devices) != 8 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		for i, d := range got.Devices {
			if !strings.Contains(d.Name, name) || d.Index != i || *d.MIG != (i == 3) || d.MemoryTotal == nil || d.UUID == "" || d.NVLinks != nil || d.PCIe != nil {
				t.Errorf("%s: %+v", name, d)
			}
		}
	}
}
