// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	refreshEvery = 30 * time.Second       // whatever the notifications say
	refreshDelay = 100 * time.Millisecond // events come in bursts
	refreshRest  = time.Second            // between two refreshes at least
)

// Watch takes the inventory, and again on kernel events of PCI, network and
// RDMA devices, on notifications of links and of DCB, on Wake and every 30 s anyway, until
// ctx is done. Without the right to listen the 30 s remain. changed is called
// after each. What hangs in a driver hangs here and nowhere else. In a
// recording nothing changes by itself.
func (h *Host) Watch(ctx context.Context, changed func()) {
	if h.Recorded() {
		<-ctx.Done()
		return
	}
	h.listen(ctx)
	for ctx.Err() == nil {
		h.Refresh()
		changed()
		if !sleep(ctx, refreshRest) || !h.awaitWake(ctx) {
			return
		}
	}
}

// Wake asks Watch to take the inventory anew.
func (h *Host) Wake() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// awaitWake waits for the next reason to look again; not ok is the end.
func (h *Host) awaitWake(ctx context.Context) (ok bool) {
	timer := time.NewTimer(refreshEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-h.wake:
		return sleep(ctx, refreshDelay)
	}
}

// listen begins to listen to the kernel, as far as it may.
func (h *Host) listen(ctx context.Context) {
	for _, l := range []struct {
		protocol int
		groups   uint32
		take     func([]byte) bool
	}{
		{unix.NETLINK_KOBJECT_UEVENT, 1, h.takeUevent},
		{unix.NETLINK_ROUTE, unix.RTMGRP_LINK | 1<<(unix.RTNLGRP_DCB-1), func([]byte) bool { return true }},
	} {
		f, err := netlinkSocket(l.protocol, l.groups)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { f.Close() })
		go func() {
			defer stop()
			defer f.Close()
			receive(f, l.take, h.Wake)
		}()
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// netlinkSocket opens a netlink socket that the runtime can wait for.
func netlinkSocket(protocol int, groups uint32) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "netlink"), nil
}

// receive hands each message to take and wakes if it says so. An overrun of
// the socket's buffer means that messages are lost: that wakes as well.
func receive(f *os.File, take func([]byte) bool, wake func()) {
	buf := make([]byte, 16<<10)
	for {
		n, err := f.Read(buf)
		switch {
		case errors.Is(err, unix.ENOBUFS):
			wake()
		case err != nil:
			return
		case take(buf[:n]):
			wake()
		}
	}
}

// takeUevent notes what a kernel event says; only PCI, network and RDMA
// devices matter. The format is ACTION@DEVPATH and KEY=VALUE fields, each
// ended by NUL (lib/kobject_uevent.c).
func (h *Host) takeUevent(b []byte) bool {
	var action, device, subsystem string
	for field := range bytes.SplitSeq(b, []byte{0}) {
		key, value, _ := bytes.Cut(field, []byte("="))
		switch string(key) {
		case "ACTION":
			action = string(value)
		case "DEVPATH":
			device = string(value)
		case "SUBSYSTEM":
			subsystem = string(value)
		}
	}
	switch subsystem {
	case "pci":
		h.unbound.note(action, path.Base(device), time.Now())
	case "net", "infiniband":
	default:
		return false
	}
	return true
}

// unbindings remembers which devices were unbound from their driver a while
// before they were removed. The kernel unbinds at every removal, also at a
// surprise, immediately before it: only an earlier one tells of an intention.
type unbindings struct {
	mu      sync.Mutex
	at      map[string]time.Time // unbound and still there
	orderly map[string]bool      // removed after they were unbound: whether that was a while before
}

// intention is how long before its removal a device has to be unbound.
const intention = time.Second

func (u *unbindings) note(action, address string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at, u.orderly = map[string]time.Time{}, map[string]bool{}
	}
	switch action {
	case "unbind":
		u.at[address] = now
	case "bind", "add":
		delete(u.at, address)
		delete(u.orderly, address)
	case "remove":
		if t, ok := u.at[address]; ok {
			u.orderly[address] = now.Sub(t) >= intention
		}
		delete(u.at, address)
	}
}

func (u *unbindings) before(address string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.orderly[address]
}

// abruptly tells of a device that was unbound only because it went: an
// inventory taken in between saw it without its driver.
func (u *unbindings) abruptly(address string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	orderly, removed := u.orderly[address]
	unbound, there := u.at[address] // its removal was not heard of yet
	return removed && !orderly || there && now.Sub(unbound) < intention
}
