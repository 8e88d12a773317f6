// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A node is a file, directory or link of a recorded tree. A removed node stays
// as its open files see it: gone.
type node struct {
	children map[string]*node // a directory's
	target   string           // a link's
	data     []byte
	errno    syscall.Errno // reading fails with it
	gone     bool
	serial   uint64
	parent   *node // nil of the root
	base     string
}

func (n *node) isDir() bool { return n.children != nil }

// recordedTree is a recording's files at one moment of its time.
type recordedTree struct {
	mu     sync.RWMutex
	root   *node
	serial uint64
}

func newRecordedTree() *recordedTree {
	return &recordedTree{root: &node{children: map[string]*node{}}}
}

func (t *recordedTree) recorded() bool { return true }

// maxLinks bounds a chain of links, as the kernel's MAXSYMLINKS does.
const maxLinks = 40

// walk finds the node at name, following links, the last one too if follow.
// With make, missing directories on the way are made.
func (t *recordedTree) walk(name string, follow, make bool) (dir *node, base string, n *node, err error) {
	rest := strings.Split(clean(name), "/")
	at := []*node{t.root}
	links := 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		dir = at[len(at)-1]
		switch part {
		case "", ".":
			n, base = dir, "."
			continue
		case "..":
			if len(at) == 1 {
				return nil, "", nil, fmt.Errorf("%s: %w", name, errLeadsOut)
			}
			at = at[:len(at)-1]
			n, base = at[len(at)-1], "."
			continue
		}
		if !dir.isDir() {
			return nil, "", nil, syscall.ENOTDIR
		}
		n, base = dir.children[part], part
		if n == nil && make && len(rest) > 0 {
			n = t.put(dir, part, &node{children: map[string]*node{}})
		}
		if n == nil {
			if len(rest) > 0 {
				return nil, "", nil, fs.ErrNotExist
			}
			return dir, base, nil, nil
		}
		if n.target != "" && (follow || len(rest) > 0) {
			if links++; links > maxLinks {
				return nil, "", nil, syscall.ELOOP
			}
			target := strings.Split(n.target, "/")
			if strings.HasPrefix(n.target, "/") {
				at = at[:1]
			}
			rest = append(target, rest...)
			continue
		}
		at = append(at, n)
	}
	return dir, base, n, nil
}

func (t *recordedTree) put(dir *node, name string, n *node) *node {
	t.serial++
	n.serial, n.parent, n.base = t.serial, dir, name
	dir.children[name] = n
	return n
}

// path gives the name by which a node is found without any link.
func (n *node) path() string {
	if n.parent == nil {
		return "."
	}
	return path.Join(n.parent.path(), n.base)
}

// lookup finds an existing node. Callers hold the lock.
func (t *recordedTree) lookup(name string, follow bool) (*node, error) {
	_, _, n, err := t.walk(name, follow, false)
	if err == nil && n == nil {
		err = fs.ErrNotExist
	}
	return n, err
}

// write sets a file's content, or the error that reading it gives. The node of
// a file that is there stays, so that whoever holds it open sees the change.
func (t *recordedTree) write(name string, data []byte, errno syscall.Errno) error {
	dir, base, n, err := t.walk(name, true, true)
	if err != nil {
		return err
	}
	if n == nil {
		n = t.put(dir, base, &node{})
	}
	if n.isDir() {
		return fmt.Errorf("%s: is a directory and a file", name)
	}
	n.data, n.errno = data, errno
	return nil
}

func (t *recordedTree) link(name, target string) error {
	dir, base, n, err := t.walk(name, false, true)
	if err != nil {
		return err
	}
	if n != nil && n.isDir() {
		return fmt.Errorf("%s: is a directory and a link", name)
	}
	if n != nil {
		n.gone = true
	}
	t.put(dir, base, &node{target: target})
	return nil
}

// remove takes a file, link or whole directory away. What is not there is
// taken for removed already.
func (t *recordedTree) remove(name string) {
	dir, base, n, err := t.walk(name, false, false)
	if err != nil || n == nil || base == "." {
		return
	}
	delete(dir.children, base)
	n.forget()
}

func (n *node) forget() {
	n.gone = true
	for _, c := range n.children {
		c.forget()
	}
}

func (t *recordedTree) dir(name string) (directory, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n, err := t.lookup(name, true)
	if err == nil && !n.isDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &recordedDir{t, n}, nil
}

type recordedDir struct {
	t *recordedTree
	n *node
}

// find goes down from the directory itself; only a link on the way needs a
// walk from the root.
func (d *recordedDir) find(name string, follow bool) (*node, error) {
	if d.n.gone {
		return nil, fs.ErrNotExist
	}
	n := d.n
	for rest := name; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if part == "." {
			continue
		}
		n = n.children[part]
		switch {
		case n == nil:
			return nil, fs.ErrNotExist
		case n.target != "" && (follow || rest != ""):
			return d.t.lookup(path.Join(d.n.path(), name), follow)
		}
	}
	return n, nil
}

func (d *recordedDir) open(name string) (file, error) {
	d.t.mu.RLock()
	defer d.t.mu.RUnlock()
	n, err := d.find(name, true)
	if err == nil && n.isDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, err
	}
	return &recordedFile{d.t, n}, nil
}

func (d *recordedDir) list() ([]string, error) {
	d.t.mu.RLock()
	defer d.t.mu.RUnlock()
	if d.n.gone {
		return nil, fs.ErrNotExist
	}
	names := make([]string, 0, len(d.n.children))
	for name := range d.n.children {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (d *recordedDir) readlink(name string) (string, error) {
	d.t.mu.RLock()
	defer d.t.mu.RUnlock()
	n, err := d.find(name, false)
	if err == nil && n.target == "" {
		err = syscall.EINVAL
	}
	if err != nil {
		return "", err
	}
	return n.target, nil
}

func (d *recordedDir) identity() (uint64, error) {
	d.t.mu.RLock()
	defer d.t.mu.RUnlock()
	if d.n.gone {
		return 0, fs.ErrNotExist
	}
	return d.n.serial, nil
}

func (d *recordedDir) close() {}

type recordedFile struct {
	t *recordedTree
	n *node
}

// readAt answers as the kernel would: a removed device's attribute is ENODEV.
func (f *recordedFile) readAt(buf []byte) (int, error) {
	f.t.mu.RLock()
	defer f.t.mu.RUnlock()
	switch {
	case f.n.gone:
		return 0, syscall.ENODEV
	case f.n.errno != 0:
		return 0, f.n.errno
	}
	return copy(buf, f.n.data), nil
}

func (f *recordedFile) close() {}
