// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrTarget marks what is wrong with the file that is to be written, before
// anything was recorded or after.
var ErrTarget = errors.New("cannot write the recording")

// CheckTarget says early whether WriteFile can write to name: a film's
// minutes are not to be lost for a name.
func CheckTarget(name string, force bool) error {
	info, err := os.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file; name a file that does not exist yet, or - for standard output", ErrTarget, name)
	case err == nil && !force:
		return fmt.Errorf("%w: %s exists; choose another name, or overwrite it with --force", ErrTarget, name)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrTarget, err)
	}
	f, err := temporary(name)
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

func temporary(name string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	return f, nil
}

// WriteFile writes to name at once or not at all: a temporary file beside it,
// synced, is renamed to it.
func WriteFile(name string, force bool, content io.WriterTo) (err error) {
	f, err := temporary(name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("%w: %w", ErrTarget, err)
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err = content.WriteTo(w); err != nil {
		return err
	}
	if err = w.Flush(); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return place(f.Name(), name, force)
}

// place renames a finished file. Without force it never replaces one, not even
// one that came to be meanwhile.
func place(temp, name string, force bool) error {
	if force {
		return os.Rename(temp, name)
	}
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, name, unix.RENAME_NOREPLACE)
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) { // not on this file system
		err = os.Link(temp, name)
		if err == nil {
			return os.Remove(temp)
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists; choose another name, or overwrite it with --force", name)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
