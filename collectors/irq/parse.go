// SPDX-License-Identifier: Apache-2.0

package irq

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
)

var errNoHeader = errors.New("/proc/interrupts does not begin with a line of processors")

// parse adds up the lines of NICs' vectors. Only online processors have a
// column, so their numbers are read from the head. On a large machine it is
// megabytes, hence the plain loops: a line costs nothing but its own bytes.
func (r *reader) parse(b []byte) (*Reading, error) {
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	cpus, err := parseHead(head)
	if err != nil {
		return nil, err
	}
	reading := &Reading{NICs: make([]NIC, len(r.order))}
	counts := make([]uint64, len(cpus)*len(r.order))
	for i, address := range r.order {
		reading.NICs[i] = NIC{
			Address: address, PerCPU: counts[i*len(cpus):][:len(cpus):len(cpus)], CPUs: cpus,
			PerVector: make([]uint64, len(r.vectors[i])), Numbers: r.vectors[i],
		}
	}
	for len(rest) > 0 {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		vector, after, ok := parseNumber(line)
		if !ok || len(after) == 0 || after[0] != ':' || vector >= uint64(len(r.owner)) || r.owner[vector].nic == 0 {
			continue // of no NIC, or LOC, NMI and the like
		}
		of := r.owner[vector]
		reading.NICs[of.nic-1].add(int(of.slot), after[1:])
	}
	return reading, nil
}

// maxCPU bounds the numbers of processors: the kernel's are below 2^13.
const maxCPU = 1 << 16

// parseHead reads "CPU0 CPU1 …", whose numbers rise.
func parseHead(head []byte) ([]int, error) {
	cpus := make([]int, 0, bytes.Count(head, []byte("CPU")))
	for field := range bytes.FieldsSeq(head) {
		n, err := strconv.Atoi(string(bytes.TrimPrefix(field, []byte("CPU"))))
		if err != nil || n < 0 || n >= maxCPU || len(cpus) > 0 && n <= cpus[len(cpus)-1] {
			return nil, errNoHeader
		}
		cpus = append(cpus, n)
	}
	if len(cpus) == 0 {
		return nil, errNoHeader
	}
	return cpus, nil
}

// add adds the counts of the vector in a slot; what follows them is its name.
func (n *NIC) add(slot int, line []byte) {
	n.Vectors++
	for i := range n.PerCPU {
		count, after, ok := parseNumber(line)
		if !ok || len(after) > 0 && after[0] != ' ' {
			return
		}
		n.PerCPU[i] += count
		n.PerVector[slot] += count
		line = after
	}
}

const eightBlanks = 0x2020202020202020 // columns are wide, and most counts are 0

// parseNumber reads a decimal number after blanks.
func parseNumber(b []byte) (n uint64, after []byte, ok bool) {
	i := 0
	for len(b)-i >= 8 && binary.NativeEndian.Uint64(b[i:]) == eightBlanks {
		i += 8
	}
	for i < len(b) && b[i] == ' ' {
		i++
	}
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		n = n*10 + uint64(b[i]-'0')
		i++
	}
	return n, b[i:], i > start && i-start < 20
}
