// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/google/go-cmp/cmp"
)

func TestStatisticsText(t *testing.T) {
	for _, test := range []struct {
		name, text string
		names      []string
		values     []uint64
	}{
		{"as printed", "NIC statistics:\n     rx_packets: 12\n     tx_packets: 0\n", []string{"rx_packets", "tx_packets"}, []uint64{12, 0}},
		{"names with colons, brackets and blanks", "     [0]: rx_ucast_packets: 5\n[hw] rx frames: 7\n     a,b c: 1", []string{"[0]: rx_ucast_packets", "[hw] rx frames", "a,b c"}, []uint64{5, 7, 1}},
		{"padded names", "     tx_ppp3_frames         : 9\n", []string{"tx_ppp3_frames"}, []uint64{9}},
		{"names twice", "     x: 1\n     x: 2\n", []string{"x", "x"}, []uint64{1, 2}},
		{"the largest value", "     x: 18446744073709551615\n", []string{"x"}, []uint64{1<<64 - 1}},
		{"what is none is passed over", "# ethtool -S eth0\nNIC statistics:\n     x: 18446744073709551616\n     y: -1\n     z:\n     : 3\n\n     v: 4\r\n", []string{"", "v"}, []uint64{3, 4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &Statistics{}
			if err := parseStatistics([]byte(test.text), s); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.Names, test.names) || !slices.Equal(s.Values, test.values) {
				t.Errorf("%q %d", s.Names, s.Values)
			}
		})
	}
}

// Values are read by the names known; other names are seen.
func TestParseValues(t *testing.T) {
	s := &Statistics{}
	if err := parseStatistics([]byte("a: 1\nb: 2\n"), s); err != nil {
		t.Fatal(err)
	}
	if !parseValues([]byte("a: 3\nb: 4\n"), s) || s.Values[0] != 3 || s.Values[1] != 4 || s.Generation != 1 {
		t.Errorf("%+v", s)
	}
	for _, other := range []string{"a: 3\n", "a: 3\nb: 4\nc: 5\n", "a: 3\nB: 4\n", "b: 3\na: 4\n", ""} {
		if parseValues([]byte(other), s) {
			t.Errorf("%q has the same names", other)
		}
	}
}

func TestParseForms(t *testing.T) {
	for _, test := range []struct {
		got, want any
	}{
		{parseDriver([]byte("driver: mlx5_core\nversion: 6.8.0\nfirmware-version: 28.39.1002 (MT_0000000838)\nexpansion-rom-version: \nbus-info: 0000:18:00.0\nsupports-test: yes\n")),
			Driver{"mlx5_core", "6.8.0", "28.39.1002 (MT_0000000838)", "0000:18:00.0"}},
		{must(parsePause([]byte("Pause parameters for eth0:\nAutonegotiate: off\nRX: on\nTX: off\n"))), Pause{RX: true}},
		{must(parseRings([]byte("Ring parameters for eth0:\nPre-set maximums:\nRX: 8192\nRX Mini: n/a\nTX: 4096\nCurrent hardware settings:\nRX: 512\nRX Mini: n/a\nTX: 256\nRX Buf Len: n/a\n"))),
			Rings{RX: 512, RXMax: 8192, TX: 256, TXMax: 4096}},
		{must(parsePrevention([]byte("pfc-prevention-tout: 8000\n"))), Prevention{After: 8 * time.Second}},
		{must(parsePrevention([]byte("pfc-prevention-tout: 65535\n"))), Prevention{Auto: true}},
		{must(parsePrevention([]byte("pfc-prevention-tout: 0\n"))), Prevention{}},
		{parseFlags([]byte("Private flags for eth0:\nlink-down-on-close     : off\nfw-lldp-agent          : on\n")), []Flag{{"link-down-on-close", false}, {"fw-lldp-agent", true}}},
		{parseFECText([]byte("FEC parameters for eth0:\nSupported/Configured FEC encodings: Auto RS\nActive FEC encoding: RS\nStatistics:\n  corrected_blocks: 69\n    Lane 0: 60\n    Lane 1: 9\n  uncorrectable_blocks: 2\n")),
			FEC{"RS", probes.Some(uint64(69)), probes.Some(uint64(2))}},
		{parseFECText([]byte("Active FEC encoding: Off\n")), FEC{Active: "Off"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("- want, + got:\n%s", diff)
		}
	}
	if _, err := parsePause([]byte("Cannot get device pause settings: Operation not supported\n")); err == nil {
		t.Error("no error where no parameters are")
	}
	for _, bad := range []string{"", "rx-copybreak: 5\n", "pfc-prevention-tout: 65536\n", "pfc-prevention-tout: -1\n"} {
		if p, err := parsePrevention([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
	for _, bad := range []string{"RX: 5\n", "Pre-set maximums:\nRX: 8\nCurrent hardware settings:\nRX: 99999999999999999999\nTX: n/a\n"} {
		if r, err := parseRings([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, r)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What is written is read back.
func FuzzText(f *testing.F) {
	f.Add([]byte("     rx_packets: 12\n     [0]: tx: 3\nRX: on\nTX: off\nCurrent:\nRX: 5\n"))
	f.Add([]byte("pfc-prevention-tout: 100\n"))
	f.Add([]byte("driver: x\nbus-info: 0000:18:00.0\nActive FEC encoding: RS\n uncorrectable_blocks: 7\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, again := &Statistics{}, &Statistics{}
		if parseStatistics(b, s) == nil {
			text := must(s.AppendText(nil))
			if err := parseStatistics(text, again); err != nil || !slices.Equal(s.Names, again.Names) || !slices.Equal(s.Values, again.Values) {
				t.Errorf("%+v became %+v", s, again)
			}
		}
		d := parseDriver(b)
		if again := parseDriver(must(d.AppendText(nil))); again != d {
			t.Errorf("%q became %q", d, again)
		}
		if r, err := parseRings(b); err == nil && must(parseRings(must(r.AppendText(nil)))) != r {
			t.Errorf("%+v is not read back", r)
		}
		if p, err := parsePause(b); err == nil && must(parsePause(must(p.AppendText(nil)))) != p {
			t.Errorf("%+v is not read back", p)
		}
		if p, err := parsePrevention(b); err == nil && must(parsePrevention(must(p.AppendText(nil)))) != p {
			t.Errorf("%+v is not read back", p)
		}
		if v := parseFECText(b); parseFECText(must(v.AppendText(nil))) != v {
			t.Errorf("%+v is not read back", v)
		}
		_, _ = parseFEC(b)
	})
}

// port makes a recording of an interface like mlx5's, with n statistics.
func port(n int) []byte {
	var b strings.Builder
	b.WriteString("-- ethtool/eth0/stats --\nNIC statistics:\n")
	for i := range n {
		fmt.Fprintf(&b, "     rx%d_some_statistic_of_a_queue: %d\n", i, 1<<40+i)
	}
	b.WriteString("-- proc/version --\nLinux\n-- sys/x --\n")
	return []byte(b.String())
}

// Once the names are known, a reading allocates nothing.
func TestStatisticsAllocate(t *testing.T) {
	p := open(t, port(700))
	if n := testing.AllocsPerRun(20, func() {
		if s, err := p.Statistics(); err != nil || len(s.Values) != 700 || s.Generation != 1 {
			t.Fatal(s, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkStatistics(b *testing.B) {
	p := open(b, port(700))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Statistics(); err != nil {
			b.Fatal(err)
		}
	}
}

func open(tb testing.TB, recording []byte) *Port {
	tb.Helper()
	h, err := probes.Recorded(recording, probes.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	p, err := Open(h, "eth0", false)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}
