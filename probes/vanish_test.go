// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func gone(inv *Inventory) string {
	var list []string
	for _, v := range inv.Vanished {
		list = append(list, v.Function.Address+" "+v.Orderly)
	}
	return strings.Join(list, "; ")
}

const bound = "driver -> ../../../bus/pci/drivers/x"

func TestVanished(t *testing.T) {
	t.Parallel()
	const (
		link = "sys/bus/pci/devices/0000:00:05.0"
		dir  = "sys/devices/pci0000:00/0000:00:05.0"
	)
	with := func(attributes ...string) []string { return device("pci0000:00/0000:00:05.0", attributes...) }
	removed := func(mark string) []string { return []string{"at/" + mark + "/rm", link + "\n" + dir + "\n"} }
	tests := []struct {
		name    string
		entries []string
		want    []string // after each mark
	}{
		{"stays", append(with(bound, ""), "at/1s/x", ""), []string{"", ""}},
		{"with its driver", append(with(bound, ""), removed("1s")...), []string{"", "0000:00:05.0 "}},
		{"stays gone", append(append(with(bound, ""), removed("1s")...), "at/2s/x", "", "at/3s/x", ""), []string{"", "0000:00:05.0 ", "0000:00:05.0 ", "0000:00:05.0 "}},
		{"without a driver", append(with(), removed("1s")...), []string{"", "0000:00:05.0 no driver was bound to it before it went"}},
		{"unbound at the mark before", append(append(with(bound, ""), "at/1s/rm", dir+"/driver"), removed("2s")...),
			[]string{"", "", "0000:00:05.0 no driver was bound to it before it went"}},
		{"virtual function", append(with(bound, "", "physfn -> ../0000:00:04.0", ""), removed("1s")...),
			[]string{"", "0000:00:05.0 a virtual function: removed through its physical function 0000:00:04.0"}},
		{"only its link goes", append(with(bound, ""), "at/1s/rm", link), []string{"", "0000:00:05.0 "}},
		{"only its directory goes", append(with(bound, ""), "at/1s/rm", dir), []string{"", "0000:00:05.0 "}},
		{"comes back", append(append(append(with(bound, ""), removed("1s")...), "at/2s/"+link+" -> ../../../devices/pci0000:00/0000:00:05.0", "", "at/2s/"+dir+"/class", "0x020000"), removed("3s")...),
			[]string{"", "0000:00:05.0 ", "", "0000:00:05.0 no driver was bound to it before it went"}},
		{"made again at one mark", append(append(with(bound, ""), removed("1s")...), "at/1s/"+link+" -> ../../../devices/pci0000:00/0000:00:05.0", "", "at/1s/"+dir+"/class", "0x020000"),
			[]string{"", ""}},
		{"not there at the start", append([]string{"sys/x", ""}, "at/1s/"+link+" -> ../../../devices/pci0000:00/0000:00:05.0", "", "at/1s/"+dir+"/class", "0x020000"), []string{"", ""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := record(t, Options{}, test.entries...)
			for i, want := range test.want {
				if err := h.Seek(i); err != nil {
					t.Fatal(err)
				}
				if got := gone(h.Refresh()); got != want {
					t.Errorf("mark %d: %q, want %q", i, got, want)
				}
			}
		})
	}
}

// Not being able to look is no proof that something is gone.
func TestVanishedNotSeen(t *testing.T) {
	t.Parallel()
	entries := append(device("pci0000:00/0000:00:05.0", bound, ""), device("pci0000:00/0000:00:06.0", bound, "")...)
	for _, errno := range []error{syscall.EMFILE, syscall.EACCES, syscall.EIO, syscall.EINTR} {
		for name, part := range map[string]string{"the device": "0000:00:05.0", "the bus": "bus/pci/devices"} {
			h, _ := live(t, Options{}, entries...)
			h.Refresh()
			failing := true
			spyOn(h).answer = func(op, asked string) error {
				if failing && op == "dir" && strings.Contains(asked, part) {
					return &fs.PathError{Op: "openat", Path: asked, Err: errno}
				}
				return nil
			}
			if got := gone(h.Refresh()); got != "" {
				t.Errorf("%s cannot be opened (%v): vanished %q", name, errno, got)
			}
			failing = false
			if inv := h.Refresh(); gone(inv) != "" || len(inv.Functions) != 2 {
				t.Errorf("%s can be opened again: %q, vanished %q", name, addresses(inv.Functions), gone(inv))
			}
		}
	}
}

// A device that the operator excludes is not missed any more.
func TestVanishedExcluded(t *testing.T) {
	t.Parallel()
	h, root := live(t, Options{}, append(device("pci0000:00/0000:00:05.0", bound, ""), device("pci0000:00/0000:00:06.0", bound, "")...)...)
	h.Refresh()
	unplug(t, root, "pci0000:00/0000:00:05.0")
	if got := gone(h.Refresh()); got != "0000:00:05.0 " {
		t.Errorf("vanished %q", got)
	}
	h.SetExclude([]string{"0000:00:05.*"})
	if got := gone(h.Refresh()); got != "" {
		t.Errorf("excluded: vanished %q", got)
	}
}

func unplug(t *testing.T, root, dir string) {
	t.Helper()
	for _, name := range []string{"sys/bus/pci/devices/" + filepath.Base(dir), "sys/devices/" + dir} {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnbindings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		events []string // action, seconds since the one before
		want   bool
	}{
		{"nothing", nil, false},
		{"surprise", []string{"unbind 0", "remove 0.01"}, false},
		{"a slow surprise", []string{"unbind 0", "remove 0.99"}, false},
		{"unbound before", []string{"unbind 0", "remove 1"}, true},
		{"unbound long before", []string{"unbind 0", "remove 86400"}, true},
		{"removed alone", []string{"remove 0"}, false},
		{"unbound and still there", []string{"unbind 0"}, false},
		{"bound again in between", []string{"unbind 0", "bind 10", "remove 10"}, false},
		{"bound again, then a surprise", []string{"unbind 0", "bind 10", "unbind 10", "remove 0.1"}, false},
		{"driver changed, then removed in order", []string{"unbind 0", "bind 10", "unbind 10", "remove 5"}, true},
		{"back after an orderly removal", []string{"unbind 0", "remove 5", "add 5"}, false},
		{"back, then a surprise", []string{"unbind 0", "remove 5", "add 5", "bind 0", "unbind 60", "remove 0.1"}, false},
		{"other actions", []string{"unbind 0", "change 1", "remove 1"}, true},
	}
	for _, test := range tests {
		var u unbindings
		now := time.Now()
		for _, event := range test.events {
			action, after, _ := strings.Cut(event, " ")
			d, err := time.ParseDuration(after + "s")
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(d)
			u.note(action, "0000:00:05.0", now)
			u.note(action+"s", "0000:00:06.0", now)
		}
		if got := u.before("0000:00:05.0"); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
		if u.before("0000:00:06.0") {
			t.Errorf("%s: another one", test.name)
		}
	}
}

func uevent(action, device, subsystem string) []byte {
	return []byte(action + "@" + device + "\x00ACTION=" + action + "\x00DEVPATH=" + device + "\x00SUBSYSTEM=" + subsystem + "\x00SEQNUM=1\x00")
}

func TestTakeUevent(t *testing.T) {
	t.Parallel()
	const device = "/devices/pci0000:00/0000:00:05.0"
	for name, test := range map[string]struct {
		b    []byte
		want bool
	}{
		"PCI": {uevent("add", device, "pci"), true}, "network": {uevent("add", device+"/net/eth0", "net"), true}, "RDMA": {uevent("change", device+"/infiniband/x", "infiniband"), true},
		"disk": {uevent("add", "/devices/x", "block"), false}, "queue": {uevent("add", device+"/net/eth0/queues/rx-0", "queues"), false},
		"nothing": {nil, false}, "NULs": {make([]byte, 64), false}, "udev's": {[]byte("libudev\x00\xfe\xed\xca\xfe"), false}, "cut": {[]byte("add@/devices/x\x00ACTION=add\x00SUBSYS"), false},
		"cut within": {[]byte("ACTION=unbind\x00SUBSYSTEM=pci"), true}, "no value": {[]byte("SUBSYSTEM\x00ACTION\x00"), false},
	} {
		if got := mustLive(t).takeUevent(test.b); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Events tell an intention from a surprise, also where an inventory was taken between the driver's going and the device's.
func TestVanishedUnbound(t *testing.T) {
	t.Parallel()
	const going = "/devices/pci0000:00/0000:00:05.0"
	for _, test := range []struct {
		name                     string
		before                   time.Duration // from unbinding to removal
		seenUnbound, heardRemove bool
		want                     string
	}{
		{"orderly", 2 * intention, false, true, "its driver was unbound before it went"},
		{"surprise", 0, false, true, ""},
		{"orderly, seen in between", 2 * intention, true, true, "no driver was bound to it before it went"},
		{"surprise, seen in between", 0, true, true, ""},
		{"surprise, seen in between, the removal not heard of", 0, true, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, root := live(t, Options{}, append(device("pci0000:00/0000:00:05.0", bound, ""), "sys/bus/pci/drivers/x/", "")...)
			h.Refresh()
			h.takeUevent(uevent("unbind", going, "pci"))
			h.unbound.at["0000:00:05.0"] = time.Now().Add(-test.before)
			if test.seenUnbound {
				if err := os.Remove(filepath.Join(root, "sys", going, "driver")); err != nil {
					t.Fatal(err)
				}
				h.Refresh()
			}
			if test.heardRemove {
				h.takeUevent(uevent("remove", going, "pci"))
			}
			unplug(t, root, "pci0000:00/0000:00:05.0")
			if got, want := gone(h.Refresh()), "0000:00:05.0 "+test.want; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func FuzzTakeUevent(f *testing.F) {
	f.Add(uevent("unbind", "/devices/pci0000:00/0000:00:05.0", "pci"))
	f.Add(uevent("remove", "/", "pci"))
	f.Add([]byte("ACTION=add\x00=\x00SUBSYSTEM=net"))
	f.Add([]byte{})
	root := f.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(root, "sys"), 0o755), os.Mkdir(filepath.Join(root, "proc"), 0o755)); err != nil {
		f.Fatal(err)
	}
	h, err := Live(root, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if h.takeUevent(b) && !strings.Contains(string(b), "SUBSYSTEM=") {
			t.Errorf("%q is taken", b)
		}
		h.unbound.mu.Lock()
		defer h.unbound.mu.Unlock()
		for address := range h.unbound.orderly {
			if h.unbound.at[address] != (time.Time{}) {
				t.Errorf("%q is gone and there", address)
			}
		}
	})
}
