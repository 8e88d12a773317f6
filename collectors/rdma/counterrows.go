// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"strconv"

	"github.com/fabricd/fabricd/collectors"
)

// A counterRow is one file of hw_counters, of a port or, with port "", of the
// device as a whole.
type counterRow struct {
	address, device, port, name string
	v                           uint64
	gauge                       bool
}

func counterRows(_ *collectors.View, list []collectors.Unit[Reading]) []counterRow {
	var rows []counterRow
	for _, u := range list {
		add := func(port string, c *Counts) {
			for i, name := range c.Names {
				if v := c.Values[i]; v.OK {
					rows = append(rows, counterRow{u.Reading.Address, u.Reading.Device, port, name, v.V, gauge(name)})
				}
			}
		}
		add("", &u.Reading.Counters)
		for i := range u.Reading.Ports {
			p := &u.Reading.Ports[i]
			add(strconv.Itoa(p.Number), &p.HW)
			add(strconv.Itoa(p.Number), &p.Optional)
		}
	}
	return rows
}

func counterColumns() collectors.Columns[counterRow] {
	const source = "sysfs hw_counters; RDMA netlink for optional counters that are enabled"
	return collectors.Columns[counterRow]{
		Labels: []collectors.Label[counterRow]{
			{Name: "address", Get: func(r *counterRow) string { return r.address }},
			{Name: "device", Get: func(r *counterRow) string { return r.device }},
			{Name: "port", Get: func(r *counterRow) string { return r.port }},
			{Name: "counter", Get: func(r *counterRow) string { return r.name }},
		},
		Metrics: []collectors.Metric[counterRow]{
			{Name: "rdma_hw_counter_total", Kind: collectors.Counter, Source: source,
				Help: "Every counter in hw_counters, and every optional one that is enabled, by the driver's name; of the device as a whole where port is empty. Those of 32 bits go on where they wrap.",
				Get:  func(r *counterRow) (float64, bool) { return float64(r.v), !r.gauge }},
			{Name: "rdma_hw_level", Source: source,
				Help: "What hw_counters holds besides counters, by the driver's name: how many objects exist, or did at most.",
				Get:  func(r *counterRow) (float64, bool) { return float64(r.v), r.gauge }},
		},
	}
}
