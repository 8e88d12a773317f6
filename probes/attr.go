// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// refusedFor is how long a refused attribute is left alone: asking for what a
// driver restricts floods the kernel's log.
const refusedFor = 30 * time.Second

// mostKept bounds the attributes kept open; those beyond are opened at each
// read. Half of the descriptors that we may have, which Go raises to the hard
// limit, are left for all else.
func mostKept() int64 {
	const enough = 1 << 14
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return enough
	}
	return int64(min(enough, limit.Cur/2))
}

// An Attr is one attribute kept open between reads: a pread into a kept
// buffer, no allocation. It is not safe for concurrent use.
type Attr struct {
	dir  *Dir
	name string
	f    file
	buf  []byte

	refused error // not asked again until notBefore, or until an event
	until   time.Time
	event   uint64
}

// Read reads the attribute anew. The bytes, without trailing white space, are
// good until the next Read. ENODEV closes it, so that the next Read opens what
// may have come back.
func (a *Attr) Read() ([]byte, error) {
	n, err := a.readInto(a.buf)
	if err != nil {
		return nil, err
	}
	for n > 0 && (a.buf[n-1] == '\n' || a.buf[n-1] == ' ' || a.buf[n-1] == 0) {
		n--
	}
	return a.buf[:n], nil
}

// pageSize is the most that a sysfs attribute of text holds, and the size of
// PCI Express configuration space.
const pageSize = 4096

// buffer lends a buffer; it goes back with buffers.Put.
func (h *Host) buffer() *[pageSize]byte {
	if buf, ok := h.buffers.Get().(*[pageSize]byte); ok {
		return buf
	}
	return new([pageSize]byte)
}

// View reads a binary attribute into a buffer that the host lends, and shows
// it to f; the bytes are good until f returns.
func (a *Attr) View(f func([]byte)) error {
	buf := a.dir.h.buffer()
	defer a.dir.h.buffers.Put(buf)
	n, err := a.readInto(buf[:])
	if err == nil {
		f(buf[:n])
	}
	return err
}

func (a *Attr) readInto(buf []byte) (int, error) {
	if a.refused != nil {
		if a.event == a.dir.h.events.Load() && time.Now().Before(a.until) {
			return 0, a.refused
		}
		a.refused = nil
	}
	if a.f == nil {
		f, err := a.dir.d.open(a.name)
		if err != nil {
			return 0, a.fail(err)
		}
		a.f = f
		a.dir.h.kept.Add(1)
	}
	n, err := a.f.readAt(buf)
	if err != nil {
		return 0, a.fail(err)
	}
	if a.dir.h.kept.Load() > a.dir.h.most {
		a.Close()
	}
	return n, nil
}

// fail closes the attribute and, on a live host, leaves a refused one alone
// for a while. In a recording every mark is asked.
func (a *Attr) fail(err error) error {
	a.Close()
	if !a.dir.h.Recorded() && (Refused(err) || errors.Is(err, fs.ErrNotExist)) {
		a.refused, a.until, a.event = err, time.Now().Add(refusedFor), a.dir.h.events.Load()
	}
	return err
}

// Close gives the descriptor back.
func (a *Attr) Close() {
	if a.f != nil {
		a.f.close()
		a.f = nil
		a.dir.h.kept.Add(-1)
	}
}
