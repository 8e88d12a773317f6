// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes/gpu"
)

// The tests run this program, which is the test program itself, on a library
// of their own.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_CHILD") != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// library builds a libnvidia-ml.so.1 and gives its directory.
func library(tb testing.TB, flags ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	compile(tb, filepath.Join(dir, "libnvidia-ml.so.1"), "testdata/nvml.c", flags...)
	return dir
}

// compile builds a shared library.
func compile(tb testing.TB, library, source string, flags ...string) {
	tb.Helper()
	compiler := strings.Fields(os.Getenv("CC"))
	if len(compiler) == 0 {
		compiler = []string{"gcc"}
	}
	args := append(compiler[1:], append(flags, "-shared", "-fPIC", "-o", library, source)...)
	if out, err := exec.Command(compiler[0], args...).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
}

// A result is what the program said and how it ended.
type result struct {
	code       int
	complaints string
	answers    []gpu.Answer
	doing      []string
}

// child asks the program on a library.
func child(tb testing.TB, dir string, env []string, requests ...gpu.Request) result {
	tb.Helper()
	var in, out, complaints bytes.Buffer
	for i, r := range requests {
		r.ID = uint64(i + 1)
		b, err := json.Marshal(r)
		if err != nil {
			tb.Fatal(err)
		}
		in.Write(append(b, '\n'))
	}
	own, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	c := exec.Command(own)
	c.Env = append(os.Environ(), append(env, "RUN_CHILD=1", "LD_LIBRARY_PATH="+dir, "GORACE=atexit_sleep_ms=0")...)
	c.Stdin, c.Stdout, c.Stderr = &in, &out, &complaints
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	r := result{code: c.ProcessState.ExitCode(), complaints: complaints.String()}
	for line := range bytes.Lines(out.Bytes()) {
		var a gpu.Answer
		if err := json.Unmarshal(line, &a); err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		if a.Doing != "" {
			r.doing = append(r.doing, a.Doing)
		} else {
			r.answers = append(r.answers, a)
		}
	}
	return r
}

// snapshot asks once.
func snapshot(tb testing.TB, dir string, r gpu.Request, env ...string) *gpu.Snapshot {
	tb.Helper()
	r.Kind = gpu.AskSnapshot
	got := child(tb, dir, env, r)
	if got.code != 0 || len(got.answers) != 2 {
		tb.Fatalf("%+v", got)
	}
	b, err := json.Marshal(got.answers[1].Snapshot)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := gpu.Parse(b)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func of[T any](v T) *T { return &v }

func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := snapshot(t, library(t), gpu.Request{}, "STUB_PLAIN=1", "STUB_MIG=2", "STUB_LOST=3")
	if s.DriverVersion != "580.1" || len(s.Devices) != 8 {
		t.Fatalf("%+v", s)
	}
	want := gpu.Device{
		Index: 1, Minor: of(6), UUID: "GPU-1", Name: "Stub 1", PCIBusID: "00000000:A1:00.0", Address: "0000:a1:00.0",
		PCIe:             &gpu.PCIe{Generation: of(4), GenerationMax: of(5), GenerationDeviceMax: of(6), Width: of(8), WidthMax: of(16), Replays: of(uint64(4294967295))},
		PerformanceState: of(2), Utilization: of(10), MemoryTotal: of(uint64(80 << 30)), BAR1: &gpu.BAR1{Total: 128 << 30, Used: of(uint64(4096))}, MIG: of(false),
		Fabric: &gpu.Fabric{State: "completed", Status: "success"}, Processes: []gpu.Process{{PID: 101, UsedMemory: of(uint64(1024))}, {PID: 200}},
	}
	if !reflect.DeepEqual(s.Devices[1], want) {
		t.Errorf("got %+v; want %+v", s.Devices[1], want)
	}
	if d := s.Devices[2]; !*d.MIG || d.Utilization != nil || *s.Devices[0].MIG {
		t.Errorf("MIG: %+v", d)
	}
	if d := s.Devices[3]; !reflect.DeepEqual(d, gpu.Device{Index: 3, PCIBusID: "00000000:A3:00.0", Address: "0000:a3:00.0", Lost: true}) {
		t.Errorf("lost: %+v", d)
	}
	for i, want := range map[int]*gpu.Fabric{
		4: {State: "completed", Status: "success", Trouble: []string{"degraded_bandwidth", "route_unhealthy", "insufficient_nvlinks"}},
		5: nil, 6: {State: "in_progress", Status: "not_supported"},
	} {
		if !reflect.DeepEqual(s.Devices[i].Fabric, want) {
			t.Errorf("%d: %+v", i, s.Devices[i].Fabric)
		}
	}
	if s.Devices[7].PerformanceState != nil {
		t.Errorf("%+v", s.Devices[7])
	}
	links := s.Devices[0].NVLinks
	if len(links) != 18 || links[0].RemoteType != "unknown" || links[17].Active == nil || *links[17].Active || links[17].RemoteType != "" {
		t.Fatalf("%+v", links)
	}
	if l := (gpu.NVLink{Link: 5, Active: of(true), Version: of(4), RemoteType: "switch",
		Errors: &gpu.NVLinkErrors{Replay: of(uint64(5)), Recovery: of(uint64(15)), CRCFlit: of(uint64(25)), CRCData: of(uint64(35))}}); !reflect.DeepEqual(links[5], l) {
		t.Errorf("%+v", links[5])
	}
}

// What only some GPUs are: of the fifth NVLink, in want of a reset, refusing.
func TestStates(t *testing.T) {
	t.Parallel()
	s := snapshot(t, library(t), gpu.Request{}, "STUB_FIFTH=1", "STUB_FOURTH=4", "STUB_RESET=2", "STUB_REFUSE=3")
	fourth := &gpu.NVLinkErrors{Replay: of(uint64(161007)), Recovery: of(uint64(162007)), CRCFlit: of(uint64(163007))}
	if l := s.Devices[4].NVLinks[7]; !reflect.DeepEqual(l.Errors, fourth) {
		t.Errorf("%+v", l.Errors)
	}
	fifth := &gpu.NVLinkErrors{
		Malformed: of(uint64(206007)), Overrun: of(uint64(207007)), Receive: of(uint64(208007)), Integrity: of(uint64(211007)),
		Recovery: of(uint64(215007)), RecoveryFailed: of(uint64(214007)), Effective: of(uint64(219007)),
	}
	if l := s.Devices[1].NVLinks[7]; !reflect.DeepEqual(l.Errors, fifth) {
		t.Errorf("%+v", l.Errors)
	}
	if d := s.Devices[2]; !reflect.DeepEqual(d, gpu.Device{Index: 2, PCIBusID: "00000000:A2:00.0", Address: "0000:a2:00.0", ResetRequired: true}) {
		t.Errorf("reset required: %+v", d)
	}
	if d := s.Devices[3]; d.NVLinks != nil || !slices.Equal(d.Failed, []string{"nvlinks"}) || s.Devices[5].Failed != nil {
		t.Errorf("refused: %+v", d)
	}
}

// Of an older driver the newer functions are missing: their answers are absent.
func TestOldDriver(t *testing.T) {
	t.Parallel()
	d := snapshot(t, library(t, "-DOLD"), gpu.Request{}).Devices[0]
	if d.PCIe.GenerationDeviceMax != nil || d.Fabric != nil || d.NVLinks[1].RemoteType != "" || *d.PCIe.Generation != 4 || len(d.NVLinks) != 18 {
		t.Errorf("%+v", d)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	dir := library(t)
	s := snapshot(t, dir, gpu.Request{Exclude: []string{"0000:a[1-6]:*"}, Without: []string{"utilization", "pcie_width", "nvlinks"}})
	if slices.Sort(s.LeftOut); !slices.Equal(s.LeftOut, []string{"nvlinks", "pcie_width", "utilization"}) {
		t.Errorf("left out: %v", s.LeftOut)
	}
	if len(s.Devices) != 2 || s.Devices[1].Index != 7 || s.Devices[0].Utilization != nil || s.Devices[0].PCIe.Width != nil || s.Devices[0].NVLinks != nil {
		t.Errorf("%+v", s.Devices)
	}
	got := child(t, dir, nil, gpu.Request{Kind: "snapshot"}, gpu.Request{Kind: "snapshot"}, gpu.Request{Kind: "costs"}, gpu.Request{Kind: "else"})
	if got.code != 0 || len(got.answers) != 5 || got.answers[4].Error != `no such question: "else"` {
		t.Fatalf("%+v", got)
	}
	for part, calls := range map[string]int64{"utilization": 16, "name": 8, "bar1": 8, "devices": 1} {
		if got.answers[3].Costs[part].Calls != calls {
			t.Errorf("%s: %+v", part, got.answers[3].Costs[part])
		}
	}
	first, second := got.answers[1].Snapshot.Devices[4], got.answers[2].Snapshot.Devices[4]
	if got.answers[1].SameLinks || !got.answers[2].SameLinks || second.NVLinks != nil {
		t.Error("NVLinks are told again")
	}
	if first.NVLinks = nil; !reflect.DeepEqual(first, second) {
		t.Errorf("what was not asked again is gone: %+v", second)
	}
}

// How the program ends says what is the matter.
func TestExit(t *testing.T) {
	t.Parallel()
	dir, empty, ask := library(t), library(t, "-DEMPTY"), gpu.Request{Kind: "snapshot"}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "libnvidia-ml.so.1"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		dir, env string
		code     int
		says     string
	}{
		"no library":        {broken, "", gpu.ExitAbsent, "no libnvidia-ml.so.1"},
		"driver not loaded": {dir, "STUB_INIT=9", gpu.ExitAbsent, "not loaded"},
		"other version":     {dir, "STUB_INIT=18", exitInternal, "different versions"},
		"no permission":     {dir, "STUB_INIT=4", exitInternal, "no permission"},
		"something":         {dir, "STUB_INIT=999", exitInternal, "error 999"},
		"no such function":  {empty, "", 127, "undefined symbol: nvmlInit"},
	} {
		got := child(t, test.dir, []string{test.env}, ask)
		if got.code != test.code || !strings.Contains(got.complaints, test.says) || len(got.answers) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := child(t, dir, []string{"STUB_DIE=1"}, ask); got.code == 0 || got.doing[len(got.doing)-1] != "utilization" {
		t.Errorf("killed in a call: %+v", got)
	}
	var out bytes.Buffer
	if code := run([]string{"--version"}, nil, &out, &out); code != 0 || !strings.Contains(out.String(), "devel") {
		t.Errorf("%d, %s", code, &out)
	}
	if code := run([]string{"x"}, nil, &out, &out); code != gpu.ExitUsage {
		t.Error(code)
	}
}

// A line that is no request is answered, not obeyed.
func TestGarbage(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &server{out: json.NewEncoder(&out)}
	for _, line := range []string{"", "{", "[]", `{"id": -1}`, "\x00"} {
		out.Reset()
		if err := s.answer([]byte(line)); err != nil || !strings.Contains(out.String(), "not a request") {
			t.Errorf("%q: %v, %s", line, err, fmt.Sprint(&out))
		}
	}
}
