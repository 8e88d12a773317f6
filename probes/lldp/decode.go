// SPDX-License-Identifier: Apache-2.0

package lldp

// Types of TLVs: IEEE 802.1AB-2016, table 8-1.
const (
	typeEnd               = 0
	typeChassis           = 1
	typePort              = 2
	typeTTL               = 3
	typePortDescription   = 4
	typeSystemName        = 5
	typeSystemDescription = 6
	typeCapabilities      = 7
	typeManagement        = 8
	typeOrganisation      = 127
)

const (
	ethernetHeader = 14
	tagLen         = 4
	tlvHeader      = 2
	maxTLV         = 511 // bytes of a value
	maxID          = 256
	etherTypeVLAN  = 0x8100
	etherTypeQinQ  = 0x88a8
)

// Decode takes a frame apart, from the destination address on.
func Decode(b []byte) (*Frame, error) {
	f := new(Frame)
	if err := f.Decode(b); err != nil {
		return nil, err
	}
	return f, nil
}

// Decode is Decode into a Frame of which nobody holds parts any more. It keeps
// a copy of what it needs of b.
func (f *Frame) Decode(b []byte) error {
	n, vlan, err := header(b)
	if err != nil {
		return err
	}
	*f = Frame{Destination: MAC(b), Source: MAC(b[6:]), VLAN: vlan}
	return f.decode(string(b[n:]))
}

// header gives the length of the frame's header, and its VLAN tag.
func header(b []byte) (n int, vlan uint16, err error) {
	if len(b) < ethernetHeader {
		return 0, 0, ErrShort
	}
	if string(b[:macLen-1]) != group || b[5] != 0x0e && b[5] != 0x03 && b[5] != 0x00 {
		return 0, 0, ErrDestination
	}
	n = ethernetHeader
	kind := etherType(b, n)
	if kind == etherTypeVLAN || kind == etherTypeQinQ {
		if len(b) < n+tagLen {
			return 0, 0, ErrShort
		}
		vlan = etherType(b, n+2)
		n += tagLen
		kind = etherType(b, n)
	}
	switch kind {
	case EtherType:
		return n, vlan, nil
	case etherTypeVLAN, etherTypeQinQ:
		return 0, 0, ErrTags
	}
	return 0, 0, ErrEtherType
}

func etherType(b []byte, end int) uint16 { return uint16(b[end-2])<<8 | uint16(b[end-1]) }

func be16(s string) uint16 { return uint16(s[0])<<8 | uint16(s[1]) }

func be32(s string) uint32 { return uint32(be16(s))<<16 | uint32(be16(s[2:])) }

// decode reads the TLVs. What follows the end TLV is padding; without one the
// frame has to end where a TLV does.
func (f *Frame) decode(s string) error {
	i := 0 // TLVs before this one
	for ; len(s) > 0; i++ {
		if len(s) < tlvHeader {
			return ErrOverrun
		}
		kind, n := s[0]>>1, int(be16(s)&maxTLV)
		if n > len(s)-tlvHeader {
			return ErrOverrun
		}
		value := s[tlvHeader : tlvHeader+n]
		s = s[tlvHeader+n:]
		if kind == typeEnd {
			if n != 0 {
				return ErrEnd
			}
			return complete(i)
		}
		if i < mandatory || kind <= mandatory {
			if err := f.mandatory(i, kind, value); err != nil {
				return err
			}
			continue
		}
		if !f.optional(kind, value) {
			f.keep(kind, value)
		}
	}
	return complete(i)
}

// mandatory is the number of TLVs that come first; their types count from 1.
const mandatory = typeTTL

func complete(seen int) error {
	if seen < mandatory {
		return ErrMissing
	}
	return nil
}

func (f *Frame) mandatory(i int, kind uint8, value string) error {
	if int(kind) != i+1 {
		return ErrOrder
	}
	if kind == typeTTL {
		if len(value) < 2 {
			return ErrTTL
		}
		f.TTL = be16(value)
		return nil
	}
	if len(value) < 2 || len(value) > maxID || value[0] == 0 || value[0] > lastSubtype {
		return ErrID
	}
	if kind == typeChassis {
		f.Chassis = ChassisID{value[0], value[1:]}
	} else {
		f.Port = PortID{value[0], value[1:]}
	}
	return nil
}

// optional takes over an optional TLV. Not ok is one that may be there more
// than once, or that is not known, not understood or there again.
func (f *Frame) optional(kind uint8, value string) (ok bool) {
	switch kind {
	case typePortDescription:
		return text(&f.PortDescription, value)
	case typeSystemName:
		return text(&f.SystemName, value)
	case typeSystemDescription:
		return text(&f.SystemDescription, value)
	case typeCapabilities:
		if len(value) != 4 || f.Capabilities.Present {
			return false
		}
		f.Capabilities = Capabilities{be16(value), be16(value[2:]), true}
		return true
	case typeOrganisation:
		return f.organisation(value)
	}
	return false
}

func text(to *string, value string) bool {
	if *to != "" || value == "" {
		return false
	}
	*to = value
	return true
}

func (f *Frame) keep(kind uint8, value string) {
	if f.Others == nil {
		f.Others = f.few[:0]
	}
	f.Others = append(f.Others, TLV{kind, value})
}
