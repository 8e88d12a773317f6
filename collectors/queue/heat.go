// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"time"

	"github.com/fabricd/fabricd/probes/queue"
)

// A Heat is the last minutes as a grid of time and depth for each interface:
// how many samples of its queues found how many bytes in flight.
type Heat struct {
	// Bounds are the buckets' upper bounds in bytes; each begins above the one
	// before. One more bucket is for what is beyond.
	Bounds  []uint64     `json:"bounds_bytes"`
	Netdevs []HeatNetdev `json:"netdevs"`
}

// HeatNetdev is one interface's grid.
type HeatNetdev struct {
	Netdev  string       `json:"netdev"`
	Columns []HeatColumn `json:"columns"`
}

// HeatColumn is one second, which ended at Time, or more where the machine or
// the daemon stood still. Counts are by bucket; buckets that are left out at
// the end are 0.
type HeatColumn struct {
	Time    float64  `json:"time"` // Unix seconds
	Seconds float64  `json:"seconds"`
	Counts  []uint32 `json:"counts"`
}

// Heat gives the columns that ended after a moment; netdev is one interface or
// "" for all. An interface that never carried anything has none.
func (r *Reading) Heat(since time.Time, netdev string) Heat {
	h := Heat{Bounds: []uint64{0}, Netdevs: []HeatNetdev{}}
	for b := range len(queue.Histogram{}.Counts) - 2 {
		h.Bounds = append(h.Bounds, 1<<b)
	}
	for i := range r.Netdevs {
		n := &r.Netdevs[i]
		if netdev != "" && n.Name != netdev || len(n.Heat) == 0 {
			continue
		}
		grid := HeatNetdev{Netdev: n.Name, Columns: []HeatColumn{}}
		for c := range n.Heat {
			if column := &n.Heat[c]; column.Time.After(since) {
				grid.Columns = append(grid.Columns, HeatColumn{float64(column.Time.UnixMilli()) / 1e3, float64(column.Took.Milliseconds()) / 1e3, trimmed(column.Counts[:])})
			}
		}
		h.Netdevs = append(h.Netdevs, grid)
	}
	return h
}

func trimmed(counts []uint32) []uint32 {
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	return counts
}
