// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/fabricd/fabricd/probes/gpu"
)

// A session is an initialised library and what it said.
type session struct {
	lib     nvml.Interface
	gpus    fs.FS // driverGPUs
	driver  string
	parts   []part
	devices []*device // by address
	looked  time.Time // when devices was made
	globs   []string  // and what was excluded then
	costs   map[string]gpu.Cost
	// newLinks says that NVLinks may differ from those of the last snapshot;
	// otherwise they are left out of it.
	newLinks bool
}

// An initError is a library that cannot be used.
type initError struct{ ret nvml.Return }

func (e initError) Error() string {
	switch e.ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return "there is no libnvidia-ml.so.1: no NVIDIA driver is installed"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return "NVIDIA's driver is not loaded"
	case nvml.ERROR_UNINITIALIZED:
		return "NVIDIA's driver was unloaded"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return "NVIDIA's library and kernel driver are of different versions: reload the driver, or reboot"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission to open NVIDIA's device files (/dev/nvidia*)"
	}
	return fmt.Sprintf("NVML cannot be initialised: error %d", int(e.ret))
}

// gone says whether there is no driver: a normal state.
func gone(ret nvml.Return) bool {
	return ret == nvml.ERROR_LIBRARY_NOT_FOUND || ret == nvml.ERROR_DRIVER_NOT_LOADED || ret == nvml.ERROR_UNINITIALIZED
}

func exitCode(err error) int {
	var e initError
	if errors.As(err, &e) && gone(e.ret) || errors.As(err, &errNoCUDA{}) {
		return gpu.ExitAbsent
	}
	return exitInternal
}

// open initialises the library. Calls that the installed one does not have are
// never made: one would end the program.
func open(lib nvml.Interface, gpus fs.FS) (*session, error) {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, initError{ret}
	}
	s := &session{lib: lib, gpus: gpus, costs: map[string]gpu.Cost{}}
	if lib.Extensions().LookupSymbol("nvmlSystemGetDriverVersion") == nil {
		s.driver, _ = lib.SystemGetDriverVersion()
	}
	for _, p := range parts() {
		missing := func(symbol string) bool { return lib.Extensions().LookupSymbol(symbol) != nil }
		if !slices.ContainsFunc(p.symbols, missing) {
			s.parts = append(s.parts, p)
		}
	}
	return s, nil
}

// A round is one snapshot to be made.
type round struct {
	at      time.Time
	until   time.Time // then what is left to ask is left out; zero: never
	exclude []string
	without []string
	doing   func(part string) error
}

// snapshot asks every GPU what is due. Part by part, not GPU by GPU: the part
// is what is to blame if a call does not return.
func (s *session) snapshot(r round) (*gpu.Snapshot, error) {
	s.newLinks = false
	if r.at.Sub(s.looked) >= lookEvery || !slices.Equal(s.globs, r.exclude) {
		if err := r.doing("devices"); err != nil {
			return nil, err
		}
		if err := s.look(r); err != nil {
			return nil, err
		}
	}
	answer := &gpu.Snapshot{DriverVersion: s.driver, Devices: []gpu.Device{}}
	for _, p := range s.parts {
		if slices.Contains(r.without, p.name) || !r.until.IsZero() && time.Now().After(r.until) {
			s.forget(p)
			answer.LeftOut = append(answer.LeftOut, p.name)
			continue
		}
		if err := s.ask(p, r); err != nil {
			return nil, err
		}
	}
	for _, d := range s.devices {
		answer.Devices = append(answer.Devices, d.answer(s.newLinks))
	}
	return answer, nil
}

// forget takes back what is no longer asked.
func (s *session) forget(p part) {
	s.newLinks = s.newLinks || p.links()
	for _, d := range s.devices {
		if p.every >= 0 {
			p.clear(&d.now)
		}
		delete(d.due, p.name)
		delete(d.failed, p.name)
	}
}

// unsupportedEvery is how often the driver is asked again for what it does not
// have: some of it depends on modes.
const unsupportedEvery = time.Minute

// ask asks all GPUs for which a part is due.
func (s *session) ask(p part, r round) error {
	said := false
	for _, d := range s.devices {
		if d.lost != nvml.SUCCESS || r.at.Before(d.due[p.name]) {
			continue
		}
		if !said {
			if err := r.doing(p.name); err != nil {
				return err
			}
			said, s.newLinks = true, s.newLinks || p.links()
		}
		begin := time.Now()
		ret := p.ask(d.handle, &d.now)
		s.account(p.name, time.Since(begin))
		delete(d.failed, p.name)
		switch {
		case lostReturn(ret):
			d.lost = ret
		case gone(ret):
			return initError{ret}
		case ret == nvml.ERROR_NOT_SUPPORTED:
			d.due[p.name] = r.at.Add(max(p.every, unsupportedEvery))
		case ret != nvml.SUCCESS:
			d.failed[p.name] = true
			fallthrough
		default:
			d.due[p.name] = r.at.Add(p.again(ret))
		}
	}
	return nil
}

// lostReturn are the answers for a GPU that the driver cannot reach until it
// is reset.
func lostReturn(ret nvml.Return) bool {
	return ret == nvml.ERROR_GPU_IS_LOST || ret == nvml.ERROR_RESET_REQUIRED
}

func (s *session) account(part string, d time.Duration) {
	c := s.costs[part]
	c.Calls++
	c.Microseconds += d.Microseconds()
	c.Longest = max(c.Longest, d.Microseconds())
	s.costs[part] = c
}
