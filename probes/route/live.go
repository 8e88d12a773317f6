// SPDX-License-Identifier: Apache-2.0

package route

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
)

// live asks the kernel. It wants no rights.
func live() (*State, error) {
	s := &State{}
	names := map[int]string{}
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	for _, ifi := range list {
		names[ifi.Index] = probes.Printable(ifi.Name)
	}
	for _, ask := range []struct {
		what string
		kind int
		take func(family byte, body []byte, names map[int]string)
	}{
		{"addresses", unix.RTM_GETADDR, s.address},
		{"routes", unix.RTM_GETROUTE, s.route},
		{"rules", unix.RTM_GETRULE, s.rule},
	} {
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			if err := dump(ask.kind, family, func(body []byte) { ask.take(byte(family), body, names) }); err != nil {
				return nil, fmt.Errorf("%s: %w", ask.what, err)
			}
		}
	}
	return s, nil
}

// dump asks for all objects of a kind.
func dump(kind, family int, take func(body []byte)) error {
	b, err := syscall.NetlinkRIB(kind, family)
	if err != nil {
		return err
	}
	messages, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.Header.Type != unix.NLMSG_DONE && m.Header.Type != unix.NLMSG_ERROR {
			take(m.Data)
		}
	}
	return nil
}

// attributes reads the attributes after a message's fixed part; of those that
// are there twice the last.
func attributes(b []byte) map[uint16][]byte {
	all := map[uint16][]byte{}
	for len(b) >= unix.SizeofRtAttr {
		n, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])&^unix.NLA_F_NESTED
		if n < unix.SizeofRtAttr || n > len(b) {
			break
		}
		all[kind] = b[unix.SizeofRtAttr:n]
		b = b[min((n+3)&^3, len(b)):]
	}
	return all
}

func number(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return int(binary.NativeEndian.Uint32(b))
}

func address(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}

func prefix(b []byte, bits byte) (netip.Prefix, bool) {
	p := netip.PrefixFrom(address(b), int(bits))
	return p, p.IsValid()
}

// network is prefix of an attribute that is left out where any address is meant.
func network(family byte, b []byte, bits byte) (netip.Prefix, bool) {
	switch {
	case b != nil:
		return prefix(b, bits)
	case family == unix.AF_INET6:
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0), true
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0), true
}

// address takes a struct ifaddrmsg.
func (s *State) address(_ byte, b []byte, names map[int]string) {
	if len(b) < unix.SizeofIfAddrmsg {
		return
	}
	a := attributes(b[unix.SizeofIfAddrmsg:])
	own := a[unix.IFA_LOCAL] // of IPv4, where IFA_ADDRESS may be the peer's
	if own == nil {
		own = a[unix.IFA_ADDRESS]
	}
	if p, ok := prefix(own, b[1]); ok {
		s.Addresses = append(s.Addresses, Address{names[int(binary.NativeEndian.Uint32(b[4:]))], p})
	}
}

// routeActions are the kernel's numbers of routes to other machines, and of
// those that keep packets from them.
var routeActions = map[byte]Action{unix.RTN_UNICAST: Send, unix.RTN_BLACKHOLE: Blackhole, unix.RTN_UNREACHABLE: Unreachable, unix.RTN_PROHIBIT: Prohibit, unix.RTN_THROW: Throw}

// route takes a struct rtmsg. Only routes to other machines count: none of the
// machine's own addresses, of broadcasts, or from the cache.
func (s *State) route(family byte, b []byte, names map[int]string) {
	if len(b) < unix.SizeofRtMsg || binary.NativeEndian.Uint32(b[8:])&unix.RTM_F_CLONED != 0 {
		return
	}
	action, known := routeActions[b[7]]
	if !known {
		return
	}
	a := attributes(b[unix.SizeofRtMsg:])
	p, ok := network(family, a[unix.RTA_DST], b[1])
	if !ok {
		return
	}
	r := Route{Table: int(b[4]), To: p, Gateway: address(a[unix.RTA_GATEWAY]), Netdev: names[number(a[unix.RTA_OIF])], Source: address(a[unix.RTA_PREFSRC])}
	if t := a[unix.RTA_TABLE]; t != nil {
		r.Table = number(t)
	}
	if action != Send {
		r = Route{Action: action, Table: r.Table, To: r.To} // IPv6 names the loopback
	}
	s.Routes = append(s.Routes, r)
}
