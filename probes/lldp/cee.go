// SPDX-License-Identifier: Apache-2.0

package lldp

// CEE is DCBX from before the standard, version 1.01, as many switches still
// speak it: one TLV of sub-TLVs.
type CEE struct {
	Control Control
	Groups  CEEGroups
	PFC     CEEPFC
	Apps    CEEApps
	Present bool
}

// Control numbers the state of a side; it has to be there.
type Control struct {
	Operating, Most uint8 // versions
	Sequence, Ack   uint32
}

// A Feature heads each part of CEE.
type Feature struct {
	Operating, Most         uint8
	Enabled, Willing, Error bool
	Subtype                 uint8
	Present                 bool
}

// CEEGroups are priority groups, which ETS was made of.
type CEEGroups struct {
	Feature
	PriorityGroup [8]uint8 // 15: strict
	Bandwidth     [8]uint8 // percent by group
	TCs           uint8
}

// CEEPFC is priority flow control.
type CEEPFC struct {
	Feature
	Priorities uint8 // bit n: priority n
	TCs        uint8
}

// Types of sub-TLVs.
const (
	ceeControl = 1
	ceeGroups  = 2
	ceePFC     = 3
	ceeApp     = 4

	controlLen = 10
	featureLen = 4
	groupsLen  = 13
	ceePFCLen  = 2
	ceeAppLen  = 6

	flagEnabled = 1 << 7
	flagWilling = 1 << 6
	flagError   = 1 << 5
)

// CEE gives what the first TLV says of those that are understood.
func (f *Frame) CEE() CEE {
	for _, t := range f.Others {
		var c CEE
		if t.is(orgCEE, subCEE) && c.decode(t.Value[orgHeader:]) {
			return c
		}
	}
	return CEE{}
}

// decode reads the sub-TLVs. Unknown ones are passed over; one that is broken,
// or there twice, makes all of it not understood.
func (c *CEE) decode(s string) bool {
	for i := 0; i < len(s); {
		t, end, ok := tlvAt(s, i)
		if !ok || !c.sub(t) {
			return false
		}
		i = end
	}
	return c.Present
}

func (c *CEE) sub(t TLV) bool {
	switch s := t.Value; t.Type {
	case ceeControl:
		if len(s) != controlLen || c.Present {
			return false
		}
		c.Control, c.Present = Control{s[0], s[1], be32(s[2:]), be32(s[6:])}, true
	case ceeGroups:
		return c.Groups.decode(s)
	case ceePFC:
		return c.PFC.decode(s)
	case ceeApp:
		return c.Apps.decode(s)
	}
	return true
}

func (f *Feature) decode(s string, n int) bool {
	if len(s) < featureLen+n || f.Present {
		return false
	}
	*f = Feature{
		Operating: s[0], Most: s[1], Subtype: s[3], Present: true,
		Enabled: s[2]&flagEnabled != 0, Willing: s[2]&flagWilling != 0, Error: s[2]&flagError != 0,
	}
	return true
}

func (g *CEEGroups) decode(s string) bool {
	if !g.Feature.decode(s, groupsLen) {
		return false
	}
	s = s[featureLen:]
	nibbles(&g.PriorityGroup, s)
	copy(g.Bandwidth[:], s[4:12])
	g.TCs = s[12]
	return true
}

func (p *CEEPFC) decode(s string) bool {
	if !p.Feature.decode(s, ceePFCLen) {
		return false
	}
	p.Priorities, p.TCs = s[featureLen], s[featureLen+1]
	return true
}

// On gives the priorities that have it: none where the feature is off.
func (p *CEEPFC) On() uint8 {
	if !p.Enabled {
		return 0
	}
	return p.Priorities
}

func (a *CEEApps) decode(s string) bool {
	if !a.Feature.decode(s, 0) || (len(s)-featureLen)%ceeAppLen != 0 {
		return false
	}
	a.packed = s[featureLen:]
	return true
}
