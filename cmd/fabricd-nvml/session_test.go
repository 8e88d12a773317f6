// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"errors"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// few answers only the utilisation; every other function is missing.
func few(handles func(string) (nvml.Device, nvml.Return)) *mock.Interface {
	has := &mock.ExtendedInterface{LookupSymbolFunc: func(symbol string) error {
		if symbol == "nvmlDeviceGetUtilizationRates" {
			return nil
		}
		return errors.New("missing")
	}}
	return &mock.Interface{
		InitFunc:                      func() nvml.Return { return nvml.SUCCESS },
		ExtensionsFunc:                func() nvml.ExtendedInterface { return has },
		DeviceGetHandleByPciBusIdFunc: handles,
	}
}

// The driver's own list has the GPUs that are lost, and lets those that are
// excluded be.
func TestLook(t *testing.T) {
	t.Parallel()
	var opened []string
	answer := nvml.SUCCESS
	well := &mock.Device{GetUtilizationRatesFunc: func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 50}, answer }}
	lib := few(func(id string) (nvml.Device, nvml.Return) {
		opened = append(opened, id)
		switch id {
		case "00000000:8D:00.0":
			return nil, nvml.ERROR_GPU_IS_LOST
		case "00000000:E1:00.0": // of another container
			return nil, nvml.ERROR_NO_PERMISSION
		}
		return well, nvml.SUCCESS
	})
	gpus := fstest.MapFS{"0000:8d:00.0/x": {}, "0000:18:00.0/x": {}, "10000:01:00.0/x": {}, "0000:e1:00.0/x": {}, "0000:2a:00.0/x": {}, "junk/x": {}}
	s, err := open(lib, gpus)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	r := round{at: start, exclude: []string{"0000:2a:*"}, doing: func(string) error { return nil }}
	got, err := s.snapshot(r)
	if err != nil || len(got.Devices) != 3 || slices.Contains(opened, "00000000:2A:00.0") {
		t.Fatalf("%+v, %v, opened %v", got, err, opened)
	}
	for i, want := range []struct {
		id    string
		index int
		lost  bool
	}{{"00000000:18:00.0", 0, false}, {"00000000:8D:00.0", 2, true}, {"00010000:01:00.0", 4, false}} {
		if d := got.Devices[i]; d.PCIBusID != want.id || d.Index != want.index || d.Lost != want.lost || !want.lost && *d.Utilization != 50 {
			t.Errorf("%d: %+v", i, d)
		}
	}
	for _, test := range []struct {
		answer nvml.Return
		reset  bool
	}{{nvml.ERROR_UNKNOWN, false}, {nvml.ERROR_NOT_SUPPORTED, false}, {nvml.SUCCESS, false}, {nvml.ERROR_RESET_REQUIRED, true}} {
		answer, r.at = test.answer, r.at.Add(2*unsupportedEvery)
		got, err := s.snapshot(r)
		if err != nil || got.Devices[0].Lost || got.Devices[0].ResetRequired != test.reset || (got.Devices[0].Utilization != nil) != (answer == nvml.SUCCESS) {
			t.Errorf("%v: %+v, %v", test.answer, got, err)
		}
	}
}

// A driver that is unloaded ends the program, for a new one to look again.
func TestUnloaded(t *testing.T) {
	t.Parallel()
	lib := few(func(string) (nvml.Device, nvml.Return) {
		return &mock.Device{GetUtilizationRatesFunc: func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.ERROR_DRIVER_NOT_LOADED }}, nvml.SUCCESS
	})
	s, err := open(lib, fstest.MapFS{"0000:8d:00.0/x": {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.snapshot(round{at: time.Now(), doing: func(string) error { return nil }}); exitCode(err) != 69 {
		t.Errorf("%v, exit code %d", err, exitCode(err))
	}
}

// What cannot be asked in time is left out, rather than answered late.
func TestLate(t *testing.T) {
	t.Parallel()
	lib := few(func(string) (nvml.Device, nvml.Return) { return &mock.Device{}, nvml.SUCCESS }) // asked, it panics
	s, err := open(lib, fstest.MapFS{"0000:8d:00.0/x": {}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.snapshot(round{at: time.Now(), until: time.Now().Add(-time.Second), doing: func(string) error { return nil }})
	if err != nil || len(got.Devices) != 1 || got.Devices[0].Utilization != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"0000:8d:00.0": "00000000:8D:00.0", "10000:01:00.0": "00010000:01:00.0"} {
		if got := nvmlAddress(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
