// SPDX-License-Identifier: Apache-2.0

// Package probes asks the machine. It knows where Linux keeps its answers
// (sysfs, procfs, netlink) and in which form, and gives them as plain values;
// what they mean, and whether they are good, it does not know. A live machine
// and a recorded one are the same type, Host.
package probes

import (
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
	// GPUs asks the GPU driver of a live host. Nil: there is no such source.
	GPUs GPUSource
	// Announce is what a live machine says of itself to its neighbours. Nil: nothing.
	Announce *Self
}

// A Self is how a machine names itself.
type Self struct{ Host, Version string }

// A Host is a machine: the one at hand, one below a mount point, or a recorded one.
type Host struct {
	tree     tree
	options  Options
	film     *film     // of a recording
	manifest *Manifest // of a recording that has one

	exclude    atomic.Pointer[[]string] // globs
	inventory  atomic.Pointer[Inventory]
	refreshing sync.Mutex             // one refresh at a time
	looking    atomic.Pointer[string] // where Refresh is
	events     atomic.Uint64
	wake       chan struct{} // Watch is to look again
	kept       atomic.Int64  // attributes kept open
	most       int64         // that are
	buffers    sync.Pool     // of *[pageSize]byte
	unbound    unbindings
	facts      *Facts // of a live host, read once

	gpus struct {
		sync.Mutex
		raw   []byte // the newest recorded answer
		last  *gpu.Snapshot
		until time.Time // until when the first answer of a live host is waited for
	}
}

func newHost(t tree, o Options) *Host {
	h := &Host{tree: t, options: o, wake: make(chan struct{}, 1), most: mostKept()}
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
	t, err := newLiveTree(r)
	if err != nil {
		return nil, fmt.Errorf("root of the machine: %w", err)
	}
	return newHost(t, o), nil
}

// Announces gives what the machine is to say of itself to its neighbours; nil:
// nothing. A recording says nothing.
func (h *Host) Announces() *Self {
	if h.Recorded() {
		return nil
	}
	return h.options.Announce
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

// Excludes says whether the operator forbade to open any.
func (h *Host) Excludes() bool { return len(*h.exclude.Load()) > 0 }

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

// AppendFile reads a whole file behind what buf holds, as append does: for large
// files that are read again and again.
func (h *Host) AppendFile(buf []byte, name string) ([]byte, error) {
	d, err := h.Dir(path.Dir(name))
	if err != nil {
		return buf, err
	}
	defer d.Close()
	return appendAll(d.d, path.Base(name), buf)
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

// Open opens a file or directory of a live host, for system calls that want a
// descriptor. A recording has none.
func (h *Host) Open(name string) (*os.File, error) {
	t, ok := h.tree.(liveTree)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return t.root.Open(clean(name))
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
