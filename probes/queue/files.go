// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/probes"
)

// files samples by the files of byte queue limits, kept open.
type files struct {
	memory
	dirs   []*probes.Dir // of interfaces
	queues []queueFiles
	always bool // limits too: reading is free
	n      uint64
}

// queueFiles are those of one slot.
type queueFiles struct {
	inflight, limit *probes.Attr // nil: there are none
	err             error        // of the newest sample: what is in flight is not known
	noLimit         error        // why the limit was not read when it was to be
}

// limitEvery is after how many samples the limit of a queue is read, in which
// nothing is in flight.
const limitEvery = 128

func newFiles(h *probes.Host, places []place) *files {
	f := &files{memory: newMemory(countQueues(places), len(places)), always: h.Recorded()}
	for _, p := range places {
		dir, err := h.Dir(p.path)
		switch {
		case err == nil && p.limits:
			f.dirs = append(f.dirs, dir)
		case err == nil:
			dir.Close()
			err = fs.ErrNotExist
		}
		for i := range p.queues {
			q := queueFiles{err: err}
			if err == nil {
				own := fmt.Sprintf("queues/tx-%d/byte_queue_limits/", i)
				q.inflight, q.limit = dir.Attr(own+"inflight", 16), dir.Attr(own+"limit", 16)
			}
			f.queues = append(f.queues, q)
		}
	}
	return f
}

func (f *files) mem() memory { return f.memory }

// sample reads all queues' files once.
func (f *files) sample(deadline, now time.Duration, clock func() time.Duration) error {
	f.control.Bank = f.control.Want
	f.n++
	var d *bpf.QueueDevice
	for i := range f.slots {
		s := &f.slots[i]
		if next := &f.devices[s.Device-1]; next != d {
			f.finish(d, now)
			d = next
			d.Depth, d.Present = 0, 1
		}
		q := &f.queues[i]
		if q.inflight == nil {
			continue
		}
		var inflight, limit uint32
		if inflight, limit = q.read(s.Limit, f.always || f.n%limitEvery == 1); q.err == nil {
			f.addSample(s, d, inflight, limit, now)
		}
	}
	f.finish(d, now)
	f.addTick(deadline, now, clock())
	return nil
}

func (f *files) finish(d *bpf.QueueDevice, now time.Duration) {
	if d != nil {
		f.addDevice(d, now)
	}
}

// read reads a queue's state; of one that is empty the limit is read seldom. A
// limit that cannot be read is 0: what is in flight is known without.
func (q *queueFiles) read(last uint32, always bool) (inflight, limit uint32) {
	if inflight, q.err = value(q.inflight); q.err != nil || inflight == 0 && !always {
		if _, err := value(q.limit); always && err == nil && errors.Is(q.err, fs.ErrNotExist) {
			q.err = errNoInflight
		}
		return inflight, last
	}
	limit, q.noLimit = value(q.limit)
	return inflight, limit
}

var errNoInflight = errors.New("there is a limit, and no inflight")

func value(a *probes.Attr) (uint32, error) {
	b, err := a.Read()
	if err != nil {
		return 0, err
	}
	n, ok := digits(b)
	if !ok {
		return 0, fmt.Errorf("%q is no number of bytes", probes.Printable(string(b)))
	}
	return n, nil
}

// digits reads a number without making a string of it.
func digits(b []byte) (n uint32, ok bool) {
	if len(b) == 0 || len(b) > 10 {
		return 0, false
	}
	v := uint64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return uint32(v), v < 1<<32
}

func (f *files) problem(slot int) error {
	err := f.queues[slot].err
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("queues/tx-%d/byte_queue_limits: %w", f.slots[slot].Queue, err)
}

func (f *files) noLimit(slot int) error {
	if q := &f.queues[slot]; q.err == nil {
		return q.noLimit
	}
	return nil
}

func (f *files) close() {
	for _, q := range f.queues {
		if q.inflight != nil {
			q.inflight.Close()
			q.limit.Close()
		}
	}
	for _, d := range f.dirs {
		d.Close()
	}
}
