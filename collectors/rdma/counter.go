// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"math"

	"github.com/fabricd/fabricd/probes/rdma"
)

// A Count is a counter's value; not OK is absent.
type Count struct {
	V  uint64
	OK bool
}

// Counts are the values of a directory of counters. Names and Families are
// shared by all readings and never change.
type Counts struct {
	Names    []string
	Families []Family
	Values   []Count
}

// Find gives a counter by its name.
func (c *Counts) Find(name string) Count {
	for i, n := range c.Names {
		if n == name && i < len(c.Values) {
			return c.Values[i]
		}
	}
	return Count{}
}

// counters follow the files of one directory of counters.
type counters struct {
	files    *rdma.Counters
	families []Family
	follow   []follower
}

// A follower follows one counter: where it wraps at 32 bits it goes on.
type follower struct {
	raw   uint64
	turns uint64 // of 2^32
	ok    bool
	wraps bool
	asked uint64 // refused at this generation; zero: not refused
}

func newCounters(files *rdma.Counters, wraps func(string) bool) counters {
	c := counters{files: files}
	if files == nil {
		return c
	}
	c.families, c.follow = make([]Family, len(files.Names)), make([]follower, len(files.Names))
	for i, name := range files.Names {
		c.families[i], c.follow[i].wraps = FamilyOf(name), wraps(name)
	}
	return c
}

func (c *counters) names() []string {
	if c.files == nil {
		return nil
	}
	return c.files.Names
}

// read reads one counter and says whether it changed.
func (c *counters) read(i int, generation uint64) (changed bool) {
	f := &c.follow[i]
	if f.asked == generation {
		return false
	}
	v, err := c.files.Read(i)
	f.asked = 0
	switch {
	case err == nil:
		return f.take(v)
	case err == rdma.ErrNoPMA:
		f.asked = generation // as refused: not at every tick
	}
	was := f.ok
	f.ok = false
	return was
}

// quarter is what is near the ends of 32 bits.
const quarter = 1 << 30

// take files a value. A fall is a reset, unless it leads from the end of 32 bits
// to their beginning.
func (f *follower) take(v uint64) (changed bool) {
	switch {
	case v >= f.raw:
	case f.wraps && f.raw <= math.MaxUint32 && f.raw >= 3*quarter && v < quarter:
		f.turns++
	default:
		f.turns = 0
	}
	changed = !f.ok || v != f.raw
	f.raw, f.ok = v, true
	return changed
}

func (f *follower) count() Count { return Count{f.raw + f.turns<<32, f.ok} }

// counts gives what was read last.
func (c *counters) counts() Counts {
	all := Counts{Names: c.names(), Families: c.families, Values: make([]Count, len(c.follow))}
	for i := range c.follow {
		all.Values[i] = c.follow[i].count()
	}
	return all
}
