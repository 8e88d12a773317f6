// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/pci"
)

// driverGPUs lists the driver's GPUs by address, also those that are lost.
const driverGPUs = "/proc/driver/nvidia/gpus"

// lookEvery is how often the list of GPUs is read again.
const lookEvery = 10 * time.Second

// A device is one GPU and its newest answers.
type device struct {
	handle  nvml.Device // nil if there was none: the GPU is lost
	address string
	now     gpu.Device
	lost    nvml.Return          // why it answers nothing any more; SUCCESS: it does
	due     map[string]time.Time // when a part is to be asked again
	failed  map[string]bool      // parts answered with an error
}

// look lists the GPUs, and takes a handle of each that is new and not
// excluded. MIG slices are no GPUs of their own.
func (s *session) look(r round) error {
	begin := time.Now()
	addresses, err := s.addresses()
	if err != nil {
		return err
	}
	known := s.devices
	s.newLinks = true
	s.devices, s.looked, s.globs = nil, r.at, slices.Clone(r.exclude)
	for i, address := range addresses {
		if excluded(address, r.exclude) {
			continue
		}
		if at := slices.IndexFunc(known, func(d *device) bool { return d.address == address }); at >= 0 {
			s.devices = append(s.devices, known[at])
			continue
		}
		handle, ret := s.lib.DeviceGetHandleByPciBusId(nvmlAddress(address))
		switch {
		case ret == nvml.SUCCESS, lostReturn(ret):
			d := &device{handle: handle, address: address, lost: ret, due: map[string]time.Time{}, failed: map[string]bool{}}
			d.now.Index, d.now.PCIBusID = i, nvmlAddress(address)
			s.devices = append(s.devices, d)
		case gone(ret):
			return initError{ret}
		}
	}
	s.account("devices", time.Since(begin))
	return nil
}

// addresses lists the GPUs by address: from the driver's own list, which has
// also those that are lost and opens none of them, or else from the library.
func (s *session) addresses() ([]string, error) {
	var list []string
	entries, err := fs.ReadDir(s.gpus, ".")
	for _, e := range entries {
		if a, err := pci.ParseAddress(e.Name()); err == nil {
			list = append(list, a.String())
		}
	}
	if err == nil && len(list) > 0 {
		slices.SortFunc(list, compare)
		return list, nil
	}
	n, ret := s.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, initError{ret}
	}
	for i := range n {
		handle, ret := s.lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue
		}
		info, ret := handle.GetPciInfo()
		if ret != nvml.SUCCESS {
			continue
		}
		if a, err := pci.ParseAddress(busID(info)); err == nil {
			list = append(list, a.String())
		}
	}
	return list, nil
}

func compare(a, b string) int {
	x, _ := pci.ParseAddress(a)
	y, _ := pci.ParseAddress(b)
	return cmp.Or(x.Compare(y), strings.Compare(a, b))
}

// excluded says whether the operator forbade to ask a GPU.
func excluded(address string, globs []string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { ok, _ := path.Match(glob, address); return ok })
}

// nvmlAddress gives an address in NVML's form: 00000000:18:00.0.
func nvmlAddress(address string) string {
	domain, rest, _ := strings.Cut(address, ":")
	return strings.ToUpper(strings.Repeat("0", max(8-len(domain), 0)) + domain + ":" + rest)
}

// busID reads the C string of an address.
func busID(info nvml.PciInfo) string {
	var b []byte
	for _, c := range info.BusId {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

// answer gives what is known of a GPU; of a lost one, who it is.
func (d *device) answer(links bool) gpu.Device {
	a := d.now
	if !links {
		a.NVLinks = nil
	}
	if d.lost != nvml.SUCCESS {
		return gpu.Device{
			Index: a.Index, Minor: a.Minor, UUID: a.UUID, Name: a.Name, PCIBusID: a.PCIBusID,
			Lost: d.lost == nvml.ERROR_GPU_IS_LOST, ResetRequired: d.lost == nvml.ERROR_RESET_REQUIRED,
		}
	}
	a.Failed = slices.Sorted(maps.Keys(d.failed))
	if a.PCIe != nil && *a.PCIe == (gpu.PCIe{}) {
		a.PCIe = nil
	}
	return a
}
