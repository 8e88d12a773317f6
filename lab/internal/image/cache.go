// SPDX-License-Identifier: Apache-2.0

package image

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// use notes that a thing, such as the kernel of a suite, is made of these packages and kept in this folder of the cache, and
// removes what has been superseded: packages and folders that no thing is made of any more.
func use(cache, thing, folder string, packages []string) error {
	needs := []string{filepath.Base(folder)}
	for _, file := range packages {
		needs = append(needs, filepath.Base(file))
	}
	if err := os.WriteFile(filepath.Join(cache, "uses-"+thing), []byte(strings.Join(needs, "\n")), 0o644); err != nil {
		return err
	}
	notes, err := filepath.Glob(filepath.Join(cache, "uses-*"))
	if err != nil {
		return err
	}
	var needed []string
	for _, note := range notes {
		text, err := os.ReadFile(note)
		if err != nil {
			return err
		}
		needed = append(needed, strings.Split(string(text), "\n")...)
	}
	var errs []error
	for _, pattern := range []string{"image-*", "layer-*", "debs/*.deb"} {
		found, err := filepath.Glob(filepath.Join(cache, pattern))
		errs = append(errs, err)
		for _, name := range found {
			if !slices.Contains(needed, filepath.Base(name)) {
				errs = append(errs, os.RemoveAll(name))
			}
		}
	}
	return errors.Join(errs...)
}
