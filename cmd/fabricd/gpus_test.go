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
	recorded := file(t, "host.txtar", halfWidth)
	if code, _, stderr := fabricd("check", "--host", recorded, "--gpu.nvml-path", "/nonexistent/nvml"); code != exitUsage || !strings.Contains(stderr, "--host") {
		t.Errorf("%d, %s", code, stderr)
	}
	if code, _, stderr := fabricd("read", "gpu", "--gpu.nvml-path", "/nonexistent/nvml"); code != exitUsage || !strings.Contains(stderr, "--gpu.nvml-path") {
		t.Errorf("%d, %s", code, stderr)
	}
}

// A program that never says a word is named, and holds up nobody for long.
func TestHangingNVML(t *testing.T) {
	program := filepath.Join(t.TempDir(), "nvml")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := fabricd("read", "gpu", "--gpu.nvml-path", program)
	if code != exitUnknown || !strings.Contains(stderr, "not read: gpu: ") || !strings.Contains(stderr, "fabricd-nvml: is starting") {
		t.Errorf("read: %d, %s", code, stderr)
	}
}

// A program that only fails is shown, and not taken for GPUs that are well.
func TestFailingNVML(t *testing.T) {
	program := filepath.Join(t.TempDir(), "nvml")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho no memory left >&2\nexit 70\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := fabricd("read", "gpu", "--gpu.nvml-path", program)
	if code != exitUnknown || !strings.Contains(stderr, "no memory left") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("read: %d, %s", code, stderr)
	}
	_, out, _ := fabricd("check", "--window", "200ms", "--gpu.nvml-path", program)
	if !strings.Contains(out, "not read gpu: ") || !strings.Contains(out, "no memory left") {
		t.Errorf("check: %s", out)
	}
	_, out, _ = fabricd("check", "--window", "200ms", "--format", "json", "--gpu.nvml-path", program)
	if !strings.Contains(out, `"troubles":["gpu: `) {
		t.Errorf("check: %s", out)
	}
}
