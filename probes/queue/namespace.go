// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"os"

	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
)

var errNoSysfs = errors.New("the interfaces are not shown by a sysfs")

// sysfs opens the directory of the interfaces. Whose they are, the kernel's
// program asks the file system that shows them: it may be of another network
// namespace than ours, as in a container that has the machine's root mounted,
// where an interface of ours can have the same name and index.
func sysfs(h *probes.Host) (*os.File, error) {
	f, err := h.Open("sys/class/net")
	if err != nil {
		return nil, err
	}
	var st unix.Statfs_t
	if err = unix.Fstatfs(int(f.Fd()), &st); err == nil && st.Type != unix.SYSFS_MAGIC {
		err = errNoSysfs
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
