// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"net"
	"os"

	"github.com/fabricd/fabricd/probes"
)

// namespace gives the inode of the network namespace whose interfaces sysfs
// shows: our own if the interfaces are ours, or else that of the machine's
// first process, as in a container that has the machine's root mounted.
func namespace(h *probes.Host, places []place) (uint32, error) {
	if ours(places) {
		target, err := os.Readlink("/proc/self/ns/net")
		if err != nil {
			return 0, err
		}
		return inode(target)
	}
	dir, err := h.Dir("proc/1/ns")
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	target, err := dir.Readlink("net")
	if err != nil {
		return 0, fmt.Errorf("the interfaces are of another network namespace, which is not told (CAP_SYS_PTRACE, or run with the host's network): %w", err)
	}
	return inode(target)
}

// ours says whether the interfaces are those of our own network namespace.
func ours(places []place) bool {
	for _, p := range places {
		i, err := net.InterfaceByIndex(int(p.ifindex))
		if err != nil || probes.Printable(i.Name) != p.name {
			return false
		}
	}
	return true
}

func inode(target string) (n uint32, err error) {
	if _, err := fmt.Sscanf(target, "net:[%d]", &n); err != nil {
		return 0, fmt.Errorf("%q names no network namespace", probes.Printable(target))
	}
	return n, nil
}
