// SPDX-License-Identifier: Apache-2.0

// Package config knows what the operator expects and wishes: the cabling and
// port plan, thresholds, mutes, excluded devices. It parses and validates the
// configuration file; it knows no device, no check and no collector by name,
// and is told those that exist where it has to refuse others.
package config

import (
	"time"
)

// Config is one configuration file. Every key may be absent; the zero value
// is an empty file.
type Config struct {
	// Plan is what the machine should look like.
	Plan Plan
	// Thresholds maps a check's name to the numbers that differ from its
	// defaults, each in the unit the check's manual names.
	Thresholds map[string]map[string]Number
	// Mute lists findings that are known and shall not alarm.
	Mute []Mute
	// Collectors maps a collector's name to its settings.
	Collectors map[string]Collector
	// Devices says which devices are never opened.
	Devices Devices
	// Budget bounds what watching may cost.
	Budget Budget
}

// Plan is the cabling and port plan.
type Plan struct {
	Cabling []Cable
	// CablingFile is a plan of many machines, as LoadCabling reads it, whose
	// cables of this machine are added to Cabling.
	CablingFile string
	Ports       Ports
	Roles       map[string]string // by netdev, RDMA device or PCI address
}

// A Cable says where one port should lead.
type Cable struct {
	Port       string // netdev
	Address    string // or PCI address
	Switch     string
	SwitchPort string
	Rail       *int
}

// Ports says how many compute ports a node has, and how fast each is.
type Ports struct {
	Count    int
	RateGbps float64
}

// A Mute hides findings of one check until a date.
type Mute struct {
	Check   string // name or glob
	Subject string // glob over the joined subject or one of its values; empty: all
	Reason  string
	Until   time.Time // zero: for ever
}

// Collector is the settings of one collector.
type Collector struct {
	Interval time.Duration
	Enabled  *bool
}

// Devices says which devices are left alone.
type Devices struct {
	// Exclude lists globs over PCI addresses. An excluded device is never opened.
	Exclude []string
}

// Budget bounds what watching may cost, in percent; 0 is the default.
type Budget struct {
	Device float64 // of the time, for the reads of one device
	All    float64 // of a processor, for all reads together
	Judge  float64 // of a processor, for judging what was read
}

// Roles that a plan may give a device.
const (
	RoleCompute    = "compute"
	RoleStorage    = "storage"
	RoleManagement = "management"
)

// Role gives the plan's role for a device known by any of names, or "".
func (p Plan) Role(names ...string) string {
	for _, n := range names {
		if r := p.Roles[n]; r != "" {
			return r
		}
	}
	return ""
}

// Names says whether the plan speaks of a device known by any of names: as the
// end of a cable or with the role of a compute device.
func (p Plan) Names(names ...string) bool {
	if p.Role(names...) == RoleCompute {
		return true
	}
	for _, c := range p.Cabling {
		for _, n := range names {
			if n != "" && (c.Port == n || c.Address == n) {
				return p.Role(names...) == ""
			}
		}
	}
	return false
}

// Threshold gives the number set for a check, or otherwise its default.
func (c *Config) Threshold(check, name string, otherwise float64) float64 {
	if c != nil {
		if n, ok := c.Thresholds[check][name]; ok {
			return float64(n)
		}
	}
	return otherwise
}
