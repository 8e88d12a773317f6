// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"encoding/binary"
	"net/netip"
)

// Management is an address by which a system is managed.
type Management struct {
	Family    uint8 // of IANA: 1 IPv4, 2 IPv6, 6 a MAC address
	Address   string
	Numbering uint8
	Interface uint32
	OID       string
}

// IP gives the address if it is one.
func (m Management) IP() (netip.Addr, bool) { return ip(m.Family, m.Address) }

// String writes the address.
func (m Management) String() string { return addressText(m.Family, m.Address) }

// Management lists the addresses by which the system is managed.
func (f *Frame) Management() []Management {
	var list []Management
	for _, t := range f.Others {
		if m, ok := t.management(); ok {
			list = append(list, m)
		}
	}
	return list
}

const managementTail = 6 // numbering, interface, length of the object id

func (t TLV) management() (m Management, ok bool) {
	s := t.Value
	if t.Type != typeManagement || len(s) < 1 || s[0] < 2 || s[0] > 32 || len(s) < 1+int(s[0])+managementTail {
		return m, false
	}
	m = Management{Family: s[1], Address: s[2 : 1+s[0]]}
	s = s[1+s[0]:]
	m.Numbering, m.Interface, m.OID = s[0], be32(s[1:]), s[managementTail:]
	return m, int(s[5]) == len(m.OID)
}

// TLV makes the TLV. Addresses have 31 bytes at most, object ids 128.
func (m Management) TLV() TLV {
	address, oid := m.Address[:min(len(m.Address), 31)], m.OID[:min(len(m.OID), 128)]
	b := append([]byte{byte(1 + len(address)), m.Family}, address...)
	b = binary.BigEndian.AppendUint32(append(b, m.Numbering), m.Interface)
	return TLV{typeManagement, string(append(append(b, byte(len(oid))), oid...))}
}

// A VLAN is one by its name.
type VLAN struct {
	ID   uint16
	Name string
}

// VLANs lists the named VLANs of the port.
func (f *Frame) VLANs() []VLAN {
	var list []VLAN
	const head = orgHeader + 3
	for _, t := range f.Others {
		if s := t.Value; t.is(org8021, subVLANName) && len(s) >= head && int(s[head-1]) == len(s)-head {
			list = append(list, VLAN{be16(s[orgHeader:]), s[head:]})
		}
	}
	return list
}

// TLV makes the TLV. Names have 32 bytes at most.
func (v VLAN) TLV() TLV {
	name := v.Name[:min(len(v.Name), 32)]
	return TLV{typeOrganisation, org8021 + string([]byte{subVLANName, byte(v.ID >> 8), byte(v.ID), byte(len(name))}) + name}
}

// is says whether it is an organisation's TLV of a subtype.
func (t TLV) is(org string, subtype uint8) bool {
	return t.Type == typeOrganisation && len(t.Value) >= orgHeader && t.Value[:3] == org && t.Value[3] == subtype
}

// Apps is 802.1Qaz's map of applications to priorities.
type Apps struct {
	packed  string // three bytes each
	Present bool
}

// An App says which priority an application's packets have.
type App struct {
	Priority, Selector uint8
	Protocol           uint16
}

const appLen = 3

// NewApps makes a map; of more than 168 the rest is left out.
func NewApps(list ...App) Apps {
	var b []byte
	for _, a := range list[:min(len(list), (maxTLV-orgHeader-1)/appLen)] {
		b = append(b, a.Priority<<5|a.Selector&7, byte(a.Protocol>>8), byte(a.Protocol))
	}
	return Apps{string(b), true}
}

// Len is the number of entries.
func (a Apps) Len() int { return len(a.packed) / appLen }

// At gives an entry.
func (a Apps) At(i int) App {
	s := a.packed[i*appLen:]
	return App{Priority: s[0] >> 5, Selector: s[0] & 7, Protocol: be16(s[1:])}
}

// CEEApps is the map of applications.
type CEEApps struct {
	Feature
	packed string // six bytes each
}

// A CEEApp says which priorities an application's packets may have.
type CEEApp struct {
	Protocol   uint16
	Selector   uint8 // 0: EtherType, 1: port of TCP or UDP
	OUI        uint32
	Priorities uint8 // bit n: priority n
}

// NewCEEApps makes a map; of more than 64 the rest is left out.
func NewCEEApps(f Feature, list ...CEEApp) CEEApps {
	var b []byte
	for _, a := range list[:min(len(list), 64)] {
		b = append(b, byte(a.Protocol>>8), byte(a.Protocol), byte(a.OUI>>16)&0xfc|a.Selector&3, byte(a.OUI>>8), byte(a.OUI), a.Priorities)
	}
	return CEEApps{f, string(b)}
}

// Len is the number of entries.
func (a CEEApps) Len() int { return len(a.packed) / ceeAppLen }

// At gives an entry.
func (a CEEApps) At(i int) CEEApp {
	s := a.packed[i*ceeAppLen:]
	return CEEApp{
		Protocol: be16(s), Selector: s[2] & 3,
		OUI: uint32(s[2]&0xfc)<<16 | uint32(be16(s[3:])), Priorities: s[5],
	}
}
