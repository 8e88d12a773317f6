// SPDX-License-Identifier: Apache-2.0

package pci

// A Kind is what a function is to a training cluster.
type Kind uint8

// Kinds of function.
const (
	Other Kind = iota
	Bridge
	GPU      // GPUs and other accelerators
	NIC      // Ethernet, InfiniBand and fabric controllers
	NVSwitch // NVIDIA's NVLink switches
	Storage
)

// String gives the kind's name as metric labels have it.
func (k Kind) String() string {
	return [...]string{"other", "bridge", "gpu", "nic", "nvswitch", "storage"}[k]
}

// Vendor ids used to tell functions apart (pci.ids).
const (
	VendorNVIDIA   = 0x10de
	VendorAMD      = 0x1002
	VendorIntel    = 0x8086
	VendorMellanox = 0x15b3
	VendorVirtio   = 0x1af4
)

// KindOf classifies a function by vendor and class code (base, sub, prog-if).
// Display controllers count as GPUs only from makers of compute GPUs: the VGA
// functions of management controllers and hypervisors are none.
func KindOf(vendor uint16, class uint32) Kind {
	switch class >> 8 {
	case 0x0604:
		return Bridge
	case 0x0200, 0x0207, 0x0208:
		return NIC
	case 0x0300, 0x0302, 0x0380:
		if vendor == VendorNVIDIA || vendor == VendorAMD || vendor == VendorIntel {
			return GPU
		}
	case 0x1200:
		if vendor != VendorVirtio {
			return GPU
		}
	case 0x0680:
		if vendor == VendorNVIDIA {
			return NVSwitch
		}
	}
	if class>>16 == 0x01 {
		return Storage
	}
	return Other
}
