// SPDX-License-Identifier: Apache-2.0

package lldp

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

// organisation takes over an organisation's TLV.
func (f *Frame) organisation(s string) bool {
	if len(s) < orgHeader {
		return false
	}
	value := s[orgHeader:]
	switch s[:3] {
	case org8021:
		return f.dot1(s[3], value)
	case org8023:
		return f.dot3(s[3], value)
	}
	return false
}

func (f *Frame) dot1(subtype uint8, s string) bool {
	switch subtype {
	case subPVID:
		if len(s) != 2 || f.PVID != 0 || be16(s) == 0 {
			return false
		}
		f.PVID = be16(s)
		return true
	case subAggregation:
		return f.Aggregation.decode(s, false)
	case subCongestion:
		if len(s) != 2 || f.Congestion.Present {
			return false
		}
		f.Congestion = Congestion{s[0], s[1], true}
		return true
	case subETS:
		return f.ETS.decode(s)
	case subRecommendation:
		return f.Recommended.decode(s)
	case subPFC:
		return f.PFC.decode(s)
	case subApp:
		return f.Apps.decode(s)
	}
	return false
}

func (f *Frame) dot3(subtype uint8, s string) bool {
	switch subtype {
	case subPHY:
		if len(s) != 5 || f.PHY.Present {
			return false
		}
		f.PHY = PHY{s[0], be16(s[1:]), be16(s[3:]), true}
		return true
	case subDot3Aggregation:
		return f.Aggregation.decode(s, true)
	case subMTU:
		if len(s) != 2 || f.MTU != 0 || be16(s) == 0 {
			return false
		}
		f.MTU = be16(s)
		return true
	}
	return false
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
	e.PriorityTC = nibbles(s[1:])
	copy(e.Bandwidth[:], s[5:])
	copy(e.Algorithm[:], s[13:])
	return true
}

// nibbles gives a number for each priority: the first has the high half of the
// first byte.
func nibbles(s string) (list [8]uint8) {
	for i := range len(list) / 2 {
		list[2*i], list[2*i+1] = s[i]>>4, s[i]&0xf
	}
	return list
}

func (p *PFC) decode(s string) bool {
	if len(s) != 2 || p.Present {
		return false
	}
	*p = PFC{Willing: s[0]>>7 != 0, MBC: s[0]>>6&1 != 0, Capability: s[0] & 0xf, Enabled: s[1], Present: true}
	return true
}

func (a *Apps) decode(s string) bool {
	if len(s) < 1 || (len(s)-1)%appLen != 0 || a.Present {
		return false
	}
	*a = Apps{s[1:], true}
	return true
}
