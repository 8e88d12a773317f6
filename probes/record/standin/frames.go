// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Types and subtypes of TLVs: IEEE 802.1AB-2016, 8.5.
const (
	tlvEnd             = 0
	tlvChassis         = 1
	tlvPort            = 2
	tlvDescription     = 4
	tlvName            = 5
	tlvText            = 6
	tlvAddress         = 8
	tlvOrganisation    = 127
	subtypeMAC         = 4 // of a chassis
	subtypePortMAC     = 3
	subtypeChassisNet  = 5
	subtypePortNet     = 4
	subtypeLocal       = 7
	familyIPv4         = 1
	familyIPv6         = 2
	family802          = 6
	etherTypeVLAN      = 0x8100
	etherTypeLLDP      = 0x88cc
	ethernetHeader     = 14
	maxTLV             = 511
	organisationHeader = 4
)

// organisations are those whose TLVs hold settings and no inventory:
// IEEE 802.1, IEEE 802.3, and the DCBX from before the standard.
var organisations = [][3]byte{{0x00, 0x80, 0xc2}, {0x00, 0x12, 0x0f}, {0x00, 0x1b, 0x21}}

// frames replaces identities in captured LLDP frames, one a line in hex.
func (s *Set) frames(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		frame, err := hex.DecodeString(string(line))
		if err != nil {
			continue // says nothing, and may hold anything
		}
		out = append(hex.AppendEncode(out, s.frame(frame)), '\n')
	}
	return out
}

// frame rewrites one frame. What does not parse is blanked: it stays as
// malformed as it was, and as long.
func (s *Set) frame(b []byte) []byte {
	if len(b) < ethernetHeader {
		return make([]byte, len(b))
	}
	from := s.mac([6]byte(b[6:12]))
	out := slices.Concat(b[:6], from[:], b[12:ethernetHeader])
	rest := b[ethernetHeader:]
	kind := binary.BigEndian.Uint16(b[12:])
	for kind == etherTypeVLAN && len(rest) >= 4 {
		kind = binary.BigEndian.Uint16(rest[2:])
		out, rest = append(out, rest[:4]...), rest[4:]
	}
	if kind != etherTypeLLDP {
		return append(out, make([]byte, len(rest))...)
	}
	for len(rest) >= 2 {
		header := binary.BigEndian.Uint16(rest)
		number, n := int(header>>9), int(header&maxTLV)
		if number == tlvEnd || n > len(rest)-2 {
			out, rest = append(out, rest[:2]...), rest[2:]
			break
		}
		value := s.tlv(number, rest[2:2+n])
		value = value[:min(len(value), maxTLV)]
		out = binary.BigEndian.AppendUint16(out, uint16(number<<9|len(value)))
		out, rest = append(out, value...), rest[2+n:]
	}
	return append(out, make([]byte, len(rest))...)
}

// tlv gives the value of a TLV without identities.
func (s *Set) tlv(number int, value []byte) []byte {
	switch number {
	case tlvChassis, tlvPort:
		return s.id(number, value)
	case tlvDescription, tlvText:
		return s.free(value)
	case tlvName:
		return []byte(s.neighbour(string(value)))
	case tlvAddress:
		return s.management(value)
	case tlvOrganisation:
		if len(value) >= organisationHeader && !slices.Contains(organisations, [3]byte(value)) {
			return slices.Concat(value[:organisationHeader], make([]byte, len(value)-organisationHeader))
		}
	}
	return value
}

// id replaces a chassis or port id. A port's name stays: it is the switch's,
// and plans name it.
func (s *Set) id(number int, value []byte) []byte {
	if len(value) < 2 {
		return value
	}
	subtype, id := value[0], value[1:]
	isMAC, isNet := subtypeMAC, subtypeChassisNet
	if number == tlvPort {
		isMAC, isNet = subtypePortMAC, subtypePortNet
	}
	switch {
	case int(subtype) == isMAC && len(id) == 6:
		m := s.mac([6]byte(id))
		id = m[:]
	case int(subtype) == isNet:
		id = s.network(id)
	case number == tlvChassis:
		id = []byte(s.neighbour(string(id)))
	default:
		id = s.free(id)
	}
	return slices.Concat([]byte{subtype}, id)
}

// network replaces an address that follows the number of its family.
func (s *Set) network(b []byte) []byte {
	switch {
	case len(b) == 5 && b[0] == familyIPv4:
		a := s.ipv4([4]byte(b[1:]))
		return slices.Concat(b[:1], a[:])
	case len(b) == 17 && b[0] == familyIPv6:
		a := s.gid([16]byte(b[1:]))
		return slices.Concat(b[:1], a[:])
	case len(b) == 7 && b[0] == family802:
		a := s.mac([6]byte(b[1:]))
		return slices.Concat(b[:1], a[:])
	}
	return make([]byte, len(b))
}

// management replaces the address of a management address TLV: length, family
// and address, interface numbering and object id.
func (s *Set) management(value []byte) []byte {
	if len(value) < 2 || int(value[0]) > len(value)-1 {
		return make([]byte, len(value))
	}
	n := int(value[0])
	return slices.Concat(value[:1], s.network(value[1:1+n]), value[1+n:])
}
