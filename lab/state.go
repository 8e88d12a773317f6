// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/fabricd/fabricd/lab/internal/qemu"
)

// states are the machines that were saved as they were just after they came up: to start once more where one was costs a tenth of
// booting it under emulation.
type states struct {
	sync.Mutex
	of map[string]*state
}

// A state is of one kind of machine.
type state struct {
	sync.Mutex
	file string // empty until it is saved
}

func (s *states) like(kind string) *state {
	s.Lock()
	defer s.Unlock()
	if s.of == nil {
		s.of = map[string]*state{}
	}
	if s.of[kind] == nil {
		s.of[kind] = &state{}
	}
	return s.of[kind]
}

// start starts a machine from the state of one with the same options and packages, or boots it. The first of its kind is saved into a
// file whose name begins as given; while it boots, the others wait for that.
func (s *states) start(ctx context.Context, o qemu.Options, prefix string, packages []string) (*qemu.Machine, error) {
	if o.Interactive || len(o.Wires) > 0 {
		return qemu.Start(ctx, o)
	}
	kind := strings.Join([]string{o.Append, fmt.Sprint(o.Nodes, o.Guest), strings.Join(o.Devices, " "), strings.Join(packages, " ")}, "|")
	of := s.like(kind)
	of.Lock()
	if of.file != "" {
		of.Unlock()
		o.State = of.file
		return qemu.Start(ctx, o)
	}
	defer of.Unlock()
	m, err := qemu.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	file := fmt.Sprintf("%s%p", prefix, of)
	if err := m.Save(ctx, file); err != nil {
		m.Stop()
		return nil, err
	}
	of.file = file
	return m, nil
}
