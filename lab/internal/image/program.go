// SPDX-License-Identifier: Apache-2.0

package image

import (
	"debug/elf"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// libraryDirs are where this machine keeps the libraries of its programs.
var libraryDirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"}

// program adds a program of this machine with its interpreter and the libraries that it needs.
func (a *archive) program(name, file string) error {
	if err := a.copy(name, file, 0o755); err != nil {
		return err
	}
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if s := f.Section(".interp"); s != nil {
		text, err := s.Data()
		if err != nil || len(text) < 2 {
			return fmt.Errorf("%s: no interpreter: %w", file, err)
		}
		interpreter := string(text[:len(text)-1])
		if err := a.copy(interpreter[1:], interpreter, 0o755); err != nil {
			return err
		}
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range libraries {
		if target := path.Join("lib/x86_64-linux-gnu", library); !a.have[target] {
			source, err := findLibrary(library)
			if err != nil {
				return err
			}
			if err := a.program(target, source); err != nil {
				return err
			}
		}
	}
	return nil
}

func findLibrary(name string) (string, error) {
	for _, dir := range libraryDirs {
		if file := filepath.Join(dir, name); exists(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("library %s is nowhere", name)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
