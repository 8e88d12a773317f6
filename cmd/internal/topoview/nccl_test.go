// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
	"github.com/google/go-cmp/cmp"
)

// maxElements is what NCCL takes of a file, with all that it adds itself: 256
// in versions before 2.28.
const maxElements = 256

func readMachine(t *testing.T, m *Machine) *readElement {
	t.Helper()
	system, err := readNCCL(written(t, m.WriteNCCL))
	if err != nil {
		t.Fatalf("NCCL could not read the file: %v", err)
	}
	return system
}

// checkNCCL reads a machine's file and derives the distance of each GPU from
// each NIC from the nesting of its elements, as NCCL does.
func checkNCCL(t *testing.T, m *Machine) {
	t.Helper()
	system := readMachine(t, m)
	elements := 0
	for _, name := range []string{"system", "cpu", "pci", "nic", "net"} {
		elements += len(system.all(name))
	}
	if added := 10*len(m.gpus) + 2*len(m.nics); elements+added > maxElements {
		t.Errorf("%d elements, and NCCL will add up to %d: too many for it", elements, added)
	}
	byID := map[string]*readElement{}
	for _, e := range system.all("pci") {
		if byID[e.values["busid"]] != nil {
			t.Errorf("%s is there twice", e.values["busid"])
		}
		byID[e.values["busid"]] = e
	}
	for _, g := range m.gpus {
		for _, n := range m.matrixNICs(false) {
			a, b := byID[g.Address], byID[m.firstPort(n).Address]
			if a == nil || b == nil {
				t.Errorf("%s or %s is missing", g.Address, n.Address)
				continue
			}
			want, _ := m.tree.Distance(g, n)
			if got := nested(a, b); !agree(got, want) {
				t.Errorf("%s to %s: the file says %s, the tree %s", g.Address, n.Address, got, want)
			}
		}
	}
}

// nested gives the distance of two <pci>. NODE stands for PHB as well: NCCL
// does not tell the host bridges of a node apart.
func nested(a, b *readElement) topo.Distance {
	if a.parent == b.parent && a.parent.name == "pci" {
		return topo.PIX
	}
	for up := a; up.name == "pci"; up = up.parent {
		if slices.Contains(up.all("pci"), b) {
			return topo.PXB
		}
	}
	for up := a; up.name != "system"; up = up.parent {
		if up.name == "cpu" && slices.Contains(up.all("pci"), b) {
			return topo.NODE
		}
	}
	return topo.SYS
}

func agree(file, tree topo.Distance) bool {
	switch tree {
	case topo.Unknown: // the file has to say something
		return file >= topo.NODE
	case topo.PHB:
		return file == topo.NODE
	}
	return file == tree
}

// The distances that come with some hosts were derived from the XML files that
// the hosts were made after: the circle closes.
func TestNCCLDistancesOfOrigin(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordings, "*.distances"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no distances: %v", err)
	}
	for _, file := range files {
		m := load(t, strings.TrimSuffix(filepath.Base(file), ".distances"))
		system := readMachine(t, m)
		find := func(address string) *readElement {
			address = m.firstPort(functionAt(t, m, address)).Address
			for _, e := range system.all("pci") {
				if e.values["busid"] == address {
					return e
				}
			}
			t.Fatalf("%s: no %s", file, address)
			return nil
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			fields := strings.Fields(line)
			if len(fields) != 3 || fields[0] == "#" {
				continue
			}
			got := nested(find(fields[0]), find(fields[1])).String()
			if want := strings.Replace(fields[2], "PHB", "NODE", 1); got != want {
				t.Errorf("%s: %s to %s: %s, want %s", file, fields[0], fields[1], got, want)
			}
		}
	}
}

func functionAt(t *testing.T, m *Machine, address string) *probes.Function {
	t.Helper()
	f := m.inventory.Function(address)
	if f == nil {
		t.Fatalf("no function %s", address)
	}
	return f
}

// wholeCPUInfo is what the origin of oci-h100 says of its processors, as the
// kernel puts it.
const wholeCPUInfo = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) Platinum 8480+\n\nprocessor\t: 1\n"

// Facts typed from oracle-quickstart/oci-hpc, H100-topology.xml, which NCCL
// wrote: the attributes of each element and their values.
func TestNCCLStructure(t *testing.T) {
	s := source(t, "oci-h100")
	s.CPUInfo = []byte(wholeCPUInfo)
	system := readMachine(t, New(s))
	cpus := system.all("cpu")
	if len(cpus) != 2 || system.values["version"] != "1" {
		t.Fatalf("version %q, %d cpus", system.values["version"], len(cpus))
	}
	wantAttributes := map[string]string{
		"cpu": "numaid affinity arch vendor familyid modelid",
		"pci": "busid class vendor device subsystem_vendor subsystem_device link_speed link_width",
		"nic": "",
		"net": "name speed guid", // and what NCCL adds: dev latency port maxconn gdr
	}
	for name, want := range wantAttributes {
		for _, e := range system.all(name) {
			if got := strings.Join(e.keys, " "); got != want {
				t.Errorf("<%s>: attributes %q, want %q", name, got, want)
			}
		}
	}
	facts := []struct{ element, got, want string }{
		{"cpu 0", fmt.Sprint(cpus[0].values), fmt.Sprint(map[string]string{
			"numaid": "0", "affinity": "00000000,000000ff,ffffffff,ffff0000,00000000,00ffffff,ffffffff",
			"arch": "x86_64", "vendor": "GenuineIntel", "familyid": "6", "modelid": "143"})},
		{"affinity of cpu 1", cpus[1].values["affinity"], "ffffffff,ffffff00,00000000,0000ffff,ffffffff,ff000000,00000000"},
		{"below cpu 0", busids(cpus[0].subs), "0000:08:00.0 0000:26:00.0 0000:3d:00.0 0000:54:00.0"},
		{"below cpu 1", busids(cpus[1].subs), "0000:82:00.0 0000:a1:00.0 0000:b9:00.0 0000:d1:00.0"},
		{"below the first switch", busids(cpus[0].subs[0].subs), "0000:0a:00.0 0000:0d:00.0"},
		{"switch", fmt.Sprint(cpus[0].subs[0].subs[1].values), fmt.Sprint(map[string]string{
			"busid": "0000:0d:00.0", "class": "0x060400", "vendor": "0x1000", "device": "0xc030",
			"subsystem_vendor": "0x1000", "subsystem_device": "0x1003", "link_speed": "32.0 GT/s PCIe", "link_width": "16"})},
		{"GPU", fmt.Sprint(cpus[0].subs[0].subs[1].subs[0].values), fmt.Sprint(map[string]string{
			"busid": "0000:0f:00.0", "class": "0x030200", "vendor": "0x10de", "device": "0x2330",
			"subsystem_vendor": "0x10de", "subsystem_device": "0x16c1", "link_speed": "32.0 GT/s PCIe", "link_width": "16"})},
		{"NIC", cpus[0].subs[0].subs[0].subs[0].values["busid"], "0000:0c:00.0"},
		{"nets", names(system.all("net")), "mlx5_0 mlx5_1 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_7 mlx5_8 mlx5_9 mlx5_10 mlx5_12 mlx5_13 mlx5_14 mlx5_15 mlx5_16 mlx5_17"},
		{"nets of the first NIC", names(cpus[0].subs[0].subs[0].all("net")), "mlx5_0 mlx5_1"},
		{"GPUs", fmt.Sprint(len(system.all("gpu"))), "0"},
	}
	for _, f := range facts {
		if diff := cmp.Diff(f.want, f.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.element, diff)
		}
	}
}

func busids(list []*readElement) string { return values(list, "busid") }
func names(list []*readElement) string  { return values(list, "name") }

func values(list []*readElement, key string) string {
	var all []string
	for _, e := range list {
		all = append(all, e.values[key])
	}
	return strings.Join(all, " ")
}

// A <net> below a half description would make NCCL see two of what is one.
func TestNCCLNetsNeedAllAbove(t *testing.T) {
	s := source(t, "oci-h100")
	if got := len(readMachine(t, New(s)).all("net")); got != 0 {
		t.Errorf("%d nets, though the recording does not tell the processors' family", got)
	}
	s.CPUInfo = []byte(wholeCPUInfo)
	m := New(s)
	functionAt(t, m, "0000:08:00.0").SubVendor, functionAt(t, m, "0000:08:00.0").SubDevice = 0, 0
	functionAt(t, m, "0000:2a:00.0").RDMA[0].Name = `mlx5_3" dev="9`
	functionAt(t, m, "0000:41:00.0").RDMA[0].Ports[0].State = "DOWN"
	system := readMachine(t, m)
	if got := names(system.all("net")); strings.Contains(got, "mlx5_0 ") || strings.Contains(got, "mlx5_3 ") || !strings.HasPrefix(got, "mlx5_4 mlx5_5 ") {
		t.Errorf("nets %s: want none below 0000:08:00.0, whose subsystem is not known, and none that breaks the file", got)
	}
	for _, n := range system.all("net") {
		if n.values["name"] == "mlx5_5" && n.values["speed"] != "" {
			t.Errorf("a port that is down has the speed %s", n.values["speed"])
		}
	}
}
