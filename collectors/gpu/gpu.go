// SPDX-License-Identifier: Apache-2.0

// Package gpu knows what GPU drivers say of their devices: how busy they are,
// what they have and how they are joined by NVLink. Collectors that need a
// GPU's load read it from here. How a GPU's PCI Express link or NUMA node
// should be it does not know.
package gpu

import (
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/amdgpu"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/pci"
)

// A Reading is what one source answers: NVIDIA's driver for all its GPUs,
// AMD's for one.
type Reading struct {
	gpu.Snapshot
	// Asked is when the driver was, by the engine's clock: its newest answer
	// stays the newest until the next one.
	Asked time.Duration
	// Trouble is why NVIDIA's driver tells nothing.
	Trouble string
	// SlowBusy is how long a GPU, by address, was seen busy while its driver
	// told of a link below its maximum. GPUs of which nothing is known have none.
	SlowBusy map[string]time.Duration
}

// New makes the collector.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[Reading]{
		Name:  "gpu",
		Help:  "GPUs as their driver sees them: load, PCI Express link, memory window, NVLink.",
		Every: time.Second,
		Floor: 100 * time.Millisecond,
		Units: units,
		Open:  open,
		Tables: []collectors.Table[Reading]{
			collectors.Derive(rows, columns()),
			collectors.Derive(linkRows, linkColumns()),
		},
	})
}

// nvidia is the unit of NVIDIA's driver; AMD's GPUs are units by address.
const nvidia = ""

func units(v *collectors.View) []string {
	list := []string{nvidia}
	for _, f := range v.Topology.GPUs {
		if ours(f) {
			list = append(list, f.Address)
		}
	}
	return list
}

// ours says whether a GPU's driver answers in sysfs.
func ours(f *probes.Function) bool { return f.Vendor == pci.VendorAMD && f.Driver == amdgpu.Driver }

// Snapshot gives what all drivers say of all GPUs, or nil if none says
// anything. AMD's GPUs are numbered by address. Loads that were told too long
// ago are left out.
func Snapshot(v *collectors.View) *gpu.Snapshot {
	var all *gpu.Snapshot
	amd := 0
	for _, u := range collectors.Readings[Reading](v, "gpu") {
		s := &u.Reading.Snapshot
		if u.Reading.old(v) {
			s = withoutLoad(s)
		}
		if u.Name == nvidia {
			if u.Reading.Trouble == "" {
				all = s
			}
			continue
		}
		both := gpu.Snapshot{}
		if all != nil {
			both = *all
		}
		both.Devices = append(both.Devices[:len(both.Devices):len(both.Devices)], s.Devices...)
		for i := len(both.Devices) - len(s.Devices); i < len(both.Devices); i++ {
			both.Devices[i].Index = amd
			amd++
		}
		all = &both
	}
	return all
}

// A row is one GPU.
type row struct {
	*gpu.Device // never nil; with the address alone where nothing is known
	f           *probes.Function
	unknown     string // why nothing is known of it
	leftOut     []string
	leftOutWhy  map[string]string
	slowBusy    time.Duration
	hasSlowBusy bool
}

// rows has the machine's GPUs and those that only a driver knows.
func rows(v *collectors.View, list []collectors.Unit[Reading]) []row {
	s := Snapshot(v)
	var all []row
	for _, f := range v.Topology.GPUs {
		r := row{Device: s.Find(f.Address), f: f}
		if r.Device == nil {
			r.Device, r.unknown = &gpu.Device{Address: f.Address}, untold(f, list)
		}
		all = append(all, r)
	}
	if s != nil {
		for i := range s.Devices {
			if d := &s.Devices[i]; v.Inventory.Function(d.Address) == nil {
				all = append(all, row{Device: d})
			}
		}
	}
	for i := range all {
		r := &all[i]
		if s != nil {
			r.leftOut, r.leftOutWhy = s.LeftOut, s.LeftOutWhy
		}
		for _, u := range list {
			if d, ok := u.Reading.SlowBusy[r.Address]; ok {
				r.slowBusy, r.hasSlowBusy = d, true
			}
		}
		switch {
		case r.unknown != "":
		case r.Gone():
			r.unknown = "the driver cannot reach the GPU: see pcie_lost"
		case r.Asleep:
			r.unknown = "the GPU is suspended and was not woken to be asked"
		}
	}
	return all
}

// untold says why nothing is known of a GPU.
func untold(f *probes.Function, list []collectors.Unit[Reading]) string {
	switch {
	case f.Driver == "":
		return "no driver is bound to the GPU"
	case f.Vendor == pci.VendorAMD && ours(f):
		return "amdgpu shows nothing of the GPU in sysfs"
	case f.Vendor != pci.VendorNVIDIA:
		return "what driver " + f.Driver + " tells of the GPU is not known to fabricd"
	case f.Driver != "nvidia":
		return "the GPU is bound to " + f.Driver + ": NVIDIA's driver does not know it"
	case len(list) == 0 || list[0].Name != nvidia:
		return "NVIDIA's driver was not heard yet"
	case list[0].Reading.Trouble != "":
		return list[0].Reading.Trouble
	}
	return "NVIDIA's driver does not list the GPU"
}
