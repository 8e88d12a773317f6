// SPDX-License-Identifier: Apache-2.0

package irq

import (
	"slices"

	"github.com/fabricd/fabricd/collectors"
)

// taken is the interrupts of one NIC in a window.
type taken struct {
	by    []uint64 // by number of the processor that took them
	sum   uint64
	fired int // vectors that they came from
}

// since adds up the rises of every processor's and every vector's count over
// the window. A fall, a processor that just came online, and other vectors
// start anew.
func since(past []collectors.Sample[row]) taken {
	t := taken{}
	newest := past[len(past)-1].Row.NIC
	fired := make([]bool, len(newest.Numbers))
	for i := 1; i < len(past); i++ {
		from, to := past[i-1].Row.NIC, past[i].Row.NIC
		t.add(from, to)
		if !slices.Equal(from.Numbers, newest.Numbers) || !slices.Equal(to.Numbers, newest.Numbers) {
			continue
		}
		for v := range fired {
			fired[v] = fired[v] || to.PerVector[v] > from.PerVector[v]
		}
	}
	for _, f := range fired {
		if f {
			t.fired++
		}
	}
	return t
}

// add adds the rises between two readings. Both list processors by rising
// numbers, but not always the same ones.
func (t *taken) add(from, to *NIC) {
	if n := len(to.CPUs); n > 0 && to.CPUs[n-1] >= len(t.by) {
		t.by = append(t.by, make([]uint64, to.CPUs[n-1]+1-len(t.by))...)
	}
	j := 0
	for i, cpu := range to.CPUs {
		for j < len(from.CPUs) && from.CPUs[j] < cpu {
			j++
		}
		if j == len(from.CPUs) {
			return
		}
		if from.CPUs[j] == cpu && to.PerCPU[i] > from.PerCPU[j] {
			t.by[cpu] += to.PerCPU[i] - from.PerCPU[j]
			t.sum += to.PerCPU[i] - from.PerCPU[j]
		}
	}
}

// busiest gives the processor that took the most.
func (t *taken) busiest() (cpu int, n uint64) {
	for c, m := range t.by {
		if m > n {
			cpu, n = c, m
		}
	}
	return cpu, n
}

// remoteOf counts what was taken on other nodes than the NIC's.
func (r *row) remoteOf(t taken) (remote uint64) {
	for cpu, n := range t.by {
		if !r.own[cpu] {
			remote += n
		}
	}
	return remote
}

// spreads says whether the NIC's interrupts could be taken by several
// processors: they come from several queues, and its node has that many.
func (r *row) spreads(t taken) bool {
	near := 0
	for _, cpu := range r.CPUs {
		if r.own == nil || r.own[cpu] {
			near++
		}
	}
	return near > 1 && t.fired > r.vectorsPerQueue()
}

// vectorsPerQueue is two with drivers that send and receive by vectors of
// their own.
func (r *row) vectorsPerQueue() int {
	switch r.f.Driver {
	case "virtio-pci", "e1000e", "gve":
		return 2
	}
	return 1
}
