// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"strconv"

	"github.com/fabricd/fabricd/collectors"
)

// A counterRow is a counter that stands beside others of its kind.
type counterRow struct {
	netdev string
	s      *slot
	v      uint64
}

// counterRows lists discards and storms. Those of priorities and classes are
// left out while they are zero: a port has up to twenty-four.
func counterRows(_ *collectors.View, units []collectors.Unit[Reading]) []counterRow {
	var rows []counterRow
	for _, u := range units {
		for _, k := range []kind{discards, prioDiscards, stormEvents} {
			u.Reading.Counters.each(k, func(s *slot, v uint64) {
				if v > 0 || k == stormEvents || k == discards && s.priority == anyPriority && !s.class {
					rows = append(rows, counterRow{u.Name, s, v})
				}
			})
		}
	}
	return rows
}

func counterColumns() collectors.Columns[counterRow] {
	netdev := collectors.Label[counterRow]{Name: "netdev", Get: func(r *counterRow) string { return r.netdev }}
	direction := collectors.Label[counterRow]{Name: "direction", Get: func(r *counterRow) string { return r.s.dir.String() }}
	counter := collectors.Label[counterRow]{Name: "counter", Get: func(r *counterRow) string { return r.s.name }}
	priority := collectors.Label[counterRow]{Name: "priority", Get: func(r *counterRow) string {
		if r.s.priority == anyPriority {
			return ""
		}
		return strconv.Itoa(r.s.priority)
	}}
	get := func(k kind) func(*counterRow) (float64, bool) {
		return func(r *counterRow) (float64, bool) { return float64(r.v), r.s.kind == k }
	}
	return collectors.Columns[counterRow]{
		Labels: []collectors.Label[counterRow]{netdev, direction, counter},
		Metrics: []collectors.Metric[counterRow]{
			{Name: "nic_discards_total", Kind: collectors.Counter, Source: "ethtool -S, such as rx_discards_phy",
				Help: "Packets that the NIC discarded for want of room, by the driver's name of the counter; those of classes once there were any. Direction rx: packets that arrived; tx: that were to leave.", Get: get(discards)},
			{Name: "roce_priority_discards_total", Kind: collectors.Counter, Source: "ethtool -S, such as rx_prio3_discards",
				Help: "Packets of a priority that the NIC discarded, once there were any.", Labels: []collectors.Label[counterRow]{netdev, priority, counter}, Get: get(prioDiscards)},
			{Name: "roce_pause_storms_total", Kind: collectors.Counter, Source: "ethtool -S, such as tx_pause_storm_error_events",
				Help: "Times that the NIC took pause for a storm; an error ends with the NIC sending no more pause and dropping.", Labels: []collectors.Label[counterRow]{netdev, counter}, Get: get(stormEvents)},
		},
	}
}
