// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Of RDMA netlink (include/uapi/rdma/rdma_netlink.h).
const (
	clientNLDev = 5

	cmdGet     = 1
	cmdPortGet = 5
	cmdStatGet = 17

	attrDevIndex   = 1
	attrDevName    = 2
	attrPortIndex  = 3
	attrNdevName   = 51
	attrHWCounters = 80
	attrEntry      = 81
	attrEntryName  = 82
	attrEntryValue = 83
)

// nldev asks the kernel by RDMA netlink.
type nldev struct {
	c      *netlink.Conn
	device string
	index  uint32 // of the device
}

// dialNLDev finds a device. Reading needs no privilege, but the network
// namespace of the device.
func dialNLDev(device string) (*nldev, error) {
	c, err := netlink.Dial(unix.NETLINK_RDMA, nil)
	if err != nil {
		return nil, err
	}
	n := &nldev{c: c, device: device}
	replies, err := n.execute(cmdGet, netlink.Dump, nil)
	if err != nil {
		c.Close()
		return nil, err
	}
	for _, m := range replies {
		if index, name, err := parseDevice(m.Data); err == nil && name == device {
			n.index = index
			return n, nil
		}
	}
	c.Close()
	return nil, fmt.Errorf("RDMA netlink knows no %s: %w", device, errors.ErrUnsupported)
}

func (n *nldev) execute(cmd int, flags netlink.HeaderFlags, attributes []netlink.Attribute) ([]netlink.Message, error) {
	b, err := netlink.MarshalAttributes(attributes)
	if err != nil {
		return nil, err
	}
	return n.c.Execute(netlink.Message{Header: netlink.Header{Type: netlink.HeaderType(clientNLDev<<10 | cmd), Flags: netlink.Request | flags}, Data: b})
}

func (n *nldev) port(cmd, port int) ([]byte, error) {
	number := func(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }
	replies, err := n.execute(cmd, 0, []netlink.Attribute{{Type: attrDevIndex, Data: number(n.index)}, {Type: attrPortIndex, Data: number(uint32(port))}})
	if err != nil {
		return nil, err
	}
	if len(replies) != 1 {
		return nil, fmt.Errorf("%d answers instead of one", len(replies))
	}
	return replies[0].Data, nil
}

func (n *nldev) netdev(port int) (string, error) {
	b, err := n.port(cmdPortGet, port)
	if err != nil {
		return "", err
	}
	return parseNetdev(b)
}

func (n *nldev) statistics(port int, each func(name []byte, v uint64)) error {
	b, err := n.port(cmdStatGet, port)
	if err != nil {
		return err
	}
	return parseStatistics(b, each)
}

func (n *nldev) close() { n.c.Close() }

func parseDevice(b []byte) (index uint32, name string, err error) {
	d, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return 0, "", err
	}
	for d.Next() {
		switch d.Type() {
		case attrDevIndex:
			index = d.Uint32()
		case attrDevName:
			name = d.String()
		}
	}
	return index, name, d.Err()
}

func parseNetdev(b []byte) (name string, err error) {
	d, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return "", err
	}
	for d.Next() {
		if d.Type() == attrNdevName {
			name = d.String()
		}
	}
	return name, d.Err()
}

// parseStatistics gives the counters of an answer; the names are good during
// the call only.
func parseStatistics(b []byte, each func(name []byte, v uint64)) error {
	d, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return err
	}
	for d.Next() {
		if d.Type() == attrHWCounters {
			d.Nested(func(list *netlink.AttributeDecoder) error {
				for list.Next() {
					if list.Type() == attrEntry {
						list.Nested(func(e *netlink.AttributeDecoder) error { return parseEntry(e, each) })
					}
				}
				return list.Err()
			})
		}
	}
	return d.Err()
}

func parseEntry(e *netlink.AttributeDecoder, each func(name []byte, v uint64)) error {
	var name []byte
	var v uint64
	known := false
	for e.Next() {
		switch e.Type() {
		case attrEntryName:
			name = e.Bytes()
			for len(name) > 0 && name[len(name)-1] == 0 {
				name = name[:len(name)-1]
			}
		case attrEntryValue:
			v, known = e.Uint64(), true
		}
	}
	if err := e.Err(); err != nil {
		return err
	}
	if len(name) > 0 && len(name) <= maxName && known {
		each(name, v)
	}
	return nil
}
