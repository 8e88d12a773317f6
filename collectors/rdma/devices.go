// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

// A deviceRow is one RDMA device: all of its ports together.
type deviceRow struct {
	device, driver string
	protocol       Protocol
	software       bool
	hidden         bool // it shows no counters
	shown          int  // devices of the host that do
	epoch          uint64
	congestion     [ECNMarked + 1]Count // by family, from CNPSent on
	names          *Reading             // whose counters those are
}

func deviceRows(v *collectors.View, list []collectors.Unit[Reading]) []deviceRow {
	var rows []deviceRow
	shown := 0
	for _, u := range list {
		d := findDevice(v.Inventory, u.Name)
		if d == nil {
			continue
		}
		r := deviceRow{device: d.Name, driver: d.Driver(), software: d.Software(), protocol: u.Reading.Protocol, hidden: u.Reading.Hidden, names: u.Reading}
		if !r.hidden && !r.software {
			shown++
		}
		var all Port
		for i := range u.Reading.Ports {
			p := &u.Reading.Ports[i]
			r.epoch = p.Epoch
			all.add(p.HW)
		}
		all.add(u.Reading.Counters)
		for i := range u.Reading.Ports {
			all.fill(u.Reading.Ports[i].Optional)
		}
		copy(r.congestion[:], all.Normal[:])
		rows = append(rows, r)
	}
	for i := range rows {
		rows[i].shown = shown
	}
	return rows
}

func deviceColumns() collectors.Columns[deviceRow] {
	return collectors.Columns[deviceRow]{
		Labels: []collectors.Label[deviceRow]{{Name: "device", Get: func(r *deviceRow) string { return r.device }}},
		Checks: []collectors.Check[deviceRow]{hiddenCheck(), cnpCheck()},
	}
}

func hiddenCheck() collectors.Check[deviceRow] {
	return collectors.Check[deviceRow]{
		Name:   "counters_hidden",
		Help:   "Warns when no RDMA device of the host shows counters though its driver has some: a process in another network namespace than the devices sees them without.",
		Silent: "drivers without counters; devices without while others of the host show theirs; bnxt_re, irdma and efa have hw_counters only.",
		Eval: func(r *deviceRow, _ *collectors.Env[deviceRow]) verdict {
			switch {
			case !r.hidden:
				return collectors.Verdictf(collectors.OK, "its counters are visible")
			case !hasCounters(r.driver):
				return verdict{}
			case r.shown > 0:
				return collectors.Verdictf(collectors.Info, "%s shows no counters of it; other devices of the host show theirs", r.driver)
			}
			return collectors.Verdictf(collectors.Warn, "neither counters nor hw_counters of any RDMA device can be seen, though %s has them: fabricd runs in another network namespace than the devices", r.driver).
				Remedyf("run fabricd in the host's network namespace (hostNetwork: true) with the host's /sys mounted from there")
		},
	}
}

// hasCounters says whether a PCI driver's RDMA devices have counters; usNIC,
// VMware's and drivers that are not known have none.
func hasCounters(driver string) bool {
	switch driver {
	case "mlx5_core", "mlx4_core", "ib_mthca", "hfi1", "ib_qib", "bnxt_en", "ice", "i40e", "irdma", "efa", "hns3", "hns_roce_hw_v2",
		"qede", "be2net", "cxgb4", "ionic", "mana", "erdma", "idpf":
		return true
	}
	return false
}

func cnpCheck() collectors.Check[deviceRow] {
	return collectors.Check[deviceRow]{
		Name:   "roce_cnp",
		Help:   "Warns when a RoCE device ignores congestion notifications (CNPs); when it receives packets marked with congestion and sends no CNP, so that its notification point is off; and when it sends CNPs without having counted a marked packet.",
		Silent: "totals that stand still; marks with CNPs: congestion control at work. InfiniBand, iWARP, EFA and soft-RoCE have none.",
		Over:   time.Minute,
		For:    10 * time.Second,
		Thresholds: []collectors.Threshold{
			{Name: "least", Default: 10, Unit: "packets", Help: "fewer in the window say nothing"},
		},
		Eval: evalCNP,
	}
}

func evalCNP(r *deviceRow, e *collectors.Env[deviceRow]) verdict {
	marks, sent, ignored := r.congestion[ECNMarked], r.congestion[CNPSent], r.congestion[CNPIgnored]
	switch {
	case r.protocol != RoCE || r.software:
		return verdict{}
	case !marks.OK && !sent.OK && !ignored.OK:
		return collectors.Verdictf(collectors.Unknown, "the driver counts neither marks nor CNPs, or they cannot be read")
	case len(e.Past) < 2:
		return collectors.Verdictf(collectors.Unknown, "one reading does not tell what grows")
	}
	rise := func(past []collectors.Sample[deviceRow], f Family) uint64 {
		return collectors.Growth(past, func(o *deviceRow) (uint64, bool) { return o.congestion[f].V, o.congestion[f].OK && o.epoch == r.epoch })
	}
	span := since(e.Past)
	if n := rise(e.Newest(), CNPIgnored); n > 0 {
		return collectors.Verdictf(collectors.Warn, "%d congestion notifications were ignored in the newest %s (%s): the reaction point is off, or not on for their priority", n, since(e.Newest()), r.raw(CNPIgnored)).
			Remedyf("see roce_dcqcn; switch the reaction point on for the priority of the RDMA traffic")
	}
	nMarks, nSent := rise(e.Past, ECNMarked), rise(e.Past, CNPSent)
	least := uint64(max(e.Threshold("least"), 1))
	switch {
	case marks.OK && sent.OK && nMarks >= least && nSent == 0:
		return collectors.Verdictf(collectors.Warn, "%d packets with a congestion mark came in %s (%s), and not one CNP was sent (%s): the notification point is off", nMarks, span, r.raw(ECNMarked), r.raw(CNPSent)).
			Remedyf("switch the notification point on for the priority of the RDMA traffic; see roce_dcqcn").With(r.raw(ECNMarked), marks.V).With(r.raw(CNPSent), sent.V)
	case marks.OK && sent.OK && nSent >= least && nMarks == 0:
		return collectors.Verdictf(collectors.Warn, "%d CNPs were sent in %s (%s), though no packet with a congestion mark was counted (%s)", nSent, span, r.raw(CNPSent), r.raw(ECNMarked)).
			Remedyf("something else than marks makes the NIC send CNPs, such as out-of-sequence packets: see rdma_loss and the NIC's congestion control settings").With(r.raw(CNPSent), sent.V).With(r.raw(ECNMarked), marks.V)
	case !marks.OK && !sent.OK:
		return collectors.Verdictf(collectors.Unknown, "no notification was ignored in %s; the driver counts neither marks nor CNPs that are sent, or they cannot be read", span)
	case !marks.OK:
		return collectors.Verdictf(collectors.OK, "%d CNPs sent in %s; marked packets are not counted, or cannot be read", nSent, span)
	case !sent.OK:
		return collectors.Verdictf(collectors.OK, "%d marked packets received in %s; CNPs that are sent are not counted, or cannot be read", nMarks, span)
	}
	return collectors.Verdictf(collectors.OK, "%d marked packets received, %d CNPs sent in %s", nMarks, nSent, span)
}

// raw names the driver's counters of a family.
func (r *deviceRow) raw(f Family) string {
	var list []string
	add := func(c *Counts) {
		for i, of := range c.Families {
			if of == f && len(list) < 4 {
				list = append(list, c.Names[i])
			}
		}
	}
	for i := range r.names.Ports {
		add(&r.names.Ports[i].HW)
		add(&r.names.Ports[i].Optional)
	}
	add(&r.names.Counters)
	return strings.Join(list, ", ")
}
