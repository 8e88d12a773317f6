// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// liveTree is the mounted file system below a root directory, out of which no
// symbolic link leads. The kernel itself sees to that by openat2, of Linux 5.6;
// where there is none os.Root does, for several times as many system calls.
type liveTree struct {
	root *os.Root
	fd   int // of the root directory; -1: there is no openat2
}

func newLiveTree(root *os.Root) (liveTree, error) {
	f, err := root.Open(".")
	if err != nil {
		return liveTree{}, err
	}
	defer f.Close()
	fd, err := beneath(int(f.Fd()), ".", unix.O_PATH)
	if err != nil { // ENOSYS, or EPERM by a filter of system calls
		fd = -1
	}
	return liveTree{root, fd}, nil
}

func (t liveTree) recorded() bool { return false }

func (t liveTree) dir(name string) (directory, error) {
	name = cmp.Or(name, ".") // the root
	if t.fd < 0 {
		r, err := t.root.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		return rootDir{r}, nil
	}
	fd, err := beneath(t.fd, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return &liveDir{fd}, nil
}

// errOutside is of a symbolic link: nothing is wrong with what it leads to.
var errOutside = errors.New("a symbolic link leads out of the directory")

// beneath opens what is below a directory, whatever symbolic links say.
func beneath(dir int, name string, flags uint64) (int, error) {
	const tries = 100
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
	fd, err := unix.Openat2(dir, name, &how)
	for n := 1; n < tries && (err == unix.EINTR || err == unix.EAGAIN); n++ { // EAGAIN: something was renamed on the way
		fd, err = unix.Openat2(dir, name, &how)
	}
	switch err {
	case nil:
		return fd, nil
	case unix.EXDEV:
		err = errOutside
	}
	return -1, &fs.PathError{Op: "openat2", Path: name, Err: err}
}

type liveDir struct{ fd int }

// open does not make an os.File: that would have the runtime watch each file of
// sysfs for changes, by seven more system calls.
func (d *liveDir) open(name string) (file, error) {
	fd, err := beneath(d.fd, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &liveFile{fd: fd}, nil
}

func (d *liveDir) list() ([]string, error) {
	fd, err := beneath(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return sorted(os.NewFile(uintptr(fd), "."))
}

func sorted(f *os.File) ([]string, error) {
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (d *liveDir) readlink(name string) (string, error) {
	at := d.fd
	if dir, base := path.Split(name); dir != "" {
		fd, err := beneath(d.fd, dir, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd) //nolint:errcheck // nothing was written
		at, name = fd, base
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(at, name, buf)
	if err != nil {
		return "", &fs.PathError{Op: "readlinkat", Path: name, Err: err}
	}
	return string(buf[:n]), nil
}

func (d *liveDir) identity() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return 0, err
	}
	return inode(st.Ino, uint64(st.Nlink))
}

// inode is the identity of a directory, which has no links once it is removed.
func inode(number, links uint64) (uint64, error) {
	if links == 0 {
		return 0, fs.ErrNotExist
	}
	return number, nil
}

func (d *liveDir) close() {
	unix.Close(d.fd) //nolint:errcheck // nothing was written
	d.fd = -1
}

// rootDir is a directory where there is no openat2.
type rootDir struct{ root *os.Root }

func (d rootDir) open(name string) (file, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	return &liveFile{f, int(f.Fd())}, nil
}

func (d rootDir) list() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	return sorted(f)
}

func (d rootDir) readlink(name string) (string, error) { return d.root.Readlink(name) }

func (d rootDir) identity() (uint64, error) {
	info, err := d.root.Stat(".")
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fs.ErrNotExist
	}
	return inode(st.Ino, uint64(st.Nlink))
}

func (d rootDir) close() { d.root.Close() }

type liveFile struct {
	f  *os.File // keeps the descriptor from being collected; nil: it is ours
	fd int
}

func (f *liveFile) readAt(buf []byte) (int, error) {
	for {
		n, err := unix.Pread(f.fd, buf, 0)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// read goes on where the read before ended; at the end it gives 0.
func (f *liveFile) read(buf []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, buf)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (f *liveFile) close() {
	if f.f != nil {
		f.f.Close()
		return
	}
	unix.Close(f.fd) //nolint:errcheck // nothing was written
	f.fd = -1
}
