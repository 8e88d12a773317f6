// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fabricd/fabricd/probes/pci"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, path, root, parent string }{
		{"root bus", "sys/devices/pci0000:00/0000:00:01.0", "pci0000:00", ""},
		{"below a root port", "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00", "0000:00:01.0"},
		{"below a switch", "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0", "pci0000:15", "0000:17:00.0"},
		{"domain of its own", "sys/devices/pci0008:00/0008:00:00.0/0008:01:00.0", "pci0008:00", "0008:00:00.0"},
		{"VMD root port", "sys/devices/pci0000:e0/0000:e0:05.5/pci10000:e0/10000:e0:02.0", "pci10000:e0", ""},
		{"below VMD", "sys/devices/pci0000:e0/0000:e0:05.5/pci10000:e0/10000:e0:02.0/10000:e1:00.0", "pci10000:e0", "10000:e0:02.0"},
		{"Hyper-V", "sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/47505500-0001-0000-3130-444531454238/pcia5c4:00/a5c4:00:02.0", "pcia5c4:00", ""},
		{"Arm", "sys/devices/platform/soc/40000000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0", "pci0000:00", "0000:00:00.0"},
		{"link that cannot be read", "sys/bus/pci/devices/0000:00:01.0", "", ""},
	}
	for _, test := range tests {
		f := &Function{Path: test.path}
		f.place()
		if f.Root != test.root || f.ParentAddress != test.parent {
			t.Errorf("%s: root %q, parent %q; want %q, %q", test.name, f.Root, f.ParentAddress, test.root, test.parent)
		}
	}
}

// small is a GPU and a NIC below one switch, and what else a bus holds.
func small() []string {
	const sw = "pci0000:15/0000:15:01.0/0000:16:00.0"
	return slices.Concat(
		device("pci0000:15/0000:15:01.0", "vendor", "0x8086\n", "class", "0x060400\n", "numa_node", "1\n", "current_link_width", "16\n", "max_link_width", "16\n", "max_link_speed", "32.0 GT/s PCIe\n"),
		device(sw, "class", "0x060400\n", "vendor", "0x1000\n"),
		device(sw+"/0000:17:00.0", "class", "0x060400\n"), device(sw+"/0000:17:01.0", "class", "0x060400\n"),
		device(sw+"/0000:17:00.0/0000:18:00.0", "vendor", "0x10de\n", "device", "0x2335\n", "subsystem_vendor", "0x10de\n", "subsystem_device", "0x18bf\n",
			"class", "0x030200\n", "numa_node", "-1\n", "local_cpulist", "0-15\n", "driver -> ../../../../../../../bus/pci/drivers/nvidia", "",
			"iommu_group -> ../../../../../../../kernel/iommu_groups/42", "", "current_link_width", "16\n", "max_link_width", "16\n", "max_link_speed", "32.0 GT/s PCIe\n"),
		device(sw+"/0000:17:01.0/0000:19:00.0", "vendor", "0x15b3\n", "device", "0x1021\n", "class", "0x020700\n", "max_link_width", "63\n", "max_link_speed", "Unknown\n", "current_link_width", "63\n"),
		device(sw+"/0000:17:01.0/0000:19:00.1", "vendor", "0x15b3\n", "device", "0x101e\n", "class", "0x020700\n", "physfn -> ../0000:19:00.0", "", "current_link_width", "0\n"),
		device("pci0000:00/0000:00:1f.0", "vendor", "garbage\n", "class", "0x060100\n", "numa_node", "-2\n"),
		[]string{"sys/kernel/iommu_groups/42/type", "identity\n", "sys/bus/pci/devices/README", "no device\n", "sys/bus/pci/drivers/nvidia/", ""},
		netdev("eth0", sw+"/0000:17:01.0/0000:19:00.0", "speed", "400000\n", "carrier", "1\n"),
		rdmaDevice("mlx5_0", sw+"/0000:17:01.0/0000:19:00.0"),
	)
}

// files leaves directories out, which recordings do not have.
func files(entries []string) []string {
	var list []string
	for i := 0; i < len(entries); i += 2 {
		if !strings.HasSuffix(entries[i], "/") {
			list = append(list, entries[i:i+2]...)
		}
	}
	return list
}

func TestInventory(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, files(small()), func(t *testing.T, h *Host) {
		inv := h.Inventory()
		if h.Inventory() != inv || inv.Generation != 1 {
			t.Errorf("generation %d, or made again", inv.Generation)
		}
		want := []string{"0000:00:1f.0", "0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:17:01.0", "0000:18:00.0", "0000:19:00.0", "0000:19:00.1"}
		if got := addresses(inv.Functions); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		gpu := inv.Function("0000:18:00.0")
		if gpu.Vendor != 0x10de || gpu.Device != 0x2335 || gpu.SubVendor != 0x10de || gpu.SubDevice != 0x18bf || gpu.Class != 0x030200 || gpu.Kind != pci.GPU {
			t.Errorf("identity %+v", gpu)
		}
		if gpu.Driver != "nvidia" || gpu.LocalCPUs != "0-15" || gpu.NUMANode != Some(-1) || gpu.IOMMUGroup != "42" || gpu.IOMMUType != Some("identity") {
			t.Errorf("state %+v", gpu)
		}
		if !gpu.HasLink || gpu.Max != (pci.Link{Speed: pci.Gen5, Width: 16}) || gpu.MaxWidthRaw != Some(16) || gpu.Virtual() {
			t.Errorf("link %+v", gpu)
		}
		var chain []string
		for f := gpu.Parent; f != nil; f = f.Parent {
			chain = append(chain, f.Address)
		}
		if want := []string{"0000:17:00.0", "0000:16:00.0", "0000:15:01.0"}; !slices.Equal(chain, want) {
			t.Errorf("above the GPU %q, want %q", chain, want)
		}
		nic := inv.Function("0000:19:00.0")
		if nic.Max != (pci.Link{}) || nic.MaxWidthRaw != Some(pci.WidthLost) || nic.NUMANode.OK || !errors.Is(nic.NUMANode.Err, fs.ErrNotExist) || nic.IOMMUGroup != "" || nic.Driver != "" {
			t.Errorf("a lost NIC: %+v", nic)
		}
		if !slices.Equal(nic.NetdevNames, []string{"eth0"}) || !slices.Equal(nic.RDMANames, []string{"mlx5_0"}) {
			t.Errorf("names %q, %q", nic.NetdevNames, nic.RDMANames)
		}
		if vf := inv.Function("0000:19:00.1"); !vf.Virtual() || vf.PhysicalFunction != "0000:19:00.0" || vf.MaxWidthRaw.OK {
			t.Errorf("a virtual function: %+v", vf)
		}
		if odd := inv.Function("0000:00:1f.0"); odd.Vendor != 0 || odd.HasLink || odd.NUMANode.OK || odd.Parent != nil || odd.Root != "pci0000:00" {
			t.Errorf("an odd one: %+v", odd)
		}
		if inv.Function("0000:99:00.0") != nil || (*Inventory)(nil).Function("0000:18:00.0") != nil {
			t.Error("a function out of nothing")
		}
		if again := h.Refresh(); again.Generation != 2 || len(again.Vanished) != 0 || again == inv {
			t.Errorf("generation %d, vanished %v", again.Generation, again.Vanished)
		}
	})
}

// Nothing of an excluded device is opened: neither its directory, nor those of
// its interfaces and RDMA devices, and they are nobody else's.
func TestExclude(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{Exclude: []string{"0000:19:*"}}, files(small()), func(t *testing.T, h *Host) {
		spy := spyOn(h)
		inv := h.Refresh()
		asked := slices.DeleteFunc(spy.asked, func(s string) bool {
			return !strings.Contains(s, "0000:19:00") && !strings.Contains(s, "eth0") && !strings.Contains(s, "mlx5_0")
		})
		if len(asked) > 0 {
			t.Errorf("asked %d times, first: %s; last: %s", len(asked), asked[0], asked[len(asked)-1])
		}
		if len(inv.Functions) != 6 || inv.Function("0000:19:00.0") != nil {
			t.Errorf("functions %q", addresses(inv.Functions))
		}
		for _, n := range inv.Netdevs {
			t.Errorf("interface %s of %s", n.Name, n.Function.Address)
		}
		for _, d := range inv.RDMA {
			t.Errorf("RDMA device %s of %s", d.Name, d.Function.Address)
		}
		if f := inv.Function("0000:17:01.0"); len(f.Netdevs)+len(f.RDMA) > 0 {
			t.Error("the bridge above has taken them over")
		}
	})
}

// What is below an excluded bridge stays, and knows its parent's address.
func TestExcludeBridge(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{Exclude: []string{"0000:16:00.0", "0000:1[^9]:01.0"}}, files(small()), func(t *testing.T, h *Host) {
		inv := h.Inventory()
		if want := []string{"0000:00:1f.0", "0000:17:00.0", "0000:18:00.0", "0000:19:00.0", "0000:19:00.1"}; !slices.Equal(addresses(inv.Functions), want) {
			t.Errorf("got %q, want %q", addresses(inv.Functions), want)
		}
		if f := inv.Function("0000:17:00.0"); f.Parent != nil || f.ParentAddress != "0000:16:00.0" || f.Root != "pci0000:15" {
			t.Errorf("%+v", f)
		}
		if f := inv.Function("0000:19:00.0"); f.Parent != nil || f.ParentAddress != "0000:17:01.0" || len(f.RDMA) != 1 {
			t.Errorf("%+v", f)
		}
	})
}

func TestSetExclude(t *testing.T) {
	t.Parallel()
	h := record(t, Options{Exclude: []string{"0000:18:*"}}, files(small())...)
	if h.Inventory().Function("0000:18:00.0") != nil {
		t.Error("there")
	}
	h.SetExclude([]string{"0000:19:*"})
	if inv := h.Inventory(); inv.Function("0000:19:00.0") == nil {
		t.Error("excluded before the next refresh")
	}
	if inv := h.Refresh(); inv.Function("0000:18:00.0") == nil || inv.Function("0000:19:00.0") != nil || len(inv.Vanished) != 0 {
		t.Errorf("functions %q, vanished %v", addresses(inv.Functions), inv.Vanished)
	}
	h.SetExclude(nil)
	if inv := h.Refresh(); len(inv.Functions) != 8 || len(inv.Vanished) != 0 {
		t.Errorf("functions %q, vanished %v", addresses(inv.Functions), inv.Vanished)
	}
}

func TestCheckGlob(t *testing.T) {
	t.Parallel()
	for _, glob := range []string{"0000:8d:*", "10000:e?:00.[0-7]", "*", `0000:8d:00.0`} {
		if err := CheckGlob(glob); err != nil {
			t.Errorf("%q: %v", glob, err)
		}
	}
	for _, glob := range []string{"", "[", "0000:[8d", `0000:8d:00.0\`} {
		if err := CheckGlob(glob); err == nil || !strings.Contains(err.Error(), "is not a glob over PCI addresses") {
			t.Errorf("%q: %v", glob, err)
		}
	}
}

// A path that turns in a circle, as only a made-up recording has, must not
// become a circle of parents.
func TestParentCircle(t *testing.T) {
	t.Parallel()
	for name, paths := range map[string][]string{
		"its own parent": {"pci0000:00/0000:00:01.0/0000:00:01.0"},
		"two":            {"pci0000:00/0000:00:01.0/0000:00:02.0", "pci0000:00/0000:00:02.0/0000:00:01.0"},
		"three":          {"a/0000:00:01.0/0000:00:02.0", "b/0000:00:02.0/0000:00:03.0", "c/0000:00:03.0/0000:00:01.0"},
	} {
		var entries []string
		for _, p := range paths {
			entries = append(entries, device(p, "class", "0x060400")...)
		}
		for _, f := range record(t, Options{}, entries...).Inventory().Functions {
			if !ends(f) {
				t.Errorf("%s: from %s on it never ends", name, f.Address)
			}
		}
	}
}

func ends(f *Function) bool {
	for range 100 {
		if f = f.Parent; f == nil {
			return true
		}
	}
	return false
}

// A machine without PCI, NUMA or network is one, too.
func TestInventoryNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, []string{"proc/version", "Linux\n"}, func(t *testing.T, h *Host) {
		if inv := h.Refresh(); len(inv.Functions)+len(inv.Netdevs)+len(inv.RDMA)+len(inv.Nodes)+len(inv.Vanished) > 0 || inv.Facts.Guest {
			t.Errorf("%+v", inv)
		}
	})
}

// What cannot be read of a device is missing, and the rest is there.
func TestInventoryPartly(t *testing.T) {
	t.Parallel()
	h, _ := live(t, Options{}, files(small())...)
	spyOn(h).answer = func(op, name string) error {
		if op == "open" && strings.Contains(name, "0000:18:00.0/") {
			return syscall.EIO
		}
		return nil
	}
	inv := h.Refresh()
	f := inv.Function("0000:18:00.0")
	if f == nil || f.Vendor != 0 || f.Kind != pci.Other || f.HasLink || f.NUMANode.OK || Reason(f.NUMANode.Err) != "EIO" || f.Driver != "nvidia" {
		t.Errorf("%+v", f)
	}
	if len(inv.Functions) != 8 || inv.Function("0000:19:00.0").Vendor != 0x15b3 {
		t.Errorf("%q", addresses(inv.Functions))
	}
}

func TestLiveErrors(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, err := Live(root+"/absent", Options{}); err == nil || !strings.HasPrefix(err.Error(), "root of the machine: ") {
		t.Errorf("got %v", err)
	}
	if _, err := Live(root, Options{}); err == nil || !strings.Contains(err.Error(), "holds no sys") {
		t.Errorf("got %v", err)
	}
	unpack(t, root, "sys/", "")
	if _, err := Live(root, Options{}); err == nil || !strings.Contains(err.Error(), "holds no proc") {
		t.Errorf("got %v", err)
	}
	unpack(t, root, "proc/", "")
	h, err := Live(root, Options{})
	if err != nil || h.Recorded() || h.Marks() != nil || h.Manifest() != nil {
		t.Errorf("%v", err)
	}
}
