// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/pci"
)

// A linkRow is one NVLink of a GPU, or, with link -1, all of them together.
type linkRow struct {
	row
	link int // its place in NVLinks
}

// linkRows has each GPU that could have NVLinks, and behind it its links.
func linkRows(v *collectors.View, list []collectors.Unit[Reading]) []linkRow {
	var all []linkRow
	for _, r := range rows(v, list) {
		if r.f != nil && r.f.Vendor != pci.VendorNVIDIA {
			continue
		}
		all = append(all, linkRow{r, -1})
		for i := range r.NVLinks {
			all = append(all, linkRow{r, i})
		}
	}
	return all
}

// at gives the link, or nil of the row of all.
func (r *linkRow) at() *gpu.NVLink {
	if r.link < 0 || r.link >= len(r.NVLinks) {
		return nil
	}
	return &r.NVLinks[r.link]
}

func (r *linkRow) number() string {
	if l := r.at(); l != nil {
		return strconv.Itoa(l.Link)
	}
	return ""
}

func linkColumns() collectors.Columns[linkRow] {
	address := collectors.Label[linkRow]{Name: "address", Get: func(r *linkRow) string { return r.Address }}
	link := collectors.Label[linkRow]{Name: "link", Get: func(r *linkRow) string { return r.number() }}
	return collectors.Columns[linkRow]{
		Labels:  []collectors.Label[linkRow]{address, link},
		Metrics: linkMetrics(address, link),
		Checks: []collectors.Check[linkRow]{{
			Name:    "nvlink",
			Help:    "Fails when an NVLink is inactive while others of the same GPU are active; warns when error counters of a link grow, or when the driver finds the GPU's NVSwitch fabric unwell. One finding for all links of a GPU that are well.",
			Silent:  "a GPU none of whose links is active: it has no bridge, or NVLink is turned off; MIG; errors of long ago, and those that links correct by themselves, as crc_data on NVLink 4.",
			Over:    10 * time.Second,
			Subject: []collectors.Label[linkRow]{{Name: "gpu", Get: address.Get}, link},
			Eval:    evalLink,
		}},
	}
}

func linkMetrics(address, link collectors.Label[linkRow]) []collectors.Metric[linkRow] {
	list := []collectors.Metric[linkRow]{
		{Name: "gpu_nvlink_active", Help: "1 if the link is active.", Source: "NVML NVLink state",
			Get: func(r *linkRow) (float64, bool) {
				l := r.at()
				return flag(l != nil && l.IsActive()), l != nil && l.Active != nil
			}},
		{Name: "gpu_nvlink_info", Help: "1 for each active link: its version and what is at its other end.", Source: "NVML NVLink version, remote device type",
			Labels: []collectors.Label[linkRow]{address, link,
				{Name: "remote", Get: func(r *linkRow) string { return probes.Printable(r.at().RemoteType) }},
				{Name: "version", Get: func(r *linkRow) string { return r.at().Generation() }}},
			Get: func(r *linkRow) (float64, bool) { l := r.at(); return 1, l != nil && l.IsActive() }},
		{Name: "gpu_fabric_info", Help: "1 for each GPU behind NVSwitches: the state of its registration with them (completed is well) and its status.", Source: "NVML GPU fabric info",
			Labels: []collectors.Label[linkRow]{address,
				{Name: "state", Get: func(r *linkRow) string { return probes.Printable(r.Fabric.State) }},
				{Name: "status", Get: func(r *linkRow) string { return probes.Printable(r.Fabric.Status) }}},
			Get: func(r *linkRow) (float64, bool) { return 1, r.link < 0 && r.Fabric != nil }},
	}
	for i, c := range (*gpu.NVLinkErrors)(nil).Counts() {
		list = append(list, collectors.Metric[linkRow]{
			Name: "gpu_nvlink_errors_total", Kind: collectors.Counter, Source: "NVML NVLink error counters, field values 206 to 221",
			Help:   "Errors of a link since the driver was loaded, by kind. Links up to the fourth generation have replay, recovery, crc_flit and crc_data; later ones the others and recovery. effective are left after error correction, symbol are before it.",
			Labels: []collectors.Label[linkRow]{address, link, {Name: "error", Get: func(*linkRow) string { return c.Name }}},
			Get: func(r *linkRow) (float64, bool) {
				if l := r.at(); l != nil {
					return number(l.Errors.Counts()[i].N, 1)
				}
				return 0, false
			},
		})
	}
	return list
}

// evalLink judges a link, or all links of a GPU: a link that is well has no
// finding of its own, nor has a GPU of which one is not.
func evalLink(r *linkRow, e *collectors.Env[linkRow]) collectors.Verdict {
	if l := r.at(); l != nil {
		return r.judge(l, e.Newest())
	}
	broken := r.Fabric != nil && !r.fabricWell()
	switch {
	case r.unknown == "" && len(r.NVLinks) == 0 && broken:
		return r.fabric()
	case r.unknown != "" || len(r.NVLinks) == 0:
		return r.none()
	}
	if r.MIG != nil && *r.MIG {
		return collectors.Verdictf(collectors.OK, "the GPU is split into MIG slices, which use no NVLink")
	}
	active, untold, counted := 0, 0, false
	for i := range r.NVLinks {
		l := &r.NVLinks[i]
		if r.judge(l, e.Newest()).Status != collectors.None {
			return collectors.Verdict{}
		}
		switch {
		case l.Active == nil:
			untold++
		case *l.Active:
			active++
		}
		counted = counted || l.Errors != nil
	}
	switch {
	case untold > 0:
		return collectors.Verdictf(collectors.Unknown, "%d of %d NVLinks are active; of %d the driver tells no state", active, len(r.NVLinks), untold)
	case broken:
		return r.fabric()
	case active == 0:
		return r.unlinked(e.Rows)
	case !counted:
		return collectors.Verdictf(collectors.Unknown, "%d of %d NVLinks are active; the driver tells no error counters of them", active, len(r.NVLinks))
	case len(e.Past) < 2:
		return collectors.Verdictf(collectors.Unknown, "%d of %d NVLinks are active; one reading only: growing errors need a second", active, len(r.NVLinks))
	}
	return collectors.Verdictf(collectors.OK, "%d of %d NVLinks are active, without new errors", active, len(r.NVLinks))
}

// unlinked judges a GPU without any active link: usual for cards without a
// bridge, odd where most of its kind have some.
func (r *linkRow) unlinked(rows []linkRow) collectors.Verdict {
	linked, sisters := 0, 0
	for i := range rows {
		if o := &rows[i]; o.link < 0 && o.Name == r.Name {
			sisters++
			linked += int(flag(o.HasNVLink()))
		}
	}
	if collectors.Most(linked, sisters) {
		return collectors.Verdictf(collectors.Info, "none of %d NVLinks is active, though %d of %d GPUs of its kind have some", len(r.NVLinks), linked, sisters).
			Remedyf("look for Xid 74 in dmesg and at nvidia-smi nvlink --status; a bridge or module may be missing")
	}
	return collectors.Verdictf(collectors.OK, "none of %d NVLinks is active: no bridge, or NVLink is turned off", len(r.NVLinks))
}

// none says why there is nothing to judge.
func (r *linkRow) none() collectors.Verdict {
	if v := r.unanswered("nvlinks", "NVLinks"); r.unknown != "" || slices.Contains(r.leftOut, "nvlinks") || slices.Contains(r.Failed, "nvlinks") {
		return v
	}
	return collectors.Verdictf(collectors.OK, "the driver tells of no NVLink: the GPU has none, or it is turned off (NvLinkDisable)")
}

// judge finds what is wrong with a link.
func (r *linkRow) judge(l *gpu.NVLink, past []collectors.Sample[linkRow]) collectors.Verdict {
	if r.MIG != nil && *r.MIG {
		return collectors.Verdict{}
	}
	if l.Active == nil {
		return collectors.Verdict{}
	}
	if !*l.Active {
		if !r.HasNVLink() {
			return collectors.Verdict{}
		}
		active := 0
		for i := range r.NVLinks {
			active += int(flag(r.NVLinks[i].IsActive()))
		}
		return collectors.Verdictf(collectors.Fail, "NVLink %d is inactive, while %d of the GPU's %d are active", l.Link, active, len(r.NVLinks)).
			Remedyf("look for Xid 74 in dmesg and at nvidia-smi nvlink --status; reset GPU and NVSwitch or reboot; if it stays, reseat the module or bridge").
			With(fmt.Sprintf("NVLink %d state", l.Link), "inactive")
	}
	var grown []string
	for i, c := range l.Errors.Counts() {
		if n := rose(past, l.Link, i); n > 0 && !l.Corrects(c) {
			grown = append(grown, fmt.Sprintf("%s by %d", c.Name, n))
		}
	}
	if len(grown) == 0 {
		return collectors.Verdict{}
	}
	return collectors.Verdictf(collectors.Warn, "errors of NVLink %d grow: %s", l.Link, strings.Join(grown, ", ")).
		Remedyf("nvidia-smi nvlink --errorcounters; if it goes on, take the node out of service and reseat the GPU's module, bridge or cable").
		With(fmt.Sprintf("NVLink %d errors", l.Link), strings.Join(grown, ", "))
}

// rose says by how much a counter rose.
func rose(past []collectors.Sample[linkRow], link, counter int) uint64 {
	return collectors.Growth(past, func(r *linkRow) (uint64, bool) {
		if n := r.count(link, counter); n != nil {
			return *n, true
		}
		return 0, false
	})
}

func (r *linkRow) count(link, counter int) *uint64 {
	for i := range r.NVLinks {
		if r.NVLinks[i].Link == link {
			return r.NVLinks[i].Errors.Counts()[counter].N
		}
	}
	return nil
}

func (r *linkRow) fabricWell() bool {
	return r.Fabric.State == "completed" && r.Fabric.Status == "success" && len(r.Fabric.Trouble) == 0
}

// fabric says what is wrong between a GPU and the NVSwitches.
func (r *linkRow) fabric() collectors.Verdict {
	f := r.Fabric
	switch {
	case f.State != "completed":
		return collectors.Verdictf(collectors.Info, "the GPU is not registered with the NVSwitches (fabric state %s): programs that use it do not start", f.State).
			Remedyf("systemctl status nvidia-fabricmanager; its version has to be the driver's").With("fabric state", f.State)
	case f.Status != "success":
		return collectors.Verdictf(collectors.Warn, "registration with the NVSwitches ended with %s", f.Status).
			Remedyf("look into the fabric manager's log (/var/log/fabricmanager.log)").With("fabric status", f.Status)
	}
	return collectors.Verdictf(collectors.Warn, "the driver finds the NVSwitch fabric unwell: %s", strings.Join(f.Trouble, ", ")).
		Remedyf("look into the fabric manager's log (/var/log/fabricmanager.log) and at nvidia-smi -q (Fabric)").With("fabric health", strings.Join(f.Trouble, ", "))
}
