// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"errors"
	"math"
	"testing"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"400 Gb/sec (4X NDR)":   {400, 4, "NDR"},
		"2.5 Gb/sec (1X SDR)":   {2.5, 1, "SDR"},
		"100 Gb/sec (2X HDR)":   {100, 2, "HDR"},
		"14 Gb/sec (1X FDR10)":  {14, 1, "FDR10"},
		"1200 Gb/sec (12X HDR)": {1200, 12, "HDR"},
		"40 Gb/sec":             {Gbps: 40},
		"40 Gb/sec (64X QDR)":   {Gbps: 40},
		"10":                    {},
		"":                      {},
		"-1 Gb/sec (4X SDR)":    {},
		"NaN Gb/sec (4X SDR)":   {},
	} {
		got, ok := ParseRate(text)
		if got != want || ok != (want.Gbps > 0) {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	if got := (Rate{100, 2, "HDR"}).String(); got != "100 Gb/s (2X HDR)" {
		t.Error(got)
	}
}

func TestParseState(t *testing.T) {
	for text, want := range map[string]string{"4: ACTIVE": "ACTIVE", "1: DOWN": "DOWN", "2: INIT": "INIT", "0: NOP": "unknown", "9: UNKNOWN": "unknown", "4": "unknown", "": "unknown", "-1: x": "unknown"} {
		if got := ParseState([]byte(text)).String(); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	for text, want := range map[string]string{"5: LinkUp": "LinkUp", "2: Polling": "Polling", "7: Phy Test": "Phy Test", "0: <unknown>": "unknown", "8: <unknown>": "unknown"} {
		if got := ParsePhysState([]byte(text)).String(); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestParseCounter(t *testing.T) {
	for text, want := range map[string]error{
		"0": nil, "18446744073709551614": nil,
		"18446744073709551615": ErrUndecoded, "18446744073709551616": errNoNumber, "99999999999999999999": errNoNumber,
		"N/A (no PMA)": ErrNoPMA, "": errNoNumber, "-1": errNoNumber, "12 ": errNoNumber, "0x10": errNoNumber,
	} {
		if _, err := ParseCounter([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if v, _ := ParseCounter([]byte("18446744073709551614")); v != math.MaxUint64-1 {
		t.Error(v)
	}
}

// The index of the best address, whatever stands before it.
func TestBestRoCEv2(t *testing.T) {
	const (
		local  = "fe80:0000:0000:0000:0202:c9ff:fe00:0001"
		unique = "fd00:0000:0000:0010:0000:0000:0000:0001"
		v4     = "0000:0000:0000:0000:0000:ffff:0a00:0001"
		auto   = "0000:0000:0000:0000:0000:ffff:a9fe:0101"
		docs   = "2001:0db8:0000:0000:0000:0000:0000:0001"
	)
	entry := func(i int, address string, k GIDType) GID {
		a, ok := ParseGID([]byte(address))
		if !ok {
			t.Fatal(address)
		}
		return GID{Index: i, Address: a, Type: k}
	}
	for name, test := range map[string]struct {
		gids []GID
		want int
	}{
		"none":                       {nil, -1},
		"link-local only":            {[]GID{entry(0, local, RoCEv1), entry(1, local, RoCEv2)}, -1},
		"IPv4 self-assigned":         {[]GID{entry(1, auto, RoCEv2)}, -1},
		"version 1 routes, 2 not":    {[]GID{entry(0, v4, RoCEv1), entry(1, local, RoCEv2)}, -1},
		"type unknown":               {[]GID{entry(0, v4, UnknownType)}, -1},
		"IPv4":                       {[]GID{entry(0, local, RoCEv1), entry(1, local, RoCEv2), entry(2, v4, RoCEv1), entry(3, v4, RoCEv2)}, 3},
		"IPv4 before IPv6":           {[]GID{entry(2, docs, RoCEv2), entry(5, v4, RoCEv2), entry(7, v4, RoCEv2)}, 5},
		"unique local IPv6 is fine":  {[]GID{entry(1, local, RoCEv2), entry(3, unique, RoCEv2)}, 3},
		"the first of several equal": {[]GID{entry(4, docs, RoCEv2), entry(6, docs, RoCEv2)}, 4},
	} {
		got, ok := BestRoCEv2(test.gids)
		if ok != (test.want >= 0) || ok && got.Index != test.want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"400 Gb/sec (4X NDR)", "4: ACTIVE", "fe80:0000:0000:0000:0202:c9ff:fe00:0001", "18446744073709551615", "N/A (no PMA)", "fe80::1%eth0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := ParseRate(string(b)); ok && (r.Gbps <= 0 || r.Lanes < 0) {
			t.Errorf("%q: %+v", b, r)
		}
		_ = ParseState(b).String()
		_ = ParsePhysState(b).String()
		if a, ok := ParseGID(b); ok {
			_ = GID{Address: a}.Reach()
		}
		if v, err := ParseCounter(b); err == nil && v == math.MaxUint64 {
			t.Errorf("%q is taken", b)
		}
	})
}
