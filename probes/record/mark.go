// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/route"
)

// mark writes what changed since the last snapshot. A mark that does not fit
// is not written at all, and ends the film; of the first one is written what
// fits.
func (r *recorder) mark(at time.Duration, now *snapshot, extras []probes.Extra) {
	d := difference(r.last, now)
	prefix := ""
	if at > 0 {
		prefix = "at/" + markName(at) + "/"
	}
	for _, text := range now.cut {
		r.notef("%s", text)
	}
	before, entries := r.archive.body.Len(), r.archive.entries
	r.removals(prefix, d.removed, extras)
	for _, e := range extras {
		if !e.Removed {
			r.put(prefix, e.Name, entry{data: e.Data})
		}
	}
	for _, name := range d.written {
		r.put(prefix, name, now.entries[name])
	}
	if r.full && at > 0 {
		r.archive.body.Truncate(before)
		r.archive.entries = entries
		return
	}
	if at > 0 {
		r.marks++
		if entries == r.archive.entries {
			r.archive.raw(prefix+"rm", nil) // nothing changed: that was seen all the same
		}
	}
	r.last, r.at = now, at
}

// removals writes the names that are gone.
func (r *recorder) removals(prefix string, removed []string, extras []probes.Extra) {
	var names bytes.Buffer
	add := func(name string) {
		if r.names != nil {
			name = r.names.Path(name)
		}
		if validName(name) {
			names.WriteString(name + "\n")
		}
	}
	for _, e := range extras {
		if e.Removed {
			add(e.Name)
		}
	}
	for _, name := range removed {
		add(name)
	}
	if names.Len() > 0 && prefix != "" {
		r.archive.raw(prefix+"rm", names.Bytes())
	}
}

// put writes one entry, with its identities replaced.
func (r *recorder) put(prefix, name string, e entry) {
	if r.names != nil {
		if e.data != nil {
			e.data = r.names.File(name, e.data)
		}
		name, e.target = r.names.Path(name), r.names.Path(e.target)
	}
	if r.full || r.archive.body.Len()+2*len(e.data)+len(name) > maxArchive {
		if !r.full {
			r.full = true
			r.notef("cut at %d MiB: what comes after %s%s is missing", maxArchive>>20, prefix, name)
		}
		return
	}
	if !r.archive.put(prefix, name, e) {
		r.notef("%q: its name or target cannot stand in a recording", shorten(name))
	}
}

func shorten(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// extras gives what a recording holds beside files, as it is at mark i, less
// what belongs to excluded functions. The operator's configuration takes the
// place of the recording's.
func (r *recorder) extras(i int, now *snapshot) []probes.Extra {
	var list []probes.Extra
	for _, e := range r.host.Extras(i) {
		source, rest, _ := strings.Cut(e.Name, "/")
		netdev, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(rest, ".json"), ".hex"), "/")
		switch {
		case now.hidden[netdev]:
			continue
		case source == "fabricd.yaml" && r.options.Config != nil:
			continue
		case source == route.Recorded && r.names != nil: // see routes
			continue
		case source == "gpu.json" && !e.Removed:
			e.Data = r.withoutExcluded(e.Data)
		}
		if most := limit(e.Name); len(e.Data) > most {
			r.notef("%s: longer than %d bytes", e.Name, most)
			e.Data = cutAt(e.Data, most)
		}
		list = append(list, e)
	}
	if i == 0 && r.options.Config != nil {
		list = append(list, probes.Extra{Name: "fabricd.yaml", Data: r.options.Config})
	}
	return list
}

// withoutExcluded takes excluded GPUs out of NVML's answers.
func (r *recorder) withoutExcluded(b []byte) []byte {
	var answers map[string]json.RawMessage
	var devices []json.RawMessage
	if json.Unmarshal(b, &answers) != nil || json.Unmarshal(answers["devices"], &devices) != nil {
		return b
	}
	kept := []json.RawMessage{}
	for _, d := range devices {
		var id struct {
			Bus string `json:"pci_bus_id"`
		}
		address, err := pci.Address{}, json.Unmarshal(d, &id)
		if err == nil {
			address, err = pci.ParseAddress(id.Bus)
		}
		if err != nil || !r.host.Excluded(address.String()) {
			kept = append(kept, d)
		}
	}
	if len(kept) == len(devices) {
		return b
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return b
	}
	answers["devices"] = text
	if text, err = json.Marshal(answers); err != nil {
		return b
	}
	return text
}
