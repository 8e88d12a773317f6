// SPDX-License-Identifier: Apache-2.0

package qdisc

import (
	"encoding/binary"
	"fmt"

	"github.com/fabricd/fabricd/probes"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Of include/uapi/linux/rtnetlink.h, pkt_sched.h and gen_stats.h.
const (
	lenHeader = 20 // struct tcmsg

	attrKind   = 1
	attrStats2 = 7

	statsBasic = 1
	statsQueue = 3
	statsPkt64 = 8

	atRoot = 0xffffffff
)

// dump asks for all disciplines of the interfaces.
func dump(names map[uint32]string) ([]Qdisc, error) {
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	replies, err := c.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETQDISC, Flags: netlink.Request | netlink.Dump},
		Data:   make([]byte, lenHeader),
	})
	if err != nil {
		return nil, err
	}
	list := make([]Qdisc, 0, len(replies))
	for i := range replies {
		index, q, err := parse(replies[i].Data)
		if err != nil {
			return nil, err
		}
		if name, ok := names[index]; ok {
			q.Dev = name
			list = append(list, q)
		}
	}
	return list, nil
}

// parse reads one message: struct tcmsg and attributes.
func parse(b []byte) (index uint32, q Qdisc, err error) {
	if len(b) < lenHeader {
		return 0, q, fmt.Errorf("a queueing discipline of %d bytes", len(b))
	}
	native := binary.NativeEndian
	index = native.Uint32(b[4:])
	q.Handle = fmt.Sprintf("%x:", native.Uint32(b[8:])>>16)
	switch parent := native.Uint32(b[12:]); {
	case parent == atRoot:
		q.Root = true
	case parent>>16 == 0:
		q.Parent = fmt.Sprintf(":%x", parent)
	default:
		q.Parent = fmt.Sprintf("%x:%x", parent>>16, parent&0xffff)
	}
	d, err := netlink.NewAttributeDecoder(b[lenHeader:])
	if err != nil {
		return index, q, err
	}
	for d.Next() {
		switch d.Type() {
		case attrKind:
			q.Kind = probes.Printable(d.String())
		case attrStats2:
			d.Nested(q.stats)
		}
	}
	return index, q, d.Err()
}

// stats reads what was counted. What is too short is left out.
func (q *Qdisc) stats(d *netlink.AttributeDecoder) error {
	native := binary.NativeEndian
	for d.Next() {
		b := d.Bytes()
		switch d.Type() {
		case statsBasic:
			if len(b) >= 12 {
				q.Bytes = native.Uint64(b)
				q.Packets = max(q.Packets, uint64(native.Uint32(b[8:])))
			}
		case statsPkt64:
			if len(b) >= 8 {
				q.Packets = native.Uint64(b)
			}
		case statsQueue:
			if len(b) >= 20 {
				q.Qlen, q.Backlog = uint64(native.Uint32(b)), uint64(native.Uint32(b[4:]))
				q.Drops, q.Requeues, q.Overlimits = uint64(native.Uint32(b[8:])), uint64(native.Uint32(b[12:])), uint64(native.Uint32(b[16:]))
			}
		}
	}
	return d.Err()
}
