// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"slices"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

func nicChecks() []collectors.Check[port] {
	return []collectors.Check[port]{
		{
			Name:   "nic_discards",
			Help:   "Warns when packets that arrived are discarded for want of room in the NIC: PCI Express or the rings are too slow. Gives the ring's size against its maximum.",
			Silent: "a step long ago; packets for which the host had no receive buffer (out_of_buffer), which are rdma_receiver's.",
			Over:   time.Minute,
			Eval:   lately(evalDiscards),
		},
		{
			Name:       "nic_pcie_stall",
			Help:       "Warns when the NIC's reads or writes of memory stood still for more than 10 % of the last second.",
			Silent:     "the count of seconds with a stall, which is history.",
			Thresholds: []collectors.Threshold{{Name: "percent", Default: 10, Unit: "percent of a second", Help: "more warns"}},
			For:        5 * time.Second,
			Eval:       evalStall,
		},
		{
			Name:   "nic_speed",
			Help:   "Warns when an Ethernet port is slower than the majority of its sisters (same model and role, at least four) or, of compute ports, than the plan; fails at half duplex.",
			Silent: "ports without link, whose speed reads -1 or an error.",
			Eval:   evalSpeed,
		},
		{
			Name:   "nic_fec",
			Help:   "Fails when blocks that forward error correction could not mend grow.",
			Silent: "corrected blocks, which are normal, and totals that stand still.",
			Over:   time.Minute,
			Eval:   lately(evalFEC),
		},
	}
}

func evalDiscards(p *port, e *env) verdict {
	known := false
	for _, k := range []kind{discards, prioDiscards} {
		p.Counters.each(k, func(s *slot, _ uint64) { known = known || s.dir == rx })
	}
	switch {
	case !known && p.rdma == nil:
		return verdict{} // no driver that is known, and nothing lossless behind it
	case !known && p.unasked() != "":
		return collectors.Verdictf(collectors.Unknown, "%s", p.unasked())
	case !known:
		return collectors.Verdictf(collectors.Unknown, "driver %s counts no discards of the NIC", p.Driver)
	case covers(e.Past) == 0:
		return collectors.Verdictf(collectors.Unknown, "one reading only: growth needs a second")
	}
	past := e.Newest()
	list := append(risen(past, discards, rx), risen(past, prioDiscards, rx)...)
	if len(list) == 0 {
		return collectors.Verdictf(collectors.OK, "no discards in the newest readings")
	}
	text, remedy := "", "look at nic_pcie_stall, pcie_width and the buffers of lossless priorities (dcb buffer show)"
	if r := p.Rings; r != nil && r.RX > 0 && r.RXMax > 0 {
		text = fmt.Sprintf("; the receive ring has %d of at most %d entries", r.RX, r.RXMax)
		if r.RX < r.RXMax {
			remedy = fmt.Sprintf("enlarge the ring if it is the netdev's traffic (ethtool -G %s rx %d); %s", p.Netdev, r.RXMax, remedy)
		}
	}
	if n, ok := counted(past, outOfBuffer, rx, anyPriority); ok {
		text += fmt.Sprintf("; out_of_buffer +%d", n)
	}
	return collectors.Verdictf(collectors.Warn, "the NIC discards packets that arrive: %s%s", names(list), text).Remedyf("%s", remedy).
		With(list[0].name, list[0].by)
}

func evalStall(p *port, e *env) verdict {
	read, hasRead := p.Counters.get(stallRead, rx, anyPriority)
	write, hasWrite := p.Counters.get(stallWrite, rx, anyPriority)
	switch {
	case !hasRead && !hasWrite && p.Driver == "mlx5_core":
		return collectors.Verdictf(collectors.Unknown, "%s", stallUnknown(p))
	case !hasRead && !hasWrite:
		return verdict{} // no other driver tells
	case read > 100 || write > 100:
		return collectors.Verdictf(collectors.Unknown, "outbound_pci_stalled_rd %d, _wr %d: not percent", read, write)
	}
	text := fmt.Sprintf("reads of memory stood still for %d %%, writes for %d %% of the last second (outbound_pci_stalled_rd, _wr)", read, write)
	if float64(max(read, write)) > e.Threshold("percent") {
		return collectors.Verdictf(collectors.Warn, "%s: the host takes the NIC's traffic too slowly", text).
			Remedyf("look at pcie_width, pcie_speed, pcie_payload and pcie_iommu of %s, and at the memory's node (fabricd numa show)", p.net.Function.Address).
			With("outbound_pci_stalled_rd", read).With("outbound_pci_stalled_wr", write)
	}
	return collectors.Verdictf(collectors.OK, "%s", text)
}

func stallUnknown(p *port) string {
	if why := p.unasked(); why != "" {
		return why
	}
	return "this adapter's firmware counts no PCI Express stalls"
}

func evalSpeed(p *port, e *env) verdict {
	n := p.net
	switch {
	case !linked(n):
		return verdict{}
	case p.Duplex == "half":
		return collectors.Verdictf(collectors.Fail, "the link runs at half duplex%s (duplex): the other end does not negotiate", at(n.SpeedMbps)).
			Remedyf("let both ends negotiate: ethtool -s %s autoneg on, and the same on the switch port", p.Netdev).With("duplex", p.Duplex)
	case !n.SpeedMbps.OK:
		return collectors.Verdictf(collectors.Unknown, "there is link but the driver tells no speed")
	}
	mine := n.SpeedMbps.V
	if plan := e.View.Plan().Ports.RateGbps; plan > 0 && e.View.Topology.Planned(n.Function) && float64(mine) < plan*1000 {
		return slow(p, "the plan says %s", gbps(int(plan*1000)))
	}
	var all []int
	for i := range e.Rows {
		if o := &e.Rows[i]; o.sisters == p.sisters && linked(o.net) && o.net.SpeedMbps.OK {
			all = append(all, o.net.SpeedMbps.V)
		}
	}
	usual, same, _ := collectors.Majority(all, func(a, b int) bool { return a == b })
	if collectors.Most(same, len(all)) && mine < usual {
		return slow(p, "%d of %d ports of its kind run at %s", same, len(all), gbps(usual))
	}
	return collectors.Verdictf(collectors.OK, "%s, full duplex not denied; %d ports of its kind have link", gbps(mine), len(all))
}

// linked says whether an interface has link: one that has a speed where nothing
// tells the carrier has.
func linked(n *probes.Netdev) bool { return n.Carrier.V || !n.Carrier.OK && n.SpeedMbps.OK }

func at(mbps probes.Value[int]) string {
	if !mbps.OK {
		return ""
	}
	return " and " + gbps(mbps.V)
}

func slow(p *port, format string, args ...any) verdict {
	return collectors.Verdictf(collectors.Warn, "the link runs at %s; "+format, append([]any{gbps(p.net.SpeedMbps.V)}, args...)...).
		Remedyf("compare cable, transceiver and the switch port's speed with the others' (ethtool %s; ethtool -m %s)", p.Netdev, p.Netdev).
		With("speed", p.net.SpeedMbps.V)
}

func gbps(mbps int) string { return fmt.Sprintf("%g Gb/s", float64(mbps)/1000) }

// fecSpeed is from which speed on links need forward error correction.
const fecSpeed = 25000

func evalFEC(p *port, e *env) verdict {
	_, ok := p.uncorrectable()
	switch {
	case !ok && (!p.net.Carrier.V || p.net.SpeedMbps.V < fecSpeed || p.FEC != nil && p.FEC.Active == "Off"):
		return verdict{}
	case !ok && p.Err == errStale:
		return collectors.Verdictf(collectors.Unknown, "%s", errStale)
	case !ok:
		return collectors.Verdictf(collectors.Unknown, "driver %s tells no blocks of forward error correction", p.Driver)
	case !readTwice(e.Past):
		return collectors.Verdictf(collectors.Unknown, "one reading only: growth needs a second")
	}
	n := collectors.Growth(e.Newest(), (*port).uncorrectable)
	if n == 0 {
		return collectors.Verdictf(collectors.OK, "no uncorrectable blocks in the newest readings")
	}
	return collectors.Verdictf(collectors.Fail, "%d uncorrectable FEC blocks: packets are lost on the cable (ethtool --show-fec -I)", n).
		Remedyf("clean or replace the cable or transceiver; look at both ends' light (ethtool -m %s) and at the switch port's errors", p.Netdev).
		With("uncorrectable_blocks", n)
}

// readTwice says whether the blocks were read more than once.
func readTwice(past []sample) bool {
	last := &past[len(past)-1].Row
	if last.FEC == nil || !last.FEC.Uncorrectable.OK {
		return covers(past) > 0
	}
	return slices.ContainsFunc(past, func(s sample) bool { return s.Row.FEC != nil && s.Row.FEC != last.FEC })
}

// uncorrectable gives the blocks that could not be mended, from the call that
// all drivers share or from the driver's own statistics.
func (p *port) uncorrectable() (uint64, bool) {
	if p.FEC != nil && p.FEC.Uncorrectable.OK && p.FEC.Uncorrectable.V != allOnes {
		return p.FEC.Uncorrectable.V, true
	}
	return p.Counters.get(fecUncorrectable, rx, anyPriority)
}

func (p *port) corrected() (uint64, bool) {
	if p.FEC != nil && p.FEC.Corrected.OK && p.FEC.Corrected.V != allOnes {
		return p.FEC.Corrected.V, true
	}
	return p.Counters.get(fecCorrected, rx, anyPriority)
}
