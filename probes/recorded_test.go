// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestTreeFiles(t *testing.T) {
	t.Parallel()
	entries := []string{
		"sys/a/one", "1\n",
		"sys/a/empty", "",
		"sys/a/big", strings.Repeat("x", 100_000) + "\n",
		"proc/1/comm", "init\n",
	}
	onBoth(t, Options{}, entries, func(t *testing.T, h *Host) {
		for name, want := range map[string]string{
			"sys/a/one": "1\n", "/sys/a/one": "1\n", "sys//a/./one": "1\n", "sys/a/../a/one": "1\n", "sys/a/empty": "",
			"sys/a/big": strings.Repeat("x", 100_000) + "\n", "proc/1/comm": "init\n",
		} {
			if b, err := h.ReadFile(name); err != nil || string(b) != want {
				t.Errorf("%s: %.20q, %v; want %.20q", name, b, err, want)
			}
		}
		for _, name := range []string{"sys/a/two", "sys/b/one", "nothing", "sys/a/one/two", "sys/a/empty/x"} {
			if b, err := h.ReadFile(name); err == nil {
				t.Errorf("%s: %q", name, b)
			}
		}
		if _, err := h.ReadFile("sys/a/two"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("absent file: %v", err)
		}
		if _, err := h.ReadFile("sys/b/one"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("absent directory: %v", err)
		}
		if _, err := h.ReadFile("sys/a"); !errors.Is(err, syscall.EISDIR) {
			t.Errorf("a directory as a file: %v", err)
		}
		if _, err := h.Dir("sys/a/one"); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file as a directory: %v", err)
		}
		for name, want := range map[string]bool{"sys": true, "sys/a": true, "sys/a/one": true, "sys/a/two": false, "sys/b": false, "sys/b/c": false, "sys/a/one/x": false} {
			if got := h.Exists(name); got != want {
				t.Errorf("%s exists: %v", name, got)
			}
		}
		if names, err := h.ReadDir("sys/a"); err != nil || !slices.Equal(names, []string{"big", "empty", "one"}) {
			t.Errorf("sys/a holds %q, %v", names, err)
		}
		if names, err := h.ReadDir("sys/c"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("sys/c holds %q, %v", names, err)
		}
	})
}

func TestTreeLinks(t *testing.T) {
	t.Parallel()
	entries := []string{
		"sys/devices/pci0000:00/0000:00:01.0/vendor", "0x10de\n",
		"sys/bus/pci/devices/0000:00:01.0 -> ../../../devices/pci0000:00/0000:00:01.0", "",
		"sys/bus/pci/drivers/d/0000:00:01.0 -> ../../devices/0000:00:01.0", "", // a link to a link
		"sys/class/x -> ../bus/pci/drivers/d/0000:00:01.0", "", // and to that
		"sys/here -> .", "",
		"sys/deep/er -> ../class/x/../0000:00:01.0", "", // up from where the link led
		"sys/absent -> devices/absent", "",
		"sys/loop -> loop", "", "sys/ping -> pong", "", "sys/pong -> ping", "",
		"sys/out/a/b -> ../..", "",
	}
	h := record(t, Options{}, entries...)
	for _, name := range []string{
		"sys/bus/pci/devices/0000:00:01.0/vendor", "sys/bus/pci/drivers/d/0000:00:01.0/vendor", "sys/class/x/vendor",
		"sys/here/here/here/class/x/vendor", "sys/deep/er/vendor", "sys/out/a/b/class/x/vendor",
	} {
		if b, err := h.ReadFile(name); err != nil || string(b) != "0x10de\n" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for name, want := range map[string]error{
		"sys/absent": fs.ErrNotExist, "sys/absent/x": fs.ErrNotExist, "sys/loop": syscall.ELOOP, "sys/loop/x": syscall.ELOOP, "sys/ping": syscall.ELOOP,
	} {
		if b, err := h.ReadFile(name); !errors.Is(err, want) {
			t.Errorf("%s: %q, %v; want %v", name, b, err, want)
		}
		if h.Exists(name) {
			t.Errorf("%s exists", name)
		}
	}
	dir, err := h.Dir("sys")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if target, err := dir.Readlink("absent"); err != nil || target != "devices/absent" {
		t.Errorf("%q, %v", target, err)
	}
	if target, err := dir.Readlink("class"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a directory leads to %q, %v", target, err)
	}
	if target, err := dir.Readlink("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing leads to %q, %v", target, err)
	}
	if names, _ := dir.List(); !slices.Contains(names, "absent") || !slices.Contains(names, "loop") {
		t.Errorf("links are not listed: %q", names)
	}
}

// As many links as the kernel follows, and one more.
func TestTreeChain(t *testing.T) {
	t.Parallel()
	entries := []string{"sys/l00", "end\n"}
	for i := range 41 {
		entries = append(entries, "sys/l"+two(i+1)+" -> l"+two(i), "")
	}
	h := record(t, Options{}, entries...)
	if b, err := h.ReadFile("sys/l40"); err != nil || string(b) != "end\n" {
		t.Errorf("40 links: %q, %v", b, err)
	}
	if b, err := h.ReadFile("sys/l41"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("41 links: %q, %v", b, err)
	}
}

func two(n int) string { return string([]byte{'0' + byte(n/10), '0' + byte(n%10)}) }

// A link that leads out only by way of another one is found when it is followed.
func TestTreeLeadsOut(t *testing.T) {
	t.Parallel()
	h := record(t, Options{}, "sys/a/b -> ../..", "", "sys/c/d -> ../a/b/..", "", "sys/file", "x\n")
	for _, name := range []string{"sys/c/d", "sys/c/d/etc/passwd", "sys/a/b/sys/c/d"} {
		if b, err := h.ReadFile(name); err == nil {
			t.Errorf("%s: %q", name, b)
		}
		if h.Exists(name) {
			t.Errorf("%s exists", name)
		}
	}
	if b, err := h.ReadFile("../sys/file"); err != nil || string(b) != "x\n" { // there is nothing above the root
		t.Errorf("%q, %v", b, err)
	}
}

func TestLiveLeadsOut(t *testing.T) {
	t.Parallel()
	h, _ := live(t, Options{}, "sys/up -> ../../..", "", "sys/ok -> ../proc", "", "proc/x", "x\n")
	if names, err := h.ReadDir("sys/up"); err == nil {
		t.Errorf("led to %q", names)
	}
	if b, err := h.ReadFile("sys/ok/x"); err != nil || string(b) != "x\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// The order of entries means nothing: a link may stand behind what lies beyond it.
func TestRecordedOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:01.0/net/eth0", "",
		"sys/class/net/eth0/device -> ../../../0000:00:01.0", "",
		"sys/class/net/eth0/speed", "100000\n",
	}
	for _, order := range [][]int{{0, 2, 4}, {0, 4, 2}, {4, 0, 2}, {2, 0, 4}, {2, 4, 0}, {4, 2, 0}} {
		var entries []string
		for _, i := range order {
			entries = append(entries, want[i:i+2]...)
		}
		h, err := Recorded(archive(entries...), Options{})
		if err != nil {
			t.Errorf("%v: %v", order, err)
			continue
		}
		if b, err := h.ReadFile("sys/devices/pci0000:00/0000:00:01.0/net/eth0/speed"); err != nil || string(b) != "100000\n" {
			t.Errorf("%v: %q, %v", order, b, err)
		}
	}
}
