// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/fabricd/fabricd/probes"
)

// A softnet follows /proc/net/softnet_stat: what processors dropped because
// their backlog of received packets was full, and how often they ran out of
// time. The counts of 32 bits that wrap are carried on.
type softnet struct {
	last              map[uint64][2]uint32
	dropped, squeezed uint64
}

// Softnet is the sum over all processors; nil: not told.
type Softnet struct{ Dropped, Squeezed uint64 }

func (s *softnet) read(h *probes.Host) (*Softnet, error) {
	b, err := h.ReadFile("proc/net/softnet_stat")
	if err != nil {
		return nil, err
	}
	return s.take(b)
}

var errSoftnet = errors.New("/proc/net/softnet_stat: a line is not of hexadecimal numbers")

// take reads the lines, one for each online processor, whose number is the
// 13th column where there is one.
func (s *softnet) take(b []byte) (*Softnet, error) {
	now := map[uint64][2]uint32{}
	row := uint64(0)
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 3 {
			return nil, errSoftnet
		}
		dropped, err1 := strconv.ParseUint(string(f[1]), 16, 32)
		squeezed, err2 := strconv.ParseUint(string(f[2]), 16, 32)
		cpu, err3 := row, error(nil)
		if len(f) > 12 {
			cpu, err3 = strconv.ParseUint(string(f[12]), 16, 32)
		}
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, errSoftnet
		}
		was := s.last[cpu]
		s.dropped += uint64(uint32(dropped) - was[0])
		s.squeezed += uint64(uint32(squeezed) - was[1])
		now[cpu] = [2]uint32{uint32(dropped), uint32(squeezed)}
		row++
	}
	for cpu, was := range s.last { // one that went offline keeps its counts
		if _, ok := now[cpu]; !ok {
			now[cpu] = was
		}
	}
	s.last = now
	return &Softnet{s.dropped, s.squeezed}, nil
}
