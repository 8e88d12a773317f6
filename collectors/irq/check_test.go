// SPDX-License-Identifier: Apache-2.0

package irq_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

// interrupts writes /proc/interrupts for four processors: vector to counts.
func interrupts(vectors map[int][4]int) string {
	var b strings.Builder
	b.WriteString("           CPU0       CPU1       CPU2       CPU3\n")
	for v, n := range vectors {
		fmt.Fprintf(&b, "%4d: %10d %10d %10d %10d  IR-PCI-MSIX-0000:16:00.0  1-edge  mlx5_comp0@pci:0000:16:00.0\n", v, n[0], n[1], n[2], n[3])
	}
	b.WriteString(" LOC:     900000     900000     900000     900000   Local timer interrupts\nERR:          0\n")
	return b.String()
}

// machine has two nodes of two processors, and a NIC with two vectors on node 0.
func machine(t *testing.T, from, to map[int][4]int) *hosttest.Host {
	h := hosttest.New(t)
	h.Nodes("0-1", "2-3")
	h.Port("0000:15:01.0", "", "16x16").Node(0)
	h.NIC("0000:16:00.0", "0000:15:01.0", "16x16").Node(0).Netdev("eth0", 100).Set("msi_irqs/40", "msix").Set("msi_irqs/41", "msix")
	h.Set("proc/interrupts", interrupts(from))
	if to != nil {
		h.At("60s").Set("proc/interrupts", interrupts(to))
	}
	return h
}

func TestCheck(t *testing.T) {
	old := map[int][4]int{40: {0, 0, 900000, 0}, 41: {0, 0, 0, 900000}}
	for _, test := range []struct {
		name   string
		to     map[int][4]int
		change func(*hosttest.Host)
		expect string
	}{
		{"all local, whatever was before", map[int][4]int{40: {5000, 0, 900000, 0}, 41: {0, 5000, 0, 900000}}, nil, "expect: ok nic_irq eth0\nsays: 100 %"},
		{"a fifth remote", map[int][4]int{40: {4000, 0, 901000, 0}, 41: {0, 4000, 0, 901000}}, nil, "expect: ok nic_irq *"},
		{"more than a fifth remote", map[int][4]int{40: {4000, 0, 901100, 0}, 41: {0, 4000, 0, 901100}}, nil, "expect: warn nic_irq 0000:16:00.0\nsays: 22 %"},
		{"bound to the other node", map[int][4]int{40: {0, 0, 909000, 0}, 41: {0, 4000, 0, 900000}}, func(h *hosttest.Host) {
			h.Set("proc/irq/40/effective_affinity_list", "2").Set("proc/irq/41/effective_affinity_list", "1")
		}, "expect: warn nic_irq eth0\nsays: 69 %\nsays: 1 of 2 vectors are sent there, such as IRQ 40 to CPU 2"},
		{"one processor", map[int][4]int{40: {5000, 0, 900000, 0}, 41: {1000, 0, 0, 900000}}, nil, "expect: info nic_irq *\nsays: CPU 0 took 100 % of 6000 interrupts in 1m0s, though they came from 2 vectors"},
		{"no traffic", old, nil, "expect: unknown nic_irq *\nsays: too little"},
		{"counts that fell", map[int][4]int{40: {500, 0, 0, 0}, 41: {0, 500, 0, 0}}, nil, "expect: ok nic_irq *"},
		{"a picture", nil, nil, "expect: unknown nic_irq *\nsays: second"},
		{"a NIC without a node", map[int][4]int{40: {0, 0, 909000, 0}, 41: {0, 0, 0, 900000}}, func(h *hosttest.Host) { h.Dev("0000:16:00.0").Node(-1) }, "expect: unknown nic_irq *\nsays: numa_unknown"},
		{"one node", map[int][4]int{40: {0, 0, 905000, 0}, 41: {0, 0, 0, 905000}}, func(h *hosttest.Host) { h.Nodes("0-3") }, "expect: ok nic_irq *"},
		{"one node, and the NIC's is not known", map[int][4]int{40: {500, 0, 900000, 0}, 41: {0, 500, 0, 900000}}, func(h *hosttest.Host) { h.Nodes("0-3"); h.Dev("0000:16:00.0").Node(-1) },
			"expect: ok nic_irq *\nsays: 100 % of 1000 interrupts in 1m0s were taken on the host's only node"},
		{"the node's processors are hidden", map[int][4]int{40: {500, 0, 900000, 0}, 41: {0, 500, 0, 900000}}, func(h *hosttest.Host) {
			h.Discard("sys/devices/system/node/node0/cpulist").Set("sys/devices/system/node/node0/cpulist.err", "EACCES")
		}, "expect: unknown nic_irq *\nsays: which processors the NIC's node (0) has"},
		{"one processor, its node's only one", map[int][4]int{40: {500, 0, 900000, 0}, 41: {500, 0, 0, 900000}}, func(h *hosttest.Host) { h.Nodes("0", "1-3") }, "expect: ok nic_irq *"},
		{"one processor, one vector of two", map[int][4]int{40: {5000, 0, 900000, 0}, 41: {0, 0, 0, 900000}}, nil, "expect: ok nic_irq *"},
		{"one processor, one queue with two vectors", map[int][4]int{40: {500, 0, 900000, 0}, 41: {500, 0, 0, 900000}}, func(h *hosttest.Host) { h.Dev("0000:16:00.0").Driver("virtio-pci") }, "expect: ok nic_irq *"},
		{"other processors, as many", nil, func(h *hosttest.Host) {
			h.Nodes("0-1", "2-4")
			h.Set("proc/interrupts", interrupts(map[int][4]int{40: {100, 0, 0, 900000}, 41: {100, 100, 0, 0}}))
			swapped := strings.Replace(interrupts(map[int][4]int{40: {600, 0, 900000, 7}, 41: {600, 0, 0, 0}}), "CPU1       CPU2       CPU3", "CPU2       CPU3       CPU4", 1)
			h.At("60s").Set("proc/interrupts", swapped)
		}, "expect: ok nic_irq *\nsays: 100 % of 1000 interrupts in 1m0s were taken on the NIC's node"},
		{"no vectors", old, func(h *hosttest.Host) { h.Discard("sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/msi_irqs") }, "expect: unknown nic_irq eth0\nsays: msi_irqs"},
		{"vectors hidden", old, func(h *hosttest.Host) {
			h.Discard("sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/msi_irqs").Dev("0000:16:00.0").Fail("msi_irqs", "EACCES")
		}, "expect: unknown nic_irq eth0\nsays: msi_irqs: "},
		{"interrupts hidden", nil, func(h *hosttest.Host) { h.Discard("proc/interrupts").Set("proc/interrupts.err", "EACCES") }, "expect: unknown nic_irq eth0\nsays: /proc/interrupts: permission denied"},
		{"another limit", map[int][4]int{40: {4000, 0, 901100, 0}, 41: {0, 4000, 0, 901100}}, func(h *hosttest.Host) { h.Set("fabricd.yaml", "thresholds: {nic_irq: {remote_percent: 30}}") }, "expect: ok nic_irq *"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := machine(t, old, test.to)
			if test.change != nil {
				test.change(h)
			}
			h.Expect(test.expect + "\nnever: fail nic_irq *")
		})
	}
}
