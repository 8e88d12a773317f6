// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"github.com/fabricd/fabricd/collectors"
)

func portColumns() collectors.Columns[port] {
	self := func(p *port) *port { return p }
	return collectors.Columns[port]{
		Labels:  []collectors.Label[port]{netdevLabel(self)},
		Metrics: portMetrics(),
		Checks: append([]collectors.Check[port]{
			pfcCheck(), placeCheck(), globalPauseCheck(), ecnCheck(), dcqcnCheck(),
		}, nicChecks()...),
	}
}

type metric = collectors.Metric[port]

// of makes the Get of a counter of the port.
func of(k kind, d direction, scale float64) func(*port) (float64, bool) {
	return func(p *port) (float64, bool) {
		v, ok := p.Counters.get(k, d, anyPriority)
		return float64(v) * scale, ok
	}
}

// with adds labels of a fixed value to the netdev.
func with(pairs ...string) []collectors.Label[port] {
	list := []collectors.Label[port]{netdevLabel(func(p *port) *port { return p })}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, collectors.Label[port]{Name: pairs[i], Get: func(*port) string { return pairs[i+1] }})
	}
	return list
}

func portMetrics() []metric {
	list := []metric{
		{Name: "roce_counters_unmatched", Source: "ethtool -i, -S",
			Help: "1 if a driver whose counters are known names its priorities by none of the known names: pause is not seen there, and fabricd has to be told the new ones. 0 if it does; absent for other drivers.",
			Get: func(p *port) (float64, bool) {
				if p.Counters == nil || find(p.Driver) == nil {
					return 0, false
				}
				return flag(p.Counters.plan.unmatched), true
			}},
		{Name: "roce_dcb_stale", Source: "dcbnl IEEE_PFC, ethtool -S",
			Help: "1 if what the driver says of PFC cannot be true: none on, and pause counted.",
			Get:  func(p *port) (float64, bool) { _, told := p.pfc(); return flag(p.stale()), told }},
		{Name: "roce_pfc_capable_priorities", Source: "dcbnl IEEE_PFC, pfc_cap", Help: "Priorities for which PFC can be on at the same time.",
			Get: func(p *port) (float64, bool) {
				if _, told := p.pfc(); !told {
					return 0, false
				}
				return float64(p.DCB.PFC.Cap), true
			}},
		{Name: "roce_pause_prevention_seconds", Source: "ethtool --get-tunable pfc-prevention-tout; sysfs settings/pfc_stall_prevention",
			Help: "For how long a NIC whose host takes no packets may pause its peer before it drops them instead: 0 is for ever. Absent where the driver does not tell.",
			Get: func(p *port) (float64, bool) {
				if p.Prevention == nil || p.Prevention.Auto {
					return 0, false
				}
				return p.Prevention.After.Seconds(), true
			}},
		{Name: "nic_full_duplex", Source: "sysfs duplex", Help: "1 if the link runs at full duplex, 0 at half; absent without link.",
			Get: func(p *port) (float64, bool) {
				return flag(p.Duplex == "full"), p.Duplex == "full" || p.Duplex == "half"
			}},
		{Name: "nic_speed_bytes_per_second", Source: "sysfs speed", Help: "Rate of an Ethernet link.",
			Get: func(p *port) (float64, bool) { return float64(p.net.SpeedMbps.V) * 1e6 / 8, p.net.SpeedMbps.OK }},
		{Name: "nic_fec_corrected_blocks_total", Kind: collectors.Counter, Source: "ethtool --show-fec -I, -S", Help: "Blocks that forward error correction mended.",
			Get: func(p *port) (float64, bool) { v, ok := p.corrected(); return float64(v), ok }},
		{Name: "nic_fec_uncorrectable_blocks_total", Kind: collectors.Counter, Source: "ethtool --show-fec -I, -S", Help: "Blocks that forward error correction could not mend: packets were lost.",
			Get: func(p *port) (float64, bool) { v, ok := p.uncorrectable(); return float64(v), ok }},
		{Name: "nic_receive_buffer_passed_total", Kind: collectors.Counter, Source: "ethtool -S, such as rx_buffer_passed_thres_phy",
			Help: "Times that the NIC's receive buffer was filled beyond its threshold.", Get: of(bufferFull, rx, 1)},
	}
	return append(append(list, pauseMetrics()...), hostMetrics()...)
}

func pauseMetrics() []metric {
	var list []metric
	for d := range direction(directions) {
		labels := with("direction", d.String())
		list = append(list,
			metric{Name: "roce_global_pause_frames_total", Kind: collectors.Counter, Labels: labels, Source: "ethtool -S, such as rx_global_pause",
				Help: "802.3x pause frames, which stop all priorities. Direction rx: the peer asked us to stop; tx: we asked the peer.", Get: of(pauseFrames, d, 1)},
			metric{Name: "roce_flow_control_frames_total", Kind: collectors.Counter, Labels: labels, Source: "ethtool -S rx_pause_ctrl_phy, tx_pause_ctrl_phy",
				Help: "Frames of flow control as mlx5 counts them at the wire; with some firmware PFC's are among them. Direction rx: the peer asked us to stop; tx: we asked the peer.", Get: of(pauseControl, d, 1)},
			metric{Name: "roce_global_pause_seconds_total", Kind: collectors.Counter, Labels: labels, Source: "ethtool -S, such as rx_global_pause_duration",
				Help: "Time for which 802.3x pause stopped all. Direction rx: the peer asked us to stop; tx: we asked the peer.", Get: of(pauseTime, d, 1e-6)},
			metric{Name: "roce_pfc_port_frames_total", Kind: collectors.Counter, Labels: labels, Source: "ethtool -S frames_rx_pripause, frames_tx_pripause",
				Help: "PFC frames of all priorities, of drivers that count no others. Direction rx: the peer asked us to stop; tx: we asked the peer.", Get: of(pfcFramesAll, d, 1)},
			metric{Name: "nic_pause_enabled", Labels: labels, Source: "ethtool -a", Help: "1 if 802.3x pause is on. Direction rx: the peer may stop us; tx: we may stop the peer.",
				Get: func(p *port) (float64, bool) {
					if p.Pause == nil {
						return 0, false
					}
					return flag(d == rx && p.Pause.RX || d == tx && p.Pause.TX), true
				}},
		)
	}
	return list
}

func hostMetrics() []metric {
	var list []metric
	for _, s := range []struct {
		name      string
		now, then kind
	}{{"read", stallRead, stallReadSecs}, {"write", stallWrite, stallWriteSecs}} {
		list = append(list,
			metric{Name: "nic_pcie_stall_ratio", Labels: with("access", s.name), Source: "ethtool -S outbound_pci_stalled_rd, _wr",
				Help: "Share of the last second in which the NIC's access to memory stood still.", Get: of(s.now, rx, 0.01)},
			metric{Name: "nic_pcie_stalled_seconds_total", Kind: collectors.Counter, Labels: with("access", s.name), Source: "ethtool -S outbound_pci_stalled_rd_events, _wr_events",
				Help: "Seconds that had such a stall.", Get: of(s.then, rx, 1)},
		)
	}
	for _, r := range []struct {
		name string
		get  func(*port) (now, most int)
	}{
		{"rx", func(p *port) (int, int) { return p.Rings.RX, p.Rings.RXMax }},
		{"tx", func(p *port) (int, int) { return p.Rings.TX, p.Rings.TXMax }},
	} {
		get := func(most bool) func(*port) (float64, bool) {
			return func(p *port) (float64, bool) {
				if p.Rings == nil {
					return 0, false
				}
				n, limit := r.get(p)
				if most {
					n = limit
				}
				return float64(n), n > 0
			}
		}
		list = append(list,
			metric{Name: "nic_ring_entries", Labels: with("ring", r.name), Source: "ethtool -g", Help: "Descriptors of each ring.", Get: get(false)},
			metric{Name: "nic_ring_max_entries", Labels: with("ring", r.name), Source: "ethtool -g", Help: "Descriptors that a ring can have.", Get: get(true)},
		)
	}
	return list
}
