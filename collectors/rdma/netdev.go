// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"bytes"
	"errors"
	"math"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/rdma"
)

const classNet = "sys/class/net"

// interfaceUp is IFF_UP of an interface's flags.
const interfaceUp = 1

// netdev reads an interface; one that comes back under its name is another.
type netdev struct {
	h       *probes.Host
	now     Netdev
	dir     *probes.Dir
	id      uint64
	flags   *probes.Attr
	mtu     *probes.Attr
	changes *probes.Attr
	carrier *probes.Attr
	wasUp   bool // it had carrier since fabricd started
	off     bool // it was switched off at the last look
	rises   bool // it was so once, and had no carrier since
}

// follow turns to the interface of a name, which may be "" or new.
func (n *netdev) follow(name, dirname string, generation uint64) {
	dir, id := n.open(dirname)
	if dir != nil && n.dir != nil && name == n.now.Name && id == n.id {
		dir.Close()
		return
	}
	n.close()
	n.dir, n.id, n.now = dir, id, Netdev{Name: name, Epoch: generation}
	if dir != nil {
		n.flags, n.mtu, n.changes, n.carrier = dir.Attr("flags", 32), dir.Attr("mtu", 32), dir.Attr("carrier_changes", 32), dir.Attr("carrier", 32)
	}
}

func (n *netdev) open(dirname string) (*probes.Dir, uint64) {
	if dirname == "" {
		return nil, 0
	}
	dir, err := n.h.Dir(dirname)
	if err != nil {
		return nil, 0
	}
	id, err := dir.Identity()
	if err != nil {
		dir.Close()
		return nil, 0
	}
	return dir, id
}

func (n *netdev) close() {
	if n.dir == nil {
		return
	}
	for _, a := range []*probes.Attr{n.flags, n.mtu, n.changes, n.carrier} {
		a.Close()
	}
	n.dir.Close()
	n.dir = nil
}

// read takes what the interface says now, and says whether that is new.
func (n *netdev) read() (changed bool) {
	if n.dir == nil {
		return false
	}
	now := Netdev{Name: n.now.Name, Epoch: n.now.Epoch}
	if b, err := n.flags.Read(); err == nil {
		flags, ok := parseHex(b)
		now.Up = Flag{flags&interfaceUp != 0, ok}
	}
	now.MTU = int(number(n.mtu).V)
	now.CarrierChanges = number(n.changes)
	b, err := n.carrier.Read()
	now.Carrier = Flag{bytes.Equal(bytes.TrimSpace(b), []byte("1")), err == nil}
	n.wasUp = n.wasUp || now.Carrier.V
	now.WasUp = n.wasUp
	// A driver that closes its interface drops the carrier first and the flag at last; meanwhile the kernel refuses
	// to tell of a carrier.
	now.Losses = n.losses(&now, now.Up.OK && !now.Up.V || errors.Is(err, syscall.EINVAL))
	changed = now != n.now
	n.now = now
	return changed
}

// losses counts what of the carrier's changes since the look before was none of
// an administrator's.
func (n *netdev) losses(now *Netdev, off bool) Count {
	then, sum := &n.now, n.now.Losses.V
	wasOff, rises := n.off, n.rises
	n.off, n.rises = off, off || (wasOff || rises) && !now.Carrier.V
	if off || wasOff || !then.CarrierChanges.OK || now.CarrierChanges.V <= then.CarrierChanges.V {
		return Count{sum, now.CarrierChanges.OK}
	}
	sum += now.CarrierChanges.V - then.CarrierChanges.V
	if rises && now.Carrier.V { // the last of them is its return
		sum--
	}
	return Count{sum, now.CarrierChanges.OK}
}

// parseHex reads 0x1003.
func parseHex(b []byte) (v uint64, ok bool) {
	b = bytes.TrimPrefix(b, []byte("0x"))
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	for _, c := range b {
		digit := bytes.IndexByte([]byte("0123456789abcdef"), c)
		if digit < 0 {
			return 0, false
		}
		v = v<<4 | uint64(digit)
	}
	return v, true
}

func number(a *probes.Attr) Count {
	b, err := a.Read()
	if err != nil {
		return Count{}
	}
	v, err := rdma.ParseCounter(b)
	return Count{v, err == nil && v <= math.MaxInt32}
}

// A netdevReader reads an interface that has no RDMA device.
type netdevReader struct {
	netdev
	unit    string
	address string
	seen    uint64
	at      time.Duration
	last    *Reading
}

func openNetdev(h *probes.Host, name string) (collectors.Reader[Reading], error) {
	return &netdevReader{netdev: netdev{h: h}, unit: name}, nil
}

func (r *netdevReader) Close() { r.close() }

// Read takes one reading; it is the one before if nothing changed.
func (r *netdevReader) Read(at time.Duration) (*Reading, error) {
	if inv := r.h.Inventory(); inv.Generation != r.seen {
		r.seen, r.last = inv.Generation, nil
		r.find(inv)
	} else if at-r.at < stateEvery {
		return r.last, nil
	}
	if r.dir == nil {
		return nil, notExist(r.unit)
	}
	r.at = at
	if r.read() || r.last == nil {
		n := r.now
		r.last = &Reading{Address: r.address, Netdev: &n}
	}
	return r.last, nil
}

func (r *netdevReader) find(inv *probes.Inventory) {
	for _, n := range inv.Netdevs {
		if n.Name == r.unit {
			r.address = n.Function.Address
			r.follow(n.Name, n.Path, inv.Generation)
			return
		}
	}
	r.follow("", "", inv.Generation)
}
