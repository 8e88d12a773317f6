// SPDX-License-Identifier: Apache-2.0

// Package pci knows the formats of PCI and PCI Express: addresses, classes,
// link speeds and widths, configuration space. It turns bytes into values and
// reads nothing itself; it does not know sysfs, and it judges nothing.
package pci

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// An Address names a PCI function. Domains of more than 16 bits exist (VMD,
// Hyper-V, some Arm hosts), so the text form has no fixed length.
type Address struct {
	Domain                uint32
	Bus, Device, Function uint8
}

// ParseAddress reads the kernel's form (0000:8d:00.0, 10000:e1:00.0) and
// NVML's (00000000:8D:00.0).
func ParseAddress(s string) (Address, error) {
	bad := func() (Address, error) {
		return Address{}, fmt.Errorf("%q is not a PCI address (want one like 0000:8d:00.0)", s)
	}
	domain, rest, ok := strings.Cut(s, ":")
	if !ok {
		return bad()
	}
	bus, rest, ok := strings.Cut(rest, ":")
	if !ok {
		return bad()
	}
	device, function, ok := strings.Cut(rest, ".")
	if !ok {
		return bad()
	}
	var n [4]uint64
	for i, part := range []string{domain, bus, device, function} {
		var err error
		if n[i], err = strconv.ParseUint(part, 16, 32); err != nil {
			return bad()
		}
	}
	if n[1] > 0xff || n[2] > 0x1f || n[3] > 7 {
		return bad()
	}
	return Address{uint32(n[0]), uint8(n[1]), uint8(n[2]), uint8(n[3])}, nil
}

// String gives the kernel's form.
func (a Address) String() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.Domain, a.Bus, a.Device, a.Function)
}

// Slot gives the address without its function: what is plugged in as one.
func (a Address) Slot() string {
	return fmt.Sprintf("%04x:%02x:%02x", a.Domain, a.Bus, a.Device)
}

// Compare orders addresses as lspci does.
func (a Address) Compare(b Address) int {
	return cmp.Or(
		cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Bus, b.Bus),
		cmp.Compare(a.Device, b.Device), cmp.Compare(a.Function, b.Function))
}
