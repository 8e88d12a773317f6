// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFile bounds what is read of one file at once. The largest that fabricd
// asks for are /proc/cpuinfo of a big host and recorded GPU answers.
const maxFile = 16 << 20

// A tree is the files of a machine: the real ones, or recorded ones. Names are
// slash-separated and relative to the root ("sys/bus/pci/devices").
type tree interface {
	// dir opens a directory for repeated opens below it.
	dir(name string) (directory, error)
	// recorded says whether time stands still between marks.
	recorded() bool
}

// A directory is one directory kept at hand. An open through it is
// no walk from the root.
type directory interface {
	open(name string) (file, error)
	list() ([]string, error)
	readlink(name string) (string, error)
	// identity changes when the directory is removed and made again.
	identity() (uint64, error)
	close()
}

// A file is a file kept open. Sysfs answers anew at each read from offset 0.
type file interface {
	readAt(buf []byte) (int, error)
	close()
}

// readAttribute reads a sysfs attribute through d: all of it is there at once.
func readAttribute(d directory, name string, buf []byte) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.close()
	n, err := f.readAt(buf)
	return buf[:n], err
}

// readAll reads a file of any size up to maxFile through d.
func readAll(d directory, name string) ([]byte, error) { return appendAll(d, name, nil) }

// appendAll reads a file as readAll does, behind what buf holds.
func appendAll(d directory, name string, buf []byte) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return buf, err
	}
	defer f.close()
	const least = 512 // room for a read: where all is read, the next one needs hardly any
	live, _ := f.(*liveFile)
	begin := len(buf)
	for {
		if cap(buf)-len(buf) < least {
			buf = slices.Grow(buf, max(pageSize, 3*(len(buf)-begin)))
		}
		if live == nil { // all of it is there at once, but not where it was read to
			n, err := f.readAt(buf[begin:min(cap(buf), begin+maxFile)])
			if buf = buf[:begin+n]; err != nil || len(buf) < cap(buf) || n == maxFile {
				return buf, err
			}
			continue
		}
		n, err := live.read(buf[len(buf):min(cap(buf), begin+maxFile)])
		if buf = buf[:len(buf)+n]; n == 0 || err != nil || len(buf) == begin+maxFile {
			return buf, err
		}
	}
}

// Reason gives the short cause of a failed read: "EINVAL", "permission denied"
// for EPERM and EACCES, "absent".
func Reason(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &errno):
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
	}
	return err.Error()
}

// Refused says whether an error means that asking again soon is pointless:
// the driver or the kernel does not answer this question.
func Refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) ||
		errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP)
}

// Gone says whether an error is that of a device that was removed.
func Gone(err error) bool { return errors.Is(err, syscall.ENODEV) }

func clean(name string) string { return path.Clean("/" + name)[1:] }
