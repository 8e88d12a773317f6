// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fabricd/fabricd/probes"
)

// A ChassisID names a system, a PortID one of its ports. They are comparable.
type (
	ChassisID struct {
		Subtype uint8
		Value   string
	}
	PortID struct {
		Subtype uint8
		Value   string
	}
)

// Subtypes of a ChassisID.
const (
	ChassisComponent = 1
	ChassisAlias     = 2
	ChassisPort      = 3
	ChassisMAC       = 4
	ChassisAddress   = 5
	ChassisName      = 6
	ChassisLocal     = 7
)

// Subtypes of a PortID.
const (
	PortAlias     = 1
	PortComponent = 2
	PortMAC       = 3
	PortAddress   = 4
	PortName      = 5
	PortCircuit   = 6
	PortLocal     = 7
)

const lastSubtype = 7

// Kind names the subtype.
func (id ChassisID) Kind() string {
	return kind([...]string{"", "component", "alias", "port", "mac", "address", "name", "local"}, id.Subtype)
}

// Kind names the subtype.
func (id PortID) Kind() string {
	return kind([...]string{"", "alias", "component", "mac", "address", "name", "circuit", "local"}, id.Subtype)
}

func kind(names [lastSubtype + 1]string, subtype uint8) string {
	if int(subtype) >= len(names) {
		return ""
	}
	return names[subtype]
}

// IsMAC says whether the id is a MAC address.
func (id ChassisID) IsMAC() bool { return id.Subtype == ChassisMAC && len(id.Value) == macLen }

// IP gives the id if it is an address of IP.
func (id ChassisID) IP() (netip.Addr, bool) {
	if id.Subtype != ChassisAddress || len(id.Value) == 0 {
		return netip.Addr{}, false
	}
	return ip(id.Value[0], id.Value[1:])
}

// IsMAC says whether the id is a MAC address.
func (id PortID) IsMAC() bool { return id.Subtype == PortMAC && len(id.Value) == macLen }

// String writes the id for people and labels.
func (id ChassisID) String() string {
	return idText(id.Value, id.Subtype == ChassisMAC, id.Subtype == ChassisAddress)
}

// String writes the id for people and labels.
func (id PortID) String() string {
	return idText(id.Value, id.Subtype == PortMAC, id.Subtype == PortAddress)
}

const (
	macLen     = 6
	maxText    = 255 // bytes of a text that are shown: the standard's limit
	familyIPv4 = 1
	familyIPv6 = 2
	familyMAC  = 6
)

func idText(value string, isMAC, isAddress bool) string {
	switch {
	case isMAC && len(value) == macLen:
		return MAC([]byte(value)).String()
	case isAddress && len(value) > 1:
		return addressText(value[0], value[1:])
	case isMAC, isAddress, !legible(value):
		return hex.EncodeToString([]byte(value[:min(len(value), maxText/2)]))
	}
	return Text(value)
}

// legible says whether an id is text: bytes that are none are shown in hex, as
// two of them have to stay two.
func legible(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(strings.TrimRight(s, "\x00"), unicode.IsControl)
}

// Text makes what a neighbour sent fit to be shown: one line, of bounded length.
func Text(s string) string {
	s = strings.TrimRight(s, "\x00")
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.TrimSpace(probes.Printable(s))
}

// String writes the address.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

func addressText(family uint8, s string) string {
	if a, ok := ip(family, s); ok {
		return a.String()
	}
	if family == familyMAC && len(s) == macLen {
		return MAC([]byte(s)).String()
	}
	return hex.EncodeToString([]byte(s[:min(len(s), maxText/2)]))
}

func ip(family uint8, s string) (netip.Addr, bool) {
	switch {
	case family == familyIPv4 && len(s) == 4:
		return netip.AddrFrom4([4]byte([]byte(s))), true
	case family == familyIPv6 && len(s) == 16:
		return netip.AddrFrom16([16]byte([]byte(s))), true
	}
	return netip.Addr{}, false
}
