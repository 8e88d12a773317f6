// SPDX-License-Identifier: Apache-2.0

package bpf

import (
	"errors"
	"fmt"
	"os"
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

	objects *ebpf.Collection
	sysfs   *os.File // holds the network namespace in memory
	mapped  [][]byte
	options ebpf.RunOptions
}

// OpenQueues loads the sampler with room for so many queues and devices. It looks at the devices that a sysfs shows: a
// file or directory there, which it takes over. With timer it can be armed, which needs a kernel of 5.15 or later.
func OpenQueues(slots, devices int, sysfs *os.File, timer bool) (*Queues, error) {
	q := &Queues{sysfs: sysfs}
	if err := q.open(slots, devices, timer); err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

func (q *Queues) open(slots, devices int, timer bool) error {
	spec, err := LoadQueue()
	if err != nil {
		return err
	}
	spec.Maps[QueueMapSlots].MaxEntries = uint32(max(slots, 1))
	spec.Maps[QueueMapDevices].MaxEntries = uint32(max(devices, 1))
	if !timer {
		delete(spec.Programs, QueueProgArm)
		delete(spec.Maps, QueueMapTimers)
	}
	if q.objects, err = ebpf.NewCollection(spec); err != nil {
		return shortError(err)
	}
	if err := q.mapAll(slots, devices); err != nil {
		return err
	}
	q.Control.Sysfs = uint32(q.sysfs.Fd())
	return q.run(QueueProgLocate)
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
	if q.Slots, err = mapped[QueueSlot](q, q.objects.Maps[QueueMapSlots], slots); err != nil {
		return err
	}
	if q.Devices, err = mapped[QueueDevice](q, q.objects.Maps[QueueMapDevices], devices); err != nil {
		return err
	}
	control, err := mapped[QueueControl](q, q.objects.Maps[QueueMapControls], 1)
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

// Errors of the programs.
var (
	errNoNamespace = errors.New("the kernel does not tell of which network namespace sysfs shows the interfaces")
	errNoTimer     = errors.New("the kernel's timer does not start")
)

// Sample takes one sample of all queues. deadline is when it should have been taken, on the monotonic clock.
func (q *Queues) Sample(deadline time.Duration) error {
	q.Control.Deadline = uint64(deadline)
	return q.run(QueueProgSample)
}

// Arm has the kernel's timer take samples from now on.
func (q *Queues) Arm(every time.Duration) error {
	q.Control.Interval = uint64(every)
	return q.run(QueueProgArm)
}

func (q *Queues) run(program string) error {
	code, err := q.objects.Programs[program].Run(&q.options)
	switch {
	case err != nil:
		return err
	case code == 1:
		return errNoNamespace
	case code != 0:
		return errNoTimer
	}
	return nil
}

// Close unloads the sampler; its memory is gone then, and its timer stops.
func (q *Queues) Close() {
	for _, b := range q.mapped {
		unix.Munmap(b) //nolint:errcheck // it was mapped
	}
	q.Slots, q.Devices, q.Control, q.mapped = nil, nil, nil, nil
	if q.objects != nil {
		q.objects.Close()
	}
	q.sysfs.Close()
}
