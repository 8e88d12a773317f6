// SPDX-License-Identifier: Apache-2.0

// Package pcie knows what PCI Express links should be: as wide and fast as
// both ends can, without errors, and open for peer-to-peer traffic. It reads
// the state of functions and judges links, cards and paths. It does not know
// how a machine's tree is found out (probes) or where memory is (numa).
package pcie

import (
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/pci"
)

// New makes the collector.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[Reading]{
		Name:  "pcie",
		Help:  "PCI Express links: state, maximum, errors, and what hinders traffic on them.",
		Every: time.Second,
		Floor: 10 * time.Millisecond,
		Units: units,
		Open:  openReader,
		Tables: []collectors.Table[Reading]{
			collectors.Derive(devices, deviceColumns()),
			collectors.Derive(functions, functionColumns()),
			collectors.Derive(errorRows, errorColumns()),
			collectors.Derive(linkRows, linkColumns()),
			collectors.Derive(cardRows, cardColumns()),
			collectors.Derive(peerRows, peerColumns()),
			collectors.Derive(lostRows, lostColumns()),
			collectors.Derive(pairRows, pairColumns()),
		},
	})
}

func functionColumns() collectors.Columns[function] {
	return collectors.Columns[function]{
		Labels:  []collectors.Label[function]{{Name: "address", Get: func(f *function) string { return f.Address }}},
		Metrics: functionMetrics(),
		Checks:  []collectors.Check[function]{aerCheck(), iommuCheck(), payloadCheck()},
	}
}

// lanes and rates of a link; not ok is an absent series.
func lanes(l pci.Link) (float64, bool)  { return float64(l.Width), l.Width > 0 }
func rate(l pci.Link) (float64, bool)   { return l.Speed.TransfersPerSecond(), l.Speed > 0 }
func bytes8(l pci.Link) (float64, bool) { return l.BitsPerSecond() / 8, l.Known() }

// state gives the link in force of a function that ends one.
func (f *function) state() pci.Link {
	if f.at == nil || f.link == nil {
		return pci.Link{}
	}
	return f.at.Link
}

func (f *function) most() pci.Link {
	if f.link == nil || f.link.Upper == nil {
		return pci.Link{}
	}
	return f.link.Max
}

func (f *function) config() *pci.Express {
	if f.at == nil || f.at.Config == nil {
		return nil
	}
	return f.at.Config.PCIe
}

type metric = collectors.Metric[function]

func functionMetrics() []metric {
	return append(linkMetrics(), settingMetrics()...)
}

func linkMetrics() []metric {
	return []metric{
		{Name: "pcie_link_width_lanes", Help: "Lanes in use.", Source: "sysfs current_link_width",
			Get: func(f *function) (float64, bool) { return lanes(f.state()) }},
		{Name: "pcie_link_width_max_lanes", Help: "Lanes that both ends of the link have.", Source: "sysfs max_link_width of both ends",
			Get: func(f *function) (float64, bool) { return lanes(f.most()) }},
		{Name: "pcie_link_transfers_per_second", Help: "Transfers a second on each lane (32 GT/s is 3.2e10).", Source: "sysfs current_link_speed",
			Get: func(f *function) (float64, bool) { return rate(f.state()) }},
		{Name: "pcie_link_max_transfers_per_second", Help: "Transfers a second on each lane that both ends of the link can do.", Source: "sysfs max_link_speed of both ends",
			Get: func(f *function) (float64, bool) { return rate(f.most()) }},
		{Name: "pcie_link_bandwidth_bytes_per_second", Help: "Usable bandwidth of the link in one direction, after line encoding, before packet overhead.", Source: "current link speed and width",
			Get: func(f *function) (float64, bool) { return bytes8(f.state()) }},
		{Name: "pcie_link_max_bandwidth_bytes_per_second", Help: "Usable bandwidth of the link at the maximum of both ends.", Source: "maximum link speed and width of both ends",
			Get: func(f *function) (float64, bool) { return bytes8(f.most()) }},
		{Name: "pcie_device_width_max_lanes", Help: "Lanes that the function itself has.", Source: "sysfs max_link_width",
			Get: func(f *function) (float64, bool) { return lanes(f.Max) }},
		{Name: "pcie_device_max_transfers_per_second", Help: "Transfers a second on each lane that the function itself can do.", Source: "sysfs max_link_speed",
			Get: func(f *function) (float64, bool) { return rate(f.Max) }},
		{Name: "pcie_path_bandwidth_bytes_per_second", Help: "Usable bandwidth of the slowest link between the function and the root port.", Source: "links of the path",
			Get: func(f *function) (float64, bool) { return f.path / 8, f.path > 0 }},
		{Name: "pcie_path_max_bandwidth_bytes_per_second", Help: "The same at every link's maximum.", Source: "links of the path",
			Get: func(f *function) (float64, bool) { return f.limit / 8, f.limit > 0 }},
		{Name: "pcie_path_bottleneck_info", Help: "1; the label link names the slowest link between the function and the root port by its lower end, the nearest of equally slow ones.", Source: "links of the path",
			Labels: []collectors.Label[function]{
				{Name: "address", Get: func(f *function) string { return f.Address }},
				{Name: "link", Get: func(f *function) string {
					if f.bottleneck == nil {
						return ""
					}
					return f.bottleneck.Lower.Address
				}},
			},
			Get: func(f *function) (float64, bool) { return 1, f.bottleneck != nil }},
		{Name: "pcie_link_transitions_total", Kind: collectors.Counter, Help: "Changes of the link's speed or width seen between reads.", Source: "current link speed and width",
			Get: func(f *function) (float64, bool) {
				if f.link == nil || f.at == nil {
					return 0, false
				}
				return float64(f.at.Transitions), true
			}},
		{Name: "pcie_link_below_max_seconds_total", Kind: collectors.Counter, Help: "Time that the link was seen below what both ends can do.", Source: "current and maximum link speed and width",
			Get: func(f *function) (float64, bool) {
				if f.link == nil || f.link.Upper == nil || f.at == nil {
					return 0, false
				}
				return f.at.BelowMax.Seconds(), true
			}},
	}
}

// setting makes the Get of a metric from the PCI Express capability.
func setting(get func(*pci.Express) float64) func(*function) (float64, bool) {
	return func(f *function) (float64, bool) {
		e := f.config()
		if e == nil {
			return 0, false
		}
		return get(e), true
	}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func settingMetrics() []metric {
	list := []metric{
		{Name: "pcie_max_payload_bytes", Help: "Largest payload that the function sends in one packet.", Source: "config space, DEVCTL[7:5]",
			Get: setting(func(e *pci.Express) float64 { return float64(e.MaxPayload) })},
		{Name: "pcie_max_read_request_bytes", Help: "Largest read that the function asks for at once.", Source: "config space, DEVCTL[14:12]",
			Get: setting(func(e *pci.Express) float64 { return float64(e.MaxReadRequest) })},
		{Name: "pcie_relaxed_ordering_enabled", Help: "1 if the function may mark its writes as relaxed in order.", Source: "config space, DEVCTL bit 4",
			Get: setting(func(e *pci.Express) float64 { return flag(e.RelaxedOrdering) })},
	}
	for _, s := range []struct {
		name string
		get  func(*pci.Express) bool
	}{
		{"L0s", func(e *pci.Express) bool { return e.ASPML0s }}, {"L1", func(e *pci.Express) bool { return e.ASPML1 }},
	} {
		list = append(list, metric{Name: "pcie_aspm_enabled", Help: "1 if the power state is enabled at this end of the link.", Source: "config space, LNKCTL[1:0]",
			Labels: withLabel("state", s.name),
			Get: func(f *function) (float64, bool) {
				e := f.config()
				if e == nil || !e.HasLink {
					return 0, false
				}
				return flag(s.get(e)), true
			}})
	}
	for _, c := range pci.ACSControls() {
		list = append(list, metric{Name: "pcie_acs_redirect_enabled", Help: "1 if Access Control Services of a bridge send peer-to-peer traffic up to the root complex.", Source: "config space, ACS control",
			Labels: withLabel("control", c.Name),
			Get: func(f *function) (float64, bool) {
				if f.at == nil || f.at.Config == nil || f.at.Config.ACS == nil {
					return 0, false
				}
				return flag(f.at.Config.ACS.Control&c.Mask != 0), true
			}})
	}
	return list
}

func withLabel(name, value string) []collectors.Label[function] {
	return []collectors.Label[function]{
		{Name: "address", Get: func(f *function) string { return f.Address }},
		{Name: name, Get: func(*function) string { return value }},
	}
}
