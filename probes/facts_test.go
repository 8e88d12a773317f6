// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

const (
	plainCPU = "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme svm\nvmx flags\t: hypervisor\n\nprocessor\t: 1\nflags\t\t: fpu vme svm hypervisor\n"
	guestCPU = "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu vme hypervisor lahf_lm\n"
	armCPU   = "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
)

func TestGuest(t *testing.T) {
	t.Parallel()
	dmi := func(vendor, product string) []string {
		return []string{"sys/class/dmi/id/sys_vendor", vendor, "sys/class/dmi/id/product_name", product}
	}
	tests := []struct {
		name     string
		cpuinfo  string
		entries  []string
		guest    bool
		evidence string // part of it
	}{
		{"flag", guestCPU, nil, true, "/proc/cpuinfo has the hypervisor flag"},
		{"no flag", plainCPU, dmi("Supermicro", "SYS-821GE-TNHR"), false, "no sign of a hypervisor"},
		{"Arm", armCPU, dmi("NVIDIA", "DGX Spark"), false, "no sign of a hypervisor"},
		{"Arm guest", armCPU, dmi("QEMU", "KVM Virtual Machine"), true, "the firmware names QEMU KVM Virtual Machine"},
		{"flag wins over silent firmware", guestCPU, dmi("Dell Inc.", "PowerEdge XE9680"), true, "hypervisor flag"},
		{"flag as part of another", "flags\t\t: fpu hypervisor_x nohypervisor\n", nil, false, "no sign"},
		{"flag of a key that starts alike", "flags_x\t: hypervisor\n", nil, false, "no sign"},
		{"AWS bare metal", plainCPU, dmi("Amazon EC2", "i3.metal"), false, "the product i3.metal is a bare-metal machine"},
		{"AWS bare metal of a size", plainCPU, dmi("Amazon EC2", "m7i.metal-24xl"), false, "bare-metal"},
		{"AWS Xen guest", plainCPU, dmi("Xen", "HVM domU"), true, "the firmware names Xen HVM domU"},
		{"AWS Nitro", plainCPU, dmi("Amazon EC2", "p5.48xlarge"), true, "Amazon EC2 p5.48xlarge"},
		{"AWS on Arm", armCPU, dmi("Amazon EC2", "g5g.metal"), false, "bare-metal"},
		{"Azure", plainCPU, dmi("Microsoft Corporation", "Virtual Machine"), true, "Virtual Machine"},
		{"Surface", plainCPU, dmi("Microsoft Corporation", "Surface Laptop"), false, "no sign"},
		{"Google", plainCPU, dmi("Google", "Google Compute Engine"), true, "Google Compute Engine"},
		{"VMware", plainCPU, dmi("VMware, Inc.", "VMware Virtual Platform"), true, "VMware"},
		{"VirtualBox", plainCPU, dmi("innotek GmbH", "VirtualBox"), true, "VirtualBox"},
		{"OpenStack", plainCPU, dmi("OpenStack Foundation", "OpenStack Nova"), true, "OpenStack"},
		{"Alibaba", plainCPU, dmi("Alibaba Cloud", "Alibaba Cloud ECS"), true, "Alibaba"},
		{"Oracle bare metal", plainCPU, dmi("Oracle Corporation", "ORACLE SERVER X9-2c"), false, "no sign"},
		{"Nutanix hardware", plainCPU, dmi("Nutanix", "NX-3060-G7"), false, "no sign"},
		{"Xen guest", plainCPU, []string{"sys/hypervisor/type", "xen\n"}, true, "/sys/hypervisor/type is xen"},
		{"Xen guest that says what it may", plainCPU, []string{"sys/hypervisor/type", "xen\n", "proc/xen/capabilities", "\n"}, true, "/sys/hypervisor/type is xen"},
		{"Xen control domain", guestCPU, []string{"sys/hypervisor/type", "xen\n", "proc/xen/capabilities", "control_d\n"}, false, "control domain"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries := append([]string{"proc/cpuinfo", test.cpuinfo}, test.entries...)
			facts := record(t, Options{}, entries...).Inventory().Facts
			if facts.Guest != test.guest || !strings.Contains(facts.Evidence, test.evidence) {
				t.Errorf("guest %v: %s; want %v: …%s…", facts.Guest, facts.Evidence, test.guest, test.evidence)
			}
			facts = record(t, Options{AssumeBareMetal: true}, entries...).Inventory().Facts
			if facts.Guest || facts.Evidence != "bare metal is assumed by the operator" {
				t.Errorf("assumed bare metal: guest %v: %s", facts.Guest, facts.Evidence)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	entries := []string{
		"proc/cmdline", "BOOT_IMAGE=/vmlinuz numa=off \x1b[2J\n", "proc/sys/kernel/osrelease", "6.18.0\n", "proc/cpuinfo", plainCPU,
		"sys/class/dmi/id/sys_vendor", "NVIDIA \n", "sys/class/dmi/id/product_name", " DGX\tH100\n",
	}
	onBoth(t, Options{}, entries, func(t *testing.T, h *Host) {
		f := h.Inventory().Facts
		if f.Cmdline != "BOOT_IMAGE=/vmlinuz numa=off ?[2J" || f.Kernel != "6.18.0" || f.Product != "NVIDIA DGX?H100" {
			t.Errorf("%+v", f)
		}
	})
}

// A live machine's facts are read once; a recording's may be given later.
func TestFactsOnce(t *testing.T) {
	t.Parallel()
	h, root := live(t, Options{}, "proc/sys/kernel/osrelease", "6.18.0\n")
	h.Refresh()
	rewrite(t, root+"/proc/sys/kernel/osrelease", "7.0\n")
	if got := h.Refresh().Facts.Kernel; got != "6.18.0" {
		t.Errorf("live: %q", got)
	}
	film := record(t, Options{}, "proc/cpuinfo", plainCPU, "at/1s/proc/sys/kernel/osrelease", "6.18.0\n")
	film.Refresh()
	if err := film.Seek(1); err != nil {
		t.Fatal(err)
	}
	if got := film.Refresh().Facts.Kernel; got != "6.18.0" {
		t.Errorf("recorded: %q", got)
	}
}

func TestSockets(t *testing.T) {
	t.Parallel()
	cpu := func(n, id string) []string {
		return []string{"sys/devices/system/cpu/" + n + "/topology/physical_package_id", id}
	}
	tests := []struct {
		name    string
		entries []string
		want    int
	}{
		{"nothing", []string{"sys/x", ""}, 0},
		{"two", slices.Concat(cpu("cpu0", "0\n"), cpu("cpu1", "1\n"), cpu("cpu2", "0\n"), cpu("cpu10", "1\n")), 2},
		{"sparse numbers", slices.Concat(cpu("cpu0", "36\n"), cpu("cpu1", "36\n"), cpu("cpu2", "3600\n")), 2},
		{"one that is off", append(cpu("cpu0", "0\n"), "sys/devices/system/cpu/cpu1/online", "0\n"), 1},
		{"Arm without a number", slices.Concat(cpu("cpu0", "-1\n"), cpu("cpu1", "-1\n"), []string{"proc/cpuinfo", armCPU}), 0},
		{"what is no CPU", slices.Concat(cpu("cpufreq", "7\n"), cpu("cpuidle", "8\n"), cpu("cpu0", "0\n"), []string{"sys/devices/system/cpu/online", "0-3\n"}), 1},
		{"cpuinfo alone", []string{"proc/cpuinfo", "processor\t: 0\nphysical id\t: 0\n\nprocessor\t: 1\nphysical id\t: 2\n\nprocessor\t: 2\nphysical id\t: 2\n"}, 2},
		{"sysfs wins", append(cpu("cpu0", "0\n"), "proc/cpuinfo", "physical id\t: 0\nphysical id\t: 1\n"), 1},
	}
	for _, test := range tests {
		if got := record(t, Options{}, test.entries...).Inventory().Facts.Sockets; got != test.want {
			t.Errorf("%s: %d sockets, want %d", test.name, got, test.want)
		}
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	const dir = "sys/devices/system/node/"
	entries := []string{
		dir + "online", "0,8,252-253\n",
		dir + "node0/cpulist", "0-3,8\n", dir + "node0/distance", "10 40 80 80\n", dir + "node0/meminfo", "\nNode 0 MemTotal:       65843236 kB\nNode 0 MemFree: 1 kB\n",
		dir + "node8/cpulist", "\n", dir + "node8/distance", "40 x 10\n", dir + "node8/meminfo", "Node 8 MemFree: 1 kB\n",
		dir + "node252/cpulist.err", "EIO",
		dir + "possible", "0-255\n", dir + "node1/cpulist", "9\n",
	}
	onBoth(t, Options{}, entries, func(t *testing.T, h *Host) {
		got := h.Inventory().Nodes
		want := []Node{
			{ID: 0, CPUList: "0-3,8", CPUs: Some(5), MemTotal: Some(uint64(65843236) << 10), Distances: []int{10, 40, 80, 80}},
			{ID: 8, CPUs: Some(0), Distances: []int{40, 10}},
			{ID: 252},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
	for _, online := range []string{"", "x\n", "3-1\n"} {
		if got := record(t, Options{}, dir+"online", online, dir+"node0/cpulist", "0\n").Inventory().Nodes; got != nil {
			t.Errorf("%q: %+v", online, got)
		}
	}
}

func TestMemTotal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Value[uint64]{
		"Node 0 MemTotal:       65843236 kB\n": Some(uint64(65843236) << 10), "Node 10 MemTotal: 0 kB": Some(uint64(0)),
		"": {}, "MemTotal: 1 kB\n": {}, "Node 0 MemTotal:": {}, "Node 0 MemTotal: x kB": {}, "Node 0 MemTotal: -1 kB": {}, "Node 0 MemTotal: 99999999999999999999 kB": {},
		"Node 0 HugePages_Total:     0\n": {},
	} {
		if got := memTotal([]byte(in)); got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

func TestParseList(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]int{
		"": nil, "0": {0}, "0-3": {0, 1, 2, 3}, "0-1,4": {0, 1, 4}, "8,10-11,0": {8, 10, 11, 0}, "5-5": {5}, "65535": {65535}, "0-1,0-1": {0, 1, 0, 1}, "007": {7},
	} {
		if got, err := ParseList(in); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{
		",", "0,", ",0", "0,,1", "-", "-1", "1-", "3-1", "0-1-2", "a", "0-a", "0 1", " 0", "0\n", "0-3:1/2", "0x1", "1.5", "65536", "0-65536", "0-99999999999999999999",
		strings.Repeat("0-60000,", 100) + "1", strings.Repeat("x", 10_000),
	} {
		got, err := ParseList(in)
		if err == nil || got != nil {
			t.Errorf("%.20q: %d members, %v", in, len(got), err)
		} else if len(err.Error()) > 200 || !strings.Contains(err.Error(), "is not a list such as 0-3,8") {
			t.Errorf("%.20q: %v", in, err)
		}
	}
}

func FuzzParseList(f *testing.F) {
	for _, s := range []string{"", "0-3,8,10-11", "0-65535", "3-1", "0-3:1/2", "99999999999999999999", "-", "0,,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := ParseList(s)
		if err != nil {
			return
		}
		if len(list) > maxList {
			t.Errorf("%.40q: %d members", s, len(list))
		}
		var text []string
		for _, n := range list {
			if n < 0 || n >= maxList {
				t.Errorf("%.40q: %d", s, n)
			}
			text = append(text, strconv.Itoa(n))
		}
		if again, err := ParseList(strings.Join(text, ",")); err != nil || !slices.Equal(again, list) {
			t.Errorf("%.40q is %v, which reads as %v, %v", s, list, again, err)
		}
	})
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "NVIDIA H200": "NVIDIA H200", "Größe µ 網": "Größe µ 網", "a\tb\nc\x00d": "a?b?c?d", "\x1b[31mred": "?[31mred", "\x7f": "?", "\u009b2J": "?2J", "a\xff\xfeb": "a?b", "\uFFFD": "?",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := Printable(in); strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q: %q", in, got)
		}
	}
}
