// SPDX-License-Identifier: Apache-2.0

// Package rdma knows what the ports of RDMA devices should be: active, at their
// full rate, with an address that routes, and without losses. It gives the
// counters of all vendors one model (Port.Get) and says what their growth
// means. Priorities, pause and congestion control of the Ethernet below RoCE
// are those of package roce.
package rdma

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// Name is the collector's.
const Name = "rdma"

// New makes the collector.
//
// Ten times a second hw_counters alone are read, and of mlx5 that is one or two
// commands to the firmware a port: the kernel answers the other files from the
// same values for lifespan, 10 ms. For ten ports it takes 0.5 ms of a processor
// (BenchmarkRead/100ms), half a percent of one; what waits for firmware counts
// for the budget. The rest has its own, slower times (reader.go).
func New() collectors.Collector {
	seen := &memory{}
	return collectors.New(collectors.Spec[Reading]{
		Name:  Name,
		Help:  "RDMA ports: state, rate, addresses, traffic, and every counter of every vendor.",
		Every: 100 * time.Millisecond,
		Floor: 10 * time.Millisecond,
		Units: units,
		Open: func(_ context.Context, h *probes.Host, unit string) (collectors.Reader[Reading], error) {
			if name, ok := strings.CutPrefix(unit, alone); ok {
				return openNetdev(h, name)
			}
			return openDevice(h, unit, seen)
		},
		Tables: []collectors.Table[Reading]{
			collectors.Derive(func(v *collectors.View, list []collectors.Unit[Reading]) []portRow {
				gone, lost := seen.gone(v)
				rows := append(portRows(v, list), gone...)
				rows = append(rows, legRows(v, list, rows)...)
				return append(rows, lacking(v, rows, lost)...)
			}, portColumns()),
			collectors.Derive(flapRows, flapColumns()),
			collectors.Derive(mtuRows, mtuColumns()),
			collectors.Derive(deviceRows, deviceColumns()),
			collectors.Derive(counterRows, counterColumns()),
		},
	})
}

// alone marks the units that are interfaces: no RDMA device has a slash in its
// name.
const alone = "net/"

// units are the RDMA devices, the interfaces of compute and storage NICs that
// have none, and the legs of bonds that carry RDMA: the device tells of the bond.
func units(v *collectors.View) []string {
	var names []string
	for _, d := range v.Inventory.RDMA {
		names = append(names, d.Name)
	}
	bonds := rdmaBonds(v.Inventory)
	for _, n := range v.Inventory.Netdevs {
		if !n.Port || n.Function.Virtual() {
			continue
		}
		if isLeg(n, bonds) || len(n.Function.RDMA) == 0 && matters(v.Topology.Role(n.Function)) {
			names = append(names, alone+n.Name)
		}
	}
	return names
}

func matters(r topo.Role) bool { return r == topo.Compute || r == topo.Storage }

func findDevice(inv *probes.Inventory, name string) *probes.RDMADevice {
	for _, d := range inv.RDMA {
		if d.Name == name {
			return d
		}
	}
	return nil
}

func notExist(name string) error { return &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist} }
