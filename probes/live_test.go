// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func liveSmall(t testing.TB) (*Host, string) {
	t.Helper()
	return live(t, Options{}, append(files(small()), "sys/bus/pci/drivers/nvidia/", "")...)
}

const smallGPU = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0"

func TestHotUnplug(t *testing.T) {
	t.Parallel()
	h, root := liveSmall(t)
	before := h.Refresh()
	unplug(t, root, smallGPU)
	after := h.Refresh()
	if after.Function("0000:18:00.0") != nil || len(after.Functions) != len(before.Functions)-1 {
		t.Errorf("after: %q", addresses(after.Functions))
	}
	if got := gone(after); got != "0000:18:00.0 " || after.Vanished[0].Function != before.Function("0000:18:00.0") {
		t.Errorf("vanished %q", got)
	}
	if nic := after.Function("0000:19:00.0"); nic == nil || len(nic.RDMA) != 1 || len(nic.Netdevs) != 1 || nic.Parent != after.Function("0000:17:01.0") {
		t.Errorf("what stays: %+v", nic)
	}
	if f := before.Function("0000:18:00.0"); f == nil || f.Parent.Address != "0000:17:00.0" {
		t.Error("the old inventory has changed")
	}
}

// What comes back under an old address is a new device, with its own identity.
func TestReplaced(t *testing.T) {
	t.Parallel()
	h, root := liveSmall(t)
	if f := h.Refresh().Function("0000:18:00.0"); f.Device != 0x2335 {
		t.Fatalf("%+v", f)
	}
	dir := filepath.Join(root, "sys/devices", smallGPU)
	rewrite(t, dir+"/device", "0x2330\n") // never happens to one directory: it is fixed, and not read again
	if f := h.Refresh().Function("0000:18:00.0"); f.Device != 0x2335 {
		t.Error("what is fixed was read again")
	}
	rewrite(t, dir+"/numa_node", "1\n")
	if f := h.Refresh().Function("0000:18:00.0"); f.NUMANode != Some(1) {
		t.Errorf("what changes was not read again: %+v", f.NUMANode)
	}
	if err := os.Rename(dir, dir+".old"); err != nil { // so that the number of its directory is another
		t.Fatal(err)
	}
	unpack(t, dir, "vendor", "0x10de\n", "device", "0x2330\n", "class", "0x030200\n")
	inv := h.Refresh()
	if f := inv.Function("0000:18:00.0"); f == nil || f.Device != 0x2330 || f.HasLink || f.Driver != "" || len(inv.Vanished) != 0 {
		t.Errorf("%+v, vanished %q", f, gone(inv))
	}
}

// What a device could not say when it was first seen, in a reset or off the
// bus, is asked again: its maximum is not unknown for ever.
func TestFixedLater(t *testing.T) {
	t.Parallel()
	const dir = "pci0000:00/0000:00:05.0"
	for name, first := range map[string][2]string{"all ones": {"63\n", "Unknown\n"}, "failed": {"", ""}} {
		h, root := live(t, Options{}, device(dir, "current_link_width", first[0], "max_link_width", first[0], "max_link_speed", first[1])...)
		if f := h.Refresh().Function("0000:00:05.0"); f.Max.Known() {
			t.Fatalf("%s: %v", name, f.Max)
		}
		rewrite(t, filepath.Join(root, "sys/devices", dir, "max_link_width"), "16\n")
		rewrite(t, filepath.Join(root, "sys/devices", dir, "max_link_speed"), "32.0 GT/s PCIe\n")
		if f := h.Refresh().Function("0000:00:05.0"); f.Max.String() != "32 GT/s x16" || f.MaxWidthRaw != Some(16) {
			t.Errorf("%s: %v, %+v", name, f.Max, f.MaxWidthRaw)
		}
	}
}

// Wherever in a refresh a device goes, nobody else is affected.
func TestVanishesMidway(t *testing.T) {
	t.Parallel()
	h, _ := liveSmall(t)
	spy := spyOn(h)
	h.Refresh()
	var steps []string
	for _, asked := range spy.asked {
		if strings.Contains(asked, "0000:18:00.0") {
			steps = append(steps, asked)
		}
	}
	if len(steps) < 8 {
		t.Fatalf("asked only %q", steps)
	}
	for _, at := range slices.Compact(steps) {
		h, root := liveSmall(t)
		spyOn(h).answer = func(op, name string) error {
			if op+" "+name == at {
				unplug(t, root, smallGPU)
			}
			return nil
		}
		h.Refresh()
		inv := h.Refresh()
		if inv.Function("0000:18:00.0") != nil || len(inv.Functions) != 7 || inv.Function("0000:19:00.0").Vendor != 0x15b3 || len(inv.RDMA) != 1 {
			t.Errorf("gone at %s: %q", at, addresses(inv.Functions))
		}
	}
}

func TestNoLeak(t *testing.T) {
	entries := append(files(small()),
		"sys/class/infiniband/rxe0 -> ../../devices/virtual/infiniband/rxe0", "", "sys/devices/virtual/infiniband/rxe0/node_type", "1: CA\n",
		"sys/class/net/lo -> ../../devices/virtual/net/lo", "", "sys/devices/virtual/net/lo/type", "772\n",
		"sys/class/net/bond0 -> ../../devices/virtual/net/bond0", "", "sys/devices/virtual/net/bond0/bonding/slaves", "\n",
		"sys/devices/system/node/online", "0-1\n", "sys/devices/system/node/node0/cpulist", "0\n",
		"sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n")
	h, root := live(t, Options{Exclude: []string{"0000:00:*"}}, entries...)
	t.Run("refresh", func(t *testing.T) { noLeak(t, func() { h.Refresh() }) })
	t.Run("nothing there", func(t *testing.T) {
		h, _ := live(t, Options{})
		noLeak(t, func() { h.Refresh() })
	})
	t.Run("reads", func(t *testing.T) {
		noLeak(t, func() {
			_, _ = h.ReadFile("proc/cpuinfo")
			_, _ = h.ReadFile("sys/devices/" + smallGPU + "/vendor")
			_, _ = h.ReadFile("sys/devices")
			_, _ = h.ReadDir("sys/bus/pci/devices")
			for _, name := range []string{"sys", "sys/devices/" + smallGPU + "/vendor", "nothing", "sys/nothing/x"} {
				h.Exists(name)
			}
		})
	})
	t.Run("attributes", func(t *testing.T) {
		noLeak(t, func() {
			d, err := h.Dir("sys/devices/" + smallGPU)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			for _, name := range []string{"vendor", "nothing", "driver"} {
				a := d.Attr(name, 16)
				_, _ = a.Read()
				_ = a.View(func([]byte) {})
				a.Close()
				_, _ = a.Read()
				a.Close()
			}
		})
		if n := h.kept.Load(); n != 0 {
			t.Errorf("%d attributes count as kept", n)
		}
	})
	t.Run("live", func(t *testing.T) {
		noLeak(t, func() {
			_, _ = Live(filepath.Join(root, "nothing"), Options{})
			_, _ = OpenRecording(hosts+"eight-nodes.txtar", Options{})
			_, _ = OpenRecording(root, Options{})
		})
	})
}

// A recorded host and the same files on a mounted machine are the same inventory.
func TestLiveIsRecorded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"many-virtual-functions.txtar", "dgx-gb10.txtar", "sparse-nodes.txtar"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var entries []string
			all := entriesOf(t, name)
			for i := 0; i < len(all); i += 2 {
				if base := filepath.Ext(all[i]); base != ".hex" && base != ".err" && (strings.HasPrefix(all[i], "sys/") || strings.HasPrefix(all[i], "proc/")) {
					entries = append(entries, all[i], all[i+1])
				}
			}
			mounted, _ := live(t, Options{}, entries...)
			recorded := record(t, Options{}, entries...)
			got, want := mounted.Refresh(), recorded.Refresh()
			for _, inv := range []*Inventory{got, want} {
				inv.At = time.Time{}
				for _, f := range inv.Functions {
					f.identity, f.NUMANode.Err, f.MaxWidthRaw.Err, f.IOMMUType.Err = 0, nil, nil, nil // said in other words
				}
			}
			if len(got.Functions)+len(got.Nodes) == 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%d and %d functions, %d and %d interfaces, %d and %d RDMA devices, facts %+v and %+v", len(got.Functions), len(want.Functions),
					len(got.Netdevs), len(want.Netdevs), len(got.RDMA), len(want.RDMA), got.Facts, want.Facts)
			}
		})
	}
}

// Readers and refreshes do not disturb one another.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	mounted, _ := liveSmall(t)
	film := record(t, Options{}, append(files(small()), "at/1s/sys/devices/"+smallGPU+"/numa_node", "0", "at/2s/rm", "sys/devices/"+smallGPU)...)
	for name, h := range map[string]*Host{"live": mounted, "recorded": film} {
		var readers, writers sync.WaitGroup
		var done atomic.Bool
		for i := range 4 {
			a := attrOf(t, h, "sys/devices/"+smallGPU, []string{"numa_node", "class"}[i%2], 16)
			readers.Go(func() {
				for !done.Load() {
					_, _ = a.Read()
					_ = h.Inventory().Function("0000:18:00.0")
				}
			})
		}
		for range 2 {
			writers.Go(func() {
				for range 10 {
					h.Refresh()
				}
			})
		}
		for i := range h.Marks() {
			if err := h.Seek(i); err != nil {
				t.Error(err)
			}
		}
		writers.Wait()
		done.Store(true)
		readers.Wait()
		if got := h.Inventory().Generation; got < 20 {
			t.Errorf("%s: generation %d", name, got)
		}
	}
}

func TestThreadUse(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := ThreadUse()
	for ThreadUse().Since(before).CPU < time.Millisecond {
	}
	if err := syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil); err != nil {
		t.Fatal(err)
	}
	if use := ThreadUse().Since(before); !use.Slept {
		t.Error("sleep is not seen")
	}
}
