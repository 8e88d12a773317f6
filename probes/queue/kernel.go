// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/probes"
)

// kernel samples by the program in the kernel.
type kernel struct {
	*bpf.Queues
}

// maxTimed bounds the queues that the kernel's timer looks at: it interrupts
// whatever runs.
const maxTimed = 4096

var (
	errAsked    = errors.New("another way was asked for")
	errTooLarge = fmt.Errorf("the kernel's timer is not held up by more than %d queues", maxTimed)
)

// openKernel loads the program, to be run by the kernel's timer or by us. An
// error says why it cannot be.
func openKernel(h *probes.Host, o Options, places []place, timer bool) (*kernel, error) {
	switch {
	case o.Way != Best && (o.Way == Timer) != timer, o.Way == Files:
		return nil, errAsked
	case timer && countQueues(places) > maxTimed:
		return nil, errTooLarge
	}
	netns, err := namespace(h, places)
	if err != nil {
		return nil, err
	}
	q, err := bpf.OpenQueues(countQueues(places), len(places), netns, timer)
	if err != nil {
		return nil, refusal(err)
	}
	k := &kernel{q}
	if err := q.Sample(monotonic()); err != nil { // without queues as yet: does it run at all?
		k.close()
		return nil, err
	}
	return k, nil
}

// refusal says what a kernel that refuses BPF lacks.
func refusal(err error) error {
	switch {
	case errors.Is(err, syscall.EPERM):
		return errors.New("BPF is not permitted: it takes CAP_BPF and CAP_PERFMON, and no lockdown")
	case strings.Contains(err.Error(), "BTF"):
		return fmt.Errorf("the kernel tells no types (CONFIG_DEBUG_INFO_BTF): %w", err)
	}
	return err
}

func (k *kernel) mem() memory { return memory{k.Slots, k.Devices, k.Control} }

func (k *kernel) sample(deadline, _ time.Duration, _ func() time.Duration) error {
	return k.Sample(deadline)
}

// start has the kernel's timer take samples, or changes its interval.
func (k *kernel) start(every time.Duration) error {
	if k.Control.Interval > 0 {
		k.Control.Interval = uint64(every)
		return nil
	}
	return k.Arm(every)
}

func (k *kernel) problem(int) error { return nil }

func (k *kernel) close() { k.Close() }
