// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/mempolicy"
)

// nodesOf lays the processors that this process may use out as a machine of two
// nodes: the first processor on node 0, on node 1 the rest and one more.
func nodesOf(t *testing.T, allowed []int) *probes.Host {
	t.Helper()
	const gpu, nic, odd = "sys/devices/pci0000:15/0000:16:00.0", "sys/devices/pci0000:15/0000:17:00.0", "sys/devices/pci0000:95/0000:96:00.0"
	files := []string{
		"sys/devices/system/node/online", "0-2", "sys/devices/system/node/node0/cpulist", fmt.Sprint(allowed[0]),
		"sys/devices/system/node/node1/cpulist", fmt.Sprintf("%s,%d", formatList(allowed[min(1, len(allowed)-1):]), 60000),
		"sys/devices/system/node/node2/cpulist", "", "sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:       0 kB",
		"sys/bus/pci/devices/0000:16:00.0 -> ../../../devices/pci0000:15/0000:16:00.0", "",
		"sys/bus/pci/devices/0000:17:00.0 -> ../../../devices/pci0000:15/0000:17:00.0", "",
		"sys/bus/pci/devices/0000:96:00.0 -> ../../../devices/pci0000:95/0000:96:00.0", "",
		gpu + "/vendor", "0x10de", gpu + "/class", "0x030200", gpu + "/numa_node", "1",
		nic + "/vendor", "0x15b3", nic + "/class", "0x020000", nic + "/numa_node", "0", nic + "/net/eth0/mtu", "9000",
		"sys/class/net/eth0 -> ../../devices/pci0000:15/0000:17:00.0/net/eth0", "",
		odd + "/vendor", "0x10de", odd + "/class", "0x030200", odd + "/numa_node", "-1",
	}
	var b strings.Builder
	for i := 0; i < len(files); i += 2 {
		fmt.Fprintf(&b, "-- %s --\n%s\n", files[i], files[i+1])
	}
	h, err := probes.Recorded([]byte(b.String()), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// What is asked for leads to a node and processors of it, or is refused.
func TestChoose(t *testing.T) {
	t.Parallel()
	allowed, err := mempolicy.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	h := nodesOf(t, allowed)
	rest := formatList(allowed[min(1, len(allowed)-1):])
	for _, test := range []struct {
		flags runNear
		node  int
		says  string // of the choice, or of the error
	}{
		{runNear{gpu: "0"}, -1, fmt.Sprintf("node 1 (GPU 0, 0000:16:00.0, numa_node 1): processors %s, memory of the nearest node", rest)},
		{runNear{gpu: "0000:16:00.0"}, -1, "are allowed)"},
		{runNear{gpu: "00000000:16:00.0"}, -1, "node 1 (GPU 00000000:16:00.0, numa_node 1)"},
		{runNear{gpu: "16:00.0"}, -1, "node 1 (GPU 16:00.0, numa_node 1)"},
		{runNear{gpu: "17:00.0"}, 0, "or a PCI address such as 0000:16:00.0"},
		{runNear{nic: "17:00.0", strict: true}, 0, "memory only there"},
		{runNear{nic: "eth0"}, 0, "node 0 (NIC eth0, numa_node 0): processors " + fmt.Sprint(allowed[0]) + ", memory preferred"},
		{runNear{nic: "0000:17:00.0", strict: true}, 0, "memory only there"},
		{runNear{node: "0"}, 0, "node 0: processors"},
		{runNear{}, 0, "want one of"},
		{runNear{gpu: "0", node: "0"}, 0, "want one of"},
		{runNear{gpu: "2"}, 0, "a number from 0 to 1"},
		{runNear{gpu: "-1"}, 0, "a number from 0 to 1"},
		{runNear{gpu: "0", excluding: true}, 0, "may mean another"},
		{runNear{gpu: "1"}, 0, "the firmware gives no NUMA node"},
		{runNear{gpu: "0", strict: true}, 0, "no memory of its own"},
		{runNear{nic: "eth9"}, 0, "no interface"},
		{runNear{node: "9"}, 0, "there is nodes 0, 1, 2"},
		{runNear{node: "x"}, 0, "not a number"},
		{runNear{node: "2"}, 0, "memory alone"},
	} {
		c, err := choose(h, &config.Config{}, &test.flags)
		text := c.text
		if err != nil {
			text = err.Error()
			if e := (exitError{}); !errors.As(err, &e) || e.code != exitImpossible {
				t.Errorf("%+v: %v", test.flags, err)
			}
		}
		if !strings.Contains(text, test.says) || err == nil && c.policy.Node != test.node {
			t.Errorf("%+v: %s (%+v), want %s", test.flags, text, c.policy, test.says)
		}
	}
	far, err := probes.Recorded([]byte("-- sys/devices/system/node/online --\n0\n-- sys/devices/system/node/node0/cpulist --\n60000\n"), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := choose(far, &config.Config{}, &runNear{node: "0"}); err == nil || !strings.Contains(err.Error(), "the cpuset") {
		t.Errorf("outside the cpuset: %v", err)
	}
}

func TestFormatList(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]int{"": nil, "3": {3}, "0-1": {0, 1}, "0-3,8,10-11": {0, 1, 2, 3, 8, 10, 11}} {
		if got := formatList(list); got != want {
			t.Errorf("%v: %s", list, got)
		}
	}
}

// The program itself, on this machine: it becomes what it runs.
func TestNumaRun(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/sys/devices/system/node/node0"); err != nil {
		t.Skip("this kernel shows no NUMA nodes")
	}
	binary := program(t)
	run := func(args ...string) (string, int) {
		t.Helper()
		c := exec.Command(binary, append([]string{"numa", "run"}, args...)...)
		out, err := c.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	out, code := run("--node", "0", "--", "/bin/sh", "-c", "echo pid $$ says $0 $1; exit 42", "a", "--strict")
	if code != 42 || !strings.Contains(out, "says a --strict") || !strings.Contains(out, "fabricd: node 0: processors ") {
		t.Errorf("%d: %s", code, out)
	}
	for _, test := range []struct {
		code int
		says string
		args []string
	}{
		{127, "not found", []string{"--node", "0", "--", "no-such-program"}},
		{126, "is a directory", []string{"--node", "0", "--", "/"}},
		{125, "there is no node 4095", []string{"--node", "4095", "--", "true"}},
		{125, "want one of", []string{"--", "true"}},
		{125, "command", []string{"--node", "0"}},
		{125, "--bad", []string{"--bad", "--", "true"}},
		{125, "configuration file", []string{"--config.file", "/nonexistent", "--node", "0", "--", "true"}},
		{125, "empty", []string{"--node", "0", "--", ""}},
	} {
		if out, code := run(test.args...); code != test.code || !strings.Contains(out, test.says) {
			t.Errorf("%v: %d: %s", test.args, code, out)
		}
	}
	c := exec.Command(binary, "numa", "run", "--node", "0", "--", "/bin/sh", "-c", "kill -KILL $$")
	if err := c.Run(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("a signal is not passed on: %v", err)
	}
}

func TestNumaShow(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"cases/225-process-bound-to-the-far-socket": {
			"recording: 2 sockets, 2 NUMA nodes\n", "\nnode 1  socket 1  CPUs 56-111 (56)  distances 21 10\n  GPU1   0000:a2:00.0  NVIDIA H100 PCIe  95 % busy\n",
			"  7731 python3  on GPU0  CPUs 56-111 (node 1)  memory 2.8 GiB on node 0, 477 MiB on node 1\n", "warn    gpu_process  ",
		},
		"cases/055-irq-one-cpu":      {"  NIC    0000:04:00.0  mlx5_0 enp4s0np0  85.1M interrupts since boot: 100 % on this node; vectors now: 4 to this node\n"},
		"gpu-memory-nodes":           {"no CPUs"},
		"cases/046-numa-unknown-bus": {"no node known\n"},
	} {
		code, out, errs := fabricd("numa", "show", "--host", hosts+name+".txtar")
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in %s", name, want, out)
			}
		}
		if code != exitOK || errs != "" {
			t.Errorf("%s: %d, %s", name, code, errs)
		}
	}
	code, out, _ := fabricd("numa", "show", "--format", "json", "--host", hosts+"cases/225-process-bound-to-the-far-socket.txtar")
	var d struct {
		Nodes []struct {
			Node int
			GPUs []struct{ Address string }
		}
		Processes []struct {
			PID    int            `json:"pid"`
			Memory map[int]uint64 `json:"memory_bytes_by_node"`
		}
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitOK || len(d.Nodes) != 2 || d.Nodes[1].GPUs[0].Address != "0000:a2:00.0" || d.Processes[0].Memory[1] != 122156<<12 {
		t.Errorf("%d, %v, %+v", code, err, d)
	}
}

// What is not known is said to be that.
func TestNumaShowUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, changed, want string }{
		{"cases/225-process-bound-to-the-far-socket", "Cpus_allowed_list:\t56-111", "Cpus_allowed_list:\t300-301", "  CPUs 300-301 (of no node that is online)  "},
		{"cases/225-process-bound-to-the-far-socket", `"pid":7731`, `"pid":-1`, "\n  GPU0: not looked at: 1 more without a number"},
		{"cases/055-irq-one-cpu", "/msi_irqs/", "/other/", "  mlx5_0 enp4s0np0  interrupts not known: the kernel lists no interrupts of its own (msi_irqs)"},
	} {
		b, err := os.ReadFile(hosts + test.name + ".txtar")
		if err != nil || !strings.Contains(string(b), test.old) {
			t.Fatalf("%s holds no %q: %v", test.name, test.old, err)
		}
		name := filepath.Join(t.TempDir(), "host.txtar")
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(b), test.old, test.changed)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, out, _ := fabricd("numa", "show", "--host", name); !strings.Contains(out, test.want) {
			t.Errorf("%s: no %q in %s", test.name, test.want, out)
		}
	}
}
