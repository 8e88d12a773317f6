// SPDX-License-Identifier: Apache-2.0

package dcb

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Of dcbnl (include/uapi/linux/dcbnl.h).
const (
	cmdIEEEGet = 21

	attrName = 1
	attrIEEE = 13
	attrDCBX = 14

	ieeeETS     = 1
	ieeePFC     = 2
	ieeeApp     = 3
	ieeePeerETS = 4
	ieeePeerPFC = 5
	ieeePeerApp = 6
	ieeeMaxRate = 7
	ieeeBuffer  = 10
	ieeeTrust   = 11

	lenHeader = 4
	lenETS    = 59
	lenPFC    = 136
	lenApp    = 4
	lenBuffer = 44
)

// maxApps bounds a map: 64 DSCPs, 16 PCPs, and some protocols.
const maxApps = 256

// ask asks the kernel. The message names the interface, there is no index.
func ask(netdev string) (*Config, error) {
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	name, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: attrName, Data: append([]byte(netdev), 0)}})
	if err != nil {
		return nil, err
	}
	replies, err := c.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETDCB, Flags: netlink.Request},
		Data:   append([]byte{unix.AF_UNSPEC, cmdIEEEGet, 0, 0}, name...),
	})
	if err != nil {
		return nil, err
	}
	if len(replies) != 1 {
		return nil, fmt.Errorf("%d answers instead of one", len(replies))
	}
	return parse(replies[0].Data)
}

// parse reads an answer: struct dcbmsg and attributes.
func parse(b []byte) (*Config, error) {
	if len(b) < lenHeader {
		return nil, fmt.Errorf("an answer of %d bytes", len(b))
	}
	d, err := netlink.NewAttributeDecoder(b[lenHeader:])
	if err != nil {
		return nil, err
	}
	c := &Config{}
	for d.Next() {
		switch d.Type() {
		case attrIEEE:
			d.Nested(c.ieee)
		case attrDCBX:
			if b := d.Bytes(); len(b) > 0 {
				c.DCBX = dcbx(b[0])
			}
		}
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// ieee reads the settings. One that is too short is left out, as one that the
// driver does not have.
func (c *Config) ieee(d *netlink.AttributeDecoder) error {
	for d.Next() {
		b := d.Bytes()
		switch d.Type() {
		case ieeeETS:
			c.ETS = ets(b)
		case ieeePFC:
			c.PFC = pfc(b)
		case ieeeApp:
			c.App = apps(b)
		case ieeePeerETS:
			c.peer().ETS = ets(b)
		case ieeePeerPFC:
			if p := pfc(b); p != nil {
				c.peer().PFC = &PeerPFC{Cap: p.Cap, Enabled: p.Enabled}
			}
		case ieeePeerApp:
			c.peer().App = apps(b)
		case ieeeMaxRate:
			c.MaxRate = numbers(b)
		case ieeeBuffer:
			c.Buffer = buffer(b)
		case ieeeTrust:
			c.Trust = trust(b)
		}
	}
	return d.Err()
}

func (c *Config) peer() *Peer {
	if c.Peer == nil {
		c.Peer = &Peer{}
	}
	return c.Peer
}

func dcbx(mode byte) []string {
	var list []string
	for i, name := range [...]string{"host", "lld-managed", "cee", "ieee", "static"} {
		if mode>>i&1 != 0 {
			list = append(list, name)
		}
	}
	return list
}

func pfc(b []byte) *PFC {
	if len(b) < lenPFC {
		return nil
	}
	p := &PFC{Cap: int(b[0]), Enabled: []int{}, MBC: b[2] != 0, Delay: int(binary.NativeEndian.Uint16(b[4:]))}
	for i := range Priorities {
		if b[1]>>i&1 != 0 {
			p.Enabled = append(p.Enabled, i)
		}
		p.Requests[i] = binary.NativeEndian.Uint64(b[8+8*i:])
		p.Indications[i] = binary.NativeEndian.Uint64(b[72+8*i:])
	}
	return p
}

func ets(b []byte) *ETS {
	if len(b) < lenETS {
		return nil
	}
	e := &ETS{Willing: b[0] != 0, Cap: int(b[1])}
	for i := range Priorities {
		if b[27+i] >= Priorities {
			return nil
		}
		e.Bandwidth[i], e.Class[i] = int(b[3+i]), int(b[27+i])
		switch b[19+i] {
		case 0:
			e.Algorithm[i] = "strict"
		case 1:
			e.Algorithm[i] = "cbs"
		case 2:
			e.Algorithm[i] = "ets"
		default:
			e.Algorithm[i] = "vendor"
		}
	}
	return e
}

// selector names what an App or a trust is about.
func selector(n byte) string {
	switch n {
	case 1:
		return "ethertype"
	case 2:
		return "tcp"
	case 3:
		return "udp"
	case 4:
		return "any"
	case 5:
		return "dscp"
	case 255:
		return "pcp"
	}
	return fmt.Sprintf("selector %d", n)
}

// apps reads a map: an attribute for each entry, of type 1, of PCPs of type 2.
func apps(b []byte) []App {
	list := []App{}
	d, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return nil
	}
	for d.Next() && len(list) < maxApps {
		if b := d.Bytes(); len(b) >= lenApp && b[1] < Priorities {
			list = append(list, App{Selector: selector(b[0]), Priority: int(b[1]), Protocol: int(binary.NativeEndian.Uint16(b[2:]))})
		}
	}
	return list
}

func trust(b []byte) []string {
	var list []string
	d, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return nil
	}
	for d.Next() && len(list) < Priorities {
		if b := d.Bytes(); len(b) > 0 {
			list = append(list, selector(b[0]))
		}
	}
	return list
}

func numbers(b []byte) []uint64 {
	if len(b) < 8*Priorities {
		return nil
	}
	list := make([]uint64, Priorities)
	for i := range list {
		list[i] = binary.NativeEndian.Uint64(b[8*i:])
	}
	return list
}

func buffer(b []byte) *Buffer {
	if len(b) < lenBuffer {
		return nil
	}
	f := &Buffer{Total: binary.NativeEndian.Uint32(b[40:])}
	for i := range Priorities {
		f.Priority[i], f.Size[i] = int(b[i]), binary.NativeEndian.Uint32(b[8+4*i:])
	}
	return f
}
