// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/gpu"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// A lostRow is a function that is or was there.
type lostRow struct {
	*probes.Function
	lost    string // why it is taken for lost
	orderly string // why its going is no accident
	device  bool
	read    bool
	asleep  bool
	stale   bool // it is read, but there is no fresh reading
}

func lostRows(v *collectors.View, list []collectors.Unit[Reading]) []lostRow {
	l := lookAt(v, list)
	s := gpu.Snapshot(v)
	gone := map[string]bool{} // addresses of lost devices and of bridges above them
	var rows []lostRow
	for _, f := range v.Inventory.Functions {
		r := lostRow{Function: f, device: v.Topology.IsDevice(f)}
		at, asked := l.by[f.Address]
		r.stale = asked && at == nil
		if at != nil {
			r.lost, r.read, r.asleep = at.Lost, at.Link.Width > 0, at.Asleep
		}
		switch g := s.Find(f.Address); {
		case g != nil && g.Lost:
			r.lost = "NVML says that the GPU is lost"
		case g != nil && g.ResetRequired:
			r.lost = "NVML says that the GPU answers nothing before it is reset"
		}
		rows = append(rows, r)
	}
	for _, n := range v.Inventory.Vanished {
		device := !n.Function.Virtual() && (n.Function.Kind == pci.GPU || n.Function.Kind == pci.NIC || n.Function.Kind == pci.NVSwitch)
		rows = append(rows, lostRow{Function: n.Function, lost: "it was there and has vanished from the bus", orderly: n.Orderly, device: device})
	}
	for i := range rows {
		if rows[i].lost == "" || rows[i].orderly != "" || !rows[i].device {
			continue
		}
		gone[rows[i].Addr.Slot()] = true
		for f := rows[i].Parent; f != nil; f = f.Parent {
			gone[f.Address] = true
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.lost != "" && r.orderly == "" && !r.device && (gone[r.Address] || gone[r.Addr.Slot()]) {
			r.orderly = "went together with a device that is reported itself"
		}
	}
	return rows
}

func lostColumns() collectors.Columns[lostRow] {
	address := collectors.Label[lostRow]{Name: "address", Get: func(r *lostRow) string { return r.Address }}
	return collectors.Columns[lostRow]{
		Labels: []collectors.Label[lostRow]{address},
		Checks: []collectors.Check[lostRow]{{
			Name:   "pcie_lost",
			Help:   "Fails when a device that was there at the start vanished from the bus, answers all ones, was marked disconnected by the kernel, or is lost to the GPU driver.",
			Silent: "a device that was unbound from its driver before it went, and virtual functions that were removed, are info; a suspended device is not asked; an empty slot is no device.",
			Subject: []collectors.Label[lostRow]{address,
				{Name: "device", Get: func(r *lostRow) string { return joined(only(r.Function), true) }},
				{Name: "netdev", Get: func(r *lostRow) string { return joined(only(r.Function), false) }},
			},
			Uses: []string{"gpu"},
			Eval: func(r *lostRow, _ *collectors.Env[lostRow]) verdict { return evalLost(r) },
		}},
	}
}

func evalLost(r *lostRow) verdict {
	switch {
	case r.lost != "" && r.orderly != "":
		return collectors.Verdictf(collectors.Info, "%s: %s (%s)", named(r.Function), r.lost, r.orderly)
	case r.lost != "":
		return collectors.Verdictf(collectors.Fail, "%s (%04x:%04x, driver %s): %s", named(r.Function), r.Vendor, r.Device, driverOf(r.Function), r.lost).
			Remedyf("look for the cause in the kernel log (dmesg | grep -i -e pcie -e aer -e xid); take the node out of service; a reset of the slot or a power cycle brings most back, reseating the others").
			With(r.Address, r.lost)
	case !r.device:
		return verdict{}
	case r.read:
		return collectors.Verdictf(collectors.OK, "answers")
	case r.asleep:
		return collectors.Verdictf(collectors.Unknown, "in the inventory; it is suspended and was not woken to answer")
	}
	if r.stale {
		return collectors.Verdictf(collectors.Unknown, "no fresh reading of %s", r.Address)
	}
	return collectors.Verdictf(collectors.Unknown, "in the inventory, but it shows no link that could answer")
}

func driverOf(f *probes.Function) string {
	if f.Driver == "" {
		return "none"
	}
	return f.Driver
}
