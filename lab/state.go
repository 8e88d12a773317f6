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
type states struct{ of map[string]*state }

// A state is of one kind of machine.
type state struct {
	sync.Mutex
	scenarios int    // that have such a machine
	file      string // empty until it is saved
}

func newStates(scenarios []Scenario) states {
	s := states{map[string]*state{}}
	for i := range scenarios {
		kind := kindOf(scenarios[i].machine())
		if s.of[kind] == nil {
			s.of[kind] = &state{}
		}
		s.of[kind].scenarios++
	}
	return s
}

// kindOf is the same for machines that are alike.
func kindOf(o qemu.Options) string {
	return fmt.Sprintf("%s|%d|%v|%s|%s", o.Append, o.Nodes, o.Guest, strings.Join(o.Devices, " "), strings.Join(o.Wires, " "))
}

// start starts a machine from the state of one that is alike, or boots it. The first of a kind of which there will be more is saved
// into a file whose name begins as given; while it boots, the others wait for that.
func (s states) start(ctx context.Context, o qemu.Options, prefix string) (*qemu.Machine, error) {
	of := s.of[kindOf(o)]
	if o.Interactive || of == nil || of.scenarios < 2 {
		return qemu.Start(ctx, o)
	}
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
