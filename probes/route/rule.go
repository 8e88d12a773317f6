// SPDX-License-Identifier: Apache-2.0

package route

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
)

// Of include/uapi/linux/fib_rules.h: attributes, and flags of the header.
const (
	fraDestination    = 1
	fraSource         = 2
	fraInput          = 3
	fraGoto           = 4
	fraPriority       = 6
	fraMark           = 10
	fraRealms         = 11 // no condition
	fraTunnel         = 12
	fraSuppressGroup  = 13
	fraSuppressLength = 14 // always there
	fraTable          = 15
	fraMask           = 16
	fraOutput         = 17
	fraUsers          = 20
	fraProtocol       = 21 // who made the rule
	fraIPProtocol     = 22
	fraSourcePort     = 23
	fraPort           = 24

	tos = 3 // in the header

	ruleInvert     = 0x2
	ruleUnresolved = 0x4 // where to go there is no rule
)

// actions are the kernel's numbers: FR_ACT_TO_TBL…
var actions = map[byte]Action{1: Lookup, 2: Goto, 3: Nop, 6: Blackhole, 7: Unreachable, 8: Prohibit}

// rule takes a struct fib_rule_hdr, which is laid out as rtmsg.
func (s *State) rule(family byte, b []byte, _ map[int]string) {
	if len(b) < unix.SizeofRtMsg {
		return
	}
	action, known := actions[b[7]]
	a := attributes(b[unix.SizeofRtMsg:])
	from, ok := network(family, a[fraSource], b[2])
	if !ok || !known {
		return
	}
	const flags = 8
	set := binary.NativeEndian.Uint32(b[flags:])
	r := Rule{Priority: number(a[fraPriority]), From: from, Table: int(b[4]), Action: action, Not: set&ruleInvert != 0, Other: b[tos] != 0}
	if t := a[fraTable]; t != nil {
		r.Table = number(t)
	}
	if set&ruleUnresolved == 0 {
		r.Target = number(a[fraGoto])
	}
	for kind := range a {
		switch kind {
		case fraSource, fraGoto, fraPriority, fraTable, fraProtocol, fraRealms, fraSuppressLength, fraSuppressGroup:
		default:
			r.Other = true
		}
	}
	r.Input = name(a[fraInput])
	r.Where = conditions(b, a)
	r.Suppress = suppressors(a)
	r.Other = r.Other || r.Suppress != ""
	s.Rules = append(s.Rules, r)
}

// suppressors writes which of the routes that are found a rule does not take, as
// iproute2 does.
func suppressors(a map[uint16][]byte) string {
	var list []string
	if n := a[fraSuppressLength]; n != nil && uint32(number(n)) != math.MaxUint32 { // -1: none
		list = append(list, fmt.Sprintf("suppress_prefixlength %d", number(n)))
	}
	if n := a[fraSuppressGroup]; n != nil {
		list = append(list, fmt.Sprintf("suppress_ifgroup %d", number(n)))
	}
	return strings.Join(list, " ")
}

// conditions writes what else a rule asks of a packet, as iproute2 does.
func conditions(b []byte, a map[uint16][]byte) string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if p, ok := prefix(a[fraDestination], b[1]); ok {
		add("to %s", p)
	}
	if n := b[tos]; n != 0 {
		add("tos 0x%02x", n)
	}
	if mark, mask := uint32(number(a[fraMark])), a[fraMask]; mask != nil && uint32(number(mask)) != math.MaxUint32 {
		add("fwmark %#x/%#x", mark, uint32(number(mask)))
	} else if a[fraMark] != nil {
		add("fwmark %#x", mark)
	}
	if n := a[fraInput]; n != nil {
		add("iif %s", name(n))
	}
	if n := a[fraOutput]; n != nil {
		add("oif %s", name(n))
	}
	if n := a[fraUsers]; len(n) >= 8 {
		add("uidrange %d-%d", binary.NativeEndian.Uint32(n), binary.NativeEndian.Uint32(n[4:]))
	}
	if n := a[fraTunnel]; len(n) >= 8 {
		add("tun_id %d", binary.BigEndian.Uint64(n))
	}
	if n := a[fraIPProtocol]; len(n) > 0 {
		add("ipproto %s", protocol(n[0]))
	}
	for _, side := range []struct {
		word string
		is   []byte
	}{{"sport", a[fraSourcePort]}, {"dport", a[fraPort]}} {
		if n := side.is; len(n) >= 4 {
			add("%s %s", side.word, ports(binary.NativeEndian.Uint16(n), binary.NativeEndian.Uint16(n[2:])))
		}
	}
	return strings.Join(list, " ")
}

func name(b []byte) string { return probes.Printable(strings.TrimRight(string(b), "\x00")) }

func protocol(n byte) string {
	if known := map[byte]string{1: "icmp", 6: "tcp", 17: "udp", 58: "ipv6-icmp"}[n]; known != "" {
		return known
	}
	return fmt.Sprint(n)
}

func ports(from, to uint16) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d-%d", from, to)
}
