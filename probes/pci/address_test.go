// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"slices"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want Address
		text string // "" if it is in
	}{
		{"0000:8d:00.0", Address{0, 0x8d, 0, 0}, ""},
		{"0000:ff:1f.7", Address{0, 0xff, 0x1f, 7}, ""},
		{"10000:e1:00.0", Address{0x10000, 0xe1, 0, 0}, ""},          // VMD
		{"a5c4:00:02.0", Address{0xa5c4, 0, 2, 0}, ""},               // Hyper-V
		{"ffffffff:00:00.1", Address{0xffffffff, 0, 0, 1}, ""},       // as wide as a domain gets
		{"00000000:8D:00.0", Address{0, 0x8d, 0, 0}, "0000:8d:00.0"}, // NVML
		{"00010000:E1:00.0", Address{0x10000, 0xe1, 0, 0}, "10000:e1:00.0"},
	}
	for _, test := range tests {
		got, err := ParseAddress(test.in)
		if err != nil || got != test.want {
			t.Errorf("ParseAddress(%q) = %v, %v; want %v", test.in, got, err, test.want)
		}
		want := test.text
		if want == "" {
			want = test.in
		}
		if got.String() != want {
			t.Errorf("ParseAddress(%q) prints %q, want %q", test.in, got, want)
		}
	}
}

func TestParseAddressBad(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", ":", "::", "::.", "0000", "0000:8d", "0000:8d:00", "8d:00.0", "0000:8d:00.", "0000:8d:.0", "0000::00.0", ":8d:00.0",
		"0000:8d:00:0",      // procfs writes it so
		"0000:8d:00.8",      // function
		"0000:8d:20.0",      // device
		"0000:100:00.0",     // bus
		"100000000:00:00.0", // domain
		"0000:8d:00.0 ", " 0000:8d:00.0", "0000:8d:00.0\n", "+000:8d:00.0", "-1:8d:00.0", "0x0:8d:00.0", "0000:8g:00.0", "0000:8d:0_0.0",
		"0000:8d:00.0.0", "0000:8d:00.0:pcie001", "pci0000:00", "٠٠٠٠:٠٠:٠٠.٠",
	} {
		got, err := ParseAddress(in)
		if err == nil {
			t.Errorf("ParseAddress(%q) = %v, want an error", in, got)
		} else if !strings.Contains(err.Error(), "is not a PCI address") {
			t.Errorf("ParseAddress(%q): %v", in, err)
		}
	}
}

func TestAddressSlot(t *testing.T) {
	t.Parallel()
	if got := (Address{0x10000, 0xe1, 0x1f, 3}).Slot(); got != "10000:e1:1f" {
		t.Errorf("got %q", got)
	}
}

func TestAddressCompare(t *testing.T) {
	t.Parallel()
	want := []string{"0000:01:00.0", "0000:01:00.1", "0000:01:02.0", "0000:0a:00.0", "0000:f0:00.0", "0001:00:00.0", "a5c4:00:02.0", "10000:00:00.0"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int { return mustAddress(t, a).Compare(mustAddress(t, b)) })
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if a := mustAddress(t, want[0]); a.Compare(a) != 0 {
		t.Error("an address differs from itself")
	}
}

func mustAddress(t *testing.T, s string) Address {
	t.Helper()
	a, err := ParseAddress(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What is read and printed is read as the same, whatever the spelling was.
func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"0000:8d:00.0", "10000:e1:00.0", "00000000:8D:00.0", "ffffffff:ff:1f.7", "0:0:0.0", "", "0000:8d:00.8", "0000:8d:00:0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			if a != (Address{}) {
				t.Errorf("%q: an error, and %v", s, a)
			}
			return
		}
		again, err := ParseAddress(a.String())
		if err != nil || again != a {
			t.Errorf("%q is %v, which reads as %v, %v", s, a, again, err)
		}
		if !strings.HasPrefix(a.String(), a.Slot()+".") {
			t.Errorf("%q is %v in slot %s", s, a, a.Slot())
		}
	})
}
