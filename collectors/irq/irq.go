// SPDX-License-Identifier: Apache-2.0

// Package irq knows on which processors the interrupts of NICs are taken, and
// that they should be those of the NIC's own node. It counts; what the
// interrupts carry it does not know.
package irq

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
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
	Vectors int // that have a line in /proc/interrupts
	// PerCPU counts by the place of a processor in CPUs.
	PerCPU []uint64
	CPUs   []int // shared by all NICs of a reading
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

// reader keeps which vector is whose; it is found anew with each inventory.
type reader struct {
	h     *probes.Host
	seen  uint64         // the inventory's generation
	owner map[int]string // a vector's NIC
	order []string
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
func (r *reader) Read(time.Duration) (*Reading, error) {
	if inv := r.h.Inventory(); r.owner == nil || inv.Generation != r.seen {
		r.findVectors(inv)
	}
	b, err := r.h.ReadFile("proc/interrupts")
	if err != nil {
		return nil, err
	}
	return r.parse(b)
}

// findVectors lists the message-signalled interrupts of all NICs.
func (r *reader) findVectors(inv *probes.Inventory) {
	r.seen, r.owner, r.order = inv.Generation, map[int]string{}, nil
	for _, f := range inv.Functions {
		if len(f.Netdevs)+len(f.RDMA) == 0 {
			continue
		}
		names, err := r.h.ReadDir(path.Join(f.Path, "msi_irqs"))
		if err != nil {
			continue
		}
		r.order = append(r.order, f.Address)
		for _, name := range names {
			if n, err := strconv.Atoi(name); err == nil {
				r.owner[n] = f.Address
			}
		}
	}
}

var errNoHeader = errors.New("/proc/interrupts does not begin with a line of processors")

// parse adds up the lines of NICs' vectors. Only online processors have a
// column, so their numbers are read from the head.
func (r *reader) parse(b []byte) (*Reading, error) {
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	var cpus []int
	for field := range bytes.FieldsSeq(head) {
		n, err := strconv.Atoi(string(bytes.TrimPrefix(field, []byte("CPU"))))
		if err != nil {
			return nil, errNoHeader
		}
		cpus = append(cpus, n)
	}
	if len(cpus) == 0 {
		return nil, errNoHeader
	}
	reading := &Reading{NICs: make([]NIC, len(r.order))}
	place := make(map[string]*NIC, len(r.order))
	for i, address := range r.order {
		reading.NICs[i] = NIC{Address: address, PerCPU: make([]uint64, len(cpus)), CPUs: cpus}
		place[address] = &reading.NICs[i]
	}
	for line := range bytes.Lines(rest) {
		number, counts, ok := bytes.Cut(line, []byte(":"))
		vector, err := strconv.Atoi(string(bytes.TrimSpace(number)))
		if !ok || err != nil {
			continue // LOC, NMI and the like
		}
		if nic := place[r.owner[vector]]; nic != nil {
			nic.add(counts)
		}
	}
	return reading, nil
}

// add adds one vector's line; what follows the counts is its name.
func (n *NIC) add(line []byte) {
	n.Vectors++
	i := 0
	for field := range bytes.FieldsSeq(line) {
		if i == len(n.PerCPU) {
			return
		}
		count, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return
		}
		n.PerCPU[i] += count
		i++
	}
}
