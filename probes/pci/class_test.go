// SPDX-License-Identifier: Apache-2.0

package pci

import "testing"

func TestKindOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		vendor uint16
		class  uint32
		want   Kind
	}{
		{"H200 SXM", VendorNVIDIA, 0x030200, GPU},
		{"GeForce", VendorNVIDIA, 0x030000, GPU},
		{"MI300X", VendorAMD, 0x120000, GPU},
		{"older Instinct", VendorAMD, 0x038000, GPU},
		{"Data Center GPU Max", VendorIntel, 0x038000, GPU},
		{"Gaudi", 0x1da3, 0x120000, GPU},
		{"accelerator of a hypervisor", VendorVirtio, 0x120000, Other},
		{"management controller's VGA", 0x1a03, 0x030000, Other},
		{"QEMU's VGA", 0x1234, 0x030000, Other},
		{"virtio GPU", VendorVirtio, 0x038000, Other},
		{"GPU's audio function", VendorNVIDIA, 0x040300, Other},
		{"NVSwitch", VendorNVIDIA, 0x068000, NVSwitch},
		{"other bridge of another maker", VendorIntel, 0x068000, Other},
		{"switch port", 0x1000, 0x060400, Bridge},
		{"subtractive bridge", VendorIntel, 0x060401, Bridge},
		{"host bridge", VendorIntel, 0x060000, Other},
		{"ISA bridge", VendorIntel, 0x060100, Other},
		{"Ethernet", 0x14e4, 0x020000, NIC},
		{"InfiniBand", VendorMellanox, 0x020700, NIC},
		{"fabric", VendorIntel, 0x020800, NIC},
		{"wireless", VendorIntel, 0x028000, Other},
		{"NVMe", 0x144d, 0x010802, Storage},
		{"RAID with the vendor of switches", 0x1000, 0x010400, Storage},
		{"Data Direct", VendorMellanox, 0x080100, Other},
		{"Xeon Phi", VendorIntel, 0x0b4000, Other},
		{"nothing known", 0, 0, Other},
		{"all ones", 0xffff, 0xffffff, Other},
		{"more than a class", VendorNVIDIA, 0xffffffff, Other},
	}
	for _, test := range tests {
		if got := KindOf(test.vendor, test.class); got != test.want {
			t.Errorf("%s: %04x class %06x is %v, want %v", test.name, test.vendor, test.class, got, test.want)
		}
	}
}

func TestKindString(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]string{Other: "other", Bridge: "bridge", GPU: "gpu", NIC: "nic", NVSwitch: "nvswitch", Storage: "storage"} {
		if got := kind.String(); got != want {
			t.Errorf("%d is %q, want %q", kind, got, want)
		}
	}
}
