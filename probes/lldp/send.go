// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"errors"
	"fmt"
	"net"
	"path"

	"github.com/fabricd/fabricd/probes"
	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// ErrRecorded says that a recording's interfaces send nothing.
var ErrRecorded = errors.New("a recording sends nothing")

// A Sender sends frames on one interface of this machine. It is not safe for
// concurrent use.
type Sender struct {
	conn *packet.Conn
	name string
	buf  []byte
}

// NewSender prepares to send on an interface.
func NewSender(h *probes.Host, n *probes.Netdev) (*Sender, error) {
	if h.Recorded() {
		return nil, ErrRecorded
	}
	ifi, err := net.InterfaceByName(path.Base(n.Path))
	if err != nil {
		return nil, errNamespace
	}
	c, err := packet.Listen(ifi, packet.Raw, receiveNothing, nil)
	if errors.Is(err, unix.EPERM) {
		return nil, errors.New("sending LLDP needs CAP_NET_RAW")
	}
	if err != nil {
		return nil, fmt.Errorf("send on %s: %w", n.Name, err)
	}
	return &Sender{conn: c, name: n.Name}, nil
}

// receiveNothing is the protocol of a socket that only sends. The number is
// nobody's (0xffff is reserved): zero would be taken for all protocols by some.
const receiveNothing = 0xffff

// Send sends a frame.
func (s *Sender) Send(f *Frame) error {
	s.buf = f.Append(s.buf[:0])
	if _, err := s.conn.WriteTo(s.buf, &packet.Addr{HardwareAddr: f.Destination[:]}); err != nil {
		return fmt.Errorf("send on %s: %w", s.name, err)
	}
	return nil
}

// Close ends sending.
func (s *Sender) Close() { s.conn.Close() }

// Shutdown makes the frame that takes back what f said.
func (f *Frame) Shutdown() *Frame {
	return &Frame{Destination: f.Destination, Source: f.Source, Chassis: f.Chassis, Port: f.Port}
}

// Announcement is what a machine says of itself on one port.
type Announcement struct {
	Chassis      MAC // the same on all ports
	Host, System string
	TTL          uint16
}

// headers are the bytes of a frame that an MTU does not count: addresses,
// type and checksum.
const headers = 18

// Frame makes the frame for a port.
func (a Announcement) Frame(n *probes.Netdev) (*Frame, error) {
	source, err := net.ParseMAC(n.MAC)
	if err != nil || len(source) != macLen {
		return nil, fmt.Errorf("%s has no Ethernet address: %q", n.Name, n.MAC)
	}
	f := &Frame{
		Destination: Destinations()[0], Source: MAC(source), TTL: a.TTL,
		Chassis:         ChassisID{ChassisMAC, string(a.Chassis[:])},
		Port:            PortID{PortName, n.Name},
		PortDescription: n.Name, SystemName: a.Host, SystemDescription: a.System,
		Capabilities: Capabilities{CapStation, CapStation, true},
	}
	if mtu := n.MTU + headers; n.MTU > 0 && mtu <= 0xffff {
		f.MTU = uint16(mtu)
	}
	return f, nil
}
