// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"fmt"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"github.com/fabricd/fabricd/probes/gpu"
)

const first, second = "0000:16:00.0", "0000:96:00.0"

// machine has two sockets, each a node with a GPU.
func machine(tb testing.TB) *hosttest.Host {
	h := hosttest.New(tb)
	h.Sockets("0", "1").Nodes("0", "1")
	for i, address := range []string{first, second} {
		port := []string{"0000:15:01.0", "0000:95:01.0"}[i]
		h.Port(port, "", "32x16").Node(i)
		h.GPU(address, port, "32x16").Node(i)
	}
	return h
}

// uses lets a process use GPUs.
func uses(h *hosttest.Host, pid int, addresses ...string) *hosttest.Host {
	var devices []gpu.Device
	for i, address := range []string{first, second} {
		d := gpu.Device{Index: i, PCIBusID: address, Processes: []gpu.Process{}}
		for _, a := range addresses {
			if a == address {
				d.Processes = append(d.Processes, gpu.Process{PID: pid})
			}
		}
		devices = append(devices, d)
	}
	return h.NVML(devices...)
}

// runs writes a process' files: where it may run, and its pages by node.
func runs(h *hosttest.Host, pid int, cpus, nodes string) *hosttest.Host {
	dir := fmt.Sprintf("proc/%d/", pid)
	return h.Set(dir+"comm", "train").Set(dir+"status", "Name:\ttrain\nCpus_allowed_list:\t"+cpus+"\nMems_allowed_list:\t0-1").
		Set(dir+"numa_maps", "7f00 default anon=1 "+nodes+" kernelpagesize_kB=4")
}

func TestCheck(t *testing.T) {
	one := func(cpus, nodes string) func(*hosttest.Host) {
		return func(h *hosttest.Host) { runs(uses(h, 7, first), 7, cpus, nodes) }
	}
	for _, test := range []struct {
		name   string
		change func(*hosttest.Host)
		expect string
	}{
		{"at home", one("0", "N0=1000"), "expect: ok gpu_process 7\nsays: 100 %"},
		{"anywhere, memory at home", one("0-1", "N0=1000 N1=900"), "expect: ok gpu_process 7"},
		{"bound away", one("1", "N0=1000"), "expect: warn gpu_process 0000:16:00.0\nsays: CPUs 1 (node 1)"},
		{"memory away", one("0-1", "N0=100 N1=900"), "expect: warn gpu_process 7\nsays: 90 %"},
		{"large pages count", func(h *hosttest.Host) {
			one("0-1", "N0=1000")(h)
			h.Set("proc/7/numa_maps", "7f00 default anon=1000 N0=1000 kernelpagesize_kB=4\n7f01 default huge anon=5 N1=5 kernelpagesize_kB=2048")
		}, "expect: warn gpu_process 7\nsays: 72 %"},
		{"both away", one("1", "N1=1000"), "expect: warn gpu_process 7\nsays: and has 100 %"},
		{"half away", one("0-1", "N0=500 N1=500"), "expect: ok gpu_process 7"},
		{"another limit", func(h *hosttest.Host) {
			one("0-1", "N0=100 N1=900")(h)
			h.Set("fabricd.yaml", "thresholds: {gpu_process: {remote_percent: 95}}")
		}, "expect: ok gpu_process 7"},
		{"GPUs on several nodes", func(h *hosttest.Host) { runs(uses(h, 7, first, second), 7, "0", "N0=1000") },
			"expect: info gpu_process 0000:96:00.0\nsays: several nodes\nexpect: ok gpu_process 0000:16:00.0"},
		{"one socket", func(h *hosttest.Host) { h.Sockets("0", "0"); one("1", "N1=1000")(h) }, "expect: info gpu_process 7\nsays: of one socket"},
		{"sockets by distance", func(h *hosttest.Host) {
			h.CPU("flags\t: fpu").Nodes("0", "1", "2", "3")
			h.Set("sys/devices/system/node/node0/distance", "10 12 21 21")
			one("1", "N2=1000")(h)
		}, "expect: warn gpu_process 7\nsays: of another socket"},
		{"sockets not known", func(h *hosttest.Host) { h.CPU("flags\t: fpu"); one("1", "N1=1000")(h) }, "expect: info gpu_process 7\nsays: not known"},
		{"one node", func(h *hosttest.Host) {
			h.Sockets("0").Discard("sys/devices/system/node").Nodes("0-1")
			one("0-1", "N0=1")(h)
		}, "expect: ok gpu_process 7\nsays: one NUMA node"},
		{"a device's memory", func(h *hosttest.Host) { h.Nodes("0", "1", ""); one("0", "N2=1000")(h) }, "expect: ok gpu_process 7"},
		{"the GPU's node is not known", func(h *hosttest.Host) { h.Dev(first).Node(-1); one("1", "N1=1000")(h) }, "expect: unknown gpu_process 7\nsays: numa_unknown\nexpect: warn numa_unknown *"},
		{"ended", func(h *hosttest.Host) { uses(h, 7, first) }, "expect: unknown gpu_process 7\nsays: ended"},
		{"hidden", func(h *hosttest.Host) { one("0", "N0=1")(h); h.Set("proc/7/status.err", "EPERM") }, "expect: unknown gpu_process 7\nsays: permission denied"},
		{"memory hidden", func(h *hosttest.Host) { one("0", "N0=1")(h); h.Set("proc/7/numa_maps.err", "EACCES") }, "expect: unknown gpu_process 7\nsays: CAP_SYS_PTRACE"},
		{"memory hidden, bound away", func(h *hosttest.Host) { one("1", "N0=1")(h); h.Set("proc/7/numa_maps.err", "EACCES") }, "expect: warn gpu_process 7\nsays: CAP_SYS_PTRACE"},
		{"a list that is none", one("x-y", "N0=1"), "expect: unknown gpu_process 7\nsays: x-y"},
		{"no processes", func(h *hosttest.Host) { uses(h, 7) }, "never: ok|info|warn|fail|unknown gpu_process *"},
		{"not told", func(h *hosttest.Host) { h.NVML(hosttest.Busy(first, 3), hosttest.Busy(second, 3)) }, "expect: unknown gpu_process 0000:96:00.0\nsays: no processes"},
		{"small", one("0-1", "N0=50 N1=50"), "expect: ok gpu_process 7\nsays: 50 % of 400 KiB"},
		{"too many", func(h *hosttest.Host) {
			a, b := gpu.Device{PCIBusID: first}, gpu.Device{Index: 1, PCIBusID: second, Processes: []gpu.Process{{PID: 1000}, {PID: 2000}, {PID: 2000}, {PID: 0}, {PID: -3}}}
			for pid := range 300 {
				a.Processes = append(a.Processes, gpu.Process{PID: 1000 + pid})
			}
			h.NVML(a, b)
		}, "expect: unknown gpu_process 0000:16:00.0\nsays: not looked at: 44 more, beyond\nexpect: unknown gpu_process 0000:96:00.0\nsays: not looked at: 1 more, beyond\nsays: 2 more without a number\nexpect: unknown gpu_process 1000\nsays: ended\nnever: unknown gpu_process 2000"},
		{"no answers", func(h *hosttest.Host) { h.Set("gpu.json", "{") }, "expect: unknown gpu_process 0000:16:00.0\nsays: gpu.json"},
		{"bound better later", func(h *hosttest.Host) {
			one("1", "N1=1000")(h)
			runs(h.At("20s"), 7, "0", "N0=1000")
		}, "expect: ok gpu_process 7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := machine(t)
			test.change(h)
			h.Expect(test.expect + "\nonly: yes")
		})
	}
}
