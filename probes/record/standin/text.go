// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
)

// plain replaces what is unmistakable in any text: MAC addresses, GUIDs, GIDs,
// UUIDs, interfaces named after an address, host names of a telling form.
func (s *Set) plain(b []byte) []byte {
	if bytes.IndexByte(b, ':') >= 0 {
		b = runs(b, ':', func(run string, _ bool) (string, bool) { return s.colons(run, false) })
	}
	return s.inHosts(s.dashesAndNames(b), false)
}

// free replaces, in text for people, IP addresses and all host names as well.
// Elsewhere a version number may look like an address.
func (s *Set) free(b []byte) []byte {
	// What touches a dot is the end of an IPv4 address: ip=192.0.2.5::192.0.2.1
	b = runs(b, ':', func(run string, dot bool) (string, bool) { return s.colons(run, !dot) })
	b = runs(b, '.', s.dots)
	return s.inHosts(s.dashesAndNames(b), true)
}

func (s *Set) dashesAndNames(b []byte) []byte {
	if bytes.IndexByte(b, '-') >= 0 {
		b = runs(b, '-', s.dashes)
	}
	if bytes.IndexByte(b, 'x') >= 0 {
		b = s.addressNames(b)
	}
	return b
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// runs calls replace for each longest run of hex digits and separators that
// holds a separator. Separators at its ends do not belong to it, but colons in
// pairs, which abbreviate an IPv6 address. dot says that a dot comes before or
// after the run.
func runs(b []byte, separator byte, replace func(run string, dot bool) (string, bool)) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(b); {
		if !isHex(b[i]) && b[i] != separator {
			i++
			continue
		}
		j := i
		for j < len(b) && (isHex(b[j]) || b[j] == separator) {
			j++
		}
		start, end := i, j
		for start < end && b[start] == separator && (separator != ':' || start+1 == end || b[start+1] != ':') {
			start++
		}
		for start < end && b[end-1] == separator && (separator != ':' || end-2 < start || b[end-2] != ':') {
			end--
		}
		if run := b[start:end]; bytes.IndexByte(run, separator) >= 0 {
			dot := start > 0 && b[start-1] == '.' || end < len(b) && b[end] == '.'
			if to, ok := replace(string(run), dot); ok {
				out = append(append(out, b[from:start]...), to...)
				from = end
			}
		}
		i = j
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}

// lengths says whether groups of digits have these lengths; the first may be
// longer at its beginning and the last at its end, as letters of a word before
// or after may be digits too.
func lengths(groups []string, want ...int) bool {
	if len(groups) != len(want) {
		return false
	}
	for i, g := range groups {
		if len(g) != want[i] && (len(g) < want[i] || i > 0 && i < len(groups)-1) {
			return false
		}
	}
	return true
}

// window finds consecutive groups of these lengths.
func window(groups []string, want ...int) int {
	for i := 0; i+len(want) <= len(groups); i++ {
		if lengths(groups[i:i+len(want)], want...) {
			return i
		}
	}
	return -1
}

// inWindow replaces the groups from at on, leaving what is too much of the
// first and last.
func inWindow(groups []string, separator string, at int, want []int, replace func(core []string) string) string {
	core := slices.Clone(groups[at : at+len(want)])
	last := len(core) - 1
	cut := len(core[0]) - want[0]
	before, after := core[0][:cut], core[last][want[last]:]
	core[0], core[last] = core[0][cut:], core[last][:want[last]]
	list := append(slices.Clone(groups[:at]), before+replace(core)+after)
	return strings.Join(append(list, groups[at+len(want):]...), separator)
}

// colons replaces what is written with colons.
func (s *Set) colons(run string, free bool) (string, bool) {
	groups := strings.Split(run, ":")
	pairs := []int{2, 2, 2, 2, 2, 2}
	switch n := len(groups); {
	case n == 20 && allLong(groups, 2): // IPoIB: flags and queue pair, then a GID
		return strings.Join(groups[:4], ":") + ":" + s.hexGID(groups[4:], 2), true
	case n == 16 && allLong(groups, 2), n == 8 && allLong(groups, 4):
		return s.hexGID(groups, 32/len(groups)), true
	case n == 8 && allLong(groups, 2), n == 4 && allLong(groups, 4):
		id := [8]byte(digits(groups))
		to := s.guid(id)
		return separate(to[:], 16/len(groups), ":", run), true
	case n >= 6 && window(groups, pairs...) >= 0:
		return inWindow(groups, ":", window(groups, pairs...), pairs, func(core []string) string { return s.hexMAC(core, ":") }), true
	case free && n >= 3:
		if addr, err := netip.ParseAddr(run); err == nil && addr.Is6() {
			return netip.AddrFrom16(s.gid(addr.As16())).String(), true
		}
	}
	return "", false
}

// dashes replaces what is written with dashes: UUIDs, and MAC addresses, which
// a boot loader writes after the number of their kind (01).
func (s *Set) dashes(run string, _ bool) (string, bool) {
	groups := strings.Split(run, "-")
	want := []int{8, 4, 4, 4, 12}
	if i := window(groups, want...); i >= 0 {
		return inWindow(groups, "-", i, want, func(core []string) string { return s.uuid(strings.Join(core, "-")) }), true
	}
	want = []int{2, 2, 2, 2, 2, 2}
	if i := window(groups, want...); i >= 0 {
		if len(groups) == 7 && groups[0] == "01" {
			i = 1
		}
		return inWindow(groups, "-", i, want, func(core []string) string { return s.hexMAC(core, "-") }), true
	}
	return "", false
}

// dots replaces IPv4 addresses, and MAC addresses as switches write them.
func (s *Set) dots(run string, _ bool) (string, bool) {
	if addr, err := netip.ParseAddr(run); err == nil && addr.Is4() {
		return netip.AddrFrom4(s.ipv4(addr.As4())).String(), true
	}
	if groups := strings.Split(run, "."); len(groups) == 3 && allLong(groups, 4) {
		m := s.mac([6]byte(digits(groups)))
		return separate(m[:], 4, ".", run), true
	}
	return "", false
}

// addressNames replaces the address in names like enx001122334455 and
// rocex946dae0300a1b2c3 (systemd's and rdma-core's naming by address).
func (s *Set) addressNames(b []byte) []byte {
	out := slices.Clone(b)
	for i := 2; i < len(out); i++ {
		if out[i] != 'x' || !isLetter(out[i-1]) || !isLetter(out[i-2]) {
			continue
		}
		n := 0
		for i+1+n < len(out) && isHex(out[i+1+n]) {
			n++
		}
		text := string(out[i+1 : i+1+n])
		id, err := hex.DecodeString(text)
		switch {
		case err == nil && n == 12:
			to := s.mac([6]byte(id))
			copy(out[i+1:], separate(to[:], 12, "", text))
		case err == nil && n == 16:
			to := s.guid([8]byte(id))
			copy(out[i+1:], separate(to[:], 16, "", text))
		}
	}
	return out
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

func allLong(groups []string, n int) bool {
	return !slices.ContainsFunc(groups, func(g string) bool { return len(g) != n })
}

// digits decodes groups that are known to be pairs of hex digits.
func digits(groups []string) []byte {
	b, _ := hex.DecodeString(strings.Join(groups, ""))
	return b
}

func (s *Set) hexMAC(groups []string, separator string) string {
	m := s.mac([6]byte(digits(groups)))
	return separate(m[:], 2, separator, strings.Join(groups, ""))
}

func (s *Set) hexGID(groups []string, each int) string {
	g := s.gid([16]byte(digits(groups)))
	return separate(g[:], each, ":", strings.Join(groups, ""))
}

// separate writes bytes in groups of digits, in the case that like has.
func separate(b []byte, each int, separator, like string) string {
	text := hex.EncodeToString(b)
	if strings.ContainsAny(like, "ABCDEF") {
		text = strings.ToUpper(text)
	}
	var groups []string
	for chunk := range slices.Chunk([]byte(text), each) {
		groups = append(groups, string(chunk))
	}
	return strings.Join(groups, separator)
}
