// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"fmt"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/gpu"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// A pairRow is two devices that could talk through a switch they share.
type pairRow struct {
	gpu       *probes.Function
	nic       *probes.Function // nil in a virtual machine
	peer      *probes.Function // the other one of two GPUs
	redirects []string         // bridges between them, with the controls in force
	unseen    []string         // why bridges between them could not be looked at
	nvlink    probes.Value[bool]
	guest     bool
}

func pairRows(v *collectors.View, list []collectors.Unit[Reading]) []pairRow {
	l, t := lookAt(v, list), v.Topology
	s := gpu.Snapshot(v)
	guest := v.Inventory.Facts.Guest
	var rows []pairRow
	for i, g := range t.GPUs {
		seen := map[string]bool{}
		for _, nic := range t.NICs {
			if !t.MayPeer(nic) {
				continue
			}
			if slot := nic.ParentAddress + nic.Addr.Slot(); topo.Common(g, nic) != nil && !seen[slot] {
				seen[slot] = true
				rows = append(rows, l.pair(pairRow{gpu: g, nic: nic, guest: guest}, nic))
			}
		}
		for _, other := range t.GPUs[i+1:] {
			if topo.Common(g, other) != nil {
				r := pairRow{gpu: g, peer: other, guest: guest}
				if d, o := s.Find(g.Address), s.Find(other.Address); d != nil && o != nil {
					r.nvlink = probes.Some(d.Joined(o))
				}
				rows = append(rows, l.pair(r, other))
			}
		}
		if guest && len(seen) == 0 {
			rows = append(rows, pairRow{gpu: g, guest: true})
		}
	}
	return rows
}

// Redirects lists the bridges between two functions that share a switch and
// send traffic between them up to the root complex, and why others could not
// be looked at; both are empty where none redirects. It is for checks of other
// collectors that name pcie.
func Redirects(v *collectors.View, a, b *probes.Function) (redirects, unseen []string) {
	r := lookAt(v, collectors.Readings[Reading](v, "pcie")).pair(pairRow{gpu: a}, b)
	return r.redirects, r.unseen
}

// RelaxedOrdering says whether a function may mark its writes as relaxed in
// order, where its configuration space tells. It is for checks of other
// collectors that name pcie.
func RelaxedOrdering(v *collectors.View, f *probes.Function) (relaxed, known bool) {
	e, _ := lookAt(v, collectors.Readings[Reading](v, "pcie")).express(f)
	return e != nil && e.RelaxedOrdering, e != nil
}

// pair looks at the bridges between the two.
func (l look) pair(r pairRow, to *probes.Function) pairRow {
	between := topo.Between(r.gpu, to)
	if len(between) == 0 {
		r.unseen = append(r.unseen, fmt.Sprintf("the ports of the switch above %s and %s are not visible", r.gpu.Address, to.Address))
	}
	for _, bridge := range between {
		c, why := l.config(bridge)
		switch {
		case c == nil:
			r.unseen = append(r.unseen, why)
		case c.ACS.Redirects():
			r.redirects = append(r.redirects, fmt.Sprintf("%s (%s)", bridge.Address, strings.Join(c.ACS.Names(), ", ")))
		case !c.ExtendedVisible() && (c.PCIe == nil || c.PCIe.HasLink):
			r.unseen = append(r.unseen, fmt.Sprintf("%d bytes of the configuration space of %s are visible; ACS lies beyond", c.Visible, bridge.Address))
		}
	}
	return r
}

func pairColumns() collectors.Columns[pairRow] {
	labels := []collectors.Label[pairRow]{
		{Name: "gpu", Get: func(r *pairRow) string { return r.gpu.Address }},
		{Name: "nic", Get: func(r *pairRow) string { return addressOf(r.nic) }},
		{Name: "peer", Get: func(r *pairRow) string { return addressOf(r.peer) }},
		{Name: "device", Get: func(r *pairRow) string { return joined(r.nics(), true) }},
		{Name: "netdev", Get: func(r *pairRow) string { return joined(r.nics(), false) }},
	}
	return collectors.Columns[pairRow]{
		Labels: labels,
		Checks: []collectors.Check[pairRow]{{
			Name:   "pcie_acs",
			Help:   "Fails when a bridge between a GPU and a NIC that share a switch redirects peer-to-peer traffic to the root complex (ACS ReqRedir, CmpltRedir or UpstreamFwd); warns likewise for two GPUs below one switch without NVLink or XGMI.",
			Silent: "source validation alone is harmless; bridges off the path between the two do not count. A virtual machine does not see it: ask the host.",
			Uses:   []string{"gpu"},
			Eval:   func(r *pairRow, _ *collectors.Env[pairRow]) verdict { return evalACS(r) },
		}},
	}
}

func (r *pairRow) nics() []*probes.Function {
	if r.nic == nil {
		return nil
	}
	return only(r.nic)
}

func evalACS(r *pairRow) verdict {
	if r.guest {
		return collectors.Verdictf(collectors.Unknown, "virtual machine: the host's ACS settings are not visible").Remedyf("ask the host: lspci -vvv | grep ACSCtl")
	}
	remedy := "turn ACS off on these bridges: in the firmware setup, or setpci -s ADDRESS ECAP_ACS+6.w=0 (lost at reboot); where virtual machines need it, use a NIC and GPU with ATS"
	both := named(r.gpu) + " and "
	if r.nic != nil {
		both += named(r.nic)
	} else {
		both += named(r.peer)
	}
	switch {
	case len(r.redirects) > 0 && r.nic != nil:
		return collectors.Verdictf(collectors.Fail, "traffic between %s is redirected to the root complex by %s", both, strings.Join(r.redirects, ", ")).
			Remedyf("%s", remedy).With("ACS control", strings.Join(r.redirects, ", "))
	case len(r.redirects) > 0:
		return r.gpuPair(both, remedy)
	case len(r.unseen) > 0:
		v := collectors.Verdictf(collectors.Unknown, "%s", r.unseen[0])
		if more := len(r.unseen) - 1; more > 0 {
			v.Reason += "; so it is with others between the two"
		}
		return v.Remedyf("reading all of configuration space needs CAP_SYS_ADMIN")
	}
	return collectors.Verdictf(collectors.OK, "no bridge between %s redirects", both)
}

// gpuPair decides about two GPUs: those with NVLink do not use the path.
func (r *pairRow) gpuPair(both, remedy string) verdict {
	text := fmt.Sprintf("traffic between %s is redirected to the root complex by %s", both, strings.Join(r.redirects, ", "))
	switch {
	case !r.nvlink.OK:
		return collectors.Verdictf(collectors.Info, "%s; whether they have NVLink or XGMI is not known", text)
	case r.nvlink.V:
		return collectors.Verdictf(collectors.Info, "%s; they have NVLink or XGMI, which does not use this path", text)
	}
	return collectors.Verdictf(collectors.Warn, "%s; they have no NVLink or XGMI", text).Remedyf("%s", remedy)
}
