// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"syscall"
)

// lock takes a lock that ends with its file: two machines at a time would have half of a small host's processors each.
func lock(name string, log func(string, ...any)) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		return file, nil
	}
	log("waiting for another lab to end")
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
