// SPDX-License-Identifier: Apache-2.0

package probes

import "strings"

// Identity changes when the directory is removed and made again.
func (d *Dir) Identity() (uint64, error) { return d.d.identity() }

// An Extra is what a recording holds beside the files of the machine: an
// answer of a source that is no file (ethtool/…, lldp/…, gpu.json).
type Extra struct {
	Name    string
	Data    []byte
	Removed bool
}

// Extras gives the extras of a recording's mark i, the first of them 0. Those
// that are events, frames, come at each mark at which they were heard.
func (h *Host) Extras(i int) []Extra {
	if h.film == nil || i < 0 || i >= len(h.film.marks) {
		return nil
	}
	var list []Extra
	for _, c := range h.film.changes[h.film.marks[i]] {
		switch c.kind {
		case changeRemove:
			for name := range strings.FieldsFuncSeq(string(c.data), func(r rune) bool { return r == '\n' }) {
				if name = strings.TrimSpace(name); isExtra(name) {
					list = append(list, Extra{Name: name, Removed: true})
				}
			}
		case changeFile:
			if isExtra(c.name) {
				list = append(list, Extra{Name: c.name, Data: c.data})
			}
		}
	}
	return list
}

func isExtra(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return top != "" && top != "sys" && top != "proc" && top != "manifest.json"
}

// Mark gives the number of a recording's mark at which it stands; 0 on a live host.
func (h *Host) Mark() int {
	if h.film == nil {
		return 0
	}
	return h.film.at
}
