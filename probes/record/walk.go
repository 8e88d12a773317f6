// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/pci"
	"golang.org/x/sys/unix"
)

// A plan is what is asked, as trees.
type plan struct{ function, netdev, rdma, sys, proc, process *branch }

func newPlan() *plan {
	return &plan{
		function: newBranch(functionAsks), netdev: newBranch(netdevAsks), rdma: newBranch(rdmaAsks),
		sys: newBranch(sysAsks), proc: newBranch(procAsks), process: newBranch(processAsks),
	}
}

// A walk takes one snapshot.
type walk struct {
	ctx  context.Context
	host *probes.Host
	plan *plan
	at   time.Duration
	last *snapshot // may be nil
	now  *snapshot
}

// take asks everything. An error means that ctx ended.
func (w *walk) take() (*snapshot, error) {
	w.now = newSnapshot()
	w.ask("proc", w.plan.proc, false)
	w.ask("sys", w.plan.sys, false)
	w.functions()
	interfaces := w.members(classNet, w.now.hidden)
	w.rdma()
	w.netdevs(interfaces)
	w.disciplines()
	w.processes()
	return w.now, w.ctx.Err()
}

// ask reads what a branch names below a directory. What is not there is left
// out: a recording answers the same.
func (w *walk) ask(dir string, b *branch, asleep bool) {
	if w.ctx.Err() != nil {
		return
	}
	d := w.open(dir)
	if d == nil {
		return
	}
	defer d.Close()
	var names []string
	if b.lists() {
		names = w.list(d, dir)
	}
	for _, l := range b.leaves {
		for _, name := range matching(l.glob, names) {
			switch {
			case forbidden(name):
			case l.ask.links:
				w.link(d, dir, name)
			case asleep && l.ask.wakes:
				if slices.Contains(names, name) {
					w.now.entries[path.Join(dir, name)] = entry{errno: asleepErrno}
				}
			case !w.keep(dir, name, l.ask.floor, asleep):
				w.file(d, dir, name, l.ask.floor > 0)
			}
		}
	}
	for _, s := range b.subs {
		for _, name := range matching(s.glob, names) {
			if !w.excluded(name) {
				w.ask(path.Join(dir, name), s.branch, asleep)
			}
		}
	}
}

// open opens a directory and notes which one it is; nil if it cannot.
func (w *walk) open(dir string) *probes.Dir {
	d, err := w.host.Dir(dir)
	if err != nil {
		return nil
	}
	if id, err := d.Identity(); err == nil {
		w.now.dirs[dir] = id
	}
	return d
}

// asleepErrno stands where a suspended function was not asked, so that it
// keeps having the file: that a function has link files says that it is PCI
// Express.
const asleepErrno = "EAGAIN"

func (w *walk) list(d *probes.Dir, dir string) []string {
	names, err := d.List()
	if err != nil && len(names) == 0 {
		return nil
	}
	if len(names) > maxNames {
		w.cutf("%s: more than %d names", dir, maxNames)
		names = names[:maxNames]
	}
	return names
}

func (w *walk) cutf(format string, args ...any) {
	w.now.cut = append(w.now.cut, fmt.Sprintf(format, args...))
}

// refusedFor is how long an expensive question that was refused is not asked
// again: firmware that restricts counters makes the kernel log each try.
const refusedFor = 30 * time.Second

// keep takes an entry over from the last snapshot if it is too early to read
// it again, or if that would wake a function. In a recording reading is free.
func (w *walk) keep(dir, name string, floor time.Duration, asleep bool) bool {
	if floor == 0 || w.last == nil || w.host.Recorded() || w.last.dirs[dir] != w.now.dirs[dir] {
		return false
	}
	full := path.Join(dir, name)
	e, ok := w.last.entries[full]
	readAt, read := w.last.readAt[full]
	if e.errno != "" {
		floor = max(floor, refusedFor)
	}
	if !ok || !read || !asleep && w.at-readAt >= floor {
		return false
	}
	w.now.entries[full], w.now.readAt[full] = e, readAt
	return true
}

// link keeps a link's target. Where the name is no link, there is nothing to keep.
func (w *walk) link(d *probes.Dir, dir, name string) {
	if target, err := d.Readlink(name); err == nil {
		w.now.entries[path.Join(dir, name)] = entry{target: target}
	}
}

// file reads a file: its content, or the error that reading it gives.
func (w *walk) file(d *probes.Dir, dir, name string, floored bool) {
	full := path.Join(dir, name)
	b, err := d.ReadFile(name)
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		return
	case errors.As(err, &errno):
		w.now.entries[full] = entry{errno: errnoName(errno)}
	case err != nil:
		return // a link that leads out of the machine's root
	default:
		b = trim(full, b)
		if most := limit(full); len(b) > most {
			w.cutf("%s: longer than %d bytes", full, most)
			b = cutAt(b, most)
		}
		w.now.entries[full] = entry{data: b}
	}
	if floored {
		w.now.readAt[full] = w.at
	}
}

// errnoName gives an error's name as recordings spell it.
func errnoName(e syscall.Errno) string {
	if e == syscall.EOPNOTSUPP { // its other name, ENOTSUP, comes first otherwise
		return "EOPNOTSUPP"
	}
	if name := unix.ErrnoName(e); name != "" && e < 134 {
		return name
	}
	return "EIO"
}

// functions asks the PCI functions. One that is suspended is left asleep.
func (w *walk) functions() {
	bus, err := w.host.Dir(pciDevices)
	if err != nil {
		return
	}
	defer bus.Close()
	for _, name := range w.list(bus, pciDevices) {
		if _, err := pci.ParseAddress(name); err != nil {
			continue
		}
		if w.host.Excluded(name) {
			w.now.excluded++
			continue
		}
		w.link(bus, pciDevices, name)
		own := w.canonical(pciDevices, name)
		asleep := !w.host.Recorded() && w.suspended(own)
		w.ask(own, w.plan.function, asleep)
		w.count(own, asleep)
	}
}

func (w *walk) count(own string, asleep bool) {
	n := w.now
	n.functions++
	if asleep {
		n.asleep++
	}
	if e, ok := n.entries[path.Join(own, "aer_dev_correctable")]; ok && e.errno == "" {
		n.aer++
	}
	n.config = max(n.config, len(n.entries[path.Join(own, "config")].data))
}

func (w *walk) suspended(own string) bool {
	b, err := w.host.ReadFile(path.Join(own, "power/runtime_status"))
	return err == nil && (string(b) == "suspended\n" || string(b) == "suspending\n")
}

// canonical gives the directory that a link of a bus or class leads to; in a
// recording it may stand there itself.
func (w *walk) canonical(class, name string) string {
	if target := w.now.entries[path.Join(class, name)].target; target != "" {
		return path.Join(class, target)
	}
	return path.Join(class, name)
}

// answers writes a live host's GPUs down as a recording has them.
func (w *walk) answers(all *gpu.Snapshot) {
	s := *all
	s.Devices = slices.DeleteFunc(slices.Clone(s.Devices), func(d gpu.Device) bool { return w.host.Excluded(d.Address) })
	if b, err := json.MarshalIndent(&s, "", " "); err == nil {
		w.now.entries["gpu.json"] = entry{data: append(b, '\n')}
	}
}

// processes asks the processes that use a GPU.
func (w *walk) processes() {
	gpus, err := w.host.GPUs()
	if err != nil {
		return
	}
	if !w.host.Recorded() {
		w.answers(gpus)
	}
	var pids []int
	for _, d := range gpus.Devices {
		if w.host.Excluded(d.Address) {
			continue
		}
		for _, p := range d.Processes {
			pids = append(pids, p.PID)
		}
	}
	slices.Sort(pids)
	pids = slices.Compact(pids)
	if len(pids) > maxProcesses {
		w.cutf("proc: %d of %d processes that use GPUs", maxProcesses, len(pids))
		pids = pids[:maxProcesses]
	}
	for _, pid := range pids {
		w.ask(fmt.Sprintf("proc/%d", pid), w.plan.process, false)
	}
}
