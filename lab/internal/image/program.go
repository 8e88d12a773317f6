// SPDX-License-Identifier: Apache-2.0

package image

import (
	"debug/elf"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// libraryDirs are where this machine keeps the libraries of its programs.
var libraryDirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"}

// program adds a program, or a library, with its interpreter and the libraries that it needs: those below the folders given,
// and otherwise this machine's.
func (a *archive) program(name, file string, libraries ...string) error {
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
	needed, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range needed {
		if target := path.Join("lib/x86_64-linux-gnu", library); !a.have[target] {
			source, err := findLibrary(library, append(slices.Clone(libraries), libraryDirs...))
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := a.program(target, source, libraries...); err != nil {
				return err
			}
		}
	}
	return nil
}

func findLibrary(name string, dirs []string) (string, error) {
	for _, dir := range dirs {
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
