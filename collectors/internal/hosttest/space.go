// SPDX-License-Identifier: Apache-2.0

package hosttest

import "encoding/binary"

// A Space is a function's configuration space: registers as the PCI Express
// Base Specification lays them out.
type Space struct {
	Type    uint8 // 0 endpoint, 4 root port, 5 and 6 upstream and downstream port
	Payload int   // DEVCTL: maximum payload in force, bytes; zero is 512
	Request int   // DEVCTL: maximum read request, bytes; zero is 512
	Strict  bool  // DEVCTL: relaxed ordering is off
	ASPM    uint16
	Target  uint16 // LNKCTL2: target speed, a generation
	ACS     int    // control register; -1 for no such capability
	Visible int    // bytes that can be read; zero is all
}

// Bytes gives the space.
func (s Space) Bytes() []byte {
	b := make([]byte, 4096)
	put := binary.LittleEndian.PutUint16
	put(b[0x00:], 0x10de)
	put(b[0x02:], 0x2330)
	put(b[0x06:], 1<<4) // has a list of capabilities
	b[0x34] = 0x40
	b[0x40], b[0x41] = 0x10, 0
	put(b[0x42:], uint16(s.Type)<<4|2)
	control := code(s.Payload)<<5 | code(s.Request)<<12
	if !s.Strict {
		control |= 1 << 4
	}
	put(b[0x48:], control)
	binary.LittleEndian.PutUint32(b[0x4c:], 16<<4|5)
	put(b[0x50:], s.ASPM)
	put(b[0x52:], 16<<4|5)
	put(b[0x70:], s.Target)
	if s.ACS >= 0 {
		binary.LittleEndian.PutUint32(b[0x100:], 0x1000d) // the only extended capability
		put(b[0x106:], uint16(s.ACS))
	}
	if s.Visible > 0 {
		b = b[:s.Visible]
	}
	return b
}

// code gives a size as DEVCTL counts it: 0 is 128 bytes.
func code(size int) uint16 {
	c := uint16(0)
	if size == 0 {
		size = 512
	}
	for ; size > 128; size /= 2 {
		c++
	}
	return c
}

// Space sets the configuration space.
func (d *Dev) Space(s Space) *Dev { return d.Set("config.hex", Hex(s.Bytes())) }

// AllOnes is the configuration space of a device that does not answer.
func (d *Dev) AllOnes() *Dev {
	b := make([]byte, 4096)
	for i := range b {
		b[i] = 0xff
	}
	return d.Set("config.hex", Hex(b))
}
