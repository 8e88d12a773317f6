// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"testing"
)

// What is made again is another, though everything reads the same.
func TestIdentity(t *testing.T) {
	t.Parallel()
	const link, dir = "sys/bus/pci/devices/0000:00:05.0", "sys/devices/pci0000:00/0000:00:05.0"
	h := record(t, Options{}, slices.Concat(device("pci0000:00/0000:00:05.0"), []string{
		"at/1s/" + dir + "/class", "0x030000", "at/2s/rm", link + "\n" + dir,
		"at/2s/" + link + " -> ../../../devices/pci0000:00/0000:00:05.0", "", "at/2s/" + dir + "/class", "0x020000",
	})...)
	kept, err := h.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	var functions, dirs []uint64
	for i := range h.Marks() {
		if err := h.Seek(i); err != nil {
			t.Fatal(err)
		}
		functions = append(functions, h.Refresh().Function("0000:00:05.0").Identity())
		id, err := kept.Identity()
		if (i < 2) != (err == nil) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("mark %d: %v", i, err)
		}
		dirs = append(dirs, id)
	}
	if functions[0] != functions[1] || functions[1] == functions[2] {
		t.Errorf("the function's %v", functions)
	}
	if dirs[0] != dirs[1] || dirs[0] != functions[0] {
		t.Errorf("the directory's %v", dirs)
	}
	if names, err := kept.List(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is gone holds %q, %v", names, err)
	}
	if target, err := kept.Readlink("driver"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is gone leads to %q, %v", target, err)
	}
}

func TestExcluded(t *testing.T) {
	t.Parallel()
	h := record(t, Options{Exclude: []string{"0000:8d:*", "10000:*"}}, "sys/x", "")
	for address, want := range map[string]bool{"0000:8d:00.0": true, "0000:8d:1f.7": true, "10000:e1:00.0": true, "0000:8e:00.0": false, "0000:8D:00.0": false, "": false} {
		if got := h.Excluded(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
	h.SetExclude(nil)
	if h.Excluded("0000:8d:00.0") {
		t.Error("still excluded")
	}
}

// What a recording holds besides files comes at its mark, and goes at its mark.
func TestExtras(t *testing.T) {
	t.Parallel()
	h := record(t, Options{},
		"manifest.json", "{}", "sys/a", "1", "proc/b", "2", "gpu.json", "{}", "ethtool/eth0/stats", "     x: 1\n", "lldp/eth0.hex", "00\n",
		"at/1s/sys/a", "2", "at/1s/lldp/eth0.hex", "01\n", "at/1s/rm", "gpu.json\n\nsys/a\n ethtool/eth0 \n",
	)
	want := [][]Extra{
		{{Name: "gpu.json", Data: []byte("{}\n")}, {Name: "ethtool/eth0/stats", Data: []byte("     x: 1\n")}, {Name: "lldp/eth0.hex", Data: []byte("00\n")}},
		{{Name: "gpu.json", Removed: true}, {Name: "ethtool/eth0", Removed: true}, {Name: "lldp/eth0.hex", Data: []byte("01\n")}},
	}
	for i := range want {
		if got := h.Extras(i); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("mark %d: got %+v, want %+v", i, got, want[i])
		}
	}
	for _, i := range []int{-1, 2} {
		if got := h.Extras(i); got != nil {
			t.Errorf("mark %d: %+v", i, got)
		}
	}
	if got := mustLive(t).Extras(0); got != nil {
		t.Errorf("live: %+v", got)
	}
}
