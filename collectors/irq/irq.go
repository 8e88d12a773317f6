// SPDX-License-Identifier: Apache-2.0

// Package irq knows on which processors the interrupts of NICs are taken, and
// that they should be those of the NIC's own node. It counts; what the
// interrupts carry it does not know.
package irq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// A Reading is the interrupts of all NICs since the machine started.
type Reading struct {
	NICs []NIC
}

// NIC is one function's interrupts.
type NIC struct {
	Address string
	Why     string // why nothing is known of them; all else is then empty
	Vectors int    // that have a line in /proc/interrupts
	// PerVector counts by the place of a vector in Numbers.
	PerVector []uint64
	Numbers   []int // of its vectors; shared between readings
	// PerCPU counts by the place of a processor in CPUs.
	PerCPU []uint64
	CPUs   []int // shared by all NICs of a reading
	// Bound lists each vector's processors, as the interrupt controller has
	// them in force; shared between readings. It lacks vectors of which that
	// is not told.
	Bound []Binding
}

// A Binding is the processors that one vector is sent to.
type Binding struct {
	Vector int
	CPUs   string // a list; usually one processor
}

// New makes the collector.
func New() collectors.Collector {
	return collectors.New(collectors.Spec[Reading]{
		Name:   "irq",
		Help:   "Interrupts of NICs: on which node and processors they are taken.",
		Every:  10 * time.Second,
		Floor:  time.Second,
		Open:   open,
		Tables: []collectors.Table[Reading]{collectors.Derive(rows, columns())},
	})
}

// bindEvery is how often the vectors' processors are read again: a file each,
// and thousands of them.
const bindEvery = time.Minute

// An owner is whose a vector is.
type owner struct {
	nic  int32 // 1 + its place in order; 0: no NIC's
	slot int32 // the vector's place among the NIC's
}

// reader keeps which vector is whose; it is found anew with each inventory.
type reader struct {
	h       *probes.Host
	seen    uint64 // the inventory's generation
	known   bool
	owner   []owner // by vector
	order   []string
	untold  []NIC   // whose vectors are not known
	vectors [][]int // by place in order
	bound   [][]Binding
	boundAt time.Duration
	buf     []byte
}

func open(_ context.Context, h *probes.Host, _ string) (collectors.Reader[Reading], error) {
	if !h.Exists("proc/interrupts") {
		return nil, &fs.PathError{Op: "open", Path: "/proc/interrupts", Err: fs.ErrNotExist}
	}
	return &reader{h: h}, nil
}

func (r *reader) Close() {}

// Read reads /proc/interrupts once for all NICs: the kernel walks every vector
// of every processor for it.
func (r *reader) Read(at time.Duration) (*Reading, error) {
	inv := r.h.Inventory()
	if anew := !r.known || inv.Generation != r.seen; anew || at-r.boundAt >= bindEvery || r.h.Recorded() {
		if anew {
			r.findVectors(inv)
		}
		r.findBindings()
		r.boundAt = at
	}
	var err error
	if r.buf, err = r.h.AppendFile(r.buf[:0], "proc/interrupts"); err != nil {
		return r.blind("/proc/interrupts: " + probes.Reason(err)), err
	}
	reading, err := r.parse(r.buf)
	if err != nil {
		return r.blind(err.Error()), err
	}
	for i := range reading.NICs {
		reading.NICs[i].Bound = r.bound[i]
	}
	reading.NICs = append(reading.NICs, r.untold...)
	return reading, nil
}

// blind is the reading of a machine whose interrupts cannot be read.
func (r *reader) blind(why string) *Reading {
	reading := &Reading{}
	for _, address := range r.order {
		reading.NICs = append(reading.NICs, NIC{Address: address, Why: why})
	}
	for _, n := range r.untold {
		reading.NICs = append(reading.NICs, NIC{Address: n.Address, Why: why})
	}
	return reading
}

// maxVector bounds the numbers of vectors: the kernel's are below 2^20.
const maxVector = 1 << 20

// findVectors lists the message-signalled interrupts of all NICs.
func (r *reader) findVectors(inv *probes.Inventory) {
	r.seen, r.known, r.owner, r.order, r.vectors, r.untold = inv.Generation, true, nil, nil, nil, nil
	for _, f := range inv.Functions {
		if len(f.Netdevs)+len(f.RDMA) == 0 {
			continue
		}
		names, err := r.h.ReadDir(path.Join(f.Path, "msi_irqs"))
		var vectors []int
		for _, name := range names {
			if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < maxVector {
				vectors = append(vectors, n)
			}
		}
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			r.untold = append(r.untold, NIC{Address: f.Address, Why: "msi_irqs: " + probes.Reason(err)})
		case len(vectors) == 0:
			r.untold = append(r.untold, NIC{Address: f.Address, Why: "the kernel lists no interrupts of its own (msi_irqs): its driver uses none, or shares a line with others"})
		default:
			slices.Sort(vectors)
			r.own(f.Address, vectors)
		}
	}
}

// own notes a NIC's vectors.
func (r *reader) own(address string, vectors []int) {
	r.order, r.vectors = append(r.order, address), append(r.vectors, vectors)
	for slot, v := range vectors {
		if v >= len(r.owner) {
			r.owner = append(r.owner, make([]owner, v+1-len(r.owner))...)
		}
		r.owner[v] = owner{int32(len(r.order)), int32(slot)}
	}
}

// findBindings reads where each vector goes.
func (r *reader) findBindings() {
	r.bound = make([][]Binding, len(r.order))
	for i, vectors := range r.vectors {
		for _, v := range vectors {
			b, err := r.h.ReadFile(fmt.Sprintf("proc/irq/%d/effective_affinity_list", v))
			if list := probes.Printable(string(bytes.TrimSpace(b))); err == nil && list != "" {
				r.bound[i] = append(r.bound[i], Binding{v, list})
			}
		}
	}
}
