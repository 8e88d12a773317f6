// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/fabricd/fabricd/probes/pci"
)

// All recorded hosts open, at every mark, and what their configuration space
// says of a link is what the kernel's files say.
func TestHosts(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(hosts + "*.txtar")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d hosts, %v", len(names), err)
	}
	links := 0
	for _, name := range names {
		h, err := OpenRecording(name, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		for i := range h.Marks() {
			if err := h.Seek(i); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			inv := h.Refresh()
			if len(inv.Functions)+len(inv.Nodes) == 0 {
				t.Errorf("%s: an empty machine", name)
			}
			if i > 0 {
				continue // configuration space is recorded at the start alone
			}
			for _, f := range inv.Functions {
				links += compareLink(t, h, f, name)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were compared", links)
	}
}

func compareLink(t *testing.T, h *Host, f *Function, name string) int {
	t.Helper()
	dir, err := h.Dir(f.Path)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	defer dir.Close()
	raw, err := dir.ReadFile("config")
	if err != nil || f.Virtual() {
		return 0
	}
	c, err := pci.ParseConfig(raw)
	if err != nil && !errors.Is(err, pci.ErrAllOnes) {
		t.Errorf("%s %s: %v", name, f.Address, err)
	}
	if c.PCIe == nil || !c.PCIe.HasLink || !f.HasLink {
		return 0
	}
	speed, _ := dir.ReadFile("current_link_speed")
	width, _ := dir.ReadFile("current_link_width")
	now := pci.Link{}
	now.Speed, _ = pci.ParseSpeed(speed)
	now.Width, _ = pci.ParseWidth(bytes.TrimSpace(width))
	if now != c.PCIe.Current || f.Max != c.PCIe.Max {
		t.Errorf("%s %s: %v of %v in its files, %v of %v in configuration space", name, f.Address, now, f.Max, c.PCIe.Current, c.PCIe.Max)
	}
	return 1
}
