// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A kernel answers as Linux does, for a driver whose statistics change.
type kernel struct {
	names []string
	old   bool // writes as many values and names as there are, whatever was asked for
	index uint32
	calls []uint32
	// before is called before each command is obeyed.
	before func(command uint32)
	err    error
}

func (k *kernel) ioctl(command uintptr, data unsafe.Pointer) error {
	if command == unix.SIOCGIFINDEX {
		(*indexRequest)(data).index = k.index
		return k.err
	}
	data = (*request)(data).data
	head := (*[4]uint32)(data)
	if k.before != nil {
		k.before(head[0])
	}
	k.calls = append(k.calls, head[0])
	n := len(k.names)
	switch head[0] {
	case cmdSetInfo:
		(*struct {
			_    [2]uint32
			mask uint64
			n    uint32
		})(data).n = uint32(n)
	case cmdTunable:
		if *head != [4]uint32{cmdTunable, 3, 2, 2} { // ETHTOOL_PFC_PREVENTION_TOUT, a u16 of 2 bytes
			return unix.EINVAL
		}
		*(*uint16)(unsafe.Add(data, 16)) = 8000
	case cmdStrings:
		if !k.old && head[2] != uint32(n) {
			head[2] = 0
			return nil
		}
		head[2] = uint32(n)
		text := unsafe.Slice((*byte)(unsafe.Add(data, 12)), n*nameLen)
		clear(text)
		for i, name := range k.names {
			copy(text[i*nameLen:], name)
		}
	case cmdStats:
		if !k.old && head[1] != uint32(n) {
			head[1] = 0
			return nil
		}
		head[1] = uint32(n)
		values := unsafe.Slice((*uint64)(unsafe.Add(data, 8)), n)
		for i, name := range k.names {
			values[i] = uint64(len(name)) // so that a value tells of which name it is
		}
	}
	return nil
}

// names makes so many, each of another length.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.Repeat("x", i%nameLen+1)
	}
	return list
}

func check(t *testing.T, s *Statistics, k *kernel) {
	t.Helper()
	if !slices.Equal(s.Names, k.names) || len(s.Values) != len(k.names) {
		t.Fatalf("%d names and %d values of %d", len(s.Names), len(s.Values), len(k.names))
	}
	for i, v := range s.Values {
		if int(v) != len(s.Names[i]) {
			t.Fatalf("value %d is that of another name than %q", i, s.Names[i])
		}
	}
}

// Whatever changes between two calls, no value is given to another name, and
// no buffer overflows.
func TestNamesChange(t *testing.T) {
	for _, old := range []bool{false, true} {
		k := &kernel{names: names(700), old: old, index: 7}
		l := &live{ioctl: k.ioctl, index: 7, relabels: true}
		s := &Statistics{}
		read := func() {
			t.Helper()
			if err := l.statistics(s); err != nil {
				t.Fatal(err)
			}
			check(t, s, k)
		}
		read()
		// names of 32 bytes, more and fewer statistics than before, another order
		for _, change := range [][]string{names(1500), names(30), append([]string{strings.Repeat("y", nameLen)}, names(29)...), slices.Repeat([]string{"same"}, 12)} {
			k.names = change
			read()
		}
		// between the values and the names that are read after them
		other := names(9)
		k.before = func(command uint32) {
			if command == cmdStrings && len(other) > 0 {
				k.names, other = other, nil
			}
		}
		read()
		k.before = nil
		generation := s.Generation
		read()
		if s.Generation != generation {
			t.Error("the same names are a new generation")
		}
		if n := testing.AllocsPerRun(20, func() { k.calls = k.calls[:0]; read() }); n > 0 {
			t.Errorf("%v allocations", n)
		}
		if !slices.Equal(k.calls, []uint32{cmdStats, cmdStrings}) {
			t.Errorf("a reading of known names takes the commands %x", k.calls)
		}
		l.relabels, k.calls = false, nil
		read()
		if !slices.Equal(k.calls, []uint32{cmdStats}) {
			t.Errorf("a driver that keeps its names is asked by the commands %x", k.calls)
		}
	}
}

func TestNamesNeverStay(t *testing.T) {
	k := &kernel{names: names(5), index: 7}
	k.before = func(command uint32) {
		if command == cmdStats {
			k.names = append(k.names, "another")
		}
	}
	l := &live{ioctl: k.ioctl, index: 7, relabels: true}
	if err := l.statistics(&Statistics{}); !errors.Is(err, errChanged) {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name string
		k    kernel
		want error
	}{
		{"no statistics", kernel{index: 7}, errors.ErrUnsupported},
		{"too many", kernel{index: 7, names: slices.Repeat([]string{"x"}, maxStatistics+1)}, nil},
		{"another interface", kernel{index: 8, names: names(3)}, ErrReplaced},
		{"gone", kernel{err: unix.ENODEV}, unix.ENODEV},
		{"not allowed", kernel{index: 7, err: unix.EPERM}, unix.EPERM},
	} {
		l := &live{ioctl: test.k.ioctl, index: 7}
		if err := l.statistics(&Statistics{}); err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestPrevention(t *testing.T) {
	k := &kernel{}
	l := &live{ioctl: k.ioctl}
	if p, err := l.prevention(); err != nil || p != (Prevention{After: 8 * time.Second}) {
		t.Errorf("%+v, %v", p, err)
	}
}
