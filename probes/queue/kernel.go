// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
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
	interfaces, err := sysfs(h)
	if err != nil {
		return nil, err
	}
	q, err := bpf.OpenQueues(countQueues(places), len(places), interfaces, timer)
	if err != nil {
		return nil, refusal(err, missing(), confidential(h))
	}
	k := &kernel{q}
	if err := q.Sample(monotonic()); err != nil { // without queues as yet: does it run at all?
		k.close()
		return nil, err
	}
	return k, nil
}

// refusal says what a kernel that refuses BPF lacks, or we do: capabilities. A
// locked one lets no program read its memory, and calls that EINVAL.
func refusal(err error, missing []string, locked bool) error {
	switch {
	case locked && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL)):
		return errors.New("the kernel is locked down for confidentiality: no BPF program may read its memory")
	case (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL)) && len(missing) > 0: // EPERM, and EACCES or EINVAL from the verifier
		return fmt.Errorf("BPF is not permitted without %s", strings.Join(missing, " and "))
	case errors.Is(err, syscall.EPERM):
		return errors.New("BPF is not permitted: a lockdown, or a filter of system calls")
	case errors.Is(err, syscall.ENOSYS):
		return errors.New("there is no BPF (CONFIG_BPF_SYSCALL), or a filter of system calls hides it")
	case strings.Contains(err.Error(), "no BTF found for kernel"): // the library has no error of its own for it
		return fmt.Errorf("the kernel tells no types (CONFIG_DEBUG_INFO_BTF): %w", err)
	}
	return err
}

// confidential says whether the kernel's lockdown keeps its memory secret:
// then /sys/kernel/security/lockdown says "none integrity [confidentiality]".
func confidential(h *probes.Host) bool {
	b, err := h.ReadFile("sys/kernel/security/lockdown")
	return err == nil && strings.Contains(string(b), "[confidentiality]")
}

// missing lists the capabilities for BPF that this process does not have.
func missing() (names []string) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return nil
	}
	has := func(c int) bool { return data[c/32].Effective&(1<<(c%32)) != 0 }
	if has(unix.CAP_SYS_ADMIN) { // it holds both
		return nil
	}
	if !has(unix.CAP_BPF) {
		names = append(names, "CAP_BPF")
	}
	if !has(unix.CAP_PERFMON) {
		names = append(names, "CAP_PERFMON")
	}
	return names
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

func (k *kernel) noLimit(int) error { return nil }

func (k *kernel) close() { k.Close() }
