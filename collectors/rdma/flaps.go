// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/rdma"
)

// A flapRow is how often a port lost its link: an RDMA port with its interface,
// or an interface alone. It is small, for it is kept for half an hour.
type flapRow struct {
	device, port, netdev string
	down                 Count // link_downed
	carrier              Count // carrier_changes
	full                 bool  // link_downed stands at its maximum
	losses               Count // the carrier's, but for those of an administrator
	epoch, netdevEpoch   uint64
	legs                 Count  // losses of all legs of the bond that netdev is
	legsEpoch            uint64 // tells other legs
}

func flapRows(v *collectors.View, list []collectors.Unit[Reading]) []flapRow {
	var rows []flapRow
	legs := legsOf(v, list)
	ports := portNetdevs(list)
	for _, u := range list {
		if n := u.Reading.Netdev; n != nil {
			if !ports[n.Name] {
				rows = append(rows, flapRow{netdev: n.Name, carrier: n.CarrierChanges, losses: n.Losses, netdevEpoch: n.Epoch})
			}
			continue
		}
		d := findDevice(v.Inventory, u.Name)
		if d == nil || d.Software() || d.Function.Virtual() || !d.Port {
			continue
		}
		for i := range u.Reading.Ports {
			r := flapOf(&u.Reading.Ports[i], d)
			for _, leg := range legs[r.netdev] {
				n := leg.reading.Netdev
				r.legs = Count{r.legs.V + n.Losses.V, true}
				r.legsEpoch = r.legsEpoch*legsPrime + n.Epoch + 1
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func flapOf(p *Port, d *probes.RDMADevice) flapRow {
	r := flapRow{
		device: d.Name, port: strconv.Itoa(p.Number), netdev: p.Netdev.Name,
		down: p.PMA.Find("link_downed"), carrier: p.Netdev.CarrierChanges, losses: p.Netdev.Losses,
		epoch: p.Epoch, netdevEpoch: p.Netdev.Epoch,
	}
	limit, ok := rdma.NarrowMax("link_downed")
	r.full = ok && r.down.OK && r.down.V == limit
	return r
}

func flapColumns() collectors.Columns[flapRow] {
	netdev := collectors.Label[flapRow]{Name: "netdev", Get: func(r *flapRow) string { return r.netdev }}
	device := collectors.Label[flapRow]{Name: "device", Get: func(r *flapRow) string { return r.device }}
	port := collectors.Label[flapRow]{Name: "port", Get: func(r *flapRow) string { return r.port }}
	return collectors.Columns[flapRow]{
		Labels: []collectors.Label[flapRow]{device, port, {Name: "netdev", Get: func(r *flapRow) string {
			if r.device != "" {
				return "" // the port's history is its own, whatever its interface is called
			}
			return r.netdev
		}}},
		Metrics: []collectors.Metric[flapRow]{{
			Name: "nic_carrier_changes_total", Kind: collectors.Counter, Source: "sysfs class/net/*/carrier_changes", Labels: []collectors.Label[flapRow]{netdev},
			Help: "Ups and downs of the carrier of a NIC's interface since it exists.",
			Get:  func(r *flapRow) (float64, bool) { return float64(r.carrier.V), r.carrier.OK && r.netdev != "" },
		}},
		Checks: []collectors.Check[flapRow]{{
			Name:    "rdma_flap",
			Help:    "Warns when a port lost its link in the last 30 minutes (link_downed or carrier_changes grew), also while it is still down. Interfaces of compute and storage NICs without RDMA device count too, and each leg of a bond that carries RDMA.",
			Silent:  "totals that stand still; what an administrator switched off and on; virtual functions and devices that software makes; a bond whose leg speaks. Clears itself after 30 stable minutes.",
			Over:    flapsFor,
			Subject: []collectors.Label[flapRow]{device, port, netdev},
			Thresholds: []collectors.Threshold{
				{Name: "least", Default: 1, Unit: "changes", Help: "fewer in 30 minutes do not warn"},
			},
			Eval: evalFlap,
		}},
	}
}

// flapsFor is how long a lost link is spoken of.
const flapsFor = 30 * time.Minute

func evalFlap(r *flapRow, e *collectors.Env[flapRow]) verdict {
	past := e.Last(flapsFor)
	var grown []string
	sum := uint64(0)
	add := func(name string, n uint64) {
		if n > 0 {
			grown = append(grown, fmt.Sprintf("%s %d", name, n))
			sum += n
		}
	}
	add("link_downed", collectors.Growth(past, func(o *flapRow) (uint64, bool) { return o.down.V, o.down.OK && o.epoch == r.epoch }))
	add("carrier_changes", collectors.Growth(past, func(o *flapRow) (uint64, bool) { return o.losses.V, o.losses.OK && o.netdevEpoch == r.netdevEpoch }))
	span := since(past)
	switch {
	case sum > 0 && r.legsGrew(past):
		return collectors.Verdictf(collectors.Info, "a leg of %s lost its link in the last %s: see rdma_flap of the legs; here %s", r.netdev, span, strings.Join(grown, ", "))
	case sum > 0 && float64(sum) >= e.Threshold("least"):
		return collectors.Verdictf(collectors.Warn, "the link was lost in the last %s: %s", span, strings.Join(grown, ", ")).
			Remedyf("look for the time in the kernel log and in the switch's; clean and reseat the cable at both ends, exchange it or the transceiver").
			With("link_downed", r.down.V).With("carrier_changes", r.carrier.V)
	}
	switch {
	case r.full && !r.carrier.OK:
		return collectors.Verdictf(collectors.Unknown, "link_downed stands at its maximum: whether it grows cannot be seen; see rdma_errors")
	case !r.down.OK && !r.carrier.OK:
		return collectors.Verdictf(collectors.Unknown, "neither link_downed nor carrier_changes can be read")
	case len(e.Past) < 2:
		return collectors.Verdictf(collectors.Unknown, "one reading does not tell whether the link is lost now and then")
	}
	return collectors.Verdictf(collectors.OK, "the link was not lost in %s", span)
}

// legsGrew says whether a leg of the port's bond lost its carrier.
func (r *flapRow) legsGrew(past []collectors.Sample[flapRow]) bool {
	return collectors.Growth(past, func(o *flapRow) (uint64, bool) { return o.legs.V, o.legs.OK && o.legsEpoch == r.legsEpoch }) > 0
}
