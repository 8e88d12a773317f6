// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// What the driver and NCCL said on the machine that the film is of
// (docs/multi-gpu.md) is what fabricd says of the film.
func TestTopoNVLink(t *testing.T) {
	for format, rows := range map[string][]string{
		"text": {"GPU0 X    NV18   ?      0-31         0\n", "GPU1 NV18 X      ?      0-31         0\n", "0000:00:07.0 GPU1 NVIDIA H200  32 GT/s x16\n"},
		"json": {`"active_nvlinks": 18`},
		"nccl": {`<cpu numaid="0" affinity="ffffffff"`, `<pci busid="0000:00:07.0" class="0x030200" vendor="0x10de" device="0x2335" subsystem_vendor="0x10de" subsystem_device="0x18bf" link_speed="32.0 GT/s PCIe" link_width="16"/>`},
	} {
		for _, host := range []string{"h200-vm-nvlink-idle", "h200-vm-nvlink-loaded"} {
			code, out, stderr := fabricd("topo", "--format", format, "--host", hosts+host+".txtar")
			for _, row := range rows {
				if code != exitOK || !strings.Contains(out, row) {
					t.Errorf("%s, %s: %d, no %q in %s%s", host, format, code, row, out, stderr)
				}
			}
		}
	}
}
