// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// full is a frame with all that there is.
func full() *Frame {
	ets := ETS{Willing: true, MaxTCs: 3, PriorityTC: [8]uint8{0, 0, 0, 1, 0, 0, 2, 0}, Bandwidth: [8]uint8{50, 50}, Algorithm: [8]uint8{TSAETS, TSAETS, TSAStrict}, Present: true}
	return &Frame{
		Destination: nearest, Source: MAC{2, 0, 0, 0, 0, 1}, VLAN: 0xe009,
		Chassis: ChassisID{ChassisMAC, "\x02\x00\x00\x00\x00\x01"}, Port: PortID{PortName, "Ethernet12"}, TTL: 120,
		PortDescription: "etp4", SystemName: "leaf-01", SystemDescription: "a switch",
		Capabilities: Capabilities{CapBridge | CapRouter, CapBridge, true},
		PVID:         100,
		Aggregation:  Aggregation{Status: 3, ID: 9, Present: true},
		Congestion:   Congestion{8, 8, true},
		ETS:          ets, Recommended: ETS{Present: true},
		PFC:  PFC{MBC: true, Capability: 8, Enabled: 1 << 3, Present: true},
		Apps: NewApps(App{3, SelectDSCP, 26}, App{3, SelectUDP, 4791}),
		PHY:  PHY{3, 0x6c1d, 30, true}, MTU: 9216,
		Others: []TLV{
			Management{Family: 1, Address: "\x0a\x00\x00\x01", Numbering: 2, Interface: 7}.TLV(),
			VLAN{100, "rail0"}.TLV(),
			older().TLV(),
			{127, "\x00\x12\xbb\x01\x00\x03\x04"},
		},
	}
}

// older is full's flow control as CEE has it.
func older() *CEE {
	feature := Feature{Operating: 0, Most: 1, Enabled: true, Willing: true, Present: true}
	return &CEE{
		Control: Control{Most: 1, Sequence: 7, Ack: 6},
		Groups:  CEEGroups{feature, [8]uint8{0, 0, 0, 1, 15}, [8]uint8{50, 50}, 2},
		PFC:     CEEPFC{feature, 1 << 3, 8},
		Apps:    NewCEEApps(feature, CEEApp{0x8906, 0, 0x001b21, 1 << 3}, CEEApp{4791, 1, 0x001b21, 1 << 3}),
		Present: true,
	}
}

// nearest is the nearest bridge's address.
var nearest = Destinations()[0]

var compared = cmp.Options{cmpopts.IgnoreUnexported(Frame{}), cmp.AllowUnexported(Apps{}, CEEApps{}), cmpopts.EquateEmpty()}

func TestRoundTrip(t *testing.T) {
	want := full()
	b := want.Append(nil)
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, compared); d != "" {
		t.Error(d)
	}
	if again := got.Append(nil); !bytes.Equal(b, again) {
		t.Errorf("written again:\n%x\nnot\n%x", again, b)
	}
	if d := cmp.Diff(*older(), got.CEE(), compared); d != "" {
		t.Error(d)
	}
	if m, v := got.Management(), got.VLANs(); len(m) != 1 || m[0].String() != "10.0.0.1" || len(v) != 1 || v[0] != (VLAN{100, "rail0"}) {
		t.Errorf("%v %v", m, v)
	}
	short := (&Frame{Destination: nearest, Source: MAC{2, 0, 0, 0, 0, 1}, Chassis: ChassisID{7, "h"}, Port: PortID{7, "p"}}).Append(nil)
	if len(short) != 60 {
		t.Errorf("a short frame has %d bytes, want padding to 60", len(short))
	}
}

// frame makes a frame of TLVs in hex, from the chassis id on.
func frame(tlvs string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll("0180c200000e 020000000001 88cc"+tlvs, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

const ids = "0204 07 6c3031 0404 05 737031" // local l01, name sp1

func TestDropped(t *testing.T) {
	for _, test := range []struct {
		name string
		b    []byte
		want error
	}{
		{"whole", frame(ids + "0602 0078 0000"), nil},
		{"no end", frame(ids + "0602 0078"), nil},
		{"odd padding", frame(ids + "0602 0078 0000 ffffff"), nil},
		{"a longer TTL", frame(ids + "0603 007800 0000"), nil},
		{"shutdown", frame(ids + "0602 0000 0000"), nil},
		{"nothing", nil, ErrShort},
		{"a header", frame("")[:13], ErrShort},
		{"no TLV", frame(""), ErrMissing},
		{"another protocol", append(frame("")[:12], 8, 0), ErrEtherType},
		{"another destination", append([]byte{1, 0x80, 0xc2, 0, 0, 0x21}, frame(ids + "0602 0078 0000")[6:]...), ErrDestination},
		{"half a tag", append(frame("")[:12], 0x81, 0, 0xe0), ErrShort},
		{"two tags", append(frame("")[:12], 0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x88, 0xcc), ErrTags},
		{"no TTL", frame(ids + "0000"), ErrMissing},
		{"no TTL, no end", frame(ids), ErrMissing},
		{"port before chassis", frame("0404 05 737031 0204 07 6c3031 0602 0078"), ErrOrder},
		{"something before", frame("0a01 61" + ids + "0602 0078"), ErrOrder},
		{"chassis twice", frame("0204 07 6c3031" + ids + "0602 0078"), ErrOrder},
		{"chassis later", frame(ids + "0602 0078 0204 07 6c3031"), ErrOrder},
		{"TTL twice", frame(ids + "0602 0078 0602 0078"), ErrOrder},
		{"subtype 0", frame("0204 00 6c3031 0404 05 737031 0602 0078"), ErrID},
		{"subtype 8", frame("0204 07 6c3031 0404 08 737031 0602 0078"), ErrID},
		{"empty id", frame("0201 07 0404 05 737031 0602 0078"), ErrID},
		{"an id of 257 bytes", frame("0301 07" + strings.Repeat("61", 256) + "0404 05 737031 0602 0078"), ErrID},
		{"a TTL of one byte", frame(ids + "0601 78"), ErrTTL},
		{"past the end", frame(ids + "0602 0078 0a09 61"), ErrOverrun},
		{"half a header", frame(ids + "0602 0078 0a"), ErrOverrun},
		{"an end with content", frame(ids + "0602 0078 0001 00"), ErrEnd},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Decode(test.b); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// What is wrong in an optional TLV costs that TLV alone, and it is kept.
func TestOptional(t *testing.T) {
	for _, test := range []struct {
		name, tlvs string
		ok         func(*Frame) bool
		others     int
	}{
		{"PFC too long", "fe07 0080c2 0b 080800", func(f *Frame) bool { return !f.PFC.Present }, 1},
		{"PFC twice", "fe06 0080c2 0b 0808 fe06 0080c2 0b 0800", func(f *Frame) bool { return f.PFC.Enabled == 8 }, 1},
		{"APP not of threes", "fe07 0080c2 0c 00 6412", func(f *Frame) bool { return !f.Apps.Present }, 1},
		{"APP of UDP 4791 to 3", "fe08 0080c2 0c 00 6312b7", func(f *Frame) bool { return f.Apps.At(0) == App{3, SelectUDP, 4791} }, 0},
		{"a name in a name", "fe08 0080c2 03 0064 05 61", func(f *Frame) bool { return len(f.VLANs()) == 0 }, 1},
		{"an address past its TLV", "1003 20 01 0a", func(f *Frame) bool { return len(f.Management()) == 0 }, 1},
		{"an organisation of three bytes", "fe03 0080c2", func(f *Frame) bool { return true }, 1},
		{"CEE without control", "fe0c 001b21 02 0606 00008000 0808", func(f *Frame) bool { return !f.CEE().Present }, 1},
		{"CEE 1.0", "fe06 001b21 01 0000", func(f *Frame) bool { return !f.CEE().Present }, 1},
		{"CEE", "fe18 001b21 02 020a 0000 00000001 00000000 0606 0001c000 0808", func(f *Frame) bool {
			return f.CEE().PFC.Priorities == 8 && f.CEE().PFC.Willing && f.CEE().Control.Sequence == 1
		}, 1},
		{"CEE after a broken one", "fe06 001b21 02 0209 fe18 001b21 02 020a 0000 00000001 00000000 0606 00018000 0808", func(f *Frame) bool { return f.CEE().PFC.Priorities == 8 }, 2},
		{"the second name", "0a01 61 0a01 62", func(f *Frame) bool { return f.SystemName == "a" }, 1},
		{"a text of 511 bytes", "0bff" + strings.Repeat("61", 511), func(f *Frame) bool { return len(f.SystemName) == 511 && len(Text(f.SystemName)) == 255 }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Decode(frame(ids + "0602 0078" + test.tlvs + "0000"))
			if err != nil || !test.ok(f) || len(f.Others) != test.others {
				t.Errorf("%v %+v", err, f)
			}
		})
	}
}

func TestIDText(t *testing.T) {
	for _, test := range []struct {
		got  interface{ String() string }
		want string
	}{
		{ChassisID{ChassisMAC, "\x02\x00\x00\x00\x00\x01"}, "02:00:00:00:00:01"},
		{ChassisID{ChassisMAC, "\x02\x00"}, "0200"},
		{ChassisID{ChassisAddress, "\x01\x0a\x00\x00\x01"}, "10.0.0.1"},
		{ChassisID{ChassisAddress, "\x02" + strings.Repeat("\xfd", 16)}, "fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd"},
		{PortID{PortMAC, "\x02\x00\x00\x00\x00\x01"}, "02:00:00:00:00:01"},
		{PortID{PortName, "Ethernet12"}, "Ethernet12"},
		{PortID{PortLocal, "621\x00"}, "621"},
		{PortID{PortLocal, "\x00\x01"}, "0001"},
		{PortID{PortLocal, "\xff"}, "ff"},
		{PortID{PortAlias, "a\nb\"c"}, "610a622263"},
		{PortID{PortAlias, `a"c`}, `a"c`},
	} {
		if got := test.got.String(); got != test.want {
			t.Errorf("%#v is %q, want %q", test.got, got, test.want)
		}
	}
	if got := Text(" a\x1b[2J\xff\u202eb\x00"); got != "a?[2J??b" {
		t.Errorf("%q", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(full().Append(nil))
	f.Add(frame(ids + "0602 0078 0000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := Decode(b)
		if err != nil {
			return
		}
		_, _, _ = first.Chassis.String(), first.Port.String(), first.VLANs()
		// What was understood stands in the frame that is written of it.
		second, err := Decode(first.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(first, second, compared); d != "" {
			t.Error(d)
		}
		if c := first.CEE(); c.Present {
			again := Frame{Others: []TLV{c.TLV()}}
			if d := cmp.Diff(c, again.CEE(), compared); d != "" {
				t.Error(d)
			}
		}
	})
}

func TestAllocations(t *testing.T) {
	b := full().Append(nil)
	if n := testing.AllocsPerRun(100, func() { _, _ = Decode(b) }); n > 3 {
		t.Errorf("decoding allocates %v times", n)
	}
	f, buf := full(), make([]byte, 0, 1500)
	if n := testing.AllocsPerRun(100, func() { buf = f.Append(buf[:0]) }); n > 0 {
		t.Errorf("encoding allocates %v times", n)
	}
	bad := frame(ids + "0602 0078 0a09 61")
	if n := testing.AllocsPerRun(100, func() { _, _ = Decode(bad) }); n > 2 {
		t.Errorf("a malformed frame allocates %v times", n)
	}
}

// ordinary is what a data centre's switch sends: some 300 bytes.
func ordinary() *Frame {
	f := full()
	return &Frame{
		Destination: f.Destination, Source: f.Source, Chassis: f.Chassis, Port: f.Port, TTL: f.TTL,
		PortDescription: f.PortDescription, SystemName: f.SystemName, SystemDescription: strings.Repeat("Software Version 202311.2 ", 4),
		Capabilities: f.Capabilities, ETS: f.ETS, PFC: f.PFC, Apps: f.Apps, MTU: f.MTU, Others: f.Others[:1],
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, f := range map[string]*Frame{"ordinary": ordinary(), "full": full()} {
		b.Run(name, func(b *testing.B) {
			frame := f.Append(nil)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			var into Frame
			for b.Loop() {
				if err := into.Decode(frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	f, buf := full(), make([]byte, 0, 1500)
	b.ReportAllocs()
	for b.Loop() {
		buf = f.Append(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}
