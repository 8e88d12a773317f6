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

// openKernel loads the program. An error says why it cannot be.
func openKernel(h *probes.Host, o Options, places []place) (*kernel, error) {
	if o.Way == Files {
		return nil, errors.New("the files were asked for")
	}
	netns, err := namespace(h, places)
	if err != nil {
		return nil, err
	}
	q, err := bpf.OpenQueues(countQueues(places), len(places), netns)
	if err != nil {
		return nil, refusal(err)
	}
	k := &kernel{q}
	if err := q.Sample(monotonic()); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// refusal says what a kernel that refuses BPF lacks.
func refusal(err error) error {
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("BPF is not permitted: it needs CAP_BPF and CAP_PERFMON, and no lockdown: %w", err)
	case strings.Contains(err.Error(), "BTF"):
		return fmt.Errorf("the kernel tells no types (CONFIG_DEBUG_INFO_BTF): %w", err)
	}
	return err
}

func (k *kernel) mem() memory { return memory{k.Slots, k.Devices, k.Control} }

func (k *kernel) sample(deadline, _ time.Duration, _ func() time.Duration) error {
	return k.Sample(deadline)
}

func (k *kernel) problem(int) error { return nil }

func (k *kernel) close() { k.Close() }
