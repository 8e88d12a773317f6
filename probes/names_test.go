// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Names of a machine on which everything is named by somebody hostile; the
// link to a device's directory, its attributes and its bond are found all the same.
func hostileMachine(evil string) []string {
	const nic = "pci0000:15/0000:15:01.0/0000:19:00.0"
	own := "sys/devices/" + nic
	entries := append(device("pci0000:15/0000:15:01.0", "class", "0x060400"), device(nic)...)
	entries = append(entries,
		own+"/driver -> ../../../../bus/pci/drivers/"+evil, "", own+"/iommu_group -> ../../../../kernel/iommu_groups/"+evil, "",
		own+"/physfn -> ../"+evil, "", "sys/kernel/iommu_groups/"+evil+"/type", "DMA\n")
	entries = append(entries, netdev("eth"+evil, nic, "mtu", "9000\n")...)
	entries = append(entries, own+"/net/eth"+evil+"/master -> ../../../../../virtual/net/"+evil, "", "sys/class/net/"+evil+"/bonding/mode", "802.3ad 4\n")
	return append(entries, rdmaDevice("mlx"+evil, nic)...)
}

func TestNamesAreShownPrintable(t *testing.T) {
	t.Parallel()
	check := func(evil string) func(t *testing.T, h *Host) {
		return func(t *testing.T, h *Host) {
			f := h.Inventory().Function("0000:19:00.0")
			if f == nil || len(f.Netdevs) != 1 || len(f.RDMA) != 1 {
				t.Fatalf("%q: %+v", evil, f)
			}
			n, d := f.Netdevs[0], f.RDMA[0]
			if n.MTU != 9000 || !n.Bonded || f.IOMMUType.V != "DMA" || len(d.Ports) != 1 || path.Base(n.Path) != "eth"+evil || path.Base(d.Path) != "mlx"+evil {
				t.Errorf("%q: paths are not what they were: %+v %+v %v", evil, n, d, f.IOMMUType)
			}
			for _, name := range []string{f.Driver, f.IOMMUGroup, f.PhysicalFunction, n.Name, n.Master, d.Name, f.RDMANames[0], f.NetdevNames[0]} {
				if name == "" || Printable(name) != name {
					t.Errorf("%q is shown as %q", evil, name)
				}
			}
		}
	}
	for _, evil := range []string{"\u202eevil", "a\u200bb", "\u2066x"} {
		onBoth(t, Options{}, hostileMachine(evil), check(evil))
	}
	for _, evil := range []string{"\x1b]0;x\x07", "a\nb", "\xff\xfe", "\u009b31m"} { // a recording refuses these
		h, _ := live(t, Options{}, hostileMachine(evil)...)
		check(evil)(t, h)
	}
}

func TestRootIsShownPrintable(t *testing.T) {
	t.Parallel()
	f := Function{Path: "sys/devices/pci0000:15\x1b[31m/0000:15:01.0"}
	if f.place(); f.Root != "pci0000:15?[31m" {
		t.Errorf("root %q", f.Root)
	}
}

func TestPrintableInvisible(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for r := range rune(0x30000) {
		if utf8.ValidRune(r) {
			all.WriteRune(r)
		}
	}
	got := Printable(all.String())
	for _, r := range got {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) {
			t.Errorf("%U is let through", r)
		}
	}
	if !strings.Contains(got, "網") || !strings.Contains(got, "ß") {
		t.Error("letters are not let through")
	}
}

func TestPrintableAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Printable("mlx5_0 NVIDIA H100 80GB HBM3") }); n != 0 {
		t.Errorf("%v allocations for plain ASCII", n)
	}
}

func TestRecordedNameIsUTF8(t *testing.T) {
	t.Parallel()
	_, err := Recorded(archive("sys/class/net/a\xffb -> ../../devices/x", ""), Options{})
	if err == nil || !strings.Contains(err.Error(), "has a name that is no UTF-8") || strings.Contains(err.Error(), "\n") || !utf8.ValidString(err.Error()) {
		t.Errorf("got %v", err)
	}
}
