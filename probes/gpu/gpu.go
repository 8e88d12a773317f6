// SPDX-License-Identifier: Apache-2.0

// Package gpu knows what a GPU driver answers about its devices: the shapes
// of NVML's answers as one JSON document. It does not know what they mean.
package gpu

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fabricd/fabricd/probes/internal/plaintext"
	"github.com/fabricd/fabricd/probes/pci"
)

// A Snapshot is one round of answers for all GPUs. What the driver said is
// not supported is nil.
type Snapshot struct {
	DriverVersion string   `json:"driver_version"`
	Devices       []Device `json:"devices"`
	// LeftOut names the parts that were not asked of any GPU: the driver hung
	// or died in them before, or there was no time.
	LeftOut []string `json:"left_out,omitempty"`
	// LeftOutWhy says what went wrong with such a part before; of one that is
	// not in it there was no time to ask.
	LeftOutWhy map[string]string `json:"left_out_why,omitempty"`

	// Asked is when the driver was asked; zero in a recording, which answers of
	// the moment that it is read for.
	Asked time.Time `json:"-"`
}

// A Device is one physical GPU.
type Device struct {
	Index            int     `json:"index"`
	Minor            *int    `json:"minor,omitempty"`
	UUID             string  `json:"uuid,omitempty"`
	Name             string  `json:"name,omitempty"`
	PCIBusID         string  `json:"pci_bus_id"` // NVML's form: 00000000:18:00.0
	PCIe             *PCIe   `json:"pcie,omitempty"`
	PerformanceState *int    `json:"performance_state,omitempty"` // 0 is the fastest
	Utilization      *int    `json:"utilization_gpu,omitempty"`   // percent of time with a kernel running
	MemoryTotal      *uint64 `json:"memory_total_bytes,omitempty"`
	BAR1             *BAR1   `json:"bar1,omitempty"`
	MIG              *bool   `json:"mig,omitempty"`
	// Lost is NVML_ERROR_GPU_IS_LOST: the GPU fell off the bus. ResetRequired
	// is another state: it is there, but answers nothing before a reset.
	Lost          bool     `json:"lost,omitempty"`
	ResetRequired bool     `json:"reset_required,omitempty"`
	NVLinks       []NVLink `json:"nvlinks,omitempty"`
	Hive          string   `json:"xgmi_hive,omitempty"` // of an AMD GPU: those that XGMI joins have one id
	Fabric        *Fabric  `json:"fabric,omitempty"`
	// Processes are those that compute on it; empty is none, nil not known.
	Processes []Process `json:"processes,omitzero"`
	// Failed names the parts that the driver answered with an error other than
	// that they are not supported.
	Failed []string `json:"failed,omitempty"`

	// Asleep says that it is suspended and was not asked.
	Asleep bool `json:"-"`
	// Address is PCIBusID in the kernel's form; Parse fills it in.
	Address string `json:"-"`
}

// PCIe is the link as the driver sees it. Generation numbers count from 1.
type PCIe struct {
	Generation          *int    `json:"generation,omitempty"`
	GenerationMax       *int    `json:"generation_max,omitempty"`        // of GPU and slot
	GenerationDeviceMax *int    `json:"generation_device_max,omitempty"` // of the GPU alone
	Width               *int    `json:"width,omitempty"`
	WidthMax            *int    `json:"width_max,omitempty"`
	Replays             *uint64 `json:"replays,omitempty"` // since the driver was loaded
}

// BAR1 is the window through which others reach the GPU's memory.
type BAR1 struct {
	Total uint64  `json:"total_bytes"`
	Used  *uint64 `json:"used_bytes,omitempty"`
}

// NVLink is one link of a GPU.
type NVLink struct {
	Link       int           `json:"link"`
	Active     *bool         `json:"active,omitempty"`  // nil: the driver does not tell
	Version    *int          `json:"version,omitempty"` // NVML's number: 4 is NVLink 3.0, 6 is NVLink 4.0
	RemoteType string        `json:"remote_type,omitempty"`
	Errors     *NVLinkErrors `json:"errors,omitempty"`
}

// nvlink4 is NVML's number (NVML_NVLINK_VERSION_4_0) of the first NVLink whose
// lanes carry two bits at a time and correct what they get wrong.
const nvlink4 = 6

// Generation is the link's version as people write it; "" is not known.
func (l *NVLink) Generation() string {
	names := [...]string{1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", nvlink4: "4.0", 7: "5.0"}
	if l.Version == nil || *l.Version < 0 || *l.Version >= len(names) {
		return ""
	}
	return names[*l.Version]
}

// Corrects says whether the link mends the errors of a counter by itself, all
// the time: on healthy H200 the data CRC counter of each link rises with traffic.
func (l *NVLink) Corrects(c Count) bool {
	return c.Corrected || c.Name == "crc_data" && l.Version != nil && *l.Version >= nvlink4
}

// NVLinkErrors counts errors of one link since the driver was loaded. Links up
// to the fourth NVLink have the first four, those from the fifth on the others
// and Recovery.
type NVLinkErrors struct {
	Replay   *uint64 `json:"replay,omitempty"`
	Recovery *uint64 `json:"recovery,omitempty"`
	CRCFlit  *uint64 `json:"crc_flit,omitempty"`
	CRCData  *uint64 `json:"crc_data,omitempty"`

	Malformed      *uint64 `json:"malformed,omitempty"`
	Overrun        *uint64 `json:"overrun,omitempty"`
	Receive        *uint64 `json:"receive,omitempty"`
	Integrity      *uint64 `json:"integrity,omitempty"`
	RecoveryFailed *uint64 `json:"recovery_failed,omitempty"`
	Effective      *uint64 `json:"effective,omitempty"` // left after error correction
	Symbol         *uint64 `json:"symbol,omitempty"`    // before it
}

// A Count is one of a link's counters.
type Count struct {
	Name string
	N    *uint64 // nil: the link has no such counter
	// Corrected says that the link mends these errors by itself, all the time.
	Corrected bool
}

// Counts lists the counters; those of no link have no number.
func (e *NVLinkErrors) Counts() [11]Count {
	if e == nil {
		e = &NVLinkErrors{}
	}
	return [11]Count{
		{Name: "replay", N: e.Replay}, {Name: "recovery", N: e.Recovery}, {Name: "crc_flit", N: e.CRCFlit}, {Name: "crc_data", N: e.CRCData},
		{Name: "malformed", N: e.Malformed}, {Name: "overrun", N: e.Overrun}, {Name: "receive", N: e.Receive}, {Name: "integrity", N: e.Integrity},
		{Name: "recovery_failed", N: e.RecoveryFailed}, {Name: "effective", N: e.Effective}, {Name: "symbol", N: e.Symbol, Corrected: true},
	}
}

// Fabric is the state of a GPU behind NVSwitches.
type Fabric struct {
	State  string `json:"state"` // not_started, in_progress, completed
	Status string `json:"status,omitempty"`
	// Trouble lists what the driver's health mask says is wrong.
	Trouble []string `json:"trouble,omitempty"`
}

// Process is a process that uses a GPU.
type Process struct {
	PID        int     `json:"pid"`
	UsedMemory *uint64 `json:"used_memory_bytes,omitempty"`
}

// Parse reads a snapshot. Keys that it does not know are left alone: a newer
// source may answer more.
func Parse(b []byte) (*Snapshot, error) {
	s := &Snapshot{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("gpu.json: %w", err)
	}
	if err := s.settle(); err != nil {
		return nil, fmt.Errorf("gpu.json: %w", err)
	}
	return s, nil
}

// settle makes text printable, fills in the devices' addresses and takes away
// what is left from before a GPU was lost.
func (s *Snapshot) settle() error {
	plaintext.All(s)
	for i := range s.Devices {
		d := &s.Devices[i]
		a, err := pci.ParseAddress(d.PCIBusID)
		if err != nil {
			return fmt.Errorf("device %d: pci_bus_id: %w", d.Index, err)
		}
		if d.Address = a.String(); s.Find(d.Address) != d {
			return fmt.Errorf("two devices are at %s", d.Address)
		}
		if d.Gone() {
			*d = Device{
				Index: d.Index, Minor: d.Minor, UUID: d.UUID, Name: d.Name, PCIBusID: d.PCIBusID, Address: d.Address,
				Lost: d.Lost, ResetRequired: d.ResetRequired,
			}
		}
	}
	return nil
}

// Find gives the device at a PCI address, or nil.
func (s *Snapshot) Find(address string) *Device {
	if s == nil {
		return nil
	}
	for i := range s.Devices {
		if s.Devices[i].Address == address {
			return &s.Devices[i]
		}
	}
	return nil
}

// Joined says whether two GPUs have a way to each other beside PCI Express:
// each an active NVLink, or both in one XGMI hive.
func (d *Device) Joined(o *Device) bool {
	return d.HasNVLink() && o.HasNVLink() || d.Hive != "" && d.Hive == o.Hive
}

// Gone says whether the driver cannot reach the GPU.
func (d *Device) Gone() bool { return d.Lost || d.ResetRequired }

// HasNVLink says whether any link of the GPU is active.
func (d *Device) HasNVLink() bool {
	for i := range d.NVLinks {
		if l := &d.NVLinks[i]; l.IsActive() {
			return true
		}
	}
	return false
}

// IsActive says whether the link is known to be active.
func (l *NVLink) IsActive() bool { return l.Active != nil && *l.Active }
