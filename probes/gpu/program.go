// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
)

// CheckProgram says why a program that is given to NewClient cannot be started.
func CheckProgram(path string) error {
	if path == "" {
		return nil
	}
	_, err := exec.LookPath(path)
	return err
}

// find looks for the program, anew at each start: it may be installed later.
func find(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	if own, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(own), childName)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(childName)
	if err != nil {
		return "", errAbsent{"there is no " + childName + " beside fabricd's own program or in PATH"}
	}
	return path, nil
}
