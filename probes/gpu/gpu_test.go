// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func of[T any](v T) *T { return &v }

func TestParse(t *testing.T) {
	t.Parallel()
	const in = `{"driver_version": "580.159.04", "later": {"x": 1}, "devices": [
		{"index": 0, "minor": 3, "uuid": "GPU-0", "name": "NVIDIA H200", "pci_bus_id": "00000000:8D:00.0",
		 "pcie": {"generation": 5, "generation_max": 5, "generation_device_max": 5, "width": 16, "width_max": 16, "replays": 0},
		 "performance_state": 0, "utilization_gpu": 97, "memory_total_bytes": 150754820096, "bar1": {"total_bytes": 274877906944, "used_bytes": 1703936},
		 "mig": false, "nvlinks": [{"link": 0, "active": false}, {"link": 1, "active": true, "version": 4, "remote_type": "switch", "errors": {"replay": 0, "crc_flit": 7}}],
		 "fabric": {"state": "completed", "status": "success"}, "processes": [{"pid": 4242, "used_memory_bytes": 1184890880}, {"pid": 1}]},
		{"index": 1, "pci_bus_id": "00010000:e1:00.0", "lost": true, "utilization_gpu": 97, "processes": [{"pid": 7}]}]}`
	want := &Snapshot{DriverVersion: "580.159.04", Devices: []Device{
		{
			Minor: of(3), UUID: "GPU-0", Name: "NVIDIA H200", PCIBusID: "00000000:8D:00.0", Address: "0000:8d:00.0",
			PCIe:             &PCIe{Generation: of(5), GenerationMax: of(5), GenerationDeviceMax: of(5), Width: of(16), WidthMax: of(16), Replays: of(uint64(0))},
			PerformanceState: of(0), Utilization: of(97), MemoryTotal: of(uint64(150754820096)), BAR1: &BAR1{Total: 274877906944, Used: of(uint64(1703936))}, MIG: of(false),
			NVLinks: []NVLink{{Link: 0, Active: of(false)}, {Link: 1, Active: of(true), Version: of(4), RemoteType: "switch", Errors: &NVLinkErrors{Replay: of(uint64(0)), CRCFlit: of(uint64(7))}}},
			Fabric:  &Fabric{State: "completed", Status: "success"}, Processes: []Process{{PID: 4242, UsedMemory: of(uint64(1184890880))}, {PID: 1}},
		},
		{Index: 1, PCIBusID: "00010000:e1:00.0", Address: "10000:e1:00.0", Lost: true},
	}}
	got, err := Parse([]byte(in))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	if d := got.Find("0000:8d:00.0"); d != &got.Devices[0] || !d.HasNVLink() {
		t.Errorf("%+v", d)
	}
	if d := got.Find("10000:e1:00.0"); d != &got.Devices[1] || d.HasNVLink() {
		t.Errorf("%+v", d)
	}
	for _, address := range []string{"", "0000:8D:00.0", "00000000:8d:00.0", "0000:8d:00.1"} {
		if d := got.Find(address); d != nil {
			t.Errorf("%q: %+v", address, d)
		}
	}
	if (*Snapshot)(nil).Find("0000:8d:00.0") != nil || (&Snapshot{}).Find("") != nil {
		t.Error("a device out of nothing")
	}
}

func TestParseBad(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                            "unexpected end",
		"{":                           "unexpected end",
		"[]":                          "cannot unmarshal array",
		"{} {}":                       "after top-level value",
		`{"devices": [{"index": 0}]}`: "device 0: pci_bus_id: ",
		`{"devices": [{"index": 2, "pci_bus_id": "gpu2"}]}`:                                  `device 2: pci_bus_id: "gpu2" is not a PCI address`,
		`{"devices": [{"index": "0", "pci_bus_id": "0000:8d:00.0"}]}`:                        "cannot unmarshal string",
		`{"devices": [{"index": 0, "pci_bus_id": "0000:8d:00.0", "pcie": {"replays": -1}}]}`: "cannot unmarshal number -1",
	} {
		if got, err := Parse([]byte(in)); got != nil || err == nil || !strings.HasPrefix(err.Error(), "gpu.json: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v, %v; want …%s…", in, got, err, want)
		}
	}
	for _, in := range []string{"{}", "null", `{"devices": null}`, `{"devices": []}`} {
		if got, err := Parse([]byte(in)); err != nil || len(got.Devices) != 0 {
			t.Errorf("%s: got %+v, %v", in, got, err)
		}
	}
}

// The recorded hosts' answers are of this shape.
func TestParseHosts(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../collectors/testdata/hosts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	parsed := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(b).Files {
			if f.Name == "gpu.json" {
				if s, err := Parse(f.Data); err != nil || len(s.Devices) == 0 {
					t.Errorf("%s: %+v, %v", name, s, err)
				}
				parsed++
			}
		}
	}
	if parsed < 5 {
		t.Errorf("only %d hosts", parsed)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"driver_version": "1", "devices": [{"index": 0, "pci_bus_id": "00000000:18:00.0", "nvlinks": [{"link": 0, "active": true}]}]}`))
	f.Add([]byte(`{"devices": [{"pci_bus_id": "0:0:0.0", "pcie": null, "processes": [null]}, null]}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b)
		if (s == nil) != (err != nil) {
			t.Fatalf("%+v, %v", s, err)
		}
		if err != nil {
			return
		}
		for i := range s.Devices {
			d := s.Find(s.Devices[i].Address)
			if d == nil || d.Address != s.Devices[i].Address {
				t.Errorf("device %d is not found at %q", i, s.Devices[i].Address)
				continue
			}
			d.HasNVLink()
		}
	})
}

func TestParseMakesTextPrintable(t *testing.T) {
	s, err := Parse([]byte(`{"driver_version":"\u001b","devices":[{"name":"\u001b","pci_bus_id":"00000000:18:00.0","nvlinks":[{"remote_type":"\u001b"}],"fabric":{"trouble":["\u001b"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := s.Devices[0]
	for _, got := range []string{s.DriverVersion, d.Name, d.NVLinks[0].RemoteType, d.Fabric.Trouble[0]} {
		if got != "?" {
			t.Errorf("%q", got)
		}
	}
}
