// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/gpu"
)

const twoDevices = `[{"index": 0, "address": "0000:ff:1e.7", "name": "Stub", "dma_buf_supported": true}, {"index": 1, "address": "0000:ff:1f.7", "name": "Stub", "dma_buf_supported": false}]`

// registrar makes a program that answers as fabricd-nvml gdr does.
func registrar(t *testing.T, devices, answer string) string {
	t.Helper()
	script := fmt.Sprintf(`#!/bin/sh
[ "$1" = gdr ] || exit 64
echo '{"ready": {"protocol": 1, "driver_version": "13.0"}}'
read -r line
echo '{"id": 1, "gdr_devices": %s}'
n=2
while read -r line; do
	echo '{"id": '$n', "doing": "dma_buf_export"}'
	%s
	n=$((n + 1))
done
`, devices, answer)
	p := filepath.Join(t.TempDir(), "nvml")
	if err := os.WriteFile(p, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func took(d time.Duration) *gpu.Latency {
	return &gpu.Latency{Samples: 200, Min: d * 9 / 10, Median: d, P99: 2 * d}
}

func way(name string, chunk uint64, handles int, d time.Duration) gpu.GDRWay {
	return gpu.GDRWay{Way: name, Chunk: chunk, Handles: handles, All: took(d), Each: took(d / time.Duration(handles))}
}

func failing(name string, why string) gpu.GDRWay {
	return gpu.GDRWay{Way: name, Chunk: 1 << 30, Handles: 1, Failed: why}
}

// answering makes the program's answer to every measurement.
func answering(t *testing.T, s gpu.GDRSize) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return `echo '{"id": '$n', "gdr": ` + string(b) + `}'`
}

func gigabyte() gpu.GDRSize {
	return gpu.GDRSize{Size: 1 << 30, Ways: []gpu.GDRWay{way(gpu.WayExport, 1<<30, 1, 12340*time.Nanosecond), way(gpu.WayExport, 2<<20, 512, 6*time.Millisecond)}}
}

func TestProbeGDR(t *testing.T) {
	program := registrar(t, twoDevices, answering(t, gigabyte()))
	code, out, stderr := fabricd("probe", "gdr", "--gpu", "all", "--sizes", "1G", "--gpu.nvml-path", program)
	if code != exitOK || stderr != "" || strings.Count(out, "\nok      GPU ") != 2 {
		t.Fatalf("%d, %s, %s", code, out, stderr)
	}
	for _, want := range []string{
		"GPU 1  0000:ff:1f.7  Stub  (driver for CUDA 13.0)\nthe driver says: dma-buf no, GPUDirect RDMA not known\n",
		"1 GiB     dma-buf export         whole           1    11.1 µs   12.3 µs   24.7 µs\n",
		"          dma-buf export         2 MiB         512    5.40 ms   6.00 ms   12.0 ms    11.7 µs   23.4 µs\n",
		"takes 12.3 µs as a whole, and 6.00 ms by 512 chunks of 2 MiB: 486 times as long. Chunks are slower here.\n",
		"Registration was not measured: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	code, out, _ = fabricd("probe", "gdr", "--gpu", "0000:ff:1e.7", "--sizes", "1G,2G", "--format", "json", "--gpu.nvml-path", program)
	var report gdrReport
	if err := json.Unmarshal([]byte(out), &report); code != exitOK || err != nil || report.Status != collectors.OK || len(report.GPUs) != 1 || len(report.GPUs[0].Sizes) != 2 || report.GPUs[0].Address != "0000:ff:1e.7" {
		t.Errorf("%d, %s, %v", code, out, err)
	}
}

func TestProbeGDRTrouble(t *testing.T) {
	good := registrar(t, twoDevices, answering(t, gigabyte()))
	none := registrar(t, "[]", "exit 1")
	for _, test := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"no program", []string{"--gpu.nvml-path", "/nonexistent/nvml"}, exitUsage, "--gpu.nvml-path"},
		{"no library", []string{"--gpu.nvml-path", file755(t, "#!/bin/sh\necho no libcuda >&2\nexit 69\n")}, exitUnknown, "GPU memory cannot be tried: no libcuda\n"},
		{"older program", []string{"--gpu.nvml-path", file755(t, "#!/bin/sh\necho takes no arguments >&2\nexit 64\n")}, exitUnknown, "takes no arguments"},
		{"no GPU", []string{"--gpu.nvml-path", none, "--gpu", "all"}, exitUnknown, "there is no GPU to try"},
		{"GPU of another number", []string{"--gpu.nvml-path", good, "--gpu", "2"}, exitUsage, "--gpu 2: there is no such GPU; CUDA has 2: 0 to 1"},
		{"GPU that is no number", []string{"--gpu.nvml-path", good, "--gpu", "first"}, exitUsage, "--gpu first: "},
		{"excluded", []string{"--gpu.nvml-path", good, "--device-exclude", "0000:ff:*"}, exitUsage, "--gpu 0: 0000:ff:1e.7 is excluded"},
		{"all excluded", []string{"--gpu.nvml-path", good, "--device-exclude", "0000:ff:*", "--gpu=all"}, exitUnknown, "no GPU to try"},
		{"dies", []string{"--gpu.nvml-path", registrar(t, twoDevices, "echo lost >&2; exit 1")}, exitUnknown, "in dma_buf_export: lost"},
		{"refuses", []string{"--gpu.nvml-path", registrar(t, twoDevices, `echo '{"id": '$n', "error": "no"}'`)}, exitUnknown, "fabricd-nvml: no\n"},
		{"answers something else", []string{"--gpu.nvml-path", registrar(t, twoDevices, `echo '{"id": '$n'}'`)}, exitUnknown, "answers what was not asked"},
		{"recording", []string{"--host", hosts + "h200-vm-idle.txtar"}, exitUsage, "--host"},
		{"no size", []string{"--sizes", ""}, exitUsage, `--sizes ""`},
		{"size without a number", []string{"--sizes", "2M,K"}, exitUsage, `--sizes "K"`},
		{"size in parts of a page", []string{"--sizes", "5"}, exitUsage, `--sizes "5"`},
		{"size beyond all", []string{"--sizes", "18446744073709551615T"}, exitUsage, "--sizes"},
		{"sizes without end", []string{"--sizes", strings.Repeat("2M,", 16) + "2M"}, exitUsage, "17 sizes; at most 16"},
		{"two chunks", []string{"--chunk", "2M,4M"}, exitUsage, "--chunk"},
		{"too many chunks", []string{"--chunk", "64K", "--sizes", "2G"}, exitUsage, "--chunk 64 KiB: 2 GiB has 32768 of them; at most 16384"},
	} {
		code, out, stderr := fabricd(append([]string{"probe", "gdr"}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: %d, %q, %q", test.name, code, out, stderr)
		}
	}
}

func file755(t *testing.T, text string) string {
	p := file(t, "program", text)
	if err := os.Chmod(p, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGDRVerdict(t *testing.T) {
	const none, rdma = "no device", ""
	whole := func(name string, d time.Duration) gpu.GDRWay { return way(name, 1<<30, 1, d) }
	chunks := func(name string, d time.Duration) gpu.GDRWay { return way(name, 1<<29, 2, d) }
	sized := func(ways ...gpu.GDRWay) []gpu.GDRSize { return []gpu.GDRSize{{Size: 1 << 30, Ways: ways}} }
	export := []gpu.GDRWay{whole(gpu.WayExport, 100), chunks(gpu.WayExport, 100)}
	for _, test := range []struct {
		name, noRDMA string
		sizes        []gpu.GDRSize
		want         collectors.Status
		says         []string
	}{
		{"chunks make no difference", none, sized(export...), collectors.OK, []string{"1 times as long. It makes no difference", "not measured: no device"}},
		{"chunks are faster", none, sized(whole(gpu.WayExport, 1000), chunks(gpu.WayExport, 250)), collectors.OK, []string{"0.25 times as long. Chunks are faster"}},
		{"no chunks", none, sized(whole(gpu.WayExport, 1000)), collectors.OK, []string{"works; nothing was measured both whole and by chunks"}},
		{"no export", none, sized(failing(gpu.WayExport, "because")), collectors.Fail, []string{"Export as dma-buf does not work: because."}},
		{"no chunks for want of files", none, sized(export[0], failing(gpu.WayExport, "because")), collectors.Warn, []string{"Export as dma-buf of 1 GiB by 1 GiB does not work: because.", "works; "}},
		{"no memory at all", none, []gpu.GDRSize{{Size: 1 << 40, Failed: "out of it"}}, collectors.Unknown, []string{"1 TiB was not tried: out of it."}},
		{"too little memory", none, append(sized(export...), gpu.GDRSize{Size: 1 << 40, Failed: "out of it"}), collectors.Warn, []string{"1 TiB was not tried"}},
		{"all registers", rdma, sized(append(export, whole(gpu.WayRegister, 9), whole(gpu.WayPeerMemory, 9))...), collectors.OK, []string{"Registration of a dma-buf works", "through peer memory works"}},
		{"one way is enough", rdma, sized(append(export, whole(gpu.WayRegister, 9), failing(gpu.WayPeerMemory, "no module"))...), collectors.OK, []string{"through peer memory does not work: no module"}},
		{"peer memory without dma-buf", rdma, sized(failing(gpu.WayExport, "closed"), failing(gpu.WayRegister, "closed"), whole(gpu.WayPeerMemory, 9)), collectors.OK, []string{"Export as dma-buf does not work"}},
		{"exported, but not registered", rdma, sized(append(export, failing(gpu.WayRegister, "no"), failing(gpu.WayPeerMemory, "no"))...), collectors.Fail, []string{"Registration of a dma-buf does not work: no."}},
	} {
		r := &gdrResult{NoRDMA: test.noRDMA, Sizes: test.sizes}
		if r.NoRDMA == rdma {
			r.RDMA = "mlx5_0"
		}
		r.judge()
		text := strings.Join(r.Verdict, "\n")
		for _, words := range test.says {
			if !strings.Contains(text, words) {
				t.Errorf("%s: no %q in %s", test.name, words, text)
			}
		}
		if r.Status != test.want {
			t.Errorf("%s: %s, want %s", test.name, r.Status, test.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for d, want := range map[time.Duration]string{999: "999 ns", 1000: "1.00 µs", 9994: "9.99 µs", 9995: "10.0 µs", 99949: "99.9 µs", 99950: "100 µs", 1234567: "1.23 ms", 61 * time.Second: "61.0 s"} {
		if got := timeText(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0 B", 1: "1 B", 1536: "1536 B", 65536: "64 KiB", 3 << 20: "3 MiB", 1 << 40: "1 TiB", 1 << 60: "1048576 TiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
