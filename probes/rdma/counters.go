// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"bytes"
	"errors"
	"math"

	"github.com/fabricd/fabricd/probes"
)

// Bounds of what a device may call its counters.
const (
	maxCounters = 256
	maxName     = 64
)

// lifespan is the file of hw_counters that is a setting.
const lifespan = "lifespan"

// Counters are the files of one directory of counters, kept open.
type Counters struct {
	// Names are the files', printable; they never change.
	Names []string
	// Left is how many files there are beyond those that are read.
	Left int

	dir      *probes.Dir
	attrs    []*probes.Attr
	lifespan *probes.Attr // nil without such a file
}

// Why a counter's file gives no number.
var (
	// ErrNoPMA is the answer of some kernels for devices without an agent that counts.
	ErrNoPMA = errors.New("N/A (no PMA)")
	// ErrUndecoded is a value of all ones: what a driver prints if it could not
	// decode the counter.
	ErrUndecoded = errors.New("reads 18446744073709551615: the driver could not decode it")
	errNoNumber  = errors.New("is no number")
)

// openCounters lists a directory of counters. Their files are opened when they
// are first read.
func openCounters(h *probes.Host, dir string) (*Counters, error) {
	d, err := h.Dir(dir)
	if err != nil {
		return nil, err
	}
	files, err := d.List()
	if err != nil {
		d.Close()
		return nil, err
	}
	c := &Counters{dir: d}
	for _, file := range files {
		switch {
		case file == lifespan:
			c.lifespan = d.Attr(file, 32)
		case len(c.Names) == maxCounters || len(file) > maxName:
			c.Left++
		default:
			c.Names = append(c.Names, probes.Printable(file))
			c.attrs = append(c.attrs, d.Attr(file, 32))
		}
	}
	return c, nil
}

func (c *Counters) close() {
	if c == nil {
		return
	}
	for _, a := range c.attrs {
		a.Close()
	}
	if c.lifespan != nil {
		c.lifespan.Close()
	}
	c.dir.Close()
}

// Read reads the counter of that number in Names.
func (c *Counters) Read(i int) (uint64, error) {
	b, err := c.attrs[i].Read()
	if err != nil {
		return 0, err
	}
	return ParseCounter(b)
}

// Lifespan reads for how many milliseconds the kernel answers from the values
// that it got last. It is the kernel's setting, not the hardware's.
func (c *Counters) Lifespan() (ms uint64, ok bool) {
	if c == nil || c.lifespan == nil {
		return 0, false
	}
	b, err := c.lifespan.Read()
	if err != nil {
		return 0, false
	}
	return parseUint(b)
}

// ParseCounter reads what a counter's file holds.
func ParseCounter(b []byte) (uint64, error) {
	n, ok := parseUint(b)
	switch {
	case !ok && bytes.HasPrefix(b, []byte("N/A")):
		return 0, ErrNoPMA
	case !ok:
		return 0, errNoNumber
	case n == math.MaxUint64:
		return 0, ErrUndecoded
	}
	return n, nil
}

// parseUint reads decimal digits without making a string of them.
func parseUint(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// NarrowMax gives the value at which a PMA counter sticks: those of 4, 8, 16 and 32
// bits saturate and do not wrap (IBTA, PortCounters). Not ok is one of 64 bits.
func NarrowMax(name string) (limit uint64, ok bool) {
	switch name {
	case "local_link_integrity_errors", "excessive_buffer_overrun_errors":
		return 1<<4 - 1, true
	case "link_error_recovery", "link_downed", "port_xmit_constraint_errors", "port_rcv_constraint_errors":
		return 1<<8 - 1, true
	case "symbol_error", "port_rcv_errors", "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_discards", "VL15_dropped":
		return 1<<16 - 1, true
	case "port_xmit_wait":
		return 1<<32 - 1, true
	}
	return 0, false
}
