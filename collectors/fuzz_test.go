// SPDX-License-Identifier: Apache-2.0

package collectors_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"golang.org/x/tools/txtar"
)

// A recording may hold anything: it is played or refused, but nothing panics.
// What is changed is one entry of a recorded host, or its name.
func FuzzPlay(f *testing.F) {
	var archives []*txtar.Archive
	for _, name := range []string{"h200-vm-loaded", "cases/025a-correctable-burst-on-both-ends", "cases/012a-two-100g-ports-in-gen3-x8", "cases/214-lost-nic-answers-all-ones", "sparse-nodes"} {
		text, err := os.ReadFile(filepath.Join(hosts, name+".txtar"))
		if err != nil {
			f.Fatal(err)
		}
		archives = append(archives, txtar.Parse(text))
	}
	f.Add(uint8(0), uint16(3), "", "")
	f.Add(uint8(1), uint16(40), "", "-1")
	f.Add(uint8(1), uint16(40), "at/10s/rm", "sys/devices/pci0000:00\nsys")
	f.Add(uint8(2), uint16(7), "sys/class/net/eth0 -> ../../..", "")
	f.Add(uint8(3), uint16(90), "sys/bus/pci/devices/0000:01:00.0 -> ../../../devices/pci0000:00/0000:01:00.0/0000:01:00.0", "\xff\x00")
	f.Add(uint8(4), uint16(1), "fabricd.yaml", "thresholds: {pcie_speed: {busy_for: 1}}")
	f.Fuzz(func(t *testing.T, archive uint8, entry uint16, name, content string) {
		a := *archives[int(archive)%len(archives)]
		a.Files = slices.Clone(a.Files)
		at := &a.Files[int(entry)%len(a.Files)]
		at.Data = []byte(content)
		if name != "" {
			at.Name = name
		}
		e, err := hosttest.Play(txtar.Format(&a))
		if err != nil {
			return
		}
		for _, x := range e.State().Findings {
			if x.Status == collectors.None || x.Reason == "" {
				t.Errorf("%+v", x)
			}
		}
		if b := e.AppendText(nil, collectors.Exposition{}); bytes.ContainsAny(b, "\x00\x1b") {
			t.Errorf("control characters in the exposition:\n%q", b)
		}
	})
}
