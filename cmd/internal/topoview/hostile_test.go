// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// function makes a function. Links of bridges and devices are 32 GT/s x16 at most.
func function(t *testing.T, address string, parent *probes.Function, vendor uint16, class uint32) *probes.Function {
	t.Helper()
	addr, err := pci.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	f := &probes.Function{
		Address: address, Addr: addr, Root: "pci0000:15", Parent: parent,
		Vendor: vendor, Device: 0x2330, SubVendor: 1, SubDevice: 2, Class: class, Kind: pci.KindOf(vendor, class),
		NUMANode: probes.Some(0), LocalCPUs: "0-31", HasLink: true,
		Max: pci.Link{Speed: pci.Gen5, Width: 16}, MaxWidthRaw: probes.Some(16),
	}
	if parent != nil {
		f.ParentAddress, f.Above = parent.Address, append([]string{parent.Address}, parent.Above...)
	}
	return f
}

const (
	classBridge = 0x060400
	classGPU    = 0x030200
	classNIC    = 0x020000
)

// small is a machine with a GPU and a NIC below a switch, and what is needed
// to change it.
type small struct {
	root, up, portA, portB, gpu, nic *probes.Function
	view                             *collectors.View
	findings                         []collectors.Finding
}

func newSmall(t *testing.T) *small {
	t.Helper()
	s := &small{}
	s.root = function(t, "0000:15:01.0", nil, pci.VendorIntel, classBridge)
	s.up = function(t, "0000:16:00.0", s.root, 0x1000, classBridge)
	s.portA = function(t, "0000:17:00.0", s.up, 0x1000, classBridge)
	s.portB = function(t, "0000:17:01.0", s.up, 0x1000, classBridge)
	s.gpu = function(t, "0000:18:00.0", s.portA, pci.VendorNVIDIA, classGPU)
	s.nic = function(t, "0000:19:00.0", s.portB, pci.VendorMellanox, classNIC)
	s.view = &collectors.View{Inventory: &probes.Inventory{
		Functions: []*probes.Function{s.root, s.up, s.portA, s.portB, s.gpu, s.nic},
		Nodes:     []probes.Node{{ID: 0, CPUList: "0-31", CPUs: probes.Some(32)}},
	}}
	return s
}

func (s *small) machine() *Machine {
	s.view.Topology = topo.New(s.view.Inventory, config.Plan{})
	return New(Source{Host: "node1", View: s.view, Findings: s.findings, CPUInfo: []byte(wholeCPUInfo)})
}

// hostile lists names that mean something to a terminal or to a format.
func hostile() []string {
	return []string{
		`"`, `\`, `\N\"];x[label="`, "'", "<b>&amp;", "a\nb", "a\r\nb\tc", "\x1b[31mred\x1b]0;title\x07", "\u009b31m", "\x7f\x00",
		"--><system>", `"/><gpu dev="0`, ",;|", "=1+1", "\u202egnp.exe", "日本語のとても長い名前", "e\u0301\u0301\u0301", "\xff\xfe", "%s%n", " ", strings.Repeat("x", 300),
	}
}

// No name from the machine can break a format or speak to a terminal.
func TestHostileNames(t *testing.T) {
	for _, name := range hostile() {
		s := newSmall(t)
		s.nic.RDMANames, s.nic.NetdevNames = []string{name}, []string{name}
		s.nic.Netdevs = []*probes.Netdev{{Name: name, Function: s.nic, Port: true, Master: name, PhysPortName: name, Carrier: probes.Some(true), SpeedMbps: probes.Some(400000)}}
		s.nic.RDMA = []*probes.RDMADevice{{Name: name, Function: s.nic, Port: true, SysImageGUID: probes.Printable(name), Ports: []probes.RDMAPort{{Number: 1, State: "ACTIVE", RateGbps: probes.Some(400.0)}}}}
		s.gpu.Driver, s.nic.Driver = name, name
		s.view.Inventory.Facts = probes.Facts{Product: probes.Printable(name), Kernel: probes.Printable(name)}
		m := s.machine()
		m.host = printable(name)
		m.snapshot = &gpu.Snapshot{DriverVersion: name, Devices: []gpu.Device{{Index: 0, Name: name, UUID: name, Address: s.gpu.Address}}}
		checkHostile(t, m, name)
	}
}

func checkHostile(t *testing.T, m *Machine, name string) {
	t.Helper()
	checkText(t, m)
	checkJSON(t, m)
	checkCSV(t, m)
	checkDOT(t, m)
	checkNCCL(t, m)
	var d Document
	if err := json.Unmarshal([]byte(written(t, m.WriteJSON)), &d); err != nil {
		t.Fatal(err)
	}
	want := printable(name)
	if got := d.Functions[len(d.Functions)-1].Netdevs[0].Name; got != want {
		t.Errorf("JSON has %q for %q", got, name)
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, m.WriteCSV))).ReadAll()
	if err != nil || !slices.Contains(rows[2], want) {
		t.Errorf("CSV has %q for %q (%v)", rows[2], name, err)
	}
	for format, write := range map[string]func(io.Writer) error{
		"json": m.WriteJSON, "csv": m.WriteCSV, "nccl": m.WriteNCCL,
		"dot": func(w io.Writer) error { return m.WriteDOT(w, true) },
	} {
		out := written(t, write)
		control := strings.ContainsFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' })
		if control || !utf8.ValidString(out) {
			t.Errorf("%s: %q brings control characters or bytes that are no UTF-8", format, name)
		}
	}
	for _, n := range readMachine(t, m).all("net") {
		if n.values["name"] != name {
			t.Errorf("nccl: %q became %q", name, n.values["name"])
		}
	}
}
