// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/google/go-cmp/cmp"
)

const dir = "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0"

func card(t *testing.T, files string) *Card {
	t.Helper()
	h, err := probes.Recorded([]byte("-- "+dir+"/vendor --\n0x1002\n"+files), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(h, &probes.Function{Address: "0000:c1:00.0", Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func of[T any](v T) *T { return &v }

func TestRead(t *testing.T) {
	t.Parallel()
	file := func(name, text string) string { return fmt.Sprintf("-- %s/%s --\n%s\n", dir, name, text) }
	base := gpu.Device{PCIBusID: "0000:c1:00.0", Address: "0000:c1:00.0"}
	with := func(change func(*gpu.Device)) *gpu.Device { d := base; change(&d); return &d }
	for _, test := range []struct {
		name, files string
		want        *gpu.Device
	}{
		{"MI300X", file("product_name", "AMD Instinct MI300X") + file("gpu_busy_percent", "97") + file("mem_info_vram_total", "206141652992") +
			file("mem_info_vis_vram_total", "206141652992") + file("mem_info_vis_vram_used", "297") + file("pcie_replay_count", "3") +
			file("pp_dpm_pcie", "0: 2.5GT/s, x16 250Mhz\n1: 32.0GT/s, x16 250Mhz *") + file("xgmi_hive_info/xgmi_hive_id", "12345"),
			with(func(d *gpu.Device) {
				d.Name, d.Hive, d.Utilization, d.MemoryTotal = "AMD Instinct MI300X", "12345", of(97), of(uint64(206141652992))
				d.BAR1 = &gpu.BAR1{Total: 206141652992, Used: of(uint64(297))}
				d.PCIe = &gpu.PCIe{Generation: of(5), GenerationMax: of(5), Width: of(16), WidthMax: of(16), Replays: of(uint64(3))}
			})},
		{"at a lower level", file("pp_dpm_pcie", "0: 2.5GT/s, x8 619Mhz *\n1: 8.0GT/s, x16 619Mhz"), with(func(d *gpu.Device) {
			d.PCIe = &gpu.PCIe{Generation: of(1), GenerationMax: of(3), Width: of(8), WidthMax: of(16)}
		})},
		{"one hive of none", file("gpu_busy_percent", "0") + file("xgmi_hive_info/xgmi_hive_id", "0"), with(func(d *gpu.Device) { d.Utilization = of(0) })},
		{"nonsense", file("gpu_busy_percent", "255") + file("pp_dpm_pcie", "x16\n: GT/s\n1: 9.9GT/s, x99 *"), with(func(*gpu.Device) {})},
		{"suspended", file("power/runtime_status", "suspended") + file("gpu_busy_percent", "50"), with(func(d *gpu.Device) { d.Asleep = true })},
		{"one file fails", file("gpu_busy_percent.err", "EIO") + file("mem_info_vram_total", "1"), with(func(d *gpu.Device) { d.MemoryTotal = of(uint64(1)) })},
	} {
		got, err := card(t, test.files).Read()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	if got, err := card(t, "").Read(); got != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no files: %+v, %v", got, err)
	}
	if got, err := card(t, file("gpu_busy_percent.err", "EIO")).Read(); got != nil || err == nil {
		t.Errorf("all fail: %+v, %v", got, err)
	}
}

func FuzzLevels(f *testing.F) {
	f.Add([]byte("0: 2.5GT/s, x8 619Mhz *\n1: 8.0GT/s, x16 619Mhz \n"))
	f.Add([]byte("0: 32GT/s,x16*"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p := parseLevels(b); p != nil && (p.Width != nil && *p.Width > 32 || p.Generation != nil && *p.Generation > 7) {
			t.Errorf("%+v", p)
		}
	})
}
