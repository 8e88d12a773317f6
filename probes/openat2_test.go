// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// withoutOpenat2 has a live host open its files as on a kernel that has none.
func withoutOpenat2(t testing.TB, h *Host) *Host {
	t.Helper()
	tree, ok := h.tree.(liveTree)
	if !ok || tree.fd < 0 {
		t.Skip("there is no openat2 here")
	}
	tree.fd = -1
	return newHost(tree, h.options)
}

// Whoever opens the files, they are the same, and so is what is refused.
func TestBothWays(t *testing.T) {
	t.Parallel()
	h, root := live(t, Options{}, "sys/class/net/", "", "sys/devices/eth0/mtu", "1500\n", "sys/devices/eth0/deep/queue/limit", "7\n",
		"sys/devices/other", "not here\n", "sys/devices/eth0/long", strings.Repeat("0123456789abcdef", 1000)+"\n", "sys/devices/eth0/empty", "")
	for name, target := range map[string]string{"class/net/eth0": "../../devices/eth0", "class/net/out": "../../../..", "class/net/away": "/etc",
		"class/net/loop": "loop", "devices/eth0/alias": "mtu", "devices/eth0/up": "../other"} {
		if err := os.Symlink(target, filepath.Join(root, "sys", name)); err != nil {
			t.Fatal(err)
		}
	}
	old := withoutOpenat2(t, h)
	both := func(what string, f func(h *Host) (any, error)) {
		t.Helper()
		got, err := f(h)
		want, oldErr := f(old)
		var errno syscall.Errno
		same := fmt.Sprint(got) == fmt.Sprint(want) && (err == nil) == (oldErr == nil)
		for _, kind := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.EISDIR, syscall.ENOTDIR, syscall.EINVAL} {
			same = same && errors.Is(err, kind) == errors.Is(oldErr, kind)
		}
		if same = same && errors.As(err, &errno) == errors.As(oldErr, &errno); !same {
			t.Errorf("%s: %.40q, %v; without openat2 %.40q, %v", what, got, err, want, oldErr)
		}
	}
	for _, dir := range []string{"", "sys", "sys/class/net/eth0", "sys/class/net/out", "sys/class/net/away", "sys/class/net/loop", "sys/nothing", "sys/devices/eth0"} {
		both("list "+dir, func(h *Host) (any, error) { return h.ReadDir(dir) })
		for _, name := range []string{"mtu", "alias", "up", "deep", "long", "empty", "nothing", "deep/queue/limit", "deep/nothing/limit", "../other", "mtu/x"} {
			both("read "+path.Join(dir, name), func(h *Host) (any, error) {
				d, err := h.Dir(dir)
				if err != nil {
					return nil, err
				}
				defer d.Close()
				b, err := d.ReadFile(name)
				return string(b), err
			})
			both("link "+path.Join(dir, name), func(h *Host) (any, error) {
				d, err := h.Dir(dir)
				if err != nil {
					return nil, err
				}
				defer d.Close()
				return d.Readlink(name)
			})
		}
		both("identity of "+dir, func(h *Host) (any, error) {
			d, err := h.Dir(dir)
			if err != nil {
				return nil, err
			}
			defer d.Close()
			return d.Identity()
		})
	}
	both("what is removed", func(h *Host) (any, error) {
		name := filepath.Join(root, "sys/devices/brief")
		if err := os.Mkdir(name, 0o755); err != nil {
			return nil, err
		}
		d, err := h.Dir("sys/devices/brief")
		if err != nil {
			return nil, err
		}
		defer d.Close()
		if err := os.Remove(name); err != nil {
			return nil, err
		}
		_, err = d.Identity()
		return nil, err
	})
	noLeak(t, func() {
		for _, h := range []*Host{h, old} {
			_, _ = h.ReadFile("sys/class/net/eth0/mtu")
			_, _ = h.ReadFile("sys/devices/eth0/deep")
			_, _ = h.ReadFile("sys/devices/eth0/up")
			_, _ = h.ReadDir("sys/devices/eth0/deep")
			_, _ = h.ReadDir("sys/devices/eth0/mtu")
		}
	})
}
