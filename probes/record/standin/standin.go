// SPDX-License-Identifier: Apache-2.0

// Package standin replaces what names a machine, its parts and its network by
// stand-ins: the same value by the same stand-in, another by another, numbered
// in the order of their appearance. It knows in which of a recording's files
// identities stand and in which form; it does not know where the files come
// from, and it keeps what says something of a machine's kind: a MAC address'
// vendor, whether an address is routed.
package standin

import (
	"fmt"
	"path"
	"strings"
)

// A kind is a kind of identity.
type kind int

const (
	host kind = iota
	switchName
	mac
	guid
	ip
	uuid
	serial
	parameter
	file
	kernelAddress
	identifier // these are parts of others and not counted on their own
	prefix
	half
	kinds
)

// names are the kinds as a sentence has them, one and many.
var names = [kinds][2]string{
	host: {"host name", "host names"}, switchName: {"switch name", "switch names"}, mac: {"MAC address", "MAC addresses"},
	guid: {"GUID", "GUIDs"}, ip: {"IP address", "IP addresses"}, uuid: {"UUID", "UUIDs"}, serial: {"serial number", "serial numbers"},
	parameter: {"boot parameter", "boot parameters"}, file: {"file name", "file names"}, kernelAddress: {"kernel address", "kernel addresses"},
}

// A Count says how many values of a kind were replaced.
type Count struct {
	Kind string
	N    int
}

// String gives the count as a sentence has it: "3 MAC addresses".
func (c Count) String() string { return fmt.Sprintf("%d %s", c.N, c.Kind) }

// A Set is the stand-ins of one recording. It is not safe for concurrent use.
type Set struct {
	hosts  []hostName
	macs   map[[6]byte]bool // learned from interfaces
	tables [kinds]map[string]string
	next   [kinds]int
}

// New makes a Set that knows nothing yet.
func New() *Set {
	s := &Set{macs: map[[6]byte]bool{}}
	for k := range s.tables {
		s.tables[k] = map[string]string{}
	}
	return s
}

// standIn gives a value's stand-in; form writes the one with number n.
func (s *Set) standIn(k kind, value string, form func(n int) string) string {
	if v, ok := s.tables[k][value]; ok {
		return v
	}
	for {
		s.next[k]++
		if v := form(s.next[k]); v != value {
			s.tables[k][value] = v
			return v
		}
	}
}

// count notes that a value was replaced by other ways than standIn.
func (s *Set) count(k kind, value []byte) { s.tables[k][string(value)] = "" }

// Counts says what was replaced; kinds of which there was nothing are left out.
func (s *Set) Counts() []Count {
	var list []Count
	for k, n := range names {
		switch c := len(s.tables[k]); {
		case n[0] == "" || c == 0:
		case c == 1:
			list = append(list, Count{n[0], c})
		default:
			list = append(list, Count{n[1], c})
		}
	}
	return list
}

// Path replaces identities in an entry's name or a link's target: interfaces
// may be named after their address.
func (s *Set) Path(name string) string { return string(s.plain([]byte(name))) }

// Learn takes notice of names and addresses that are to be replaced wherever
// they appear. It is called for all files before the first is replaced.
func (s *Set) Learn(name string, data []byte) {
	text := strings.TrimSpace(string(data))
	switch {
	case name == "proc/sys/kernel/hostname":
		s.Host(text)
	case name == "proc/cmdline":
		for _, h := range bootHosts(text) {
			s.Host(h)
		}
	case path.Base(name) == "node_desc":
		for _, word := range strings.Fields(text) {
			if !knownWord(word, device(name)) {
				s.learn(word, false)
			}
		}
	case path.Base(name) == "address":
		if m, ok := parseMAC(text); ok {
			s.macs[m] = true
		}
	}
}

// File gives a file's content without identities.
func (s *Set) File(name string, data []byte) []byte {
	switch base := path.Base(name); {
	case base == "config":
		return s.config(data)
	case strings.HasPrefix(name, "lldp/"):
		return s.frames(data)
	case name == "fabricd.yaml":
		return s.plan(data)
	case name == "gpu.json":
		return s.plain(s.serials(data))
	case name == "proc/cmdline":
		return s.cmdline(data)
	case name == "proc/modules":
		return s.modules(data)
	case name == "proc/version", name == "proc/driver/nvidia/version":
		return s.free(s.builders(data))
	case name == "proc/sys/kernel/hostname":
		return s.hostname(data)
	case base == "node_desc":
		return s.nodeDesc(name, data)
	case base == "numa_maps":
		return s.maps(data)
	case base == "xgmi_hive_id":
		return []byte(s.serial(strings.TrimSpace(string(data))) + "\n")
	case base == "phys_switch_id":
		return s.hexID(data)
	}
	return s.plain(data)
}
