// SPDX-License-Identifier: Apache-2.0

// Package queue samples transmit queues: how many bytes each has handed to its
// device that are not sent yet, many times a second, by a program in the
// kernel or by files that are kept open. It knows what was seen, how often and
// how late; whether that is much it does not know. RDMA traffic never enters
// these queues.
package queue

import (
	"time"

	"github.com/fabricd/fabricd/probes"
)

// Options say what is sampled.
type Options struct {
	// Every is the time between two samples.
	Every time.Duration
	// An interface's queues are in a burst when they hold more than Burst bytes,
	// and more than what its link sends in BurstTime.
	Burst     int
	BurstTime time.Duration
	// Netdevs names the interfaces; nil: all that belong to hardware.
	Netdevs []string
	// Way asks for one way of sampling; Best picks.
	Way Way
	// Gone is told by Watch, once, of an interface that went or got another name.
	Gone func(netdev string)
}

// A Way is how samples are taken.
type Way uint8

// The ways, the best one first.
const (
	Best   Way = iota
	Timer      // a program in the kernel, run by the kernel's timer
	Kernel     // a program in the kernel, run by a thread
	Files      // files that are kept open
	None       // there is no queue: none is taken, until there is one
)

// String names the way.
func (w Way) String() string { return [...]string{"best", "timer", "kernel", "files", "none"}[w] }

// A Histogram counts numbers by powers of two: Counts[0] those that are 0,
// Counts[i] those above 2^(i-2) up to 2^(i-1).
type Histogram struct {
	Counts [buckets]uint64
	Sum    float64
}

// A Snapshot is what was seen up to a moment. It is never changed.
type Snapshot struct {
	At      time.Duration // monotonic
	Way     Way
	Why     string // a better way is not taken
	Every   time.Duration
	Ticks   uint64
	Missed  uint64
	Cost    time.Duration // of all ticks
	Late    Histogram     // of ticks: seconds in its sum, units of 2^-20 s in its counts
	Queues  int           // that are sampled
	LeftOut int           // that are too many
	Netdevs []Netdev
	Err     error // no sample could be taken

	stale bool // an interface went, or has another number of queues than is sampled
}

// A Netdev is what was seen of one interface since it is sampled.
type Netdev struct {
	Name      string
	Path      string // in sysfs
	Present   bool
	Queues    int
	Frames    int                // two frames' size in bytes
	Limits    probes.Value[bool] // the driver uses byte queue limits; not OK: nothing was ever queued
	HasFiles  bool               // there are files of byte queue limits
	Inflight  Histogram          // of its queues
	Backlog   *Histogram         // of what waits above them; nil: not known
	Depth     uint64             // all of its queues' bytes in the newest sample
	Peaks     Peaks              // of Depth
	Burst     uint64             // a greater Depth is a burst
	Bursts    uint64
	BurstTime time.Duration
	Longest   time.Duration
	Active    []Queue       // those that carried something lately
	Err       error         // why some queue could not be read
	Unread    map[int]error // of which queues, and why: maxRows at most; nil: none, or of no queue it could be read
	NoLimit   error         // why some queue's limit could not be read, though what it has in flight could
	Heat      []Column
}

// A Queue is what was seen of one queue.
type Queue struct {
	Index           int
	Inflight, Limit uint32
	NoLimit         error // why its limit is not known; nil: it is
	Backlog         uint32
	Peaks           Peaks
	// Window counts samples of the last minute.
	Window Counts
	// Total counts all samples.
	Total Counts
	// Standing is for how long nothing was completed, though bytes are in flight.
	Standing time.Duration
}

// Counts are numbers of samples.
type Counts struct {
	Samples, Busy, Full, Tight, Stopped uint64
}

// Peaks are the largest numbers of the last 1, 10 and 60 s.
type Peaks struct{ Second, Ten, Minute uint64 }

// A Column is one second of an interface: how many samples of its queues found
// which depth, by the buckets of a Histogram. It took longer than a second if
// the machine or the program stood still.
type Column struct {
	Time   time.Time // its end
	Took   time.Duration
	Counts [buckets]uint32
}
