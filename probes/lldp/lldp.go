// SPDX-License-Identifier: Apache-2.0

// Package lldp speaks IEEE 802.1AB: it takes frames apart and puts them
// together, keeps a table of the neighbours heard on a port, and listens on
// the machine's ports or on a recording's. It knows what a neighbour says of
// itself, not whether it is the right one.
package lldp

// EtherType is LLDP's.
const EtherType = 0x88cc

// An Error is why a frame is not taken.
type Error string

// Reasons for dropping a whole frame, as other implementations have them too.
// What is wrong in an optional TLV costs that TLV alone.
const (
	ErrShort       = Error("the frame ends within its header")
	ErrEtherType   = Error("the frame is not LLDP")
	ErrTags        = Error("the frame has more than one VLAN tag")
	ErrDestination = Error("the frame's destination is none of LLDP's")
	ErrOverrun     = Error("a TLV is longer than the frame")
	ErrOrder       = Error("chassis id, port id and TTL do not come first, in this order and once")
	ErrID          = Error("an id has no valid subtype or length")
	ErrTTL         = Error("the TTL has no two bytes")
	ErrEnd         = Error("the end TLV is not empty")
	ErrMissing     = Error("chassis id, port id or TTL is missing")
)

func (e Error) Error() string { return "lldp: " + string(e) }

// A Frame is one frame. Texts are as they were sent: hostile. What the frame
// does not have is zero, or not Present.
type Frame struct {
	Destination, Source MAC
	VLAN                uint16 // tag control information of a tagged frame
	TTL                 uint16 // in seconds; zero is a shutdown frame

	Chassis ChassisID
	Port    PortID

	PortDescription, SystemName, SystemDescription string
	Capabilities                                   Capabilities

	PVID        uint16 // zero: none, or not supported
	MTU         uint16 // of 802.3: the largest frame; zero: not said
	PHY         PHY
	Aggregation Aggregation
	Congestion  Congestion
	ETS         ETS
	Recommended ETS // what the peer recommends; its Willing means nothing
	PFC         PFC
	Apps        Apps

	// Others are the TLVs that may be there more than once, and CEE's (see
	// Management, VLANs and CEE), and those that are not known or not understood, as they came.
	Others []TLV

	few [4]TLV // what Others of an ordinary frame fit in: no memory of its own
	raw string // all of the frame that it was decoded from
}

// A MAC is an Ethernet address.
type MAC [6]byte

// Destinations gives the addresses that frames are sent to: IEEE 802.1AB-2016,
// table 7-1. Switches use the first, the nearest bridge.
func Destinations() [3]MAC {
	return [3]MAC{MAC([]byte(group + "\x0e")), MAC([]byte(group + "\x03")), MAC([]byte(group + "\x00"))}
}

// group is how they begin.
const group = "\x01\x80\xc2\x00\x00"

// A TLV is one that is kept as it came.
type TLV struct {
	Type  uint8
	Value string
}

// Capabilities are what a system can and does do: bits of CapBridge and others.
type Capabilities struct {
	Available, Enabled uint16
	Present            bool
}

// Bits of Capabilities.
const (
	CapOther    = 1 << 0
	CapRepeater = 1 << 1
	CapBridge   = 1 << 2
	CapWLAN     = 1 << 3
	CapRouter   = 1 << 4
	CapStation  = 1 << 7
)

// Aggregation is the state of link aggregation.
type Aggregation struct {
	Status  uint8 // bit 0: capable, bit 1: aggregated
	ID      uint32
	Dot3    bool // sent in the 802.3 TLV that came before the one of 802.1
	Present bool
}

// Congestion is 802.1Qau's congestion notification: a bit for each priority.
type Congestion struct {
	Enabled, Ready uint8
	Present        bool
}

// ETS is 802.1Qaz's transmission selection.
type ETS struct {
	Willing, CreditBased bool
	MaxTCs               uint8 // 0 is eight
	PriorityTC           [8]uint8
	Bandwidth            [8]uint8 // percent by traffic class
	Algorithm            [8]uint8 // by traffic class: TSA…
	Present              bool
}

// Algorithms of ETS.
const (
	TSAStrict = 0
	TSACredit = 1
	TSAETS    = 2
	TSAVendor = 255
)

// PFC is 802.1Qaz's priority flow control.
type PFC struct {
	Willing, MBC bool
	Capability   uint8 // number of priorities that can have it
	Enabled      uint8 // bit n: priority n
	Present      bool
}

// Selectors of an App.
const (
	SelectEtherType = 1
	SelectTCP       = 2
	SelectUDP       = 3
	SelectPort      = 4
	SelectDSCP      = 5
)

// PHY is 802.3's state of a link.
type PHY struct {
	Autonegotiation uint8 // bit 0: supported, bit 1: enabled
	Advertised, MAU uint16
	Present         bool
}
