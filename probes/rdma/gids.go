// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"

	"github.com/fabricd/fabricd/probes"
)

// MaxGIDs bounds the table that is read: hardware has 1 to 256 slots.
const MaxGIDs = 256

// A GIDType says which protocol an entry of the GID table is for.
type GIDType uint8

// Types of GIDs. One that cannot be read is unknown.
const (
	UnknownType GIDType = iota
	RoCEv1              // and InfiniBand
	RoCEv2
)

// String gives the type as the kernel spells it.
func (t GIDType) String() string { return [...]string{"unknown", "IB/RoCE v1", "RoCE v2"}[t] }

// A GID is an entry of a port's table that is not empty.
type GID struct {
	Index   int
	Address netip.Addr
	Type    GIDType
	Netdev  string // "" where the entry has none, or it cannot be read
}

// A Reach is how far an address leads.
type Reach uint8

// Reaches, the better ones greater.
const (
	LinkLocal Reach = iota
	RoutableIPv6
	RoutableIPv4
)

// Reach tells routable addresses from link-local ones. Unique local IPv6
// addresses and private IPv4 ones are routable: in the fabric they are routed.
func (g GID) Reach() Reach {
	a := g.Address.Unmap()
	switch {
	case a.IsLinkLocalUnicast() || a.IsLoopback() || a.IsMulticast() || a.IsUnspecified():
		return LinkLocal
	case a.Is4():
		return RoutableIPv4
	}
	return RoutableIPv6
}

// BestRoCEv2 finds the entry that an application should use: the first RoCE v2
// one with a routable IPv4 address, or with a routable IPv6 one if there is none.
func BestRoCEv2(gids []GID) (GID, bool) {
	best, found := GID{}, false
	for _, g := range gids {
		if g.Type == RoCEv2 && g.Reach() > LinkLocal && (!found || g.Reach() > best.Reach()) {
			best, found = g, true
		}
	}
	return best, found
}

// HasGIDs says whether the port has a table of GIDs.
func (p *Port) HasGIDs() bool { return p.gids != nil }

// GIDs reads the port's table, without its empty slots. Slots that cannot be
// read are counted; an error is that of the table.
func (p *Port) GIDs() (gids []GID, unread int, err error) {
	if p.gids == nil {
		return nil, 0, nil
	}
	files, err := p.gids.List()
	if err != nil {
		return nil, 0, err
	}
	for _, file := range files {
		n, err := strconv.Atoi(file)
		if err != nil || n < 0 || n >= MaxGIDs {
			continue
		}
		b, err := p.gids.ReadFile(file)
		a, ok := ParseGID(b)
		switch {
		case err != nil || !ok:
			unread++
		case !a.IsUnspecified():
			g := GID{Index: n, Address: a}
			g.Type, g.Netdev = readGIDType(p.types, file), readText(p.ndevs, file)
			gids = append(gids, g)
		}
	}
	slices.SortFunc(gids, func(a, b GID) int { return a.Index - b.Index })
	return gids, unread, nil
}

func readText(d *probes.Dir, name string) string {
	if d == nil {
		return ""
	}
	b, err := d.ReadFile(name)
	if err != nil {
		return ""
	}
	return probes.Printable(string(bytes.TrimSpace(b)))
}

func readGIDType(d *probes.Dir, name string) GIDType {
	switch readText(d, name) {
	case "RoCE v2":
		return RoCEv2
	case "IB/RoCE v1", "RoCE v1", "IB":
		return RoCEv1
	}
	return UnknownType
}

// ParseGID reads a GID: eight groups of four hexadecimal digits.
func ParseGID(b []byte) (netip.Addr, bool) {
	b = bytes.TrimSpace(b)
	if len(b) > 39 {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(string(b))
	return a, err == nil && a.Is6() && a.Zone() == ""
}
