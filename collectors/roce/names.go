// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A kind is what a counter counts, whatever its driver calls it.
type kind uint8

const (
	// Of a priority.
	pfcFrames      kind = iota // frames that hold it; where XON is told apart, XOFF alone
	pfcXON                     // frames that let it go
	pfcTime                    // µs in which it was held
	pfcTimeUnknown             // the same in a unit that nobody documents
	pfcTransitions             // times that it was held anew
	prioBytes
	prioPackets
	prioDiscards // several names each
	prioMarked   // packets that the NIC itself marked as having met congestion

	// Of the port.
	pauseControl  // frames of flow control: 802.3x ones and, with some firmware, PFC
	pauseFrames   // 802.3x frames, while 802.3x is on
	pauseTime     // µs
	pfcFramesAll  // PFC frames of all priorities, where the driver has no others
	stormEvents   // several names
	discards      // several names: what the NIC had no room for
	rdmaBytes     // of this function, RDMA alone
	rdmaPackets   //
	portBytes     //
	stallRead     // percent of the last second in which reads of memory stood still
	stallWrite    //
	stallReadSecs // seconds with such a stall
	stallWriteSecs
	fecCorrected
	fecUncorrectable
	outOfBuffer   // the host had no receive buffer: not the NIC's fault
	bufferFull    // times that the receive buffer passed its threshold
	kinds         = iota
	lastPriority  = prioMarked
	anyPriority   = -1
	allOnes       = math.MaxUint64 // what a driver shows that could not read
	priorityCount = 8
)

// A direction: rx is what was received, so in a pause the peer asked us to
// stop; tx is what was sent: we asked the peer.
type direction uint8

const (
	rx direction = iota
	tx
	directions = 2
)

func (d direction) String() string { return [...]string{"rx", "tx"}[d] }

// A counter is one row of a vendor's table.
type counter struct {
	kind kind
	dir  direction
	// name is the driver's; # stands for a priority or, of a port's counter,
	// for any class: 0 to 7.
	name string
}

// A vendor is how a driver names what it counts.
type vendor struct {
	drivers []string
	// relabels says that a position among the statistics gets another name
	// when PFC is switched, and that reading costs many firmware commands.
	relabels bool
	counters []counter
}

// find gives the table of a driver; nil for one that has none.
func find(driver string) *vendor {
	for i := range vendors {
		for _, name := range vendors[i].drivers {
			if name == driver {
				return &vendors[i]
			}
		}
	}
	return nil
}

// A slot is where one counter stands among the statistics of a port.
type slot struct {
	kind     kind
	dir      direction
	priority int  // anyPriority of the port's
	class    bool // one of several classes of the port
	name     string
	place    int
}

// A plan is which of a port's statistics are kept. It is not changed after.
type plan struct {
	relabels bool // the vendor's
	slots    []slot
	// index finds the first slot of a kind, direction and priority: its place in
	// slots plus one. The port's own are behind the priorities.
	index [kinds][directions][priorityCount + 1]int16
	// unmatched says that the driver names its priorities by none of the names
	// in its table.
	unmatched bool
}

// newPlan looks for the table's names among those of a driver. Of a name that
// is there twice the first counts.
func newPlan(v *vendor, names []string) *plan {
	p := &plan{unmatched: v != nil && len(names) > 0}
	if v == nil {
		return p
	}
	p.relabels = v.relabels
	places := make(map[string]int, len(names))
	for i, name := range names {
		if _, ok := places[name]; !ok {
			places[name] = i
		}
	}
	for _, c := range v.counters {
		for priority := range priorityCount {
			name, some := c.name, strings.Contains(c.name, "#")
			if some {
				name = strings.Replace(name, "#", strconv.Itoa(priority), 1)
			}
			if place, ok := places[name]; ok {
				p.add(slot{c.kind, c.dir, priority, some, name, place})
			}
			if !some {
				break
			}
		}
	}
	return p
}

func (p *plan) add(s slot) {
	if s.kind > lastPriority {
		s.priority = anyPriority
	} else {
		s.class, p.unmatched = false, false
	}
	p.slots = append(p.slots, s)
	if at := p.at(s.kind, s.dir, s.priority); *at == 0 {
		*at = int16(len(p.slots))
	}
}

func (p *plan) at(k kind, d direction, priority int) *int16 {
	if priority == anyPriority {
		priority = priorityCount
	}
	return &p.index[k][d][priority]
}

// Counters are a port's counters at one moment. They are not changed after.
type Counters struct {
	at     time.Duration // when they were read
	plan   *plan
	values []uint64 // of the plan's slots
}

// collect keeps what the plan names.
func (p *plan) collect(at time.Duration, values []uint64) *Counters {
	c := &Counters{at: at, plan: p, values: make([]uint64, len(p.slots))}
	for i := range p.slots {
		c.values[i] = values[p.slots[i].place]
	}
	return c
}

// get gives a counter; not ok where the driver has none, or could not read it.
func (c *Counters) get(k kind, d direction, priority int) (uint64, bool) {
	if c == nil {
		return 0, false
	}
	i := *c.plan.at(k, d, priority)
	if i == 0 || c.values[i-1] == allOnes {
		return 0, false
	}
	return c.values[i-1], true
}

// name gives the driver's name of a counter, "" where it has none.
func (c *Counters) name(k kind, d direction, priority int) string {
	if c == nil {
		return ""
	}
	if i := *c.plan.at(k, d, priority); i > 0 {
		return c.plan.slots[i-1].name
	}
	return ""
}

// each calls f with all counters of a kind, which has several names.
func (c *Counters) each(k kind, f func(s *slot, v uint64)) {
	if c == nil {
		return
	}
	for i := range c.plan.slots {
		if s := &c.plan.slots[i]; s.kind == k && c.values[i] != allOnes {
			f(s, c.values[i])
		}
	}
}
