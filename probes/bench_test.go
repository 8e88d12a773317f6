// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"os"
	"path"
	"strings"
	"testing"
)

// counter is a real attribute of sysfs, or a file where there is none.
func counter(b *testing.B) (root, name string) {
	b.Helper()
	const name_ = "sys/class/net/lo/statistics/rx_packets"
	if _, err := os.Stat("/" + name_); err == nil {
		return "/", name_
	}
	_, root = live(b, Options{}, name_, "12345\n")
	return root, name_
}

// BenchmarkAttrKeptOpen is what a read of a kept attribute costs; below it what opening it anew would.
func BenchmarkAttrKeptOpen(b *testing.B) {
	root, name := counter(b)
	h, err := Live(root, Options{})
	if err != nil {
		b.Fatal(err)
	}
	d, err := h.Dir(path.Dir(name))
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	a := d.Attr(path.Base(name), 32)
	defer a.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDirReadFile is what reading a file once costs, by the kernel's openat2 and without it.
func BenchmarkDirReadFile(b *testing.B) {
	root, name := counter(b)
	h, err := Live(root, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for way, h := range map[string]*Host{"openat2": h, "os.Root": withoutOpenat2(b, h)} {
		b.Run(way, func(b *testing.B) {
			d, err := h.Dir(path.Dir(name))
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.ReadFile(path.Base(name)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOSReadFile(b *testing.B) {
	root, name := counter(b)
	name = path.Join(root, name)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefresh(b *testing.B) {
	const name = "hgx-h100-8gpu.txtar"
	b.Run("recorded", func(b *testing.B) {
		h, err := OpenRecording(hosts+name, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			h.Refresh()
		}
	})
	b.Run("live", func(b *testing.B) {
		var entries []string
		all := entriesOf(b, name)
		for i := 0; i < len(all); i += 2 {
			if !strings.HasSuffix(all[i], ".hex") && (strings.HasPrefix(all[i], "sys/") || strings.HasPrefix(all[i], "proc/")) {
				entries = append(entries, all[i:i+2]...)
			}
		}
		h, _ := live(b, Options{}, entries...)
		h.Refresh()
		b.ReportAllocs()
		for b.Loop() {
			h.Refresh()
		}
	})
}

func BenchmarkOpenRecording(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := OpenRecording(hosts+"hgx-h100-8gpu.txtar", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
