// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// A machine where containers come and go has link messages all the time: for
// those, settings are asked anew now and then; for what happens to the port
// itself, at once.
func TestEvents(t *testing.T) {
	root := t.TempDir()
	const function = "sys/devices/pci0000:00/0000:00:01.0"
	write := func(name, content string) {
		t.Helper()
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, to string) {
		t.Helper()
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, full); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"proc/version": "", function + "/class": "0x020000", function + "/vendor": "0x15b3", function + "/device": "0x1021",
		function + "/net/fabricdx0/type": "1", function + "/net/fabricdx0/ifindex": "7", function + "/net/fabricdx0/mtu": "1500", function + "/net/fabricdx0/carrier": "1", function + "/net/fabricdx0/duplex": "full",
	} {
		write(name, content)
	}
	link("sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0")
	link("sys/class/net/fabricdx0", "../../devices/pci0000:00/0000:00:01.0/net/fabricdx0")
	link(function+"/net/fabricdx0/device", "../../../0000:00:01.0")
	h, err := probes.Live(root, probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.Refresh()
	r, err := open(context.Background(), h, "fabricdx0")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, step := range []struct {
		at     time.Duration
		file   string // that changes besides
		duplex string // as it is from here on
		want   string // as it was read
	}{
		{0, "", "full", "full"},
		{2 * time.Second, function + "/net/fabricdx1/mtu", "half", "full"},
		{9 * time.Second, function + "/net/fabricdx1/mtu", "half", "full"},
		{11 * time.Second, "", "half", "half"},
		{11500 * time.Millisecond, function + "/net/fabricdx0/mtu", "full", "half"},
		{12 * time.Second, "", "full", "full"},
		{13 * time.Second, function + "/net/fabricdx0/carrier", "half", "half"},
	} {
		write(function+"/net/fabricdx0/duplex", step.duplex)
		if step.file != "" {
			write(step.file, step.at.String())
			h.Refresh()
		}
		reading, err := r.Read(step.at)
		if err != nil || reading.Duplex != step.want {
			t.Errorf("at %s: %v, %v, want %s", step.at, reading.Duplex, err, step.want)
		}
	}
}
