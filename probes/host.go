// SPDX-License-Identifier: Apache-2.0

// Package probes asks the machine. It knows where Linux keeps its answers
// (sysfs, procfs, netlink) and in which form, and gives them as plain values;
// what they mean, and whether they are good, it does not know. A live machine
// and a recorded one are the same type, Host.
package probes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fabricd/fabricd/probes/gpu"
)

// Options are what a Host is opened with.
type Options struct {
	// Exclude lists globs over PCI addresses: what matches is never opened.
	Exclude []string
	// AssumeBareMetal overrides what is found out about hypervisors.
	AssumeBareMetal bool
}

// A Host is a machine: the one at hand, one below a mount point, or a recorded one.
type Host struct {
	tree     tree
	options  Options
	film     *film     // of a recording
	manifest *Manifest // of a recording that has one

	exclude    atomic.Pointer[[]string] // globs
	inventory  atomic.Pointer[Inventory]
	refreshing sync.Mutex // one refresh at a time
	events     atomic.Uint64
	kept       atomic.Int64 // attributes kept open
	buffers    sync.Pool    // of *[pageSize]byte
	unbound    unbindings
	facts      *Facts // of a live host, read once

	gpus struct { // the newest recorded answer
		sync.Mutex
		raw  []byte
		last *gpu.Snapshot
	}
}

func newHost(t tree, o Options) *Host {
	h := &Host{tree: t, options: o}
	h.exclude.Store(&o.Exclude)
	return h
}

// Live opens the machine whose root is mounted at root, normally "/".
func Live(root string, o Options) (*Host, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("root of the machine: %w", err)
	}
	for _, need := range []string{"sys", "proc"} {
		if _, err := r.Stat(need); err != nil {
			return nil, fmt.Errorf("root of the machine: %s holds no %s (a host's root mounted into the container?): %w", root, need, err)
		}
	}
	return newHost(liveTree{r}, o), nil
}

// Recorded says whether the host is a recording.
func (h *Host) Recorded() bool { return h.tree.recorded() }

// Excluded says whether the operator forbade to open a PCI function.
func (h *Host) Excluded(address string) bool {
	for _, glob := range *h.exclude.Load() {
		if ok, _ := path.Match(glob, address); ok {
			return true
		}
	}
	return false
}

// SetExclude replaces the globs of functions that are never opened, from the
// next Refresh on.
func (h *Host) SetExclude(globs []string) { h.exclude.Store(&globs) }

// CheckGlob says what is wrong with a glob over PCI addresses.
func CheckGlob(glob string) error {
	if _, err := path.Match(glob, ""); err != nil || glob == "" {
		return fmt.Errorf("%q is not a glob over PCI addresses (such as 0000:8d:*)", glob)
	}
	return nil
}

// ReadFile reads a whole file: for cold paths.
func (h *Host) ReadFile(name string) ([]byte, error) {
	d, err := h.Dir(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadFile(path.Base(name))
}

// ReadDir lists a directory, sorted.
func (h *Host) ReadDir(name string) ([]string, error) {
	d, err := h.Dir(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.List()
}

// Exists says whether there is a file or directory of this name.
func (h *Host) Exists(name string) bool {
	d, err := h.Dir(name)
	if err == nil {
		d.Close()
		return true
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	parent, err := h.Dir(path.Dir(name))
	if err != nil {
		return false
	}
	defer parent.Close()
	f, err := parent.d.open(path.Base(name))
	if err == nil {
		f.close()
	}
	return err == nil
}

// GPUs gives what NVML answers. On a host without that source the error is
// fs.ErrNotExist.
func (h *Host) GPUs() (*gpu.Snapshot, error) {
	if !h.Recorded() {
		return nil, &fs.PathError{Op: "ask", Path: "NVML", Err: fs.ErrNotExist}
	}
	b, err := h.ReadFile("gpu.json")
	if err != nil {
		return nil, err
	}
	h.gpus.Lock()
	defer h.gpus.Unlock()
	if h.gpus.last == nil || !bytes.Equal(b, h.gpus.raw) {
		s, err := gpu.Parse(b)
		if err != nil {
			return nil, err
		}
		h.gpus.raw, h.gpus.last = b, s
	}
	return h.gpus.last, nil
}

// A Dir is a directory of the host, kept for repeated reads below it.
type Dir struct {
	h *Host
	d directory
}

// Dir opens a directory. Symbolic links are followed, but not out of the host's root.
func (h *Host) Dir(name string) (*Dir, error) {
	d, err := h.tree.dir(clean(name))
	if err != nil {
		return nil, err
	}
	return &Dir{h, d}, nil
}

// ReadFile reads a file of the directory (one path element).
func (d *Dir) ReadFile(name string) ([]byte, error) { return readAll(d.d, name) }

// List gives the directory's names, sorted.
func (d *Dir) List() ([]string, error) { return d.d.list() }

// Readlink gives a symbolic link's target as it is written.
func (d *Dir) Readlink(name string) (string, error) { return d.d.readlink(name) }

// Attr makes an attribute of the directory that is kept open. It is opened at
// its first read. Content beyond size bytes is cut.
func (d *Dir) Attr(name string, size int) *Attr {
	return &Attr{dir: d, name: name, buf: make([]byte, size)}
}

// Close closes the directory. Attributes made from it stay open, but can no
// longer be opened again.
func (d *Dir) Close() { d.d.close() }

// refusedFor is how long a refused attribute is left alone: asking for what a
// driver restricts floods the kernel's log.
const refusedFor = 30 * time.Second

// maxKept bounds the attributes kept open; those beyond are opened at each
// read. Go raises the limit of descriptors to the hard one, usually 2^19.
const maxKept = 1 << 14

// An Attr is one attribute kept open between reads: a pread into a kept
// buffer, no allocation. It is not safe for concurrent use.
type Attr struct {
	dir  *Dir
	name string
	f    file
	buf  []byte

	refused error // not asked again until notBefore, or until an event
	until   time.Time
	event   uint64
}

// Read reads the attribute anew. The bytes, without trailing white space, are
// good until the next Read. ENODEV closes it, so that the next Read opens what
// may have come back.
func (a *Attr) Read() ([]byte, error) {
	n, err := a.readInto(a.buf)
	if err != nil {
		return nil, err
	}
	for n > 0 && (a.buf[n-1] == '\n' || a.buf[n-1] == ' ' || a.buf[n-1] == 0) {
		n--
	}
	return a.buf[:n], nil
}

// pageSize is the most that a sysfs attribute of text holds, and the size of
// PCI Express configuration space.
const pageSize = 4096

// buffer lends a buffer; it goes back with buffers.Put.
func (h *Host) buffer() *[pageSize]byte {
	if buf, ok := h.buffers.Get().(*[pageSize]byte); ok {
		return buf
	}
	return new([pageSize]byte)
}

// View reads a binary attribute into a buffer that the host lends, and shows
// it to f; the bytes are good until f returns.
func (a *Attr) View(f func([]byte)) error {
	buf := a.dir.h.buffer()
	defer a.dir.h.buffers.Put(buf)
	n, err := a.readInto(buf[:])
	if err == nil {
		f(buf[:n])
	}
	return err
}

func (a *Attr) readInto(buf []byte) (int, error) {
	if a.refused != nil {
		if a.event == a.dir.h.events.Load() && time.Now().Before(a.until) {
			return 0, a.refused
		}
		a.refused = nil
	}
	if a.f == nil {
		f, err := a.dir.d.open(a.name)
		if err != nil {
			return 0, a.fail(err)
		}
		a.f = f
		a.dir.h.kept.Add(1)
	}
	n, err := a.f.readAt(buf)
	if err != nil {
		return 0, a.fail(err)
	}
	if a.dir.h.kept.Load() > maxKept {
		a.Close()
	}
	return n, nil
}

// fail closes the attribute and, on a live host, leaves a refused one alone
// for a while. In a recording every mark is asked.
func (a *Attr) fail(err error) error {
	a.Close()
	if !a.dir.h.Recorded() && (Refused(err) || errors.Is(err, fs.ErrNotExist)) {
		a.refused, a.until, a.event = err, time.Now().Add(refusedFor), a.dir.h.events.Load()
	}
	return err
}

// Close gives the descriptor back.
func (a *Attr) Close() {
	if a.f != nil {
		a.f.close()
		a.f = nil
		a.dir.h.kept.Add(-1)
	}
}
