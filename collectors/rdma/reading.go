// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"time"

	"github.com/fabricd/fabricd/probes/rdma"
)

// A Reading is what one unit answers: an RDMA device with its ports, or an
// interface that has none. It is never changed.
type Reading struct {
	// Device is the name in /sys/class/infiniband, "" of an interface alone;
	// Address is that of the PCI function, "" where software makes the device.
	Device, Address string
	// Software says that the kernel makes the device of an interface: soft-RoCE
	// or soft-iWARP.
	Software bool
	Protocol Protocol
	Ports    []Port
	// Counters are those of the device as a whole (hw_counters beside ports).
	Counters Counts
	// Hidden says that there is no directory of counters, neither of the
	// device nor of any port.
	Hidden bool
	// Netdev is the interface of a unit that is one: of a NIC without RDMA
	// device, or a leg of a bond that carries RDMA; nil otherwise.
	Netdev *Netdev
}

// A Protocol is what a port speaks.
type Protocol uint8

// Protocols.
const (
	UnknownProtocol Protocol = iota
	InfiniBand
	RoCE
	IWARP
	EFA
)

// String gives the protocol's name.
func (p Protocol) String() string {
	return [...]string{"unknown", "InfiniBand", "RoCE", "iWARP", "EFA"}[p]
}

// A Port is one port of an RDMA device.
type Port struct {
	Device, Address string // as in Reading
	Number          int
	Protocol        Protocol
	LinkLayer       string // InfiniBand, Ethernet or Unknown

	// State and Phys are zero where they could not be read; Err says why.
	State rdma.State
	Phys  rdma.PhysState
	Err   error
	// WasActive says that the port was seen active since fabricd started, also
	// if the device went and came back meanwhile.
	WasActive bool
	// Rate means nothing unless the port is active. Without Lanes and Gbps it
	// could not be read.
	Rate    rdma.Rate
	LID, SM uint16 // local identifiers of the port and its subnet manager; 0: none
	GIDs    GIDs
	Netdev  Netdev // its interface; Name is "" if it has none
	Normal  [families]Count
	PMA, HW Counts // raw, by the names of their files
	// Optional are counters that an administrator enabled (rdma statistic set);
	// sysfs does not show them.
	Optional Counts
	Unread   string // why a directory of counters that is there cannot be listed
	Lifespan time.Duration
	// Refresh is the shortest time seen between two changes of hw_counters: the
	// values are at least that old at times. Zero is not known yet.
	Refresh time.Duration
	// Epoch changes when the device goes and comes back: counters of different
	// epochs have nothing to do with each other.
	Epoch uint64
}

// Get gives a normalised counter: the sum of the port's counters of a family,
// with 2^32 added for each turn of those that wrap. Bytes are bytes. Not OK is
// a driver that does not count it.
func (p *Port) Get(f Family) Count { return p.Normal[f] }

// GIDs sums up a port's table of GIDs.
type GIDs struct {
	Read   bool // the table, or what can be read of it
	Used   int  // entries that are not empty
	Unread int  // entries that could not be read
	// Untyped are entries whose type could not be read, and that would route.
	Untyped int
	V2      int // RoCE v2 among them
	Best    rdma.GID
	HasV2   bool // Best is a RoCE v2 entry that routes
	Netdev  string
}

// A Netdev is the interface of a port.
type Netdev struct {
	Name string
	// Up is the administrative state: IFF_UP of flags.
	Up             Flag
	Carrier        Flag
	WasUp          bool  // it had carrier since fabricd started
	MTU            int   // 0: not known
	CarrierChanges Count // ups and downs of the carrier since the interface exists
	// Losses are those of them that were seen to happen and that no administrator
	// made: not those around moments at which the interface was switched off, nor
	// the carrier's return after that.
	Losses Count
	Epoch  uint64
}

// A Flag is yes or no; not OK is not known.
type Flag struct{ V, OK bool }
