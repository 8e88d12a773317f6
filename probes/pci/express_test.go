// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

// Each field is decoded from its own bits.
func TestExpressFields(t *testing.T) {
	t.Parallel()
	const at = 0x40
	put16 := func(offset int, v uint16) func(image) { return func(b image) { b.put16(at+offset, v) } }
	put32 := func(offset int, v uint32) func(image) { return func(b image) { b.put32(at+offset, v) } }
	tests := []struct {
		name   string
		change func(image)
		want   func(*Express)
	}{
		{"payload able 128", put32(0x04, 0), func(e *Express) { e.MaxPayloadAble = 128 }},
		{"payload able 4096", put32(0x04, 5), func(e *Express) { e.MaxPayloadAble = 4096 }},
		{"payload 128", put16(0x08, 0x2910), func(e *Express) { e.MaxPayload = 128 }},
		{"payload 4096", put16(0x08, 0x29b0), func(e *Express) { e.MaxPayload = 4096 }},
		{"read request 128", put16(0x08, 0x0930), func(e *Express) { e.MaxReadRequest = 128 }},
		{"read request 4096", put16(0x08, 0x5930), func(e *Express) { e.MaxReadRequest = 4096 }},
		{"no relaxed ordering", put16(0x08, 0x2920), func(e *Express) { e.RelaxedOrdering = false }},
		{"ASPM off", put16(0x10, 0x40), func(e *Express) { e.ASPML1 = false }},
		{"ASPM L0s", put16(0x10, 0x41), func(e *Express) { e.ASPML1, e.ASPML0s = false, true }},
		{"ASPM both", put16(0x10, 0x43), func(e *Express) { e.ASPML0s = true }},
		{"link down", put16(0x12, 0x0000), func(e *Express) { e.Current, e.DataLinkActive = Link{}, false }},
		{"training", put16(0x12, 0x0811), func(e *Express) { e.Current, e.DataLinkActive = Link{Gen1, 1}, false }},
		{"link lost", put16(0x12, 0xffff), func(e *Express) { e.Current = Link{0, WidthLost} }},
		{"x32 Gen6", put16(0x12, 0x2206), func(e *Express) { e.Current = Link{Gen6, 32} }},
		{"bandwidth notifications", put16(0x12, 0xe084), func(*Express) {}},
		{"no link capability", put32(0x0c, 0), func(e *Express) { e.Max, e.DataLinkReporting = Link{}, false }},
		{"Gen1 x1 at most", put32(0x0c, 0x00100011), func(e *Express) { e.Max = Link{Gen1, 1} }},
		{"capped", put16(0x30, 0x0003), func(e *Express) { e.TargetSpeed = Gen3 }},
		{"no target", put16(0x30, 0x0000), func(e *Express) { e.TargetSpeed = 0 }},
		{"reserved target", put16(0x30, 0x000f), func(e *Express) { e.TargetSpeed = 0 }},
		{"other bits of the target's register", put16(0x30, 0xffc5), func(*Express) {}},
		{"legacy endpoint", put16(0x02, 0x0012), func(e *Express) { e.Type = 1 }},
		{"slot", put16(0x02, 0x0142), func(e *Express) { e.Type = RootPort }},
	}
	for _, test := range tests {
		b := blank(256).list(at).express(at, 0, Endpoint)
		test.change(b)
		want := wholeExpress(Endpoint)
		test.want(want)
		if got, err := ParseConfig(b); err != nil || !reflect.DeepEqual(got.PCIe, want) {
			t.Errorf("%s: got %+v, %v; want %+v", test.name, got.PCIe, err, want)
		}
	}
}

// What a shorter read leaves of the capability is decoded, the rest is not made up.
func TestExpressCut(t *testing.T) {
	t.Parallel()
	whole := blank(256).list(0x40).express(0x40, 0, Endpoint)
	for n := 64; n <= len(whole); n++ {
		got, err := ParseConfig(whole[:n])
		if err != nil {
			t.Fatal(err)
		}
		want := wholeExpress(Endpoint)
		switch {
		case n < 0x40+12:
			want = nil
		case n < 0x40+0x14:
			want = &Express{MaxPayload: 256, MaxPayloadAble: 512, MaxReadRequest: 512, RelaxedOrdering: true}
		case n < 0x40+0x34:
			want.TargetSpeed = 0
		}
		if !reflect.DeepEqual(got.PCIe, want) {
			t.Errorf("%d bytes: got %+v, want %+v", n, got.PCIe, want)
		}
	}
}

func TestACS(t *testing.T) {
	t.Parallel()
	tests := []struct {
		control   uint16
		redirects bool
		names     []string
	}{
		{0, false, nil},
		{ACSSourceValidation, false, nil},
		{0x02, false, nil},        // translation blocking
		{0x20 | 0x40, false, nil}, // egress control, direct translated
		{ACSRequestRedirect, true, []string{"ReqRedir"}},
		{ACSCompletionRedirect, true, []string{"CmpltRedir"}},
		{ACSUpstreamForwarding, true, []string{"UpstreamFwd"}},
		{0x1d, true, []string{"ReqRedir", "CmpltRedir", "UpstreamFwd"}}, // what Linux sets
		{0xffff, true, []string{"ReqRedir", "CmpltRedir", "UpstreamFwd"}},
	}
	for _, test := range tests {
		a := &ACS{Capabilities: 0x5f, Control: test.control}
		if a.Redirects() != test.redirects || !slices.Equal(a.Names(), test.names) {
			t.Errorf("%#x: %v, %q; want %v, %q", test.control, a.Redirects(), a.Names(), test.redirects, test.names)
		}
	}
	if (*ACS)(nil).Redirects() {
		t.Error("no capability redirects")
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(blank(64)))
	f.Add([]byte(blank(256).list(0x40).express(0x40, 0x40, RootPort)))
	f.Add([]byte(blank(4096).list(0xfc).capability(0xfc, 0x05, 0xfc).extended(0x100, 0, 0x2c0).acs(0x2c0, 0x100, 0x1f, 0x1d)))
	f.Add(slices.Repeat([]byte{0xff}, 4096))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		c, err := ParseConfig(b)
		if (err == nil) != (c.Visible == len(b) && len(b) >= 64) {
			t.Errorf("%d bytes: %+v, %v", len(b), c, err)
		}
		if c.PCIe != nil && (c.PCIe.MaxPayload < 128 || c.PCIe.MaxReadRequest < 128 || c.PCIe.Current.Width > WidthLost || c.PCIe.Max.Width > WidthLost) {
			t.Errorf("%+v", c.PCIe)
		}
		if (c.ACS != nil || c.AER) && !c.ExtendedVisible() {
			t.Errorf("%d bytes: extended capabilities %+v", len(b), c)
		}
		if c.ACS != nil && c.ACS.Redirects() != (len(c.ACS.Names()) > 0) {
			t.Errorf("%+v: %q", c.ACS, c.ACS.Names())
		}
		if !bytes.Equal(b, before) {
			t.Error("the bytes were changed")
		}
	})
}
