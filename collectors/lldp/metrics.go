// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/lldp"
)

func portColumns() collectors.Columns[port] {
	netdev := collectors.Label[port]{Name: "netdev", Get: func(p *port) string { return p.n.Name }}
	columns := collectors.Columns[port]{
		Labels: []collectors.Label[port]{netdev},
		Metrics: []collectors.Metric[port]{
			{Name: "lldp_listening", Help: "1 if somebody listens for LLDP on the port, 0 if that was refused.", Source: "AF_PACKET",
				Get: func(p *port) (float64, bool) { return one(p.Err == nil), true }},
			{Name: "lldp_neighbors", Help: "Neighbours known on the port: one on a cable.", Source: "LLDP frames",
				Get: func(p *port) (float64, bool) { return float64(len(p.Neighbours)), p.Err == nil }},
		},
		Checks: []collectors.Check[port]{silentCheck(), manyCheck(), railCheck(), pfcCheck()},
	}
	for _, result := range lldp.Results() {
		columns.Metrics = append(columns.Metrics, collectors.Metric[port]{
			Name: "lldp_frames_total", Kind: collectors.Counter, Source: "LLDP frames; PACKET_STATISTICS",
			Help:   "Frames by what became of them: accepted; shutdown (the neighbour goes); malformed; wrong_destination; refused (of one neighbour too many); lost (dropped by the kernel).",
			Labels: []collectors.Label[port]{netdev, {Name: "result", Get: func(*port) string { return result.String() }}},
			Get:    func(p *port) (float64, bool) { return float64(p.Counts[result]), p.Err == nil },
		})
	}
	return columns
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// A neighbour is a row for each neighbour that is known, also for those that
// others have replaced.
type neighbour struct {
	lldp.Neighbour
	netdev, address string
	ids             [2]string // of chassis and port; no two neighbours of a port have the same
	at              time.Duration
}

// idsOf writes a neighbour's ids; where that is how another's are written already,
// as what cannot be shown was left out or only the subtypes differ, with their
// subtypes and in hex.
func idsOf(n *lldp.Neighbour, known map[[2]string]bool) [2]string {
	ids := [2]string{n.Chassis.String(), n.Port.String()}
	if known[ids] {
		ids = [2]string{fmt.Sprintf("%s:%x", n.Chassis.Kind(), n.Chassis.Value), fmt.Sprintf("%s:%x", n.Port.Kind(), n.Port.Value)}
	}
	known[ids] = true
	return ids
}

func neighbourRows(v *collectors.View, units []collectors.Unit[Reading]) []neighbour {
	var rows []neighbour
	for _, u := range units {
		n := find(v.Inventory, u.Name)
		if n == nil {
			continue
		}
		known := map[[2]string]bool{}
		for _, heard := range u.Reading.Neighbours {
			rows = append(rows, neighbour{heard, n.Name, n.Function.Address, idsOf(&heard, known), moment(v)})
		}
	}
	return rows
}

func neighbourColumns() collectors.Columns[neighbour] {
	label := func(name string, get func(*neighbour) string) collectors.Label[neighbour] {
		return collectors.Label[neighbour]{Name: name, Get: get}
	}
	key := []collectors.Label[neighbour]{
		label("netdev", func(n *neighbour) string { return n.netdev }),
		label("chassis_id", func(n *neighbour) string { return n.ids[0] }),
		label("port_id", func(n *neighbour) string { return n.ids[1] }),
	}
	return collectors.Columns[neighbour]{
		Labels: key,
		Metrics: []collectors.Metric[neighbour]{
			{Name: "lldp_neighbor_info", Help: "1 for each neighbour: what it says of itself.", Source: "LLDP frames",
				Labels: append([]collectors.Label[neighbour]{
					label("address", func(n *neighbour) string { return n.address }),
					label("chassis_subtype", func(n *neighbour) string { return n.Chassis.Kind() }),
					label("port_subtype", func(n *neighbour) string { return n.Frame.Port.Kind() }),
					label("port_description", func(n *neighbour) string { return lldp.Text(n.PortDescription) }),
					label("system_name", func(n *neighbour) string { return lldp.Text(n.SystemName) }),
					label("management_address", managementAddress),
				}, key...),
				Get: func(*neighbour) (float64, bool) { return 1, true }},
			{Name: "lldp_neighbor_age_seconds", Help: "Time since the neighbour was last heard.", Source: "LLDP frames",
				Get: func(n *neighbour) (float64, bool) { return (n.at - n.Last).Seconds(), true }},
			{Name: "lldp_neighbor_ttl_seconds", Help: "Time for which the neighbour is to be remembered after each frame.", Source: "LLDP TTL",
				Get: func(n *neighbour) (float64, bool) { return float64(n.TTL), true }},
			{Name: "lldp_neighbor_max_frame_bytes", Help: "Largest frame that the neighbour's port takes.", Source: "LLDP 802.3 maximum frame size",
				Get: func(n *neighbour) (float64, bool) { return float64(n.MTU), n.MTU > 0 }},
		},
	}
}

func managementAddress(n *neighbour) string {
	for _, m := range n.Management() {
		return m.String()
	}
	return ""
}

// maxApps bounds the rows of one neighbour's map of applications.
const maxApps = 32

// A setting is one number of the flow control that a port's only neighbour
// announces.
type setting struct {
	netdev   string
	kind     settingKind
	number   int // priority or traffic class
	selector string
	protocol uint16
	value    float64
}

type settingKind uint8

const (
	settingPFC settingKind = iota
	settingClass
	settingBandwidth
	settingApp
)

func settingRows(v *collectors.View, units []collectors.Unit[Reading]) []setting {
	var rows []setting
	for _, u := range units {
		if list := present(u.Reading.State, moment(v)); len(list) == 1 {
			rows = append(rows, settings(u.Name, list[0].Frame)...)
		}
	}
	return rows
}

func settings(netdev string, f *lldp.Frame) []setting {
	var rows []setting
	a := announced(f)
	for i := range 8 {
		if a.pfc.OK {
			rows = append(rows, setting{netdev: netdev, kind: settingPFC, number: i, value: one(a.pfc.V>>i&1 != 0)})
		}
		if f.ETS.Present {
			rows = append(rows,
				setting{netdev: netdev, kind: settingClass, number: i, value: float64(f.ETS.PriorityTC[i])},
				setting{netdev: netdev, kind: settingBandwidth, number: i, value: float64(f.ETS.Bandwidth[i]) / 100})
		}
	}
	for i, app := range a.apps {
		if i < maxApps {
			rows = append(rows, setting{netdev: netdev, kind: settingApp, selector: app.selector, protocol: app.protocol, value: float64(app.priority)})
		}
	}
	return rows
}

func settingColumns() collectors.Columns[setting] {
	label := func(name string, get func(*setting) string) collectors.Label[setting] {
		return collectors.Label[setting]{Name: name, Get: get}
	}
	netdev := label("netdev", func(s *setting) string { return s.netdev })
	number := func(name string) []collectors.Label[setting] {
		return []collectors.Label[setting]{netdev, label(name, func(s *setting) string { return strconv.Itoa(s.number) })}
	}
	get := func(kind settingKind) func(*setting) (float64, bool) {
		return func(s *setting) (float64, bool) { return s.value, s.kind == kind }
	}
	return collectors.Columns[setting]{
		Labels: []collectors.Label[setting]{netdev},
		Metrics: []collectors.Metric[setting]{
			{Name: "lldp_neighbor_pfc_enabled", Help: "1 for priorities on which the only neighbour of the port announces priority flow control.", Source: "LLDP DCBX PFC (IEEE or CEE)",
				Labels: number("priority"), Get: get(settingPFC)},
			{Name: "lldp_neighbor_traffic_class", Help: "Traffic class of a priority, as the only neighbour announces it.", Source: "LLDP DCBX ETS configuration",
				Labels: number("priority"), Get: get(settingClass)},
			{Name: "lldp_neighbor_ets_bandwidth_ratio", Help: "Share of the bandwidth of a traffic class, as the only neighbour announces it.", Source: "LLDP DCBX ETS configuration",
				Labels: number("traffic_class"), Get: get(settingBandwidth)},
			{Name: "lldp_neighbor_app_priority", Help: "Priority of an application's packets, as the only neighbour announces it.", Source: "LLDP DCBX application priorities (IEEE or CEE)",
				Labels: []collectors.Label[setting]{netdev,
					label("selector", func(s *setting) string { return s.selector }),
					label("protocol", func(s *setting) string { return strconv.Itoa(int(s.protocol)) })},
				Get: get(settingApp)},
		},
	}
}
