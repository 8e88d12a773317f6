// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Layer makes a further part of an initramfs: Debian packages of this machine's own suite, whole but for documentation,
// and the libraries that their programs need. Kept in the cache, by the packages' versions.
func (i *Image) Layer(ctx context.Context, packages []string) (string, error) {
	a := apt{cache: i.options.Cache, log: i.options.Log}
	library := func(name string) bool { return strings.HasPrefix(name, "lib") && !strings.HasPrefix(name, "libc6") }
	files, err := a.prepare(ctx, "", func(ctx context.Context) ([]string, error) { return a.closure(ctx, packages, library) })
	if err != nil {
		return "", err
	}
	dir := filepath.Join(i.options.Cache, "layer-"+key(files))
	err = unpacked(dir, func(dir string) error {
		named, libraries := filepath.Join(dir, "named"), filepath.Join(dir, "libraries")
		if err := a.unpack(ctx, libraries, files); err != nil {
			return err
		}
		for _, name := range packages {
			if err := a.unpack(ctx, named, belongingTo(name, files)); err != nil {
				return err
			}
		}
		layer, err := layerOf(named, libraries)
		if err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(named), os.RemoveAll(libraries)); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "cpio"), layer, 0o644)
	})
	if err == nil {
		err = use(i.options.Cache, "layer-"+strings.Join(packages, "+"), dir, files)
	}
	return filepath.Join(dir, "cpio"), err
}

// belongingTo finds a package's file.
func belongingTo(name string, files []string) []string {
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), name+"_") {
			return []string{file}
		}
	}
	return nil
}

// layerOf archives what is below a folder, and the libraries that it needs from another.
func layerOf(dir, libraries string) ([]byte, error) {
	var a archive
	dirs := []string{filepath.Join(libraries, "lib/x86_64-linux-gnu"), filepath.Join(libraries, "usr/lib/x86_64-linux-gnu")}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(file, dir+"/")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(name, "usr/share/"):
			return fs.SkipDir
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(file)
			a.link(name, target)
			return err
		case !entry.Type().IsRegular():
			return nil
		}
		if isProgram(file) {
			return a.program(name, file, dirs...)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return a.copy(name, file, info.Mode())
	})
	return a.bytes(), err
}

// isProgram tells of programs and libraries.
func isProgram(name string) bool {
	f, err := elf.Open(name)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
