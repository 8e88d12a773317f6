// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/probes/lldp"
)

// A match is the outcome of a comparison.
type match uint8

const (
	unknown match = iota // the two forms say nothing of each other
	same
	different
)

// worse gives the outcome of two comparisons that have to hold both.
func worse(a, b match) match {
	switch {
	case a == different || b == different:
		return different
	case a == unknown || b == unknown:
		return unknown
	}
	return same
}

// sameSystem compares a plan's name of a switch with what a neighbour says of
// itself. A name without a domain, or with a part of it, is the same as the
// whole. Without a system's name the chassis id may be it, or may be no name at
// all: unless both are of one form, another one says nothing.
func sameSystem(plan string, n *lldp.Neighbour) match {
	if mac, ok := parseMAC(plan); ok {
		if !n.Chassis.IsMAC() {
			return unknown
		}
		return matched(n.Chassis.Value == mac)
	}
	if address, err := netip.ParseAddr(plan); err == nil {
		return sameAddress(address, n)
	}
	name, id := lldp.Text(n.SystemName), chassisName(n)
	switch {
	case sameHost(plan, name) || sameHost(plan, id):
		return same
	case name != "":
		return different
	case n.Chassis.Subtype == lldp.ChassisLocal: // leaf-02 is not leaf-01; a serial number may be
		return sameName(plan, id)
	}
	return unknown
}

func matched(is bool) match {
	if is {
		return same
	}
	return different
}

// chassisName gives a chassis id that may be a name.
func chassisName(n *lldp.Neighbour) string {
	switch n.Chassis.Subtype {
	case lldp.ChassisMAC, lldp.ChassisAddress:
		return ""
	}
	return n.Chassis.String()
}

// sameAddress looks among the addresses of a system for one. Others of its
// family alone say that it is another's: a switch may announce one family.
func sameAddress(a netip.Addr, n *lldp.Neighbour) match {
	a = a.Unmap()
	if ip, ok := n.Chassis.IP(); ok && ip.Unmap() == a {
		return same
	}
	m := unknown
	for _, managed := range n.Management() {
		ip, ok := managed.IP()
		switch ip = ip.Unmap(); {
		case ok && ip == a:
			return same
		case ok && ip.Is4() == a.Is4():
			m = different
		}
	}
	return m
}

func sameHost(a, b string) bool {
	a, b = strings.TrimSuffix(strings.TrimSpace(a), "."), strings.TrimSuffix(b, ".")
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != "" && strings.EqualFold(a, b[:len(a)]) && (len(a) == len(b) || b[len(a)] == '.')
}

// parseMAC reads a MAC address as people write it.
func parseMAC(s string) (string, bool) {
	m, err := net.ParseMAC(strings.TrimSpace(s))
	if err != nil || len(m) != 6 {
		return "", false
	}
	return string(m), true
}

// samePort compares a plan's name of a switch's port with what a neighbour says
// of its port: with the id and with the description, as one may be the name
// and the other an alias. One that is the same suffices. A mere number that the
// switch made up (local) differs from none.
func samePort(plan string, n *lldp.Neighbour) match {
	if mac, ok := parseMAC(plan); ok {
		if !n.Port.IsMAC() {
			return unknown
		}
		return matched(n.Port.Value == mac)
	}
	id, description := unknown, sameName(plan, lldp.Text(n.PortDescription))
	if !n.Port.IsMAC() && n.Port.Subtype != lldp.PortAddress {
		id = sameName(plan, n.Port.String())
	}
	if id == different && n.Port.Subtype == lldp.PortLocal && !strings.ContainsFunc(strings.TrimSpace(plan), noDigit) {
		id = unknown // the one may be the panel's number, the other SNMP's
	}
	switch {
	case id == same || description == same:
		return same
	case id == different || description == different:
		return different
	}
	return unknown
}

// sameName compares two names of ports. Names that are spelled alike are the
// same. What stands in parentheses behind one of them says nothing of the
// other; behind both it is compared as well.
func sameName(a, b string) match {
	a, inA := split(a)
	b, inB := split(b)
	m := sameWord(a, b)
	if m == same && inA != "" && inB != "" {
		return sameWord(inA, inB)
	}
	return m
}

// sameWord compares names without parentheses: only where both are of one
// family, the word before the numbers, and of one form, which is as many
// numbers with the same between them; otherwise they say nothing of each other:
// Ethernet12 may or may not be etp4, and is not 12.
func sameWord(a, b string) match {
	switch {
	case a == "" || b == "":
		return unknown
	case a == b:
		return same
	}
	x, okX := parseName(a)
	y, okY := parseName(b)
	if !okX || !okY || x.family != y.family || x.form != y.form || len(x.numbers) != len(y.numbers) {
		return unknown
	}
	return matched(slices.Equal(x.numbers, y.numbers))
}

// A name is a port's name taken apart: Ethernet1/12 is ethernet, 1 and 12.
type name struct {
	family  string
	form    string // what is between the numbers, as trailingNumbers has it
	numbers []string
}

// families are words that mean the same: vendors write their own short forms.
var families = map[string]string{
	"e": "ethernet", "et": "ethernet", "ethernet": "ethernet", "eth": "ethernet",
	"fa": "fastethernet", "gi": "gigabitethernet", "gige": "gigabitethernet", "ge": "gigabitethernet",
	"te": "tengigabitethernet", "ten-gigabitethernet": "tengigabitethernet", "tengige": "tengigabitethernet", "xge": "tengigabitethernet",
	"twe": "twentyfivegige", "25ge": "twentyfivegige", "twentyfivegigabitethernet": "twentyfivegige",
	"fo": "fortygige", "fortygigabitethernet": "fortygige", "40ge": "fortygige",
	"hu": "hundredgige", "hundredgigabitethernet": "hundredgige", "100ge": "hundredgige",
	"200ge": "twohundredgige", "twohundredgigabitethernet": "twohundredgige",
	"fou": "fourhundredgige", "fh": "fourhundredgige", "fourhundredgigabitethernet": "fourhundredgige", "400ge": "fourhundredgige",
	"swp":   "swp", // Cumulus
	"eight": "eighthundredgige", "eighthundredgigabitethernet": "eighthundredgige", "800ge": "eighthundredgige",
}

// parseName takes a port's name, in small letters, apart: a word, then numbers
// with separators between them, s before the lane of a port that is split
// (swp12s0), or a letter for the lane (etp4a). Not ok is what is no name of a port.
func parseName(s string) (n name, ok bool) {
	if n, ok := connector(s); ok {
		return n, true
	}
	lane := ""
	if last := len(s) - 1; last > 0 && s[last] >= 'a' && s[last] <= 'h' && digit(s[last-1]) {
		s, lane = s[:last], s[last:]
	}
	word, numbers, form := trailingNumbers(s)
	family, dashed := strings.TrimRight(word, " _-"), strings.HasSuffix(word, "-")
	switch units := strings.IndexByte(form, '.'); {
	case lane != "":
		numbers, form = append(numbers, lane), form+"a" // the second lane is b here, and 1 or 2 elsewhere
	case units >= 0 && hasUnits(family, dashed, units+1):
		numbers, form = numbers[:units+1], form[:units]
	}
	if len(word)-len(family) > 1 || len(numbers) == 0 || strings.ContainsFunc(family, noLetter) || word != "" && family == "" {
		return n, false
	}
	return name{familyOf(family, dashed, len(numbers)), form, numbers}, true
}

// hasUnits says whether what follows a dot is a unit of the port before it, a
// VLAN's or a logical one: so it is in names of Linux and of all vendors whose
// words are known. Others number their ports with dots (port1.0.12).
func hasUnits(word string, dashed bool, numbers int) bool {
	if dashed { // Juniper, SR Linux; no leaf-1.2
		return numbers > 1
	}
	return families[word] != ""
}

// split writes a name in small letters and takes off what some write behind it:
// Nokia's SR OS the kind of Ethernet and a text of the operator's, 1/1/c12/1,
// 100-Gig Ethernet, "gpu-07 (rail 3)"; SONiC in parentheses the port on the
// panel, Eth4(Port4).
func split(s string) (name, inside string) {
	s = strings.TrimSpace(strings.ToLower(s))
	if own, rest, ok := strings.Cut(s, ", "); ok && strings.Contains(own, "/") && strings.Contains(rest, "ethernet") {
		s = own
	}
	if i := strings.IndexByte(s, '('); i > 0 {
		return strings.TrimSpace(s[:i]), strings.Trim(s[i:], "() ")
	}
	return s, ""
}

// familyOf gives the word that all names of a family have. Short forms count
// only before as many numbers as leave no doubt: SONiC's alias Eth4 is its
// Ethernet12. A dash makes another family, et-0/0/12 is Juniper's, but for
// SR Linux, whose ethernet-1/12 has slot and port as Ethernet1/12 has.
func familyOf(word string, dashed bool, numbers int) string {
	long := families[word]
	switch {
	case dashed && word != "ethernet":
		return word + "-"
	case long == "", (word == "eth" || word == "e") && numbers == 1:
		return word
	}
	return long
}

// connector takes apart what Nokia's SR OS calls the ports of a connector:
// numbers between slashes, the connector's with c before it, a carrier card's
// with x: 1/1/c12/1, 1/x1/1/c3/1. Letters at other places are another family.
func connector(s string) (n name, ok bool) {
	for part := range strings.SplitSeq(s, "/") {
		number := strings.TrimLeft(part, "cx")
		letters := part[:len(part)-len(number)]
		if number == "" || len(letters) > 1 || strings.ContainsFunc(number, noDigit) {
			return n, false
		}
		n.family += "/" + letters
		n.numbers = append(n.numbers, unpadded(number))
	}
	return n, strings.Contains(n.family, "c")
}

// unpadded takes leading zeros off a number.
func unpadded(s string) string {
	last := len(s) - 1
	return strings.TrimLeft(s[:last], "0") + s[last:]
}

func noDigit(r rune) bool { return r < '0' || r > '9' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// noLetter says whether a character has no place in the word before the numbers.
func noLetter(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }

// trailingNumbers splits the numbers off a name's end, without leading zeros,
// and what is between them: a dash stands for a slash there.
func trailingNumbers(s string) (word string, numbers []string, form string) {
	end := len(s)
	for {
		from := end
		for from > 0 && digit(s[from-1]) {
			from--
		}
		if from == end {
			break
		}
		numbers = append(numbers, unpadded(s[from:end]))
		end = from
		if from < 2 || !strings.ContainsRune("/:._-s", rune(s[from-1])) || !digit(s[from-2]) {
			break
		}
		end--
		form = strings.ReplaceAll(s[end:from], "-", "/") + form
	}
	slices.Reverse(numbers)
	return s[:end], numbers, form
}
