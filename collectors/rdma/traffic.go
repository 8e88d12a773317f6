// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"math"
	"time"
)

// wordBytes is the size of what port_xmit_data and port_rcv_data count.
const wordBytes = 4

// waitCounter counts ticks of waiting for credits or for the end of a pause.
const waitCounter = "port_xmit_wait"

// isTraffic says which PMA counters are read once a second.
func isTraffic(name string) bool {
	switch name {
	case "port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets", waitCounter, "link_downed":
		return true
	}
	return false
}

// errorNames lists the others that are read. Those by kind of address (unicast,
// multicast) are not: each costs a command to the firmware.
func errorNames() []string {
	return []string{
		"symbol_error", "port_rcv_errors", "port_rcv_remote_physical_errors", "local_link_integrity_errors", "link_error_recovery", "link_downed",
		"excessive_buffer_overrun_errors", "port_xmit_discards", "VL15_dropped", "port_rcv_switch_relay_errors",
		"port_xmit_constraint_errors", "port_rcv_constraint_errors",
	}
}

// readCounters reads the counters that are due and says whether any changed.
func (r *reader) readCounters(at time.Duration, withErrors, withTraffic bool) (changed bool) {
	for i := range r.counters.follow {
		changed = r.counters.read(i, r.generation) || changed
	}
	for i := range r.ports {
		p := &r.ports[i]
		moved := false
		for j := range p.hw.follow {
			moved = p.hw.read(j, r.generation) || moved
		}
		if !r.h.Recorded() { // whose marks say nothing of it
			p.refresh.note(at, moved)
		}
		changed = changed || moved
		if withTraffic {
			for _, j := range p.traffic {
				changed = p.pma.read(j, r.generation) || changed
			}
		}
		if withErrors {
			for _, j := range p.errors {
				changed = p.pma.read(j, r.generation) || changed
			}
		}
	}
	return changed
}

// normalise fills the families from the raw counters. Traffic is that of the
// PMA where it counts: words become bytes.
func (p *Port) normalise() {
	p.Normal = [families]Count{}
	p.add(p.HW)
	for i, name := range p.PMA.Names {
		v := p.PMA.Values[i]
		if !v.OK {
			continue
		}
		switch name {
		case "port_xmit_data":
			p.Normal[TransmittedBytes] = inBytes(v)
		case "port_rcv_data":
			p.Normal[ReceivedBytes] = inBytes(v)
		case "port_xmit_packets":
			p.Normal[TransmittedPackets] = v
		case "port_rcv_packets":
			p.Normal[ReceivedPackets] = v
		}
	}
}

// inBytes takes words to bytes; what no port can have carried is no count.
func inBytes(words Count) Count {
	return Count{words.V * wordBytes, words.OK && words.V <= math.MaxUint64/wordBytes}
}

// fill gives families that have no counter yet those of c: they count the same.
func (p *Port) fill(c Counts) {
	had := p.Normal
	for i, v := range c.Values {
		if f := c.Families[i]; f != NoFamily && !had[f].OK {
			p.Normal[f] = Count{p.Normal[f].V + v.V, true}
		}
	}
}

// add adds counters to their families.
func (p *Port) add(c Counts) {
	for i, v := range c.Values {
		if f := &p.Normal[c.Families[i]]; v.OK && c.Families[i] != NoFamily {
			f.V, f.OK = f.V+v.V, true
		}
	}
}

// refresh measures how often the values of hw_counters become new. Traffic may
// pause, so the shortest time between two changes counts; it grows slowly, so
// that a changed setting is seen.
type refresh struct {
	shortest, changed time.Duration
	moving            bool
}

const refreshDecay = 64

func (f *refresh) note(at time.Duration, moved bool) {
	if !moved {
		return
	}
	if gap := at - f.changed; f.moving && gap > 0 {
		f.shortest += f.shortest / refreshDecay
		if f.shortest == 0 || gap < f.shortest {
			f.shortest = gap
		}
	}
	f.changed, f.moving = at, true
}
