// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"testing"
)

// An image is a function's configuration space, put together by hand.
type image []byte

// blank has a header, and no capability yet.
func blank(size int) image {
	b := make(image, size)
	b.put32(0x00, 0x233510de)
	b.put16(0x04, 0x0406) // command
	return b
}

func (b image) put16(at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
func (b image) put32(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }

// list makes b hold a capability list that starts at at.
func (b image) list(at byte) image {
	b.put16(statusRegister, 0x0010)
	b[capabilityPointer] = at
	return b
}

func (b image) capability(at int, id, next byte) image {
	b[at], b[at+1] = id, next
	return b
}

// express puts a PCI Express capability of version 2 at at: 256 bytes of
// payload in force of 512, 512 of read request, 16 GT/s x8 of 32 GT/s x16.
func (b image) express(at int, next byte, kind PortType) image {
	b.capability(at, capabilityPCIe, next)
	b.put16(at+0x02, uint16(kind)<<4|2)
	b.put32(at+0x04, 0x00008002) // DEVCAP
	b.put16(at+0x08, 0x2930)     // DEVCTL: relaxed ordering
	b.put32(at+0x0c, 0x00100d05) // LNKCAP: active reporting
	b.put16(at+0x10, 0x0042)     // LNKCTL: L1
	b.put16(at+0x12, 0x2084)     // LNKSTA: active
	b.put16(at+0x30, 0x0005)     // LNKCTL2
	return b
}

// extended puts an extended capability's header at at.
func (b image) extended(at int, id uint16, next int) image {
	b.put32(at, uint32(id)|1<<16|uint32(next)<<20)
	return b
}

func (b image) acs(at, next int, capabilities, control uint16) image {
	b.extended(at, extendedACS, next)
	b.put16(at+4, capabilities)
	b.put16(at+6, control)
	return b
}

func wholeExpress(kind PortType) *Express {
	return &Express{
		Type: kind, MaxPayload: 256, MaxPayloadAble: 512, MaxReadRequest: 512, RelaxedOrdering: true, ASPML1: true,
		TargetSpeed: Gen5, Max: Link{Gen5, 16}, Current: Link{Gen4, 8}, HasLink: true, DataLinkActive: true, DataLinkReporting: true,
	}
}

func TestParseConfig(t *testing.T) {
	t.Parallel()
	integrated := &Express{Type: RootComplexDevice, MaxPayload: 256, MaxPayloadAble: 512, MaxReadRequest: 512, RelaxedOrdering: true}
	collector := &Express{Type: RootEventCollector, MaxPayload: 256, MaxPayloadAble: 512, MaxReadRequest: 512, RelaxedOrdering: true}
	tests := []struct {
		name string
		in   image
		want Config
	}{
		{"endpoint", blank(256).list(0x60).capability(0x60, 0x05, 0x78).express(0x78, 0, Endpoint), Config{Visible: 256, PCIe: wholeExpress(Endpoint)}},
		{"root port", blank(4096).list(0x40).express(0x40, 0, RootPort).extended(0x100, extendedAER, 0x148).acs(0x148, 0, 0x5f, 0x1d),
			Config{Visible: 4096, PCIe: wholeExpress(RootPort), AER: true, ACS: &ACS{0x5f, 0x1d}}},
		{"switch upstream", blank(4096).list(0x40).express(0x40, 0, SwitchUpstream).extended(0x100, 0x0003, 0xfb4).extended(0xfb4, extendedAER, 0),
			Config{Visible: 4096, PCIe: wholeExpress(SwitchUpstream), AER: true}},
		{"switch downstream", blank(4096).list(0x40).express(0x40, 0, SwitchDownstream).acs(0x100, 0, 0x5f, 0),
			Config{Visible: 4096, PCIe: wholeExpress(SwitchDownstream), ACS: &ACS{0x5f, 0}}},
		{"integrated endpoint has no link", blank(256).list(0x40).express(0x40, 0, RootComplexDevice), Config{Visible: 256, PCIe: integrated}},
		{"event collector has no link", blank(256).list(0x40).express(0x40, 0, RootEventCollector), Config{Visible: 256, PCIe: collector}},

		{"conventional", blank(256), Config{Visible: 256}},
		{"an ordinary user's view", blank(4096).list(0x40).express(0x40, 0, Endpoint)[:64], Config{Visible: 64}},
		{"CardBus as an ordinary user", blank(4096).list(0x40).express(0x40, 0, Endpoint)[:128], Config{Visible: 128, PCIe: wholeExpress(Endpoint)}},
		{"status says there is no list", image(slices.Concat(blank(256)[:capabilityPointer], []byte{0x40, 0, 0, 0}, blank(256)[0x38:])).capability(0x40, capabilityPCIe, 0), Config{Visible: 256}},
		{"reserved bits of pointers", blank(256).list(0x43).capability(0x40, 0x05, 0x62).express(0x60, 0, Endpoint), Config{Visible: 256, PCIe: wholeExpress(Endpoint)}},

		{"circular list", blank(256).list(0x40).capability(0x40, 0x05, 0x50).capability(0x50, 0x11, 0x40), Config{Visible: 256}},
		{"capability that is its own next", blank(256).list(0x40).capability(0x40, 0x05, 0x40), Config{Visible: 256}},
		{"circular after what is looked for", blank(256).list(0x40).capability(0x40, 0x05, 0x50).express(0x50, 0x40, Endpoint), Config{Visible: 256, PCIe: wholeExpress(Endpoint)}},
		{"list into the header", blank(256).list(0x10), Config{Visible: 256}},
		{"list of all ones", image(slices.Repeat([]byte{0xff}, 256)).header().list(0xff), Config{Visible: 256}},
		{"backwards", blank(256).list(0xa0).capability(0xa0, 0x05, 0x40).express(0x40, 0, Endpoint), Config{Visible: 256, PCIe: wholeExpress(Endpoint)}},
		{"cut within the capability", blank(256).list(0xf8).capability(0xf8, capabilityPCIe, 0), Config{Visible: 256}},

		{"first extended header is empty but has a next", blank(4096).extended(0x100, 0, 0x2c0).extended(0x2c0, extendedAER, 0x3a0).acs(0x3a0, 0, 1, 1),
			Config{Visible: 4096, AER: true, ACS: &ACS{1, 1}}},
		{"no extended capability", blank(4096).extended(0x100, 0, 0), Config{Visible: 4096}},
		{"extended list backwards", blank(4096).extended(0x100, 0x0003, 0x800).extended(0x800, extendedAER, 0x200).acs(0x200, 0, 0x1f, 0x04),
			Config{Visible: 4096, AER: true, ACS: &ACS{0x1f, 0x04}}},
		{"extended list circular", blank(4096).extended(0x100, extendedAER, 0x200).extended(0x200, 0x0003, 0x100), Config{Visible: 4096, AER: true}},
		{"extended list into the header", blank(4096).extended(0x100, extendedAER, 0x40).express(0x40, 0, Endpoint), Config{Visible: 4096, AER: true}},
		{"extended space of all ones", image(slices.Concat(blank(256), slices.Repeat([]byte{0xff}, 4096-256))), Config{Visible: 4096}},
		{"ACS cut before its control register", blank(4096).extended(0x100, 0x0003, 0xff8).acs(0xff8, 0, 0x1f, 0x1c)[:0xffe], Config{Visible: 4094}},
		{"ACS as the last", blank(4096).extended(0x100, 0x0003, 0xff8).acs(0xff8, 0, 0x1f, 0x1c), Config{Visible: 4096, ACS: &ACS{0x1f, 0x1c}}},
		{"guest without extended space", blank(256).list(0x40).express(0x40, 0, Endpoint), Config{Visible: 256, PCIe: wholeExpress(Endpoint)}},
	}
	for _, test := range tests {
		got, err := ParseConfig(test.in)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v %+v %+v, want %+v %+v %+v", test.name, got, got.PCIe, got.ACS, test.want, test.want.PCIe, test.want.ACS)
		}
		if got.ExtendedVisible() != (len(test.in) > 256) {
			t.Errorf("%s: extended space visible: %v", test.name, got.ExtendedVisible())
		}
	}
}

// header puts blank's header over b.
func (b image) header() image {
	copy(b, blank(64))
	return b
}

func TestParseConfigError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, ErrShortConfig},
		{"63 bytes", blank(64)[:63], ErrShortConfig},
		{"short and all ones", slices.Repeat([]byte{0xff}, 4), ErrShortConfig},
		{"all ones, 64", slices.Repeat([]byte{0xff}, 64), ErrAllOnes},
		{"all ones, 256", slices.Repeat([]byte{0xff}, 256), ErrAllOnes},
		{"all ones, 4096", slices.Repeat([]byte{0xff}, 4096), ErrAllOnes},
	}
	for _, test := range tests {
		if got, err := ParseConfig(test.in); !errors.Is(err, test.want) || !reflect.DeepEqual(got, Config{}) {
			t.Errorf("%s: got %+v, %v; want %v", test.name, got, err, test.want)
		}
	}
}

// The ids of a virtual function are all ones by specification (SR-IOV 1.1,
// 3.4.1.1 and 3.4.1.2); the rest of its header is not.
func TestParseConfigVirtualFunction(t *testing.T) {
	t.Parallel()
	b := blank(4096).list(0x60).express(0x60, 0, Endpoint)
	b.put32(0, 0xffffffff)
	if got, err := ParseConfig(b); err != nil || !reflect.DeepEqual(got.PCIe, wholeExpress(Endpoint)) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A capability of version 1 ends before the registers of version 2: what stands
// there belongs to the next capability.
func TestParseConfigVersion1(t *testing.T) {
	t.Parallel()
	b := blank(256).list(0x40).express(0x40, 0x70, Endpoint)
	b.put16(0x42, 1)
	b.capability(0x70, 0x01, 0) // power management
	got, err := ParseConfig(b)
	if err != nil || got.PCIe == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if got.PCIe.TargetSpeed != 0 {
		t.Errorf("target speed %v out of the next capability", got.PCIe.TargetSpeed)
	}
	if want := (Link{Gen4, 8}); got.PCIe.Current != want {
		t.Errorf("current %v, want %v", got.PCIe.Current, want)
	}
}
