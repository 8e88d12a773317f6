// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// A twoWays is a machine whose files are opened by openat2 and without it.
type twoWays struct {
	t        *testing.T
	root     string
	new, old *Host
}

// same fails where the two ways do not give the same, or the same kind of error.
func (w *twoWays) same(what string, f func(h *Host) (any, error)) {
	w.t.Helper()
	got, err := f(w.new)
	want, oldErr := f(w.old)
	var errno syscall.Errno
	same := fmt.Sprint(got) == fmt.Sprint(want) && (err == nil) == (oldErr == nil) && errors.As(err, &errno) == errors.As(oldErr, &errno)
	for _, kind := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.EISDIR, syscall.ENOTDIR, syscall.EINVAL} {
		same = same && errors.Is(err, kind) == errors.Is(oldErr, kind)
	}
	if !same {
		w.t.Errorf("%s: %.40q, %v; without openat2 %.40q, %v", what, got, err, want, oldErr)
	}
}

// in asks a directory.
func (w *twoWays) in(dir, what string, f func(d *Dir) (any, error)) {
	w.t.Helper()
	w.same(what+" in "+dir, func(h *Host) (any, error) {
		d, err := h.Dir(dir)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return f(d)
	})
}

func newTwoWays(t *testing.T) *twoWays {
	t.Helper()
	h, root := live(t, Options{}, "sys/class/net/", "", "sys/devices/eth0/mtu", "1500\n", "sys/devices/eth0/deep/queue/limit", "7\n",
		"sys/devices/other", "not here\n", "sys/devices/eth0/long", strings.Repeat("0123456789abcdef", 1000)+"\n", "sys/devices/eth0/empty", "")
	for name, target := range map[string]string{"class/net/eth0": "../../devices/eth0", "class/net/out": "../../../..", "class/net/away": "/etc",
		"class/net/loop": "loop", "devices/eth0/alias": "mtu", "devices/eth0/up": "../other"} {
		if err := os.Symlink(target, filepath.Join(root, "sys", name)); err != nil {
			t.Fatal(err)
		}
	}
	return &twoWays{t, root, h, withoutOpenat2(t, h)}
}

// Whoever opens the files, they are the same, and so is what is refused.
func TestBothWays(t *testing.T) {
	t.Parallel()
	w := newTwoWays(t)
	for _, dir := range []string{"", "sys", "sys/class/net/eth0", "sys/class/net/out", "sys/class/net/away", "sys/class/net/loop", "sys/nothing", "sys/devices/eth0"} {
		w.in(dir, "names", func(d *Dir) (any, error) { return d.List() })
		w.in(dir, "identity", func(d *Dir) (any, error) { return d.Identity() })
		for _, name := range []string{"mtu", "alias", "up", "deep", "long", "empty", "nothing", "deep/queue/limit", "deep/nothing/limit", "../other", "mtu/x"} {
			w.in(dir, name, func(d *Dir) (any, error) {
				b, err := d.ReadFile(name)
				return string(b), err
			})
			w.in(dir, "attribute "+name, func(d *Dir) (any, error) {
				a := d.Attr(name, 32)
				defer a.Close()
				b, err := a.Read()
				return string(b), err
			})
			w.in(dir, "link "+name, func(d *Dir) (any, error) { return d.Readlink(name) })
		}
	}
	w.same("a directory that is removed", func(h *Host) (any, error) {
		name := filepath.Join(w.root, "sys/devices/brief")
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
}

// Neither way leaves descriptors open. Other tests' would be counted: it runs alone.
func TestBothWaysLeakNothing(t *testing.T) {
	w := newTwoWays(t)
	noLeak(t, func() {
		for _, h := range []*Host{w.new, w.old} {
			for _, name := range []string{"sys/class/net/eth0/mtu", "sys/devices/eth0/deep", "sys/devices/eth0/up", "sys/devices/eth0/deep/nothing"} {
				_, _ = h.ReadFile(name)
				_, _ = h.ReadDir(name)
			}
			if d, err := h.Dir("sys/devices"); err == nil {
				_, _ = d.Readlink("eth0/alias")
				d.Close()
			}
		}
	})
}
