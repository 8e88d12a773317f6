// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// A watch ends when it is told to, and leaves nothing behind.
func TestWatch(t *testing.T) {
	h, _ := liveSmall(t)
	noLeak(t, func() {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.Watch(ctx, func() {})
		}()
		time.Sleep(20 * time.Millisecond)
		cancel()
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Fatal("it does not end")
		}
	})
}

// In a recording nothing changes by itself.
func TestWatchRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := record(t, Options{}, "sys/x", "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		h.Watch(ctx, func() { t.Error("changed") })
		if d := time.Since(start); d != time.Hour {
			t.Errorf("ended after %v", d)
		}
	})
}

// Messages wake, others do not; the end of the socket ends the listener.
func TestReceive(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan string)
	var woken atomic.Int32
	go func() {
		defer close(taken)
		receive(r, func(b []byte) bool {
			taken <- string(b)
			return strings.HasPrefix(string(b), "yes")
		}, func() { woken.Add(1) })
	}()
	for _, message := range []string{"yes 1", "no", "yes 2"} {
		fmt.Fprint(w, message)
		if got := <-taken; got != message {
			t.Errorf("got %q, want %q", got, message)
		}
	}
	w.Close()
	if got, open := <-taken; open {
		t.Errorf("got %q", got)
	}
	if n := woken.Load(); n != 2 {
		t.Errorf("woken %d times", n)
	}
	r.Close()
}

// An event renews the inventory long before its time. Others on this machine
// leave events that do not come from the kernel alone.
func TestWatchEvent(t *testing.T) {
	h, _ := liveSmall(t)
	sender, err := netlinkSocket(unix.NETLINK_KOBJECT_UEVENT, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	ctx, cancel := context.WithCancel(t.Context())
	changed, ended := make(chan struct{}, 100), make(chan struct{})
	before := h.Refresh().Generation
	go func() {
		defer close(ended)
		h.Watch(ctx, func() { changed <- struct{}{} })
	}()
	defer func() { cancel(); <-ended }()
	announce := time.NewTicker(50 * time.Millisecond)
	defer announce.Stop()
	late := time.After(10 * time.Second)
	for {
		select {
		case <-announce.C: // the listener may not be there yet
			err := unix.Sendto(int(sender.Fd()), uevent("unbind", "/devices/"+smallGPU, "pci"), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1})
			if errors.Is(err, fs.ErrPermission) {
				t.Skip("needs CAP_NET_ADMIN to send an event:", err)
			}
		case <-changed:
			if h.Inventory().Generation == before+1 {
				continue // the one that Watch begins with
			}
			h.unbound.mu.Lock()
			defer h.unbound.mu.Unlock()
			if _, noted := h.unbound.at["0000:18:00.0"]; !noted {
				t.Errorf("noted %v, generation %d", noted, h.Inventory().Generation)
			}
			return
		case <-late:
			t.Fatal("nothing was noticed")
		}
	}
}
