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
// a copy of b.
func (f *Frame) Decode(b []byte) error {
	n, vlan, err := header(b)
	if err != nil {
		return err
	}
	*f = Frame{}
	f.Destination, f.Source, f.VLAN, f.raw = MAC(b), MAC(b[macLen:]), vlan, string(b)
	return f.decode(f.raw[n:])
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

// be16 and be32 are written so that the compiler makes one load of each.
func be16(s string) uint16 {
	_ = s[1]
	return uint16(s[0])<<8 | uint16(s[1])
}

func be32(s string) uint32 {
	_ = s[3]
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

// tlvAt gives the TLV that begins at a place, and where it ends. Not ok is one
// that is longer than what is there.
func tlvAt(s string, i int) (t TLV, end int, ok bool) {
	if len(s)-i < tlvHeader {
		return t, i, false
	}
	head := uint16(s[i])<<8 | uint16(s[i+1])
	i += tlvHeader
	end = i + int(head&maxTLV)
	if end > len(s) {
		return t, i, false
	}
	return TLV{uint8(head >> 9), s[i:end]}, end, true
}

// decode reads the TLVs. What follows the end TLV is padding; without one the
// frame has to end where a TLV does.
func (f *Frame) decode(s string) error {
	before := 0 // TLVs before this one
	for i := 0; i < len(s); before++ {
		t, end, ok := tlvAt(s, i)
		switch {
		case !ok:
			return ErrOverrun
		case t.Type == typeEnd && t.Value != "":
			return ErrEnd
		case t.Type == typeEnd:
			return complete(before)
		case before < mandatory || t.Type <= mandatory:
			if err := f.mandatory(before, t); err != nil {
				return err
			}
		case t.Type == typeOrganisation:
			if !f.organisation(t.Value) {
				f.keep(t)
			}
		case !f.optional(t):
			f.keep(t)
		}
		i = end
	}
	return complete(before)
}

// mandatory is the number of TLVs that come first; their types count from 1.
const mandatory = typeTTL

func complete(seen int) error {
	if seen < mandatory {
		return ErrMissing
	}
	return nil
}

func (f *Frame) mandatory(i int, t TLV) error {
	if int(t.Type) != i+1 {
		return ErrOrder
	}
	value := t.Value
	if t.Type == typeTTL {
		if len(value) < 2 {
			return ErrTTL
		}
		f.TTL = be16(value)
		return nil
	}
	if len(value) < 2 || len(value) > maxID || value[0] == 0 || value[0] > lastSubtype {
		return ErrID
	}
	if t.Type == typeChassis {
		f.Chassis = ChassisID{value[0], value[1:]}
	} else {
		f.Port = PortID{value[0], value[1:]}
	}
	return nil
}

// optional takes over an optional TLV. Not ok is one that may be there more
// than once, or that is not known, not understood or there again.
func (f *Frame) optional(t TLV) (ok bool) {
	switch t.Type {
	case typePortDescription:
		return text(&f.PortDescription, t.Value)
	case typeSystemName:
		return text(&f.SystemName, t.Value)
	case typeSystemDescription:
		return text(&f.SystemDescription, t.Value)
	case typeCapabilities:
		return f.Capabilities.decode(t.Value)
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

func (c *Capabilities) decode(s string) bool {
	if len(s) != 4 || c.Present {
		return false
	}
	*c = Capabilities{be16(s), be16(s[2:]), true}
	return true
}

func (f *Frame) keep(t TLV) {
	if f.Others == nil {
		f.Others = f.few[:0]
	}
	f.Others = append(f.Others, t)
}
