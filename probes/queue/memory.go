// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"math/bits"
	"time"

	"github.com/fabricd/fabricd/bpf"
)

// buckets is the number of a histogram's: nothing, at most 1, 2, 4 … 2^30 bytes, and more.
const buckets = len(bpf.QueueSlot{}.Depth)

// lateUnits is in how many parts of a second lateness is counted.
const lateUnits = 1 << 20

// memory is where samples are added up: the kernel's own, or one like it.
type memory struct {
	slots   []bpf.QueueSlot
	devices []bpf.QueueDevice
	control *bpf.QueueControl
}

func newMemory(slots, devices int) memory {
	return memory{make([]bpf.QueueSlot, slots), make([]bpf.QueueDevice, devices), &bpf.QueueControl{}}
}

// bucket gives the place of a number in a histogram.
func bucket(v uint32) int {
	if v == 0 {
		return 0
	}
	return min(bits.Len32(v-1)+1, buckets-1)
}

// The following add a sample to the memory as the program in bpf/queue.bpf.c
// does; a test holds them against each other.

// addSample adds what a queue's files say.
func (m memory) addSample(s *bpf.QueueSlot, d *bpf.QueueDevice, inflight, limit uint32, now time.Duration) {
	if int32(inflight) < 0 { // the counts that it is the difference of were set back in between
		inflight = 0
	}
	s.Samples++
	s.Sum += uint64(inflight)
	s.Depth[bucket(inflight)]++
	peak := &s.Peak[m.control.Bank&1]
	*peak = max(*peak, inflight)
	if inflight > 0 || limit > 0 {
		d.Used = 1
	}
	full := inflight > 0 && limit > 0 && inflight >= limit
	if inflight > 0 {
		s.Busy++
	}
	if full {
		s.Full++
	}
	if limit > 0 && (full || limit < d.Frames) {
		s.Tight++
	}
	// The files do not tell what was completed: a queue that moves shows another number sooner or later.
	if inflight == 0 || inflight != s.Inflight || m.anew(now) {
		s.Changed = uint64(now)
	}
	s.Inflight, s.Limit = inflight, limit
	d.Depth += uint64(inflight)
}

// anew says that there was a gap: the machine may have stood still, and what
// lasts begins anew.
func (m memory) anew(now time.Duration) bool {
	c := m.control
	return c.Gap > 0 && c.Last > 0 && uint64(now)-c.Last > c.Gap
}

// addDevice ends a sample of a device of which all queues were looked at.
func (m memory) addDevice(d *bpf.QueueDevice, now time.Duration) {
	peak := &d.Peak[m.control.Bank&1]
	*peak = max(*peak, d.Depth)
	if m.anew(now) {
		d.Since = 0
	}
	switch {
	case d.Depth > d.Threshold && d.Since == 0:
		d.Since = uint64(now)
		d.Bursts++
	case d.Depth <= d.Threshold && d.Since != 0:
		took := uint64(now) - d.Since
		d.BurstNs += took
		d.LongestNs = max(d.LongestNs, took)
		d.Since = 0
	}
}

// addTick ends a sample of all devices.
func (m memory) addTick(deadline, begin, end time.Duration) {
	c := m.control
	c.Last = uint64(begin)
	c.Begun++
	c.Ticks++
	c.CostNs += uint64(end - begin)
	late := max(begin-deadline, 0)
	c.LateNs += uint64(late)
	c.Late[bucket(uint32(min(late.Seconds(), 1000)*lateUnits))]++
}
