// SPDX-License-Identifier: Apache-2.0

// Package roce knows what makes an Ethernet port lossless and what shows that
// it is not: flow control by priority, pause and its direction, discards,
// where traffic runs and where congestion control is on, whatever a vendor
// calls it. It reads drivers' statistics and settings; RDMA's own counters are
// package rdma's.
package roce

import (
	"slices"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// Name is the collector's.
const Name = "roce"

// New makes the collector.
//
// A second is as fast as it is worth. mlx5 asks its firmware some forty times,
// under the lock of all network configuration; bnxt_en's adapter writes its
// statistics once a second (stats-block-usecs, 250 ms at least); ice, i40e and
// ixgbe walk registers, under that lock too. Nothing is lost meanwhile: adapters
// count the time of pause themselves, and verdicts look at ten seconds and more.
// The cost on this side would not forbid more: 30 µs of a processor a port of
// 700 statistics, and 80 µs with all settings (BenchmarkRead), so that whoever
// wants 100 ms may have it (collectors.roce.interval); mlx5 stays at a second.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[Reading]{
		Name:  Name,
		Help:  "Ethernet ports: flow control by priority, pause, discards, rings, error correction, and how lossless traffic is configured.",
		Every: time.Second,
		Floor: 100 * time.Millisecond,
		Units: units,
		Open:  open,
		Tables: []collectors.Table[Reading]{
			collectors.Derive(ports, portColumns()),
			collectors.Derive(priorities, priorityColumns()),
			collectors.Derive(counterRows, counterColumns()),
			collectors.Derive(settingRows, settingColumns()),
		},
	})
}

// ethernet is the type (ARPHRD) of Ethernet interfaces.
const ethernet = 1

// units are the ports of physical functions: what a virtual function or a
// representor counts is not the port's.
func units(v *collectors.View) []string {
	var names []string
	for _, n := range v.Inventory.Netdevs {
		if judged(n) && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

func judged(n *probes.Netdev) bool {
	return n.Port && n.Type == ethernet && !n.Function.Virtual()
}

// netdev finds a unit's interface, or gives nil.
func netdev(inv *probes.Inventory, unit string) *probes.Netdev {
	for _, n := range inv.Netdevs {
		if n.Name == unit && judged(n) {
			return n
		}
	}
	return nil
}
