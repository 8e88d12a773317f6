// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// An entry is a file, a link or a file that cannot be read.
type entry struct {
	data   []byte
	target string // a link's
	errno  string // the name of the error that reading gives
}

func (e entry) equal(o entry) bool {
	return e.target == o.target && e.errno == o.errno && bytes.Equal(e.data, o.data)
}

// A snapshot is the machine's files at one moment, by name.
type snapshot struct {
	entries map[string]entry
	// dirs are the identities of directories: one that was removed and made
	// again between two reads is another one, whatever its files say.
	dirs   map[string]uint64
	readAt map[string]time.Duration // of entries with a floor

	functions, aer, config int // numbers of functions; the most bytes of configuration space seen
	asleep, excluded       int
	netdevs, rdma          []string
	drivers                int             // of interfaces that were asked
	qdiscs                 int             // that were told
	unasked                error           // why others were not
	hidden                 map[string]bool // netdevs of excluded functions
	lower                  map[string]bool // those of which software makes RDMA devices
	cut                    []string        // what is not whole
}

func newSnapshot() *snapshot {
	return &snapshot{entries: map[string]entry{}, dirs: map[string]uint64{}, readAt: map[string]time.Duration{}, hidden: map[string]bool{}, lower: map[string]bool{}}
}

// A delta is what changes from one snapshot to the next: first names are
// removed, then entries are written.
type delta struct {
	removed []string
	written []string
}

// difference finds what leads from the old snapshot to the new one. Without
// an old one everything is new.
func difference(old, now *snapshot) delta {
	var d delta
	if old == nil {
		d.written = slices.Sorted(maps.Keys(now.entries))
		return d
	}
	again, left := remade(old, now), directories(now)
	var gone []string
	for name, was := range old.entries {
		is, ok := now.entries[name]
		// A file that is written where a link is would go to the link's target.
		if !ok || was.target != "" && is.target == "" {
			gone = append(gone, topmost(name, left))
		}
	}
	for dir := range old.dirs {
		if !left[dir] {
			gone = append(gone, topmost(dir, left))
		}
	}
	d.removed = minimal(append(gone, again...))
	for name, is := range now.entries {
		was, ok := old.entries[name]
		if !ok || !was.equal(is) || covered(d.removed, name) {
			d.written = append(d.written, name)
		}
	}
	slices.Sort(d.written)
	return d
}

// remade lists directories that are other ones than before. Only those of
// sysfs and their like have identities that stay: procfs makes them up anew.
func remade(old, now *snapshot) []string {
	var list []string
	for dir, id := range now.dirs {
		if was, ok := old.dirs[dir]; ok && was != id && strings.HasPrefix(dir, "sys/") {
			list = append(list, dir)
		}
	}
	return list
}

// directories are those that there are: of which there are entries, and which
// were seen, though empty.
func directories(s *snapshot) map[string]bool {
	all := map[string]bool{}
	add := func(dir string) {
		for ; dir != "." && !all[dir]; dir = path.Dir(dir) {
			all[dir] = true
		}
	}
	for name := range s.entries {
		add(path.Dir(name))
	}
	for dir := range s.dirs {
		add(dir)
	}
	return all
}

// topmost gives for a name that is gone the uppermost directory that went with it.
func topmost(name string, left map[string]bool) string {
	top := name
	for dir := path.Dir(name); dir != "." && !left[dir]; dir = path.Dir(dir) {
		top = dir
	}
	return top
}

// minimal sorts names and drops what lies below others of them.
func minimal(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	kept := names[:0]
	for _, name := range names {
		if !covered(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// covered says whether a name is one of a sorted list or lies below one of them.
func covered(removed []string, name string) bool {
	if len(removed) == 0 {
		return false
	}
	for at := name; at != "."; at = path.Dir(at) {
		if _, found := slices.BinarySearch(removed, at); found {
			return true
		}
	}
	return false
}
