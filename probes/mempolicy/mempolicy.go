// SPDX-License-Identifier: Apache-2.0

// Package mempolicy binds the calling thread to processors and memory nodes
// and turns the process into another program. It knows the system calls; which
// node is the right one it does not know.
package mempolicy

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Modes of set_mempolicy(2).
const (
	preferred = 1
	bind      = 2
)

// maxCPUs and maxNodes are more than any kernel has.
const (
	maxCPUs  = 1 << 16
	maxNodes = 1 << 12
)

const wordBits = bits.UintSize

// Allowed lists the processors that the calling thread may run on: those of its
// cpuset, and what its starter left of them.
func Allowed() ([]int, error) {
	words := make([]uint, maxCPUs/wordBits)
	n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, 0, uintptr(len(words)*wordBits/8), uintptr(unsafe.Pointer(&words[0])))
	if errno != 0 {
		return nil, fmt.Errorf("sched_getaffinity: %w", errno)
	}
	var list []int
	for i, word := range words[:int(n)*8/wordBits] {
		for ; word != 0; word &= word - 1 {
			list = append(list, i*wordBits+bits.TrailingZeros(word))
		}
	}
	return list, nil
}

// A Policy says where a program runs and has its memory.
type Policy struct {
	CPUs []int // not empty
	Node int   // of the memory; -1: wherever the kernel likes
	// Strict lets an allocation fail, or the program be killed, rather than
	// have memory of another node.
	Strict bool
}

// Apply puts the policy in force for the calling thread, which the goroutine
// keeps: the program that Become turns into inherits it, and so do the threads
// and processes that it starts.
func (p Policy) Apply() error {
	runtime.LockOSThread()
	cpus, err := mask(p.CPUs, maxCPUs)
	if err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, 0, uintptr(len(cpus)*wordBits/8), uintptr(unsafe.Pointer(&cpus[0]))); errno != 0 {
		return fmt.Errorf("sched_setaffinity: %w", errno)
	}
	if p.Node < 0 {
		return nil
	}
	nodes, err := mask([]int{p.Node}, maxNodes)
	if err != nil {
		return err
	}
	mode := uintptr(preferred)
	if p.Strict {
		mode = bind
	}
	// The kernel takes a number of bits that is one more than it looks at.
	_, _, errno := unix.RawSyscall(unix.SYS_SET_MEMPOLICY, mode, uintptr(unsafe.Pointer(&nodes[0])), uintptr(len(nodes)*wordBits+1))
	switch {
	case errno == unix.ENOSYS:
		return errors.New("set_mempolicy: this kernel has no NUMA support")
	case errno == unix.EINVAL:
		return fmt.Errorf("set_mempolicy: node %d has no memory, or the cpuset does not allow it", p.Node)
	case errno != 0:
		return fmt.Errorf("set_mempolicy: %w", errno)
	}
	return nil
}

func mask(list []int, most int) ([]uint, error) {
	var words []uint
	for _, n := range list {
		if n < 0 || n >= most {
			return nil, fmt.Errorf("there is no number %d", n)
		}
		for n/wordBits >= len(words) {
			words = append(words, 0)
		}
		words[n/wordBits] |= 1 << (n % wordBits)
	}
	if len(words) == 0 {
		return nil, errors.New("an empty set")
	}
	return words, nil
}

// Exit codes of a program that cannot be started, as shells have them.
const (
	ExitNotExecutable = 126
	ExitNotFound      = 127
)

// A StartError is a program that cannot be started.
type StartError struct {
	Code int
	Text string
}

func (e *StartError) Error() string { return e.Text }

// Find looks for a program as a shell does: in PATH, unless its name has a slash.
func Find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	found := &StartError{ExitNotFound, fmt.Sprintf("%s: command not found in PATH", name)}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir == "" {
			dir = "."
		}
		path := filepath.Join(dir, name)
		err := executable(path)
		if err == nil && name != "" {
			return path, nil
		}
		// What is there but is no program is told of, should no other be found.
		if denied := (*StartError)(nil); errors.As(err, &denied) && denied.Code == ExitNotExecutable && name != "" {
			found = denied
		}
	}
	return "", found
}

// executable says why a file is no program.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil && errors.Is(err, os.ErrPermission):
		return &StartError{ExitNotExecutable, fmt.Sprintf("%s: permission denied", path)}
	case err != nil:
		return &StartError{ExitNotFound, fmt.Sprintf("%s: no such file", path)}
	case info.IsDir():
		return &StartError{ExitNotExecutable, fmt.Sprintf("%s: is a directory", path)}
	case unix.Access(path, unix.X_OK) != nil:
		return &StartError{ExitNotExecutable, fmt.Sprintf("%s: not executable", path)}
	}
	return nil
}

// Become turns this process into the program at path: it keeps the process'
// number, so that signals and the exit status are the program's own. It
// returns only if that fails.
func Become(path string, args, env []string) error {
	err := syscall.Exec(path, args, env) // it undoes what Go's runtime changed
	code := ExitNotExecutable
	text := fmt.Sprintf("%s: %v", path, err)
	switch {
	case errors.Is(err, unix.ENOENT): // it was there: its interpreter is not
		code, text = ExitNotFound, fmt.Sprintf("%s: its interpreter is not there", path)
	case errors.Is(err, unix.ENOEXEC):
		text = fmt.Sprintf("%s: is no program of this machine, and no script with a line #!", path)
	}
	return &StartError{code, text}
}
