// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/probes"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

const recordings = "../../../collectors/testdata/hosts"

// hosts lists the recorded hosts.
func hosts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded hosts: %v", err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".txtar")
	}
	return files
}

// source plays a recorded host as the topo command does.
func source(t *testing.T, name string) Source {
	t.Helper()
	h, err := probes.OpenRecording(filepath.Join(recordings, name+".txtar"), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := slices.DeleteFunc(all.List(), func(c collectors.Collector) bool {
		return !slices.Contains(Collectors(), c.Doc().Name)
	})
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: list, Only: Checks()})
	if err := e.Play(); err != nil {
		t.Fatal(err)
	}
	s := e.State()
	cpuinfo, _ := h.ReadFile("proc/cpuinfo")
	return Source{Host: "node1", Time: e.Stamp(s), View: s.View, Findings: s.Findings, CPUInfo: cpuinfo}
}

func load(t *testing.T, name string) *Machine {
	t.Helper()
	return New(source(t, name))
}

// written gives what one of a Machine's writers writes.
func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func text(t *testing.T, m *Machine, look Look) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return m.WriteText(w, look) })
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got; -update writes it anew):\n%s", file, diff)
	}
}

func TestGolden(t *testing.T) {
	for _, name := range []string{"hgx-h100-8gpu", "meta-8hca-downgraded", "oci-h100", "dgx-gb10", "h200-vm-idle"} {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".txt", text(t, load(t, name), Look{Unicode: true}))
		})
	}
	m := load(t, "mi-8gpu-4nic")
	golden(t, "mi-8gpu-4nic.ascii.txt", text(t, m, Look{Width: 80}))
	golden(t, "mi-8gpu-4nic.csv", written(t, m.WriteCSV))
	golden(t, "mi-8gpu-4nic.dot", written(t, func(w io.Writer) error { return m.WriteDOT(w, false) }))
	golden(t, "mi-8gpu-4nic.xml", written(t, m.WriteNCCL))
	golden(t, "h200-vm-idle.json", written(t, load(t, "h200-vm-idle").WriteJSON))
}
