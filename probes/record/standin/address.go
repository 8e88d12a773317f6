// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
)

// Bits of the first byte of a MAC address.
const (
	groupBit = 0x01
	localBit = 0x02
)

// mac replaces an address. What names a group or nobody stays.
func (s *Set) mac(m [6]byte) [6]byte {
	if m == ([6]byte{}) || m[0]&groupBit != 0 {
		return m
	}
	to := s.standIn(mac, string(m[:]), func(n int) string {
		to := [6]byte{m[0], m[1], m[2], byte(n >> 16), byte(n >> 8), byte(n)}
		// A locally administered address has no vendor: all of it may be random. QEMU's is known.
		if m[0]&localBit != 0 && !bytes.HasPrefix(m[:], []byte{0x52, 0x54, 0x00}) {
			to[0], to[1], to[2] = localBit, 0, 0
		}
		return string(to[:])
	})
	return [6]byte([]byte(to))
}

func parseMAC(text string) (m [6]byte, ok bool) {
	b, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil || len(b) != len(m) || strings.Count(text, ":") != 5 {
		return m, false
	}
	return [6]byte(b), true
}

// guid replaces a GUID; the zero one stays.
func (s *Set) guid(id [8]byte) [8]byte {
	to := s.eui(id, true)
	if to != id {
		s.count(guid, id[:])
	}
	return to
}

// eui replaces a 64-bit identity: a GUID, or the lower half of an IPv6
// address. One that is made of a MAC address stays so. Of a GUID of another
// make the vendor part stays, of an IPv6 address nothing.
func (s *Set) eui(id [8]byte, isGUID bool) [8]byte {
	if id == ([8]byte{}) || id == [8]byte(bytes.Repeat([]byte{0xff}, 8)) {
		return id
	}
	m := [6]byte{id[0], id[1], id[2], id[5], id[6], id[7]}
	flip := byte(0)
	switch {
	case id[3] == 0xff && id[4] == 0xfe: // RFC 4291, appendix A: with the local bit inverted, most often
		flipped := m
		flipped[0] ^= localBit
		if s.macs[flipped] || !s.macs[m] && id[0]&localBit != 0 {
			m, flip = flipped, localBit
		}
	case id[3] == 0x03 && id[4] == 0x00: // Mellanox's way
	default:
		return s.bareEUI(id, isGUID)
	}
	if m[0]&groupBit != 0 {
		return s.bareEUI(id, isGUID)
	}
	to := s.mac(m)
	return [8]byte{to[0] ^ flip, to[1], to[2], id[3], id[4], to[3], to[4], to[5]}
}

func (s *Set) bareEUI(id [8]byte, isGUID bool) [8]byte {
	k := half
	if isGUID {
		k = identifier
	}
	to := s.standIn(k, string(id[:]), func(n int) string {
		to := [8]byte{5: byte(n >> 16), 6: byte(n >> 8), 7: byte(n)}
		if isGUID && id[0]&(groupBit|localBit) == 0 {
			copy(to[:3], id[:3])
		}
		return string(to[:])
	})
	return [8]byte([]byte(to))
}

// ipv4 replaces an address by one for documentation (RFC 5737). What names no
// single machine stays, and link-local stays link-local.
func (s *Set) ipv4(a [4]byte) [4]byte {
	addr := netip.AddrFrom4(a)
	if addr.IsUnspecified() || addr.IsLoopback() || addr.IsMulticast() || a[0] == 255 {
		return a
	}
	to := s.standIn(ip, string(a[:]), func(n int) string {
		const each = 254
		switch {
		case addr.IsLinkLocalUnicast():
			return string([]byte{169, 254, byte(n >> 8), byte(n)})
		case n <= each:
			return string([]byte{192, 0, 2, byte(n)})
		case n <= 2*each:
			return string([]byte{198, 51, 100, byte(n - each)})
		case n <= 3*each:
			return string([]byte{203, 0, 113, byte(n - 2*each)})
		}
		return string([]byte{198, 18 + byte(n>>16)&1, byte(n >> 8), byte(n)}) // RFC 2544: 131072 more
	})
	return [4]byte([]byte(to))
}

// gid replaces a GID or IPv6 address. Its kind stays: link-local with the
// vendor of its interface, IPv4-mapped, unique local, global.
func (s *Set) gid(g [16]byte) [16]byte {
	addr := netip.AddrFrom16(g)
	lower := [8]byte(g[8:])
	switch {
	case addr.IsUnspecified(), addr.IsLoopback(), addr.IsMulticast():
		return g
	case addr.Is4In6():
		to := s.ipv4([4]byte(g[12:]))
		copy(g[12:], to[:])
		return g
	case addr.IsLinkLocalUnicast(): // of InfiniBand's default subnet as well
		to := s.guid(lower)
		copy(g[2:8], make([]byte, 6))
		copy(g[8:], to[:])
		return g
	}
	network := s.standIn(prefix, string(g[:8]), func(n int) string {
		to := [8]byte{0x20, 0x01, 0x0d, 0xb8} // RFC 3849
		switch {
		case g[0]&0xfe == 0xfc: // unique local
			to = [8]byte{0xfd}
		case g[0] == 0xfe: // site local: InfiniBand's other subnets
			to = [8]byte{0xfe, 0xc0}
		}
		binary.BigEndian.PutUint16(to[6:], uint16(n))
		return string(to[:])
	})
	copy(g[:], network)
	to := s.eui(lower, false)
	copy(g[8:], to[:])
	s.count(ip, addr.AsSlice())
	return g
}

// uuid replaces one of the form 8-4-4-4-12. The zero one stays.
func (s *Set) uuid(text string) string {
	if strings.Trim(text, "0-") == "" {
		return text
	}
	return s.standIn(uuid, strings.ToLower(text), func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) })
}

// serial replaces a serial number or whatever names one thing.
func (s *Set) serial(text string) string {
	return s.standIn(serial, text, func(n int) string { return fmt.Sprintf("serial-%d", n) })
}
