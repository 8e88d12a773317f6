// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"strconv"

	"github.com/fabricd/fabricd/collectors"
)

// A lane is one priority of a port; the row without a priority is about storms
// of which no priority can be told.
type lane struct {
	port
	priority int
	shown    bool // it has metrics: an empty priority has none
}

// priorities are those that have flow control, carried something, or whose
// pause is counted: of those the readings before the first pause are needed, for
// it is counted from there. A port has eight, most of them empty.
func priorities(v *collectors.View, units []collectors.Unit[Reading]) []lane {
	var list []lane
	for _, p := range ports(v, units) {
		for n := range priorityCount {
			if shown := p.lossless(n) || p.used(n); shown || p.countsPause(n) {
				list = append(list, lane{p, n, shown})
			}
		}
		stormy := false
		p.Counters.each(stormEvents, func(*slot, uint64) { stormy = true })
		if stormy {
			list = append(list, lane{p, anyPriority, false})
		}
	}
	return list
}

// countsPause says whether the driver counts pause of a priority.
func (p *port) countsPause(priority int) bool {
	for _, k := range pauseKinds {
		for d := range direction(directions) {
			if _, ok := p.Counters.get(k, d, priority); ok {
				return true
			}
		}
	}
	return false
}

// used says whether anything was ever counted of a priority.
func (p *port) used(priority int) bool {
	for k := range lastPriority + 1 {
		for d := range direction(directions) {
			if v, ok := p.Counters.get(k, d, priority); ok && v > 0 {
				return true
			}
		}
	}
	return false
}

func (l *lane) name() string {
	if l.priority == anyPriority {
		return ""
	}
	return strconv.Itoa(l.priority)
}

func netdevLabel[S any](get func(*S) *port) collectors.Label[S] {
	return collectors.Label[S]{Name: "netdev", Get: func(s *S) string { return get(s).Netdev }}
}

func laneLabels(d *direction) []collectors.Label[lane] {
	list := []collectors.Label[lane]{
		netdevLabel(func(l *lane) *port { return &l.port }),
		{Name: "priority", Get: (*lane).name},
	}
	if d != nil {
		list = append(list, collectors.Label[lane]{Name: "direction", Get: func(*lane) string { return d.String() }})
	}
	return list
}

func priorityColumns() collectors.Columns[lane] {
	return collectors.Columns[lane]{
		Labels:  laneLabels(nil),
		Metrics: laneMetrics(),
		Checks:  []collectors.Check[lane]{pauseCheck()},
	}
}

func laneMetrics() []collectors.Metric[lane] {
	const directed = " Direction rx: the peer asked us to stop; tx: we asked the peer."
	var list []collectors.Metric[lane]
	for _, m := range []struct {
		kind         kind
		scale        float64
		name, help   string
		both         bool
		alwaysSource string
	}{
		{pfcFrames, 1, "roce_pfc_frames_total", "PFC frames that hold a priority (XOFF where the driver tells XON apart)." + directed, true, "ethtool -S, such as rx_prio3_pause"},
		{pfcXON, 1, "roce_pfc_xon_frames_total", "PFC frames that let a priority go, where the driver tells them apart." + directed, true, "ethtool -S, such as rx_priority_3_xon.nic"},
		{pfcTime, 1e-6, "roce_pfc_pause_seconds_total", "Time for which PFC held a priority." + directed, true, "ethtool -S, such as rx_prio3_pause_duration"},
		{pfcTransitions, 1, "roce_pfc_transitions_total", "Times that PFC began to hold a priority." + directed, true, "ethtool -S, such as rx_prio3_pause_transition"},
		{prioBytes, 1, "roce_priority_bytes_total", "Bytes of a priority, RDMA and others together, once there were any. Direction rx: received; tx: sent.", true, "ethtool -S, such as rx_prio3_bytes"},
		{prioPackets, 1, "roce_priority_packets_total", "Packets of a priority, once there were any. Direction rx: received; tx: sent.", true, "ethtool -S, such as rx_prio3_packets"},
		{prioMarked, 1, "roce_priority_marked_packets_total", "Packets of a priority that the NIC itself marked as having met congestion, in its receive buffer.", false, "ethtool -S, such as rx_prio3_marked"},
	} {
		for d := range direction(directions) {
			labels := laneLabels(&d)
			if !m.both {
				labels = laneLabels(nil)
			}
			list = append(list, collectors.Metric[lane]{
				Name: m.name, Help: m.help, Source: m.alwaysSource, Kind: collectors.Counter, Labels: labels,
				Get: func(l *lane) (float64, bool) {
					if !l.shown {
						return 0, false
					}
					v, ok := l.Counters.get(m.kind, d, l.priority)
					return float64(v) * m.scale, ok
				},
			})
			if !m.both {
				break
			}
		}
	}
	return append(list, collectors.Metric[lane]{
		Name: "roce_pfc_enabled", Source: "dcbnl IEEE_PFC",
		Help: "1 if PFC is on for the priority as the driver says; of priorities that carried something or have it. Absent where the driver tells nothing, or something stale.",
		Get: func(l *lane) (float64, bool) {
			if !l.shown || l.DCB == nil || l.DCB.PFC == nil || l.stale() {
				return 0, false
			}
			return flag(l.DCB.PFC.On(l.priority)), true
		},
	})
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// stale says that dcbnl's answer was not true, at least once: bnxt_en answers
// what was set through dcbnl, not what its firmware does.
func (p *port) stale() bool {
	pause := false
	p.eachPause(func(v uint64, _ direction, _ int) { pause = pause || v > 0 })
	return p.unset() && pause
}

// lies says that dcbnl's answer cannot be true now: pause grows.
func (p *port) lies(past []sample) bool {
	pause := uint64(0)
	p.eachPause(func(_ uint64, d direction, priority int) {
		n, _ := counted(past, pfcFrames, d, priority)
		pause += n
	})
	return p.unset() && pause > 0
}

// unset says that a driver which is known for stale answers says that PFC is off.
func (p *port) unset() bool {
	on, told := p.pfc()
	return told && len(on) == 0 && p.Driver == "bnxt_en"
}

func (p *port) eachPause(f func(frames uint64, d direction, priority int)) {
	for n := range priorityCount {
		for d := range direction(directions) {
			if v, ok := p.Counters.get(pfcFrames, d, n); ok {
				f(v, d, n)
			}
		}
	}
}
