// SPDX-License-Identifier: Apache-2.0

package numa_test

import (
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

func TestUnknownNode(t *testing.T) {
	const gpu, nic = "0000:18:00.0", "0000:19:00.0"
	noBridges := func(h *host) {
		for _, b := range []string{"0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:17:01.0"} {
			h.Dev(b).Node(-1)
		}
	}
	run(t, twoSockets, []row{
		{"known", nil, "expect: ok numa_unknown 0000:18:00.0\nsays: node 0\nexpect: ok numa_unknown 0000:a9:00.0\nsays: node 1\nonly: yes"},
		{"node 0 is a node", func(h *host) { h.Dev(gpu).Node(0) }, "expect: ok numa_unknown 0000:18:00.0\nonly: yes"},
		{"GPU, the bridge knows", func(h *host) { h.Dev(gpu).Node(-1) },
			"expect: warn numa_unknown 0000:18:00.0\nsays: firmware gives no proximity\nsays: 2 nodes\nsays: bridge 0000:17:00.0 is on node 0\nexpect: ok numa_unknown 0000:19:00.0\nonly: yes"},
		{"NIC, a bridge further up knows", func(h *host) {
			noBridges(h)
			h.Dev(nic).Node(-1)
			h.Dev("0000:15:01.0").Node(0)
		}, "expect: warn numa_unknown mlx5_0\nsays: bridge 0000:15:01.0 is on node 0\nonly: yes"},
		{"the processors know", func(h *host) { noBridges(h); h.Dev(gpu).Node(-1).Set("local_cpulist", "4-7") },
			"expect: warn numa_unknown 0000:18:00.0\nsays: 4-7\nsays: node 1"},
		{"all processors are near", func(h *host) { noBridges(h); h.Dev(gpu).Node(-1).Set("local_cpulist", "0-7") },
			"expect: warn numa_unknown 0000:18:00.0\nsays: on a host of 2 nodes\nonly: yes"},
		{"nonsense in the list", func(h *host) { noBridges(h); h.Dev(gpu).Node(-1).Set("local_cpulist", "7-3,x") },
			"expect: warn numa_unknown 0000:18:00.0\nonly: yes"},
		{"no list", func(h *host) { noBridges(h); h.Dev(gpu).Node(-1).Drop("local_cpulist") }, "expect: warn numa_unknown 0000:18:00.0\nonly: yes"},
		{"not readable", func(h *host) { h.Dev(gpu).Fail("numa_node", "EIO") }, "expect: unknown numa_unknown 0000:18:00.0\nsays: EIO\nonly: yes"},
		{"absent", func(h *host) { h.Dev(gpu).Drop("numa_node") }, "expect: unknown numa_unknown 0000:18:00.0\nonly: yes"},
		{"empty", func(h *host) { h.Dev(gpu).Set("numa_node", "") }, "expect: unknown numa_unknown 0000:18:00.0\nonly: yes"},
		{"a word", func(h *host) { h.Dev(gpu).Set("numa_node", "none") }, "expect: unknown numa_unknown 0000:18:00.0\nonly: yes"},
		{"less than -1", func(h *host) { h.Dev(gpu).Set("numa_node", "-7") }, "expect: unknown numa_unknown 0000:18:00.0\nonly: yes"},
		{"guest", func(h *host) { h.Guest(); h.Dev(gpu).Node(-1) }, "expect: warn numa_unknown 0000:18:00.0\nsays: hypervisor\nexpect: info guest *\nonly: yes"},
		{"guest of one node", func(h *host) { h.Guest().Nodes("0-7").Drop("sys/devices/system/node/node1"); h.Dev(gpu).Node(-1) },
			"expect: ok numa_unknown 0000:18:00.0\nonly: yes"},
		{"bridge", func(h *host) { h.Dev("0000:17:00.0").Node(-1) }, "never: ok|info|warn|fail|unknown numa_unknown 0000:17:00.0\nonly: yes"},
		{"disk", func(h *host) {
			h.Port("0000:20:01.0", "", "32x4").Node(-1)
			h.Add("0000:21:00.0", "0000:20:01.0", "010802", "144d:a80c", "32x4").Node(-1)
		}, "never: ok|info|warn|fail|unknown numa_unknown 0000:21:00.0\nonly: yes"},
		{"virtual function", func(h *host) { h.NIC("0000:19:00.1", "0000:17:01.0", "2.5x0 of 2.5x0").VirtualOf(nic).Node(-1) },
			"never: ok|info|warn|fail|unknown numa_unknown 0000:19:00.1\nonly: yes"},
		{"slow NIC", func(h *host) { h.Dev(nic).Drop("infiniband").Netdev("eth0", 1).Node(-1) }, "expect: warn numa_unknown eth0\nexpect: warn gpu_nic 0000:18:00.0\nonly: yes"},
		{"excluded", func(h *host) { h.Dev(gpu).Node(-1); h.Set("fabricd.yaml", `devices: {exclude: ["0000:18:*"]}`) },
			"never: ok|info|warn|fail|unknown numa_unknown 0000:18:00.0"},
		{"no NUMA at all", func(h *host) { h.Drop("sys/devices/system/node") }, "expect: unknown numa_unknown 0000:18:00.0\nexpect: unknown numa_disabled *\nonly: yes"},
	})
	oneNode := func(tb testing.TB) *host {
		h := apart(tb).Sockets("0").Nodes("0-7")
		h.Drop("sys/devices/system/node/node1")
		h.Dev("0000:16:00.0").Node(-1)
		h.Dev("0000:26:00.0").Node(-1)
		return h
	}
	run(t, oneNode, []row{
		{"one node", nil, "expect: ok numa_unknown 0000:16:00.0\nexpect: ok numa_unknown 0000:26:00.0\nexpect: info gpu_nic 0000:16:00.0\nonly: yes"},
		{"one node that is not node 0", func(h *host) {
			h.Set("sys/devices/system/node/online", "1").Set("sys/devices/system/node/node1/cpulist", "0-7")
		}, "expect: ok numa_unknown 0000:16:00.0\nonly: yes"},
		{"a node of memory alone beside it", func(h *host) { h.Nodes("0-7", ""); h.Dev("0000:16:00.0").Node(0); h.Dev("0000:26:00.0").Node(0) },
			"expect: ok numa_unknown 0000:16:00.0\nexpect: ok numa_disabled *\nonly: yes"},
	})
	run(t, recorded("046-numa-unknown-bus"), []row{
		{"the firmware was updated", func(h *host) { h.Dev("0000:9b:00.0").Node(1); h.Dev("0000:9c:00.0").Node(1) },
			"expect: ok numa_unknown 0000:9b:00.0\nexpect: ok numa_unknown 0000:9c:00.0\nonly: yes"},
		{"in a guest", func(h *host) { h.Guest() }, "expect: warn numa_unknown 0000:9b:00.0\nexpect: warn numa_unknown 0000:9c:00.0\nonly: yes"},
	})
}

func TestNUMADisabled(t *testing.T) {
	sockets := func(ids ...string) func(testing.TB) *host {
		return func(tb testing.TB) *host { return hosttest.New(tb).Sockets(ids...) }
	}
	const ok, warn = "expect: ok numa_disabled *\nonly: yes", "expect: warn numa_disabled *\nsays: 2 sockets but one"
	run(t, sockets("0", "1"), []row{
		{"two sockets, one node", nil, warn + "\nsays: node interleaving\nonly: yes"},
		{"numa=off", func(h *host) { h.Set("proc/cmdline", "root=/dev/md0 numa=off ro") }, warn + "\nsays: numa=off\nonly: yes"},
		{"numa_balancing is no numa=", func(h *host) { h.Set("proc/cmdline", "root=/dev/md0 numa_balancing=disable") }, warn + "\nsays: node interleaving\nonly: yes"},
		{"numa=fake", func(h *host) { h.Set("proc/cmdline", "numa=fake=1") }, warn + "\nsays: numa=fake=1\nonly: yes"},
		{"two nodes", func(h *host) { h.Nodes("0-3", "4-7") }, ok},
		{"four nodes a socket", func(h *host) { h.Nodes("0", "1", "2", "3", "4", "5", "6", "7") }, ok},
		{"guest", func(h *host) { h.CPU("physical id\t: 0", "flags\t\t: hypervisor\n\nprocessor\t: 1\nphysical id\t: 1") },
			"never: warn|fail numa_disabled *\nexpect: info guest *\nonly: yes"},
		{"no node shown", func(h *host) { h.Drop("sys/devices/system/node") }, "expect: unknown numa_disabled *\nonly: yes"},
		{"online not readable", func(h *host) { h.Set("sys/devices/system/node/online.err", "EIO") }, "expect: unknown numa_disabled *\nonly: yes"},
		{"online is nonsense", func(h *host) { h.Set("sys/devices/system/node/online", "0--1") }, "expect: unknown numa_disabled *\nonly: yes"},
		{"offline node 0", func(h *host) {
			h.Set("sys/devices/system/node/online", "1-2").Set("sys/devices/system/node/node1/cpulist", "0-3").Set("sys/devices/system/node/node2/cpulist", "4-7")
		}, ok},
	})
	run(t, sockets("36"), []row{
		{"one socket numbered 36", nil, ok},
		{"sockets not told", func(h *host) { h.CPU("flags\t\t: fpu") }, "expect: unknown numa_disabled *\nonly: yes"},
		{"topology files go before cpuinfo", func(h *host) {
			h.Set("sys/devices/system/cpu/cpu0/topology/physical_package_id", "36").Set("sys/devices/system/cpu/cpu1/topology/physical_package_id", "7")
		}, warn + "\nonly: yes"},
		{"no package", func(h *host) { h.Set("sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1") }, ok},
	})
	run(t, recorded("060-guest-two-packages-one-node"), []row{
		{"not in a guest", func(h *host) { h.Sockets("0", "1"); h.Drop("sys/class/dmi") }, warn + "\nonly: yes"},
	})
	run(t, recorded("049-guest-cells-against-packages"), []row{
		{"not in a guest", func(h *host) { h.Sockets("0", "1") }, "never: warn|fail numa_disabled *\nonly: yes"},
	})
	run(t, recorded("060-numa-off"), []row{
		{"with NUMA", func(h *host) {
			h.Set("proc/cmdline", "ro").Nodes("0-55", "56-111")
			for _, a := range h.Addresses() {
				h.Dev(a).Node(0)
			}
		}, "expect: ok numa_disabled *\nonly: yes"},
	})
}

func TestGuest(t *testing.T) {
	run(t, func(tb testing.TB) *host { return hosttest.New(tb) }, []row{
		{"bare metal", nil, "expect: ok guest *\nonly: yes"},
		{"hypervisor flag", func(h *host) { h.Guest() }, "expect: info guest *\nsays: virtual machine\nsays: hypervisor flag\nonly: yes"},
		{"firmware", func(h *host) {
			h.Set("sys/class/dmi/id/sys_vendor", "Amazon EC2").Set("sys/class/dmi/id/product_name", "p5.48xlarge")
		},
			"expect: info guest *\nsays: Amazon EC2\nonly: yes"},
		{"metal machine of a cloud", func(h *host) {
			h.Guest().Set("sys/class/dmi/id/sys_vendor", "Amazon EC2").Set("sys/class/dmi/id/product_name", "p5.metal-48xl")
		}, "expect: ok guest *\nonly: yes"},
		{"nothing can be read", func(h *host) { h.Drop("proc/cpuinfo") }, "expect: unknown guest *\nonly: yes"},
	})
}
