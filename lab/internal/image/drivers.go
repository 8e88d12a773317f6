// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// unpackers are the programs that unpack modules, by the end of the file's name.
var unpackers = map[string]string{".xz": "xz", ".zst": "zstd"}

// addDrivers adds the kernel's modules that scenarios load, those that they need, and the list by which modprobe finds
// them. Drivers that the kernel has built in are passed over; modprobe knows them by another list.
func (t tree) addDrivers(a *archive) error {
	d := driverSet{to: a, dir: path.Join("lib/modules", t.release), from: map[string]string{}, needs: map[string][]string{}}
	root := filepath.Join(t.modulesRoot(), t.release, "kernel")
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		d.from[moduleName(name)] = name
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range drivers {
		if err := d.add(name); err != nil {
			return err
		}
	}
	a.file(path.Join(d.dir, "modules.dep"), d.list.Bytes(), 0o644)
	return a.copy(path.Join(d.dir, "modules.builtin"), filepath.Join(filepath.Dir(root), "modules.builtin"), 0o644)
}

// A driverSet is the modules on their way into the initramfs.
type driverSet struct {
	to    *archive
	dir   string
	from  map[string]string   // file of each module of the kernel
	needs map[string][]string // what each added module needs, the nearest first
	list  bytes.Buffer        // modules.dep
}

func (d *driverSet) add(name string) error {
	file, ok := d.from[name]
	if _, added := d.needs[name]; !ok || added {
		return nil
	}
	data, err := readModule(file)
	if err != nil {
		return err
	}
	direct, err := dependencies(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	all := direct
	for _, below := range direct {
		if err := d.add(below); err != nil {
			return err
		}
		all = append(all, d.needs[below]...)
	}
	d.needs[name] = all
	fmt.Fprintf(&d.list, "%s.ko:", name)
	for _, below := range all {
		fmt.Fprintf(&d.list, " %s.ko", below)
	}
	d.list.WriteByte('\n')
	d.to.file(path.Join(d.dir, name+".ko"), data, 0o644)
	return nil
}

// moduleName is a module's name as the kernel has it.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// dependencies reads what a module says that it needs.
func dependencies(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := f.Section(".modinfo")
	if s == nil {
		return nil, fmt.Errorf("no .modinfo")
	}
	text, err := s.Data()
	if err != nil {
		return nil, err
	}
	for field := range bytes.SplitSeq(text, []byte{0}) {
		if list, ok := strings.CutPrefix(string(field), "depends="); ok && list != "" {
			return strings.Split(strings.ReplaceAll(list, "-", "_"), ","), nil
		}
	}
	return []string{}, nil
}

// readModule reads a module, unpacked: the guest's tools do not unpack it.
func readModule(name string) ([]byte, error) {
	program, packed := unpackers[path.Ext(name)]
	if !packed {
		return os.ReadFile(name)
	}
	return exec.Command(program, "-dcq", name).Output()
}
