// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

var (
	errCapability = errors.New("listening for LLDP needs CAP_NET_RAW")
	errNamespace  = errors.New("the interface is in another network namespace: run fabricd in the host's (hostNetwork)")
)

// Bounds of a socket.
const (
	maxFrame   = 2048             // bytes that are looked at: LLDP frames fit an ordinary MTU
	maxAtOnce  = 1024             // frames taken in one read; the kernel drops those beyond its buffer
	bufferSize = 1 << 20          // of the kernel, a port; net.core.rmem_max allows less
	retryAfter = 30 * time.Second // a socket that was refused
	lookAfter  = 10 * time.Second // at what is above the interface
)

// live listens on an interface of this machine. The socket is not waited on,
// and wakes nobody: frames wait in the kernel's buffer until the next read.
type live struct {
	name   string
	index  *probes.Attr
	above  func() bool // whoever is above the interface takes the frames (swallowed)
	looked time.Time
	tap    bool // take the frames before he does
	fd     int  // of the socket; noSocket
	on     int  // the interface's number
	err    error
	tried  time.Time
	buf    [maxFrame]byte
}

const noSocket = -1

func newLive(h *probes.Host, n *probes.Netdev, dir *probes.Dir) *live {
	above := func() bool { return swallowed(h, n.Path, dir) }
	return &live{name: path.Base(n.Path), index: dir.Attr("ifindex", 16), above: above, fd: noSocket}
}

// An Ear hands over the frames of one interface of this machine as they are,
// for who keeps no table. It is not safe for concurrent use.
type Ear struct {
	live *live
	dir  *probes.Dir
}

// NewEar begins to listen on an interface.
func NewEar(h *probes.Host, n *probes.Netdev) (*Ear, error) {
	dir, err := h.Dir(n.Path)
	if err != nil {
		return nil, err
	}
	e := &Ear{newLive(h, n, dir), dir}
	if err := e.live.follow(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// Receive hands over what came since the last call; the bytes are good until
// take returns.
func (e *Ear) Receive(take func(frame []byte)) error {
	_, err := e.live.receive(take)
	return err
}

// Close ends listening.
func (e *Ear) Close() {
	e.live.close()
	e.dir.Close()
}

func (l *live) close() {
	l.hangUp()
	l.index.Close()
}

func (l *live) hangUp() {
	if l.fd != noSocket {
		unix.Close(l.fd)
		l.fd = noSocket
	}
}

func (l *live) receive(take func([]byte)) (uint64, error) {
	if err := l.follow(); err != nil {
		return 0, err
	}
	l.drain(take)
	stats, err := unix.GetsockoptTpacketStats(l.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0, nil // the kernel does not tell
	}
	return uint64(stats.Drops), nil
}

func (l *live) drain(take func([]byte)) {
	for range maxAtOnce {
		n, err := unix.Read(l.fd, l.buf[:])
		switch {
		case err == nil:
			take(l.buf[:n])
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ENETDOWN): // the link's fall is told once
			return
		}
	}
}

// look sees whether what is above the interface takes the frames: an interface
// may join a bridge or Open vSwitch, or leave it, at any time.
func (l *live) look() {
	if time.Since(l.looked) < lookAfter {
		return
	}
	l.looked = time.Now()
	if tap := l.above(); tap != l.tap {
		l.tap = tap
		l.hangUp()
	}
}

// follow sees to it that the socket is on the interface that has the name now.
func (l *live) follow() error {
	text, err := l.index.Read()
	if err != nil {
		l.hangUp()
		return err
	}
	index, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	if l.look(); l.fd != noSocket && l.on == index {
		return nil
	}
	l.hangUp()
	if l.err != nil && l.on == index && time.Since(l.tried) < retryAfter {
		return l.err
	}
	l.on, l.tried = index, time.Now()
	l.fd, l.err = listen(l.name, index, l.tap)
	return l.err
}

// listen opens a socket on the interface that sysfs knows by this name and index.
func listen(name string, index int, tap bool) (fd int, err error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil || ifi.Index != index {
		return noSocket, errNamespace
	}
	protocol := EtherType
	if tap {
		protocol = unix.ETH_P_ALL
	}
	filter, err := bpf.Assemble(filterLLDP())
	if err != nil {
		return noSocket, err
	}
	c, err := packet.Listen(ifi, packet.Raw, protocol, &packet.Config{Filter: filter})
	if errors.Is(err, unix.EPERM) {
		return noSocket, errCapability
	}
	if err == nil {
		defer c.Close()
		fd, err = prepare(c)
	}
	if err != nil {
		return noSocket, fmt.Errorf("listen on %s: %w", probes.Printable(name), err)
	}
	return fd, nil
}

// prepare makes the NIC pass LLDP's groups, and takes the socket out of the
// runtime's hands: its poller wakes at each frame, whether anybody waits or not.
func prepare(c *packet.Conn) (fd int, err error) {
	for _, group := range Destinations() {
		if err := c.JoinGroup(group[:]); err != nil {
			return noSocket, err
		}
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return noSocket, err
	}
	var refused error
	err = raw.Control(func(own uintptr) {
		_ = unix.SetsockoptInt(int(own), unix.SOL_SOCKET, unix.SO_RCVBUF, bufferSize)
		fd, refused = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	})
	return fd, errors.Join(err, refused)
}

// filterLLDP passes LLDP that others sent, also with one VLAN tag that is still
// in the frame, and of it no more bytes than are looked at. What this machine
// sends is another LLDP agent's, or our own.
func filterLLDP() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipTrue: 5},
		bpf.LoadAbsolute{Off: ethernetHeader - 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: EtherType, SkipTrue: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: etherTypeVLAN, SkipFalse: 2},
		bpf.LoadAbsolute{Off: ethernetHeader + tagLen - 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: EtherType, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: maxFrame},
	}
}
