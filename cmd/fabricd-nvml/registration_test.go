// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes/gpu"
)

// stubs builds libraries as CUDA's and rdma-core's, and a script that runs
// this program on them. held gives what was still held at the end.
func stubs(t *testing.T, flag, env string) (program string, held func() string) {
	t.Helper()
	dir := t.TempDir()
	compile(t, filepath.Join(dir, "libcuda.so.1"), "testdata/cuda.c", "-D"+flag)
	compile(t, filepath.Join(dir, "libibverbs.so.1"), "testdata/verbs.c", "-D"+flag)
	return script(t, dir, env), func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "held"))
		return string(b)
	}
}

func script(t *testing.T, dir, env string) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	text := fmt.Sprintf("#!/bin/sh\n%s LD_LIBRARY_PATH=%s STUB_HELD=%s/held RUN_CHILD=1 GORACE=atexit_sleep_ms=0 exec %s \"$@\"\n", env, dir, dir, own)
	// Written by another process: what this one has open for writing, a child
	// forked meanwhile has too, and then it cannot be started.
	install := exec.Command("install", "-m", "755", "/dev/stdin", program)
	install.Stdin = strings.NewReader(text)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

const mib = 1 << 20

// ways writes an answer down: way, handles, and what failed.
func ways(s *gpu.GDRSize) string {
	text := s.Failed
	for _, w := range s.Ways {
		switch {
		case w.Failed != "":
			text += fmt.Sprintf("%s/%d: %s\n", w.Way, w.Handles, w.Failed)
		case w.All == nil || w.Each == nil || w.All.Min <= 0 || w.All.Min > w.All.Median || w.All.Median > w.All.P99 || w.Each.Samples != w.Handles*w.All.Samples || w.All.Samples < minRounds:
			text += fmt.Sprintf("%s/%d: nonsense %+v %+v\n", w.Way, w.Handles, w.All, w.Each)
		default:
			text += fmt.Sprintf("%s/%d\n", w.Way, w.Handles)
		}
	}
	return text
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	const exports = "dma_buf_export/1\ndma_buf_export/4\n"
	for _, test := range []struct {
		name, flag, env string
		ask             gpu.GDRRequest
		want            string // … stands for anything
	}{
		{"all of it", "NEW", "", gpu.GDRRequest{Size: 8 * mib, Chunk: 2 * mib, RDMA: "stub0"},
			exports + "dma_buf_register/1\ndma_buf_register/4\npeer_memory_register/1\npeer_memory_register/4\n"},
		{"the last chunk is smaller", "NEW", "", gpu.GDRRequest{Size: 7 * mib, Chunk: 2 * mib}, exports},
		{"one chunk", "NEW", "", gpu.GDRRequest{Size: 65536, Chunk: 2 * mib}, "dma_buf_export/1\n"},
		{"too much memory", "NEW", "", gpu.GDRRequest{Size: 9 * mib, Chunk: mib}, "out of GPU memory: cuMemAlloc fails with STUB_OUT_OF_MEMORY (2); 8 MiB are free; nothing is held"},
		{"no room for a context", "NEW", "STUB_CUDA_CONTEXT=1", gpu.GDRRequest{Index: 1, Size: mib, Chunk: mib}, "out of GPU memory: cuDevicePrimaryCtxRetain…"},
		{"no dma-buf", "NEW", "STUB_EXPORT=801", gpu.GDRRequest{Size: 8 * mib, Chunk: 2 * mib},
			"dma_buf_export/1: …STUB_NOT_SUPPORTED (801): …open kernel modules…dma_buf_export/4: …"},
		{"an error without a name", "NEW", "STUB_EXPORT=77", gpu.GDRRequest{Size: mib, Chunk: mib}, "dma_buf_export/1: …without a name (77)\n"},
		{"few files", "NEW", "STUB_EXPORT_MOST=3", gpu.GDRRequest{Size: 8 * mib, Chunk: 2 * mib},
			"dma_buf_export/1\ndma_buf_export/4: with 3 handles held: …ulimit -n)\n"},
		{"old driver, old rdma-core", "OLD", "", gpu.GDRRequest{Size: 8 * mib, Chunk: 4 * mib, RDMA: "stub0"},
			"dma_buf_export/1: the driver (CUDA 11.6)…CUDA 11.7\ndma_buf_export/2: …dma_buf_register/1: …rdma-core 34\n…peer_memory_register/1\npeer_memory_register/2\n"},
		{"no peer memory", "NEW", "STUB_REG=14", gpu.GDRRequest{Size: mib, Chunk: mib, RDMA: "stub0"}, "…dma_buf_register/1\npeer_memory_register/1: ibv_reg_mr: bad address: …nvidia-peermem…"},
		{"device without dma-buf", "NEW", "STUB_REG_DMABUF=95", gpu.GDRRequest{Size: mib, Chunk: mib, RDMA: "stub0"}, "…dma_buf_register/1: ibv_reg_dmabuf_mr: operation not supported: the kernel…\npeer_memory_register/1\n"},
		{"device unknown to verbs", "NEW", "", gpu.GDRRequest{Size: mib, Chunk: mib, RDMA: "mlx5_0"}, "dma_buf_export/1\ndma_buf_register/0: libibverbs finds no device of this name…"},
		{"device that does not open", "NEW", "", gpu.GDRRequest{Size: mib, Chunk: mib, RDMA: "other0"}, "dma_buf_export/1\ndma_buf_register/0: ibv_open_device…"},
		{"no domain", "NEW", "STUB_PD=12", gpu.GDRRequest{Size: mib, Chunk: mib, RDMA: "stub0"}, "dma_buf_export/1\ndma_buf_register/0: ibv_alloc_pd: cannot allocate memory: …"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			program, held := stubs(t, test.flag, test.env)
			g, err := gpu.StartGDR(t.Context(), program)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			for range 2 { // the second time on what the first has left
				s, err := g.Measure(t.Context(), test.ask)
				if err != nil || !like(ways(s), test.want) {
					t.Errorf("%v, got %q; want %q", err, ways(s), test.want)
				}
			}
			g.Close()
			for _, left := range strings.Split(strings.TrimSuffix(held(), ";"), ";") {
				if left != "0 bytes, 0 files" && left != "0 regions, 0 domains" && test.ask.Index == 0 {
					t.Errorf("held at the end: %q", held())
				}
			}
		})
	}
}

// like compares with a text in which … stands for anything.
func like(text, want string) bool {
	parts := strings.Split(want, "…")
	for i, part := range parts {
		at := strings.Index(text, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return text == "" || parts[len(parts)-1] == ""
}

func TestGDRDevices(t *testing.T) {
	t.Parallel()
	program, _ := stubs(t, "NEW", "CUDA_VISIBLE_DEVICES=none")
	g, err := gpu.StartGDR(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	list, err := g.Devices(t.Context())
	if err != nil || len(list) != 2 || g.Driver != "11.6" {
		t.Fatalf("%+v, %v", list, err)
	}
	if d := list[0]; d.Address != "0000:18:00.0" || d.Name != "Stub 0" || !*d.DMABuf || *list[1].DMABuf || d.PeerMemory != nil {
		t.Errorf("%+v", list)
	}
}

// What is held is freed when nobody waits for it any more.
func TestGDRInterrupted(t *testing.T) {
	t.Parallel()
	program, held := stubs(t, "NEW", "STUB_SLOW=1")
	g, err := gpu.StartGDR(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = g.Measure(ctx, gpu.GDRRequest{Size: 8 * mib, Chunk: 2 * mib})
	if !errors.Is(err, context.DeadlineExceeded) || held() != "0 bytes, 0 files;" {
		t.Errorf("%v, held: %q", err, held())
	}
}

func TestGDRTrouble(t *testing.T) {
	t.Parallel()
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "libcuda.so.1"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, env string
		absent    bool
		says      string
	}{
		{"no library", "", true, "libcuda.so.1"},
		{"no GPU", "STUB_CUDA_INIT=100", true, "CUDA finds no GPU"},
		{"fabric manager", "STUB_CUDA_INIT=802", false, "nvidia-fabricmanager"},
		{"versions", "STUB_CUDA_INIT=803", false, "different versions"},
		{"dies", "STUB_DIE=1", false, " in dma_buf_export"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			program := script(t, broken, "")
			if test.name != "no library" {
				program, _ = stubs(t, "NEW", test.env)
			}
			g, err := gpu.StartGDR(t.Context(), program)
			if err == nil {
				_, err = g.Measure(t.Context(), gpu.GDRRequest{Size: mib, Chunk: mib})
			}
			if err == nil || !strings.Contains(err.Error(), test.says) || errors.Is(err, fs.ErrNotExist) != test.absent {
				t.Errorf("%v", err)
			}
		})
	}
}
