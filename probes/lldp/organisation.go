// SPDX-License-Identifier: Apache-2.0

package lldp

import "encoding/binary"

// Organisations and the subtypes of their TLVs: IEEE 802.1Q-2018, annex D;
// IEEE 802.3-2018, clause 79.
const (
	org8021 = "\x00\x80\xc2"
	org8023 = "\x00\x12\x0f"
	orgCEE  = "\x00\x1b\x21"

	subPVID           = 1
	subVLANName       = 3
	subAggregation    = 7
	subCongestion     = 8
	subETS            = 9
	subRecommendation = 10
	subPFC            = 11
	subApp            = 12

	subPHY             = 1
	subDot3Aggregation = 3
	subMTU             = 4

	subCEE = 2 // version 1.01; 1 is 1.0, which is not understood
)

const orgHeader = 4

// Organisations' TLVs that are taken apart: organisation and subtype as one number.
const (
	dot1 = 0x0080c2 << 8
	dot3 = 0x00120f << 8
)

// organisation takes over an organisation's TLV.
func (f *Frame) organisation(s string) bool {
	if len(s) < orgHeader {
		return false
	}
	value := s[orgHeader:]
	switch be32(s) {
	case dot1 | subPVID:
		return number(&f.PVID, value)
	case dot1 | subAggregation:
		return f.Aggregation.decode(value, false)
	case dot1 | subCongestion:
		return f.Congestion.decode(value)
	case dot1 | subETS:
		return f.ETS.decode(value)
	case dot1 | subRecommendation:
		return f.Recommended.decode(value)
	case dot1 | subPFC:
		return f.PFC.decode(value)
	case dot1 | subApp:
		return f.Apps.decode(value)
	case dot3 | subPHY:
		return f.PHY.decode(value)
	case dot3 | subDot3Aggregation:
		return f.Aggregation.decode(value, true)
	case dot3 | subMTU:
		return number(&f.MTU, value)
	}
	return false
}

// number takes over a number of which zero says that there is none.
func number(to *uint16, s string) bool {
	if len(s) != 2 || *to != 0 || be16(s) == 0 {
		return false
	}
	*to = be16(s)
	return true
}

func (c *Congestion) decode(s string) bool {
	if len(s) != 2 || c.Present {
		return false
	}
	*c = Congestion{s[0], s[1], true}
	return true
}

func (p *PHY) decode(s string) bool {
	if len(s) != 5 || p.Present {
		return false
	}
	*p = PHY{s[0], be16(s[1:]), be16(s[3:]), true}
	return true
}

func (a *Aggregation) decode(s string, dot3 bool) bool {
	if len(s) != 5 || a.Present {
		return false
	}
	*a = Aggregation{s[0], be32(s[1:]), dot3, true}
	return true
}

const etsLen = 21

func (e *ETS) decode(s string) bool {
	if len(s) != etsLen || e.Present {
		return false
	}
	e.Present = true
	e.Willing, e.CreditBased, e.MaxTCs = s[0]>>7 != 0, s[0]>>6&1 != 0, s[0]&7
	nibbles(&e.PriorityTC, s[1:])
	copy(e.Bandwidth[:], s[5:13])
	copy(e.Algorithm[:], s[13:21])
	return true
}

// nibbles reads a number for each priority: the first has the high half of the
// first byte.
func nibbles(list *[8]uint8, s string) {
	n := uint64(be32(s)) // eight of them, to be spread over eight bytes
	n = (n | n<<16) & 0x0000ffff0000ffff
	n = (n | n<<8) & 0x00ff00ff00ff00ff
	n = (n | n<<4) & 0x0f0f0f0f0f0f0f0f
	binary.BigEndian.PutUint64(list[:], n)
}

func (p *PFC) decode(s string) bool {
	if len(s) != 2 || p.Present {
		return false
	}
	p.Willing, p.MBC, p.Capability = s[0]>>7 != 0, s[0]>>6&1 != 0, s[0]&0xf
	p.Enabled, p.Present = s[1], true
	return true
}

func (a *Apps) decode(s string) bool {
	if len(s) < 1 || (len(s)-1)%appLen != 0 || a.Present {
		return false
	}
	*a = Apps{s[1:], true}
	return true
}
