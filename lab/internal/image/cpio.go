// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// An archive is a cpio archive in the form that the kernel unpacks ("newc"). All belongs to root. Directories above a
// name come into being with it. The zero archive is empty.
type archive struct {
	b    bytes.Buffer
	have map[string]bool
	ino  int
}

// file adds a file.
func (a *archive) file(name string, data []byte, mode fs.FileMode) {
	a.add(name, uint32(syscall.S_IFREG|mode.Perm()), data)
}

// link adds a symbolic link.
func (a *archive) link(name, target string) { a.add(name, syscall.S_IFLNK|0o777, []byte(target)) }

// dir adds a directory.
func (a *archive) dir(name string) {
	if name != "." && name != "/" && !a.have[name] {
		a.add(name, syscall.S_IFDIR|0o755, nil)
	}
}

// copy adds a file of this machine.
func (a *archive) copy(name, source string, mode fs.FileMode) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	a.file(name, data, mode)
	return nil
}

// bytes ends the archive and returns it.
func (a *archive) bytes() []byte {
	a.entry("TRAILER!!!", 0, nil)
	a.pad(512)
	return a.b.Bytes()
}

func (a *archive) add(name string, mode uint32, data []byte) {
	if a.have == nil {
		a.have = map[string]bool{}
	}
	if a.have[name] {
		return
	}
	a.dir(path.Dir(name))
	a.have[name] = true
	a.entry(name, mode, data)
}

func (a *archive) entry(name string, mode uint32, data []byte) {
	a.ino++
	fields := []int{a.ino, int(mode), 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0}
	a.b.WriteString("070701")
	for _, v := range fields {
		fmt.Fprintf(&a.b, "%08X", v)
	}
	a.b.WriteString(name + "\x00")
	a.pad(4)
	a.b.Write(data)
	a.pad(4)
}

func (a *archive) pad(to int) {
	for a.b.Len()%to != 0 {
		a.b.WriteByte(0)
	}
}
