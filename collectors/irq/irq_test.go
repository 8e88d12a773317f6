// SPDX-License-Identifier: Apache-2.0

package irq

import "testing"

func TestParse(t *testing.T) {
	r := &reader{owner: map[int]string{40: "a", 41: "a", 50: "b"}, order: []string{"a", "b"}}
	// Processors 1 and 2 are offline: the columns are those of 0 and 3.
	got, err := r.parse([]byte("  CPU0 CPU3\n 40: 1 2 PCI-MSI 1-edge x\n 41: 10 20 PCI-MSI\n 50: 7\n 60: 9 9 other\nLOC: 5 5 timer\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := got.NICs[0], got.NICs[1]
	if a.Vectors != 2 || a.PerCPU[0] != 11 || a.PerCPU[1] != 22 || a.CPUs[1] != 3 || b.PerCPU[0] != 7 || b.PerCPU[1] != 0 {
		t.Errorf("%+v", got.NICs)
	}
	for _, bad := range []string{"", "\n", "40: 1 2\n", "CPUx\n"} {
		if _, err := r.parse([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("  CPU0 CPU1\n 40: 1 2 IR-PCI-MSIX-0000:16:00.0 1-edge mlx5_comp0\n"))
	f.Add([]byte("CPU0 CPU1\n40: 18446744073709551616 1\n-1: 2\n"))
	r := &reader{owner: map[int]string{40: "a"}, order: []string{"a"}}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := r.parse(b)
		if err == nil && len(got.NICs[0].PerCPU) != len(got.NICs[0].CPUs) {
			t.Error("columns and processors differ in number")
		}
	})
}
