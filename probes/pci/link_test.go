// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"bytes"
	"math"
	"testing"
)

func TestParseSpeed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want Speed // zero: not ok
	}{
		{"2.5 GT/s PCIe", Gen1}, {"5.0 GT/s PCIe", Gen2}, {"8.0 GT/s PCIe", Gen3}, {"16.0 GT/s PCIe", Gen4},
		{"32.0 GT/s PCIe", Gen5}, {"64.0 GT/s PCIe", Gen6}, {"128.0 GT/s PCIe", Gen7},
		{"32.0 GT/s PCIe\n", Gen5},                                                                   // as the file is read
		{"2.5 GT/s", Gen1}, {"5 GT/s", Gen2}, {"8 GT/s", Gen3}, {"16 GT/s", Gen4}, {"32 GT/s", Gen5}, // kernels up to 5.6
		{"6000 GT/s", 60000}, // the most that is taken

		{"Unknown", 0}, {"Unknown speed", 0}, {"", 0}, {"\n", 0}, {" ", 0},
		{"33 MHz PCI", 0}, {"133 MHz PCI-X", 0}, {"AGP 8x", 0}, {"PCIe", 0},
		{"GT/s", 0}, {" GT/s", 0}, {"8.0", 0}, {"8.0GT/s", 0}, {"8.0 MT/s", 0}, {"x GT/s", 0}, {". GT/s", 0}, {".5 GT/s", 0},
		{"0 GT/s", 0}, {"0.0 GT/s PCIe", 0}, {"-8 GT/s", 0}, {"-2.5 GT/s", 0}, {"+8 GT/s", 0}, {"8.x GT/s", 0}, {"8.-5 GT/s", 0},
		{"6001 GT/s", 0}, {"6554 GT/s", 0}, {"65536 GT/s", 0}, {"429496 GT/s", 0}, {"99999999999999999999 GT/s", 0}, {"1e3 GT/s", 0}, {"NaN GT/s", 0},
	}
	for _, test := range tests {
		got, ok := ParseSpeed([]byte(test.in))
		if got != test.want || ok != (test.want > 0) {
			t.Errorf("ParseSpeed(%q) = %v, %v; want %v", test.in, got, ok, test.want)
		}
	}
}

func TestParseWidth(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want int // negative: not ok
	}{
		{"0", 0}, {"1", 1}, {"2", 2}, {"16", 16}, {"16\n", 16}, {"32", 32}, {"63", WidthLost}, {"255\n", WidthNone},
		{"", -1}, {"\n", -1}, {"-1", -1}, {"+4", -1}, {"x16", -1}, {"16x", -1}, {"1 6", -1}, {"0x10", -1}, {"1.0", -1}, {"Unknown", -1},
		{"256", -1}, {"4294967312", -1}, {"99999999999999999999", -1}, {"\xff\xff", -1},
	}
	for _, test := range tests {
		got, ok := ParseWidth([]byte(test.in))
		if ok != (test.want >= 0) || ok && got != test.want {
			t.Errorf("ParseWidth(%q) = %d, %v; want %d", test.in, got, ok, test.want)
		}
	}
}

func TestParseAllocations(t *testing.T) {
	speed, unknown, width := []byte("32.0 GT/s PCIe\n"), []byte("Unknown\n"), []byte("16\n")
	if n := testing.AllocsPerRun(100, func() {
		ParseSpeed(speed)
		ParseSpeed(unknown)
		ParseWidth(width)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSpeed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		generation int
		speed      Speed
		text       string
		gt         float64
	}{
		{1, Gen1, "2.5 GT/s", 2.5}, {2, Gen2, "5 GT/s", 5}, {3, Gen3, "8 GT/s", 8}, {4, Gen4, "16 GT/s", 16},
		{5, Gen5, "32 GT/s", 32}, {6, Gen6, "64 GT/s", 64}, {7, Gen7, "128 GT/s", 128},
	}
	for _, test := range tests {
		s := SpeedOf(test.generation)
		if s != test.speed || s.String() != test.text || s.GigaTransfers() != test.gt || s.TransfersPerSecond() != test.gt*1e9 {
			t.Errorf("generation %d: %v, %v GT/s, %v T/s; want %s", test.generation, s, s.GigaTransfers(), s.TransfersPerSecond(), test.text)
		}
		if back, ok := ParseSpeed([]byte(s.String())); !ok || back != s {
			t.Errorf("%v reads as %v, %v", s, back, ok)
		}
	}
	for _, generation := range []int{math.MinInt, -1, 0, 8, 15, math.MaxInt} {
		if s := SpeedOf(generation); s != 0 {
			t.Errorf("generation %d is %v", generation, s)
		}
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	tests := []struct {
		link  Link
		known bool
		gbps  float64
		text  string
	}{
		{Link{Gen1, 1}, true, 2, "2.5 GT/s x1"},
		{Link{Gen2, 8}, true, 32, "5 GT/s x8"},
		{Link{Gen3, 16}, true, 126.016, "8 GT/s x16"},
		{Link{Gen4, 16}, true, 252.048, "16 GT/s x16"},
		{Link{Gen5, 16}, true, 504.112, "32 GT/s x16"},
		{Link{Gen6, 8}, true, 512, "64 GT/s x8"},
		{Link{Gen7, 16}, true, 2048, "128 GT/s x16"},
		{Link{}, false, 0, "? GT/s x?"},
		{Link{Gen5, 0}, false, 0, "32 GT/s x?"},
		{Link{0, 16}, false, 0, "? GT/s x16"},
		{Link{Gen5, WidthLost}, false, 0, "32 GT/s x?"},
		{Link{Gen5, WidthNone}, false, 0, "32 GT/s x?"},
		{Link{Gen5, -1}, false, 0, "32 GT/s x?"},
	}
	for _, test := range tests {
		l := test.link
		if l.Known() != test.known || math.Abs(l.BitsPerSecond()-test.gbps*1e9) > 1 || l.String() != test.text {
			t.Errorf("%+v: known %v, %v bit/s, %q; want %v, %v Gb/s, %q", l, l.Known(), l.BitsPerSecond(), l, test.known, test.gbps, test.text)
		}
	}
}

func TestLinkMin(t *testing.T) {
	t.Parallel()
	tests := []struct{ a, b, want Link }{
		{Link{Gen5, 16}, Link{Gen4, 16}, Link{Gen4, 16}},
		{Link{Gen5, 8}, Link{Gen4, 16}, Link{Gen4, 8}}, // part by part
		{Link{Gen5, 16}, Link{}, Link{Gen5, 16}},
		{Link{Gen5, 0}, Link{Gen3, 4}, Link{Gen3, 4}},
		{Link{0, 16}, Link{Gen3, 0}, Link{Gen3, 16}},
		{Link{}, Link{}, Link{}},
		{Link{Gen5, 16}, Link{Gen5, 16}, Link{Gen5, 16}},
	}
	for _, test := range tests {
		if got, back := test.a.Min(test.b), test.b.Min(test.a); got != test.want || back != test.want {
			t.Errorf("%v and %v: %v, other way round %v; want %v", test.a, test.b, got, back, test.want)
		}
	}
}

func FuzzParseSpeed(f *testing.F) {
	for _, s := range []string{"32.0 GT/s PCIe\n", "2.5 GT/s", "Unknown speed", "33 MHz PCI", "6000.9 GT/s", "-1 GT/s", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		s, ok := ParseSpeed(b)
		if ok != (s > 0) {
			t.Errorf("%q: %v, %v", b, s, ok)
		}
		if ok && !bytes.Contains(b, []byte("GT/s")) {
			t.Errorf("%q names no speed, but %v", b, s)
		}
		if again, _ := ParseSpeed([]byte(s.String())); ok && again != s {
			t.Errorf("%q is %v, which reads as %v", b, s, again)
		}
		if !bytes.Equal(b, before) {
			t.Errorf("%q was changed to %q", before, b)
		}
	})
}

func FuzzParseWidth(f *testing.F) {
	for _, s := range []string{"16\n", "0", "63", "255", "256", "-1", "0x10", "99999999999999999999", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if lanes, ok := ParseWidth(b); ok && (lanes < 0 || lanes > WidthNone) {
			t.Errorf("%q: %d lanes", b, lanes)
		}
	})
}
