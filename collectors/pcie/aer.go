// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"bytes"
	"errors"
	"io/fs"
	"strconv"
	"syscall"

	"github.com/fabricd/fabricd/probes"
)

// A Severity is one of the three kinds of PCI Express errors.
type Severity uint8

// Severities, as the kernel names its files.
const (
	Correctable Severity = iota
	NonFatal
	Fatal
)

// String gives the severity as a label's value.
func (s Severity) String() string { return [...]string{"correctable", "nonfatal", "fatal"}[s] }

var (
	deviceFiles = [...]string{"aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"}
	rootFiles   = [...]string{"aer_rootport_total_err_cor", "aer_rootport_total_err_nonfatal", "aer_rootport_total_err_fatal"}
)

// AER is a function's Advanced Error Reporting counters since it was probed.
// It is shared between readings while nothing changes.
type AER struct {
	Errors [3][]Count              // by name, in the kernel's order
	Total  [3]probes.Value[uint64] // messages; several errors may share one
	Root   [3]probes.Value[uint64] // root ports: messages received from below
	Unread [3]string               // why a severity's counters could not be read
}

// A Count is one error's counter.
type Count struct {
	Name string
	N    uint64
}

// Sum gives all messages of a severity: the kernel's total or, where that is
// less or absent, what the names sum up to.
func (a *AER) Sum(s Severity) uint64 {
	var sum uint64
	for _, c := range a.Errors[s] {
		sum += c.N
	}
	return max(sum, a.Total[s].V)
}

// Find gives the counter of an error.
func (a *AER) Find(s Severity, name string) uint64 {
	for _, c := range a.Errors[s] {
		if c.Name == name {
			return c.N
		}
	}
	return 0
}

// aerSize is more than the longest of the files: 27 names of uncorrectable
// errors and their counters.
const aerSize = 4096

type aerReader struct {
	attrs [6]*probes.Attr
	raw   [6][]byte
	why   [6]string // a read failed
	last  *AER
}

func newAERReader(dir *probes.Dir) aerReader {
	var r aerReader
	for i := range 3 {
		r.attrs[i] = dir.Attr(deviceFiles[i], aerSize)
		r.attrs[3+i] = dir.Attr(rootFiles[i], 32)
	}
	return r
}

func (r *aerReader) close() {
	for _, a := range r.attrs {
		a.Close()
	}
}

// read gives the counters; the same pointer as before if none of them changed,
// nil if the function has none. What is there and cannot be read is in Unread,
// and its errors are joined.
func (r *aerReader) read() (*AER, error) {
	changed, some := r.last == nil, false
	var errs []error
	for i, attr := range r.attrs {
		b, err := attr.Read()
		why := ""
		if err != nil {
			b = nil
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
				why = probes.Reason(err)
				errs = append(errs, err)
			}
		}
		some = some || b != nil || why != ""
		if why != r.why[i] || !bytes.Equal(b, r.raw[i]) || (b == nil) != (r.raw[i] == nil) {
			changed, r.why[i] = true, why
			if r.raw[i] = append(r.raw[i][:0], b...); b == nil {
				r.raw[i] = nil
			}
		}
	}
	if !some {
		r.last = nil
	} else if changed {
		r.parse()
	}
	return r.last, errors.Join(errs...)
}

// parse makes new counters of what was read.
func (r *aerReader) parse() {
	r.last = &AER{}
	for i := range 3 {
		r.last.Errors[i], r.last.Total[i] = parseAER(r.raw[i])
		if r.why[i] != "" {
			r.last.Unread[i] = deviceFiles[i] + ": " + r.why[i]
		}
		if n, err := strconv.ParseUint(string(r.raw[3+i]), 10, 64); err == nil {
			r.last.Root[i] = probes.Some(n)
		}
	}
}

// parseAER reads aer_dev_*: lines of a name and a number. The name may have
// several words (the kernel's ABI document spells them so); the number is the
// last. The line of the total begins with TOTAL_ERR_.
func parseAER(b []byte) (counts []Count, total probes.Value[uint64]) {
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		i := bytes.LastIndexAny(line, " \t")
		if i < 0 {
			continue
		}
		n, err := strconv.ParseUint(string(line[i+1:]), 10, 64)
		name := probes.Printable(string(bytes.TrimSpace(line[:i])))
		switch {
		case err != nil || name == "":
		case bytes.HasPrefix(line, []byte("TOTAL_ERR_")):
			total = probes.Some(n)
		default:
			counts = add(counts, Count{name, n})
		}
	}
	return counts, total
}

// maxNames bounds the errors of one file: the kernel has 27 names.
const maxNames = 64

// add appends a counter, or adds it to the one of its name.
func add(counts []Count, c Count) []Count {
	for i := range counts {
		if counts[i].Name == c.Name {
			counts[i].N += c.N
			return counts
		}
	}
	if len(counts) < maxNames {
		counts = append(counts, c)
	}
	return counts
}
