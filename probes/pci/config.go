// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"encoding/binary"
	"errors"
)

// Offsets and masks: include/uapi/linux/pci_regs.h.
const (
	statusRegister     = 0x06
	statusCapabilities = 1 << 4
	capabilityPointer  = 0x34
	capabilityPCIe     = 0x10
	extendedStart      = 0x100
	extendedAER        = 0x0001
	extendedACS        = 0x000d
)

// A PortType is the device/port type of the PCI Express capability.
type PortType uint8

// Port types that matter here.
const (
	Endpoint           PortType = 0
	RootPort           PortType = 4
	SwitchUpstream     PortType = 5
	SwitchDownstream   PortType = 6
	RootComplexDevice  PortType = 9
	RootEventCollector PortType = 10
)

// ACS control bits: include/uapi/linux/pci_regs.h, PCI_ACS_CTRL.
const (
	ACSSourceValidation   = 1 << 0
	ACSRequestRedirect    = 1 << 2
	ACSCompletionRedirect = 1 << 3
	ACSUpstreamForwarding = 1 << 4
	acsRedirects          = ACSRequestRedirect | ACSCompletionRedirect | ACSUpstreamForwarding
)

// A Config is what a function's configuration space says, as far as it could
// be seen: an ordinary user sees 64 bytes, a guest without ECAM 256.
type Config struct {
	Visible int // bytes that could be read
	PCIe    *Express
	AER     bool // has an Advanced Error Reporting capability
	ACS     *ACS
}

// Express is the PCI Express capability.
type Express struct {
	Type              PortType
	MaxPayload        int // DEVCTL: bytes in force
	MaxPayloadAble    int // DEVCAP: bytes supported
	MaxReadRequest    int // DEVCTL: bytes in force
	RelaxedOrdering   bool
	ASPML0s, ASPML1   bool  // LNKCTL: enabled
	TargetSpeed       Speed // LNKCTL2; zero if none is set
	Max, Current      Link  // LNKCAP, LNKSTA
	HasLink           bool
	DataLinkActive    bool // LNKSTA bit 13
	DataLinkReporting bool // LNKCAP bit 20: DataLinkActive means something
}

// ACS is the Access Control Services capability.
type ACS struct {
	Capabilities, Control uint16
}

// Redirects says whether peer-to-peer traffic is sent up to the root complex.
// Source validation alone does not do that.
func (a *ACS) Redirects() bool { return a != nil && a.Control&acsRedirects != 0 }

// Names lists the redirecting controls in force, as lspci spells them.
func (a *ACS) Names() []string {
	var names []string
	for _, c := range ACSControls() {
		if a.Control&c.Mask != 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// An ACSControl is one redirecting control bit.
type ACSControl struct {
	Name string
	Mask uint16
}

// ACSControls lists the control bits that redirect peer-to-peer traffic.
func ACSControls() []ACSControl {
	return []ACSControl{
		{"ReqRedir", ACSRequestRedirect}, {"CmpltRedir", ACSCompletionRedirect}, {"UpstreamFwd", ACSUpstreamForwarding},
	}
}

// ErrAllOnes is what a device that fell off the bus answers.
var ErrAllOnes = errors.New("configuration space reads all ones: the device does not answer")

// ErrShortConfig says that not even the standard header could be read.
var ErrShortConfig = errors.New("configuration space is shorter than its 64-byte header")

// ParseConfig reads configuration space from its first byte on. Broken or
// circular capability lists end the walk; they are no error.
func ParseConfig(b []byte) (Config, error) {
	if len(b) < 64 {
		return Config{}, ErrShortConfig
	}
	if allOnes(b[:64]) {
		return Config{}, ErrAllOnes
	}
	c := Config{Visible: len(b)}
	if binary.LittleEndian.Uint16(b[statusRegister:])&statusCapabilities != 0 {
		if at := findCapability(b, capabilityPCIe); at > 0 {
			c.PCIe = parseExpress(b[at:])
		}
	}
	walkExtended(b, func(id uint16, at int) {
		switch {
		case id == extendedAER:
			c.AER = true
		case id == extendedACS && at+8 <= len(b):
			c.ACS = &ACS{binary.LittleEndian.Uint16(b[at+4:]), binary.LittleEndian.Uint16(b[at+6:])}
		}
	})
	return c, nil
}

// allOnes looks at the whole header: a virtual function's ids alone are all
// ones by specification.
func allOnes(header []byte) bool {
	for _, b := range header {
		if b != 0xff {
			return false
		}
	}
	return true
}

// ExtendedVisible says whether the reader could see extended configuration
// space, where AER and ACS are.
func (c Config) ExtendedVisible() bool { return c.Visible > extendedStart }

func findCapability(b []byte, id byte) int {
	at := int(b[capabilityPointer]) &^ 3
	for range 48 { // more do not fit between 0x40 and 0xff
		if at < 0x40 || at+2 > len(b) || at > 0xfc {
			return 0
		}
		if b[at] == id {
			return at
		}
		at = int(b[at+1]) &^ 3
	}
	return 0
}

func walkExtended(b []byte, visit func(id uint16, at int)) {
	at := extendedStart
	for range (4096 - extendedStart) / 8 {
		if at < extendedStart || at+4 > len(b) {
			return
		}
		head := binary.LittleEndian.Uint32(b[at:])
		if head == 0 || head == 0xffffffff {
			return
		}
		visit(uint16(head), at)
		at = int(head>>20) &^ 3
	}
}

func parseExpress(b []byte) *Express {
	word := func(at int) uint32 {
		if at+4 > len(b) {
			return 0
		}
		return binary.LittleEndian.Uint32(b[at:])
	}
	if len(b) < 12 {
		return nil
	}
	e := &Express{Type: PortType(b[2] >> 4)}
	control := word(0x08)
	e.MaxPayloadAble = 128 << (word(0x04) & 7)
	e.MaxPayload = 128 << (control >> 5 & 7)
	e.MaxReadRequest = 128 << (control >> 12 & 7)
	e.RelaxedOrdering = control&0x10 != 0
	if e.Type == RootComplexDevice || e.Type == RootEventCollector || len(b) < 0x14 {
		return e
	}
	capability, link := word(0x0c), word(0x10)
	status := link >> 16
	e.HasLink = true
	e.ASPML0s, e.ASPML1 = link&1 != 0, link&2 != 0
	e.Max = Link{SpeedOf(int(capability & 15)), int(capability >> 4 & 63)}
	e.Current = Link{SpeedOf(int(status & 15)), int(status >> 4 & 63)}
	e.DataLinkReporting = capability&(1<<20) != 0
	e.DataLinkActive = status&(1<<13) != 0
	if version := b[2] & 15; version >= 2 { // version 1 ends before LNKCTL2
		e.TargetSpeed = SpeedOf(int(word(0x30) & 15))
	}
	return e
}
