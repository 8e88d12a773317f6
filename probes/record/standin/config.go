// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"encoding/binary"
	"slices"
)

// Offsets of configuration space: include/uapi/linux/pci_regs.h.
const (
	pciStatus             = 0x06
	pciStatusCapabilities = 1 << 4
	pciCapabilityPointer  = 0x34
	pciHeader             = 0x40
	pciVPD                = 0x03
	pciExtended           = 0x100
	pciSerialNumber       = 0x0003
)

// config replaces the device's serial number in configuration space, and takes
// out what is left of the last read of vital product data, which holds one.
func (s *Set) config(b []byte) []byte {
	if len(b) < pciHeader || binary.LittleEndian.Uint32(b) == 0xffffffff {
		return b
	}
	b = slices.Clone(b)
	if b[pciStatus]&pciStatusCapabilities != 0 {
		at := int(b[pciCapabilityPointer]) &^ 3
		for range 48 { // as many as fit: a circle ends
			if at < pciHeader || at+8 > len(b) {
				break
			}
			if b[at] == pciVPD {
				clear(b[at+4 : at+8])
			}
			at = int(b[at+1]) &^ 3
		}
	}
	at := pciExtended
	for range 1024 {
		if at < pciExtended || at+12 > len(b) {
			break
		}
		header := binary.LittleEndian.Uint32(b[at:])
		if header == 0 || header == 0xffffffff {
			break
		}
		if header&0xffff == pciSerialNumber {
			s.serialNumber(b[at+4 : at+12])
		}
		at = int(header>>20) &^ 3
	}
	return b
}

// serialNumber replaces one in place: two double words, the lower one first,
// of what most makers form like a GUID.
func (s *Set) serialNumber(b []byte) {
	id := [8]byte(b)
	slices.Reverse(id[:])
	to := s.eui(id, true)
	slices.Reverse(to[:])
	if copy(b, to[:]); to != id {
		s.count(serial, id[:])
	}
}
