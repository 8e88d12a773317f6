// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"path/filepath"
	"strings"
	"testing"
)

// Whatever is given for a recording, it is refused or makes a machine.
func FuzzRecorded(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("not a recording"))
	f.Add(archive(files(small())...))
	f.Add(archive("sys/a -> b", "", "sys/b -> a", "", "sys/c -> a/../..", "", "sys/a/d", "1"))
	f.Add(archive("sys/bus/pci/devices/0:0:0.0 -> .", "", "sys/bus/pci/devices/0000:00:00.0 -> ../../../../sys", "", "at/1s/rm", "sys\n..\n/\n.", "at/1h/sys/a", "1"))
	f.Add(archive("sys/class/net/x/device -> ..", "", "sys/class/net/x/speed.err", "EINVAL", "sys/class/infiniband -> net", "", "sys/class/net/x/ports/1/rate.hex", "34 00"))
	f.Add(archive("manifest.json", `{"files": -1}`, "sys/devices/system/node/online", "0-60000", "gpu.json", "null"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Recorded(b, Options{Exclude: []string{"0000:19:*"}})
		if err != nil {
			if h != nil || err.Error() == "" {
				t.Errorf("%v, %v", h, err)
			}
			return
		}
		for i := range h.Marks() {
			if h.Seek(i) != nil {
				return
			}
			inv := h.Refresh()
			for _, f := range inv.Functions {
				if inv.Function(f.Address) != f || f.Addr.String() == "" {
					t.Errorf("%q is there, and is not found", f.Address)
				}
			}
			for _, n := range inv.Netdevs {
				if n.Function == nil || inv.Function(n.Function.Address) != n.Function {
					t.Errorf("interface %q of nothing", n.Name)
				}
			}
			for _, d := range inv.RDMA {
				if d.Function == nil || inv.Function(d.Function.Address) != d.Function {
					t.Errorf("RDMA device %q of nothing", d.Name)
				}
			}
		}
		_, _ = h.GPUs()
		for _, name := range []string{"sys", "proc", "sys/class/net/x", ".", ""} {
			if names, err := h.ReadDir(name); err == nil {
				for _, n := range names {
					_, _ = h.ReadFile(filepath.Join(name, n))
					if strings.Contains(n, "/") {
						t.Errorf("%q is a name", n)
					}
				}
			}
		}
	})
}
