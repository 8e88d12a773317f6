// SPDX-License-Identifier: Apache-2.0

package irq

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
)

func TestParse(t *testing.T) {
	r := &reader{}
	r.own("a", []int{40, 41})
	r.own("b", []int{50})
	// Processors 1 and 2 are offline: the columns are those of 0 and 3.
	got, err := r.parse([]byte("  CPU0 CPU3\n 40: 1 2 PCI-MSI 1-edge x\n 41: 10 20 PCI-MSI\n 50: 7\n 60: 9 9 other\nLOC: 5 5 timer\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := got.NICs[0], got.NICs[1]
	if fmt.Sprint(a.PerVector, b.PerVector) != "[3 30] [7]" {
		t.Errorf("by vector: %v %v", a.PerVector, b.PerVector)
	}
	if a.Vectors != 2 || a.PerCPU[0] != 11 || a.PerCPU[1] != 22 || a.CPUs[1] != 3 || b.PerCPU[0] != 7 || b.PerCPU[1] != 0 {
		t.Errorf("%+v", got.NICs)
	}
	for _, bad := range []string{"", "\n", "40: 1 2\n", "CPUx\n", "CPU1 CPU0\n", "CPU0 CPU0\n", "CPU99999999\n"} {
		if _, err := r.parse([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("  CPU0 CPU1\n 40: 1 2 IR-PCI-MSIX-0000:16:00.0 1-edge mlx5_comp0\n"))
	f.Add([]byte("CPU0 CPU1\n40: 18446744073709551616 1\n-1: 2\n"))
	r := &reader{}
	r.own("a", []int{40})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := r.parse(b)
		if err == nil && len(got.NICs[0].PerCPU) != len(got.NICs[0].CPUs) {
			t.Error("columns and processors differ in number")
		}
	})
}

// large is /proc/interrupts of 256 processors and 2,000 vectors, of which 1,600
// are those of 8 NICs.
func large() (*reader, []byte) {
	r := &reader{}
	for nic := range 8 {
		var vectors []int
		for i := range 200 {
			vectors = append(vectors, 100+200*nic+i)
		}
		r.own(fmt.Sprintf("0000:%02x:00.0", 0x10+nic), vectors)
	}
	var b strings.Builder
	b.WriteString("     ")
	for cpu := range 256 {
		fmt.Fprintf(&b, "      CPU%-4d", cpu)
	}
	for v := range 2000 {
		fmt.Fprintf(&b, "\n%5d:", v)
		for cpu := range 256 {
			n := 0
			if cpu == v%256 {
				n = 1234567 + v
			}
			fmt.Fprintf(&b, " %10d", n)
		}
		fmt.Fprintf(&b, "  IR-PCI-MSIX-0000:%02x:00.0 %4d-edge      mlx5_comp%d@pci:0000:10:00.0", v/200, v, v)
	}
	return r, []byte(b.String())
}

// Parsing allocates for what it gives and not for what it reads.
func TestAllocations(t *testing.T) {
	r, text := large()
	got, err := r.parse(text)
	if err != nil || got.NICs[7].Vectors != 200 || got.NICs[0].PerCPU[100] != 1234667 {
		t.Fatalf("%v, %v", got, err)
	}
	if n := testing.AllocsPerRun(5, func() { r.parse(text) }); n > 50 { //nolint:errcheck // parsed above
		t.Errorf("%.0f allocations", n)
	}
}

func BenchmarkParse(b *testing.B) {
	r, text := large()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := probes.ThreadUse()
	for b.Loop() {
		if _, err := r.parse(text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(probes.ThreadUse().Since(begin).CPU)/float64(b.N), "cpu-ns/op")
}
