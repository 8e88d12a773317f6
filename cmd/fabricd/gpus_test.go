// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nvml makes a program that answers as fabricd-nvml does.
func nvml(t *testing.T) string {
	t.Helper()
	const script = `#!/bin/sh
echo '{"ready": {"protocol": 1, "driver_version": "1"}}'
n=1
while read -r line; do
	echo '{"id": '$n', "snapshot": {"devices": [{"index": 0, "name": "Stub", "pci_bus_id": "0000:ff:1f.7", "utilization_gpu": 50}]}}'
	n=$((n + 1))
done
`
	p := filepath.Join(t.TempDir(), "nvml")
	if err := os.WriteFile(p, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// Commands that look once wait for the driver's first answer.
func TestNVML(t *testing.T) {
	program := nvml(t)
	code, out, stderr := fabricd("read", "gpu", "--gpu.nvml-path", program)
	if code != exitOK || !strings.Contains(out, `fabricd_gpu_utilization_ratio{address="0000:ff:1f.7"} 0.5`) {
		t.Errorf("%d, %s, %s", code, out, stderr)
	}
	code, out, stderr = fabricd("record", "-o", "-", "--gpu.nvml-path", program)
	if code != exitOK || !strings.Contains(out, "-- gpu.json --\n") || !strings.Contains(out, `"utilization_gpu": 50`) {
		t.Errorf("%d, %s", code, stderr)
	}
	_, out, _ = fabricd("record", "-o", "-", "--gpu.nvml-path", program, "--device-exclude", "0000:ff:*")
	if strings.Contains(out, `"utilization_gpu"`) {
		t.Error("an excluded GPU is recorded")
	}
	if code, out, stderr := fabricd("read", "gpu", "--no-collector.gpu", "--gpu.nvml-path", program); code != exitOK || strings.Contains(out, "fabricd_gpu_") {
		t.Errorf("%d, %s, %s", code, out, stderr)
	}
	if code, _, stderr := fabricd("read", "gpu", "--gpu.nvml-path", "/nonexistent/nvml"); code != exitUsage || !strings.Contains(stderr, "--gpu.nvml-path") {
		t.Errorf("%d, %s", code, stderr)
	}
}
