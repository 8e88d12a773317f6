// SPDX-License-Identifier: Apache-2.0

// Package process knows where the kernel tells on which processors a process
// may run and on which NUMA nodes its memory lies. Where either should be it
// does not know.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/fabricd/fabricd/probes"
)

// A Status is what /proc/PID/status tells of a process' first thread.
type Status struct {
	CPUs     string // that it may run on, as a list
	Mems     string // nodes that it may have memory of
	Resident uint64 // bytes; 0 where it is not told
}

// ErrUntold is a status without a list of processors.
var ErrUntold = errors.New("/proc/PID/status tells no Cpus_allowed_list")

// ReadStatus reads a process' status. fs.ErrNotExist is one that ended, or is
// of another PID namespace.
func ReadStatus(h *probes.Host, pid int) (Status, error) {
	b, err := h.ReadFile(file(pid, "status"))
	if err != nil {
		return Status{}, err
	}
	s := parseStatus(b)
	if s.CPUs == "" {
		return s, ErrUntold
	}
	return s, nil
}

func file(pid int, name string) string { return fmt.Sprintf("proc/%d/%s", pid, name) }

func parseStatus(b []byte) Status {
	var s Status
	for line := range bytes.Lines(b) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch string(key) {
		case "Cpus_allowed_list":
			s.CPUs = probes.Printable(string(value))
		case "Mems_allowed_list":
			s.Mems = probes.Printable(string(value))
		case "VmRSS":
			if kb, err := strconv.ParseUint(string(bytes.TrimSuffix(value, []byte(" kB"))), 10, 50); err == nil {
				s.Resident = kb << 10
			}
		}
	}
	return s
}

// Name gives a process' name; "" where it is not told.
func Name(h *probes.Host, pid int) string {
	b, err := h.ReadFile(file(pid, "comm"))
	if err != nil {
		return ""
	}
	return probes.Printable(string(bytes.TrimSpace(b)))
}

// Pages is a process' resident memory: bytes by NUMA node.
type Pages map[int]uint64

// Sum gives all of it.
func (p Pages) Sum() (sum uint64) {
	for _, n := range p {
		sum += n
	}
	return sum
}

// ReadPages adds up a process' numa_maps. The kernel walks all of the process'
// page tables for it, and keeps it from mapping memory meanwhile: not for fast
// tickers. Another user's needs CAP_SYS_PTRACE.
func ReadPages(h *probes.Host, pid int) (Pages, error) {
	b, err := h.ReadFile(file(pid, "numa_maps"))
	if err != nil {
		return nil, err
	}
	return parsePages(b), nil
}

// maxNodes bounds the nodes of a process: the kernel has at most 1024.
const maxNodes = 1024

// parsePages reads lines such as
// "7f10c8000000 default anon=812044 N0=700800 N1=111244 kernelpagesize_kB=4".
func parsePages(b []byte) Pages {
	p := Pages{}
	for line := range bytes.Lines(b) {
		// A name may hold anything but white space, and stands before the nodes.
		size := uint64(4096)
		fields := bytes.Fields(line)
		if n := len(fields); n > 0 {
			if kb, ok := number(fields[n-1], "kernelpagesize_kB="); ok && kb < 1<<32 {
				size = kb << 10
			}
		}
		for _, f := range fields {
			if len(f) < 4 || f[0] != 'N' {
				continue
			}
			node, count, ok := bytes.Cut(f[1:], []byte("="))
			id, errNode := strconv.Atoi(string(node))
			pages, errCount := strconv.ParseUint(string(count), 10, 40)
			if ok && errNode == nil && errCount == nil && id >= 0 && id < maxNodes {
				p[id] += pages * size
			}
		}
	}
	return p
}

func number(field []byte, key string) (uint64, bool) {
	text, ok := bytes.CutPrefix(field, []byte(key))
	n, err := strconv.ParseUint(string(text), 10, 64)
	return n, ok && err == nil
}

// initNamespace is the inode of the machine's first PID namespace
// (PROC_PID_INIT_INO in the kernel).
const initNamespace = "pid:[4026531836]"

// Foreign says whether the numbers of processes that drivers tell are others
// than those in /proc here: they count in the machine's first PID namespace,
// /proc in that of its mount.
func Foreign(h *probes.Host) bool {
	if h.Recorded() {
		return false
	}
	dir, err := h.Dir("proc/self/ns")
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // of a namespace that has not even this process
	}
	defer dir.Close()
	target, err := dir.Readlink("pid")
	if err != nil || target == initNamespace {
		return false
	}
	// One number: /proc is of this process' own namespace. More: of one above.
	b, err := h.ReadFile("proc/self/status")
	if err != nil {
		return true
	}
	for line := range bytes.Lines(b) {
		if numbers, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			return len(bytes.Fields(numbers)) < 2
		}
	}
	return true
}
