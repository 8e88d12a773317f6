// SPDX-License-Identifier: Apache-2.0

package lldp

import "encoding/binary"

const minFrame = 60 // of Ethernet, without its checksum

// Append appends the frame, from the destination address to the padding. What
// does not fit its place is cut: texts at 255 bytes, values at 511.
func (f *Frame) Append(b []byte) []byte {
	start := len(b)
	b = append(b, f.Destination[:]...)
	b = append(b, f.Source[:]...)
	if f.VLAN != 0 {
		b = append(b, etherTypeVLAN>>8, etherTypeVLAN&0xff, byte(f.VLAN>>8), byte(f.VLAN))
	}
	b = append(b, EtherType>>8, EtherType&0xff)
	b = appendID(b, typeChassis, f.Chassis.Subtype, f.Chassis.Value)
	b = appendID(b, typePort, f.Port.Subtype, f.Port.Value)
	b = append(b, typeTTL<<1, 2, byte(f.TTL>>8), byte(f.TTL))
	b = f.appendSystem(b)
	b = f.appendDot1(b)
	b = f.appendDot3(b)
	for _, t := range f.Others {
		b = appendTLV(b, t.Type, t.Value[:min(len(t.Value), maxTLV)])
	}
	b = append(b, typeEnd, 0)
	for len(b)-start < minFrame {
		b = append(b, 0)
	}
	return b
}

func appendTLV(b []byte, kind uint8, value string) []byte {
	return append(appendHeader(b, kind, len(value)), value...)
}

func appendHeader(b []byte, kind uint8, n int) []byte {
	return append(b, kind<<1|byte(n>>8&1), byte(n))
}

func appendID(b []byte, kind, subtype uint8, value string) []byte {
	value = value[:min(len(value), maxID-1)]
	return append(append(appendHeader(b, kind, 1+len(value)), subtype), value...)
}

func (f *Frame) appendSystem(b []byte) []byte {
	for i, text := range [...]string{f.PortDescription, f.SystemName, f.SystemDescription} {
		if text != "" {
			b = appendTLV(b, typePortDescription+uint8(i), text[:min(len(text), maxTLV)])
		}
	}
	if c := f.Capabilities; c.Present {
		b = append(b, typeCapabilities<<1, 4, byte(c.Available>>8), byte(c.Available), byte(c.Enabled>>8), byte(c.Enabled))
	}
	return b
}

func appendOrg(b []byte, org string, subtype uint8, n int) []byte {
	return append(append(appendHeader(b, typeOrganisation, orgHeader+n), org...), subtype)
}

func (f *Frame) appendDot1(b []byte) []byte {
	if f.PVID != 0 {
		b = binary.BigEndian.AppendUint16(appendOrg(b, org8021, subPVID, 2), f.PVID)
	}
	if a := f.Aggregation; a.Present && !a.Dot3 {
		b = a.append(appendOrg(b, org8021, subAggregation, 5))
	}
	if c := f.Congestion; c.Present {
		b = append(appendOrg(b, org8021, subCongestion, 2), c.Enabled, c.Ready)
	}
	if f.ETS.Present {
		b = f.ETS.append(appendOrg(b, org8021, subETS, etsLen))
	}
	if f.Recommended.Present {
		b = f.Recommended.append(appendOrg(b, org8021, subRecommendation, etsLen))
	}
	if p := f.PFC; p.Present {
		b = append(appendOrg(b, org8021, subPFC, 2), flag(p.Willing, 7)|flag(p.MBC, 6)|p.Capability&0xf, p.Enabled)
	}
	if f.Apps.Present {
		b = append(appendOrg(b, org8021, subApp, 1+len(f.Apps.packed)), 0)
		b = append(b, f.Apps.packed...)
	}
	return b
}

func (f *Frame) appendDot3(b []byte) []byte {
	if p := f.PHY; p.Present {
		b = append(appendOrg(b, org8023, subPHY, 5), p.Autonegotiation)
		b = binary.BigEndian.AppendUint16(b, p.Advertised)
		b = binary.BigEndian.AppendUint16(b, p.MAU)
	}
	if a := f.Aggregation; a.Present && a.Dot3 {
		b = a.append(appendOrg(b, org8023, subDot3Aggregation, 5))
	}
	if f.MTU != 0 {
		b = binary.BigEndian.AppendUint16(appendOrg(b, org8023, subMTU, 2), f.MTU)
	}
	return b
}

func (a *Aggregation) append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(append(b, a.Status), a.ID)
}

func (e *ETS) append(b []byte) []byte {
	b = append(b, flag(e.Willing, 7)|flag(e.CreditBased, 6)|e.MaxTCs&7)
	b = appendNibbles(b, e.PriorityTC)
	b = append(b, e.Bandwidth[:]...)
	return append(b, e.Algorithm[:]...)
}

func appendNibbles(b []byte, list [8]uint8) []byte {
	for i := 0; i < len(list); i += 2 {
		b = append(b, list[i]<<4|list[i+1]&0xf)
	}
	return b
}

func flag(set bool, bit uint) uint8 {
	if set {
		return 1 << bit
	}
	return 0
}

// TLV makes the TLV.
func (c *CEE) TLV() TLV {
	b := appendHeader(append([]byte(orgCEE), subCEE), ceeControl, controlLen)
	b = append(b, c.Control.Operating, c.Control.Most)
	b = binary.BigEndian.AppendUint32(b, c.Control.Sequence)
	b = binary.BigEndian.AppendUint32(b, c.Control.Ack)
	if g := &c.Groups; g.Present {
		b = g.Feature.append(appendHeader(b, ceeGroups, featureLen+groupsLen))
		b = append(append(appendNibbles(b, g.PriorityGroup), g.Bandwidth[:]...), g.TCs)
	}
	if p := &c.PFC; p.Present {
		b = append(p.Feature.append(appendHeader(b, ceePFC, featureLen+ceePFCLen)), p.Priorities, p.TCs)
	}
	if a := &c.Apps; a.Present {
		b = append(a.Feature.append(appendHeader(b, ceeApp, featureLen+len(a.packed))), a.packed...)
	}
	return TLV{typeOrganisation, string(b)}
}

func (f *Feature) append(b []byte) []byte {
	return append(b, f.Operating, f.Most, flag(f.Enabled, 7)|flag(f.Willing, 6)|flag(f.Error, 5), f.Subtype)
}
