// SPDX-License-Identifier: Apache-2.0

package bpf

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Queues is the sampler of transmit queues, loaded. Its memory is the kernel's: the program writes it, and so may we.
// Nothing is pinned: it goes with the process.
type Queues struct {
	Slots   []QueueSlot
	Devices []QueueDevice
	Control *QueueControl

	objects QueueObjects
	mapped  [][]byte
	options ebpf.RunOptions
}

// OpenQueues loads the sampler with room for so many queues and devices. It looks at the devices of the network
// namespace with this inode.
func OpenQueues(slots, devices int, netns uint32) (*Queues, error) {
	spec, err := LoadQueue()
	if err != nil {
		return nil, err
	}
	spec.Maps[QueueMapSlots].MaxEntries = uint32(max(slots, 1))
	spec.Maps[QueueMapDevices].MaxEntries = uint32(max(devices, 1))
	q := &Queues{}
	if err := spec.LoadAndAssign(&q.objects, nil); err != nil {
		return nil, shortError(err)
	}
	if err := q.mapAll(slots, devices); err != nil {
		q.Close()
		return nil, err
	}
	q.Control.Netns = netns
	return q, nil
}

// shortError leaves the verifier's log out: it is for whoever changes the program.
func shortError(err error) error {
	var v *ebpf.VerifierError
	if errors.As(err, &v) {
		return fmt.Errorf("the kernel's verifier refuses the program: %w", v.Cause)
	}
	return err
}

func (q *Queues) mapAll(slots, devices int) error {
	var err error
	if q.Slots, err = mapped[QueueSlot](q, q.objects.Slots, slots); err != nil {
		return err
	}
	if q.Devices, err = mapped[QueueDevice](q, q.objects.Devices, devices); err != nil {
		return err
	}
	control, err := mapped[QueueControl](q, q.objects.Controls, 1)
	if err == nil {
		q.Control = &control[0]
	}
	return err
}

// mapped maps an array's memory.
func mapped[T any](q *Queues, m *ebpf.Map, n int) ([]T, error) {
	if n == 0 {
		return nil, nil
	}
	size := n * int(unsafe.Sizeof(*new(T)))
	b, err := unix.Mmap(m.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", m, err)
	}
	q.mapped = append(q.mapped, b)
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n), nil
}

var errNoNamespace = errors.New("the kernel's list holds no such network namespace")

// Sample takes one sample of all queues. deadline is when it should have been taken, on the monotonic clock.
func (q *Queues) Sample(deadline time.Duration) error {
	q.Control.Deadline = uint64(deadline)
	code, err := q.objects.Sample.Run(&q.options)
	if err == nil && code != 0 {
		return errNoNamespace
	}
	return err
}

// Close unloads the sampler; its memory is gone then.
func (q *Queues) Close() {
	for _, b := range q.mapped {
		unix.Munmap(b) //nolint:errcheck // it was mapped
	}
	q.Slots, q.Devices, q.Control, q.mapped = nil, nil, nil, nil
	q.objects.Close() //nolint:errcheck // nothing is left to do
}
