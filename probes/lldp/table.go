// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"errors"
	"slices"
	"time"
)

// maxNeighbours bounds a port's table. Those that are there keep their place
// while there is link: whoever makes up names drives nobody out.
const maxNeighbours = 16

// A Result is what became of a frame.
type Result uint8

// Results.
const (
	Accepted  Result = iota // of a neighbour, new or known
	Shutdown                // a neighbour says that it goes
	Malformed               // broken, or not LLDP
	Elsewhere               // not sent to one of LLDP's addresses
	Refused                 // of one neighbour too many
	Lost                    // dropped by the kernel: too many at a time
	results
)

// String names the result.
func (r Result) String() string {
	return [...]string{"accepted", "shutdown", "malformed", "wrong_destination", "refused", "lost"}[r]
}

// Results lists them all.
func Results() []Result {
	return []Result{Accepted, Shutdown, Malformed, Elsewhere, Refused, Lost}
}

// Counts counts frames by Result.
type Counts [results]uint64

// A Neighbour is one system and port heard on a port. It is never changed.
type Neighbour struct {
	*Frame
	First, Last time.Duration // when it was heard, by the caller's clock
}

// Until is when the neighbour is forgotten unless it is heard again.
func (n *Neighbour) Until() time.Duration { return n.Last + time.Duration(n.TTL)*time.Second }

// A Table holds the neighbours of one port. It is not safe for concurrent use.
type Table struct {
	Counts
	Moments

	list []Neighbour
	newest
	lost  time.Duration // when the link was
	spare *Frame        // that nobody holds
}

// Moments are when something happened for the last time; negative: never.
type Moments struct {
	Heard   time.Duration // a neighbour was heard
	Changed time.Duration // one that was not the one heard before it
	Gone    time.Duration // one said that it goes
	Full    time.Duration // one was refused: there are too many
}

// newest is who was heard last, whether still known or not.
type newest struct {
	chassis ChassisID
	port    PortID
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{Moments: Moments{-1, -1, -1, -1}} }

// Receive takes a frame that was heard at a moment, and says what became of it.
func (t *Table) Receive(b []byte, at time.Duration) Result {
	r := t.receive(b, at)
	t.Counts[r]++
	return r
}

func (t *Table) receive(b []byte, at time.Duration) Result {
	t.Expire(at)
	for i := range t.list { // the next frame is mostly the same
		if n := &t.list[i]; n.raw == string(b) {
			n.Last = at
			t.heard(n.Frame, at)
			return Accepted
		}
	}
	if t.spare == nil {
		t.spare = new(Frame)
	}
	f := t.spare
	switch err := f.Decode(b); {
	case errors.Is(err, ErrDestination):
		return Elsewhere
	case err != nil:
		return Malformed
	}
	i := slices.IndexFunc(t.list, func(n Neighbour) bool { return n.Chassis == f.Chassis && n.Port == f.Port })
	switch {
	case f.TTL == 0:
		t.Gone = at
		if i >= 0 {
			t.list = slices.Delete(t.list, i, i+1)
		}
		return Shutdown
	case i >= 0:
		t.list[i].Frame, t.list[i].Last = f, at
	case !t.room():
		t.Full = at
		return Refused
	default:
		t.list = append(t.list, Neighbour{f, at, at})
	}
	t.spare = nil
	t.heard(f, at)
	return Accepted
}

func (t *Table) heard(f *Frame, at time.Duration) {
	who := newest{f.Chassis, f.Port}
	if t.Heard >= 0 && t.newest != who {
		t.Changed = at
	}
	t.Heard, t.newest = at, who
}

// LinkLost says that those heard before may be at another cable's end by now:
// they give up their places when these are needed.
func (t *Table) LinkLost(at time.Duration) { t.lost = at }

// room says whether there is a place for one more, or makes it.
func (t *Table) room() bool {
	if len(t.list) < maxNeighbours {
		return true
	}
	i := slices.IndexFunc(t.list, func(n Neighbour) bool { return n.Last < t.lost })
	if i >= 0 {
		t.list = slices.Delete(t.list, i, i+1)
	}
	return i >= 0
}

// Expire forgets neighbours whose time is over.
func (t *Table) Expire(at time.Duration) {
	t.list = slices.DeleteFunc(t.list, func(n Neighbour) bool { return at >= n.Until() })
}

// Neighbours gives those that are known at a moment, the longest known first.
func (t *Table) Neighbours(at time.Duration) []Neighbour {
	t.Expire(at)
	return slices.Clone(t.list)
}
