// SPDX-License-Identifier: Apache-2.0

package numa_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

func TestNearest(t *testing.T) {
	run(t, twoSockets, []row{
		{"below the same switch", nil, "expect: ok gpu_nic 0000:18:00.0\nsays: 0000:19:00.0 (mlx5_0)\nsays: PIX\nexpect: ok gpu_nic 0000:a9:00.0\nsays: mlx5_1\nonly: yes"},
		{"one NIC is excluded", func(h *host) { h.Set("fabricd.yaml", `devices: {exclude: ["0000:19:*"]}`) },
			"expect: warn gpu_nic 0000:18:00.0\nsays: 0000:a9:00.0 (mlx5_1)\nsays: SYS\nsays: node 0\nexpect: ok gpu_nic 0000:a8:00.0\nonly: yes"},
		{"its port is down", func(h *host) { h.Dev("0000:19:00.0").RDMA("mlx5_0", 0, guid+"1") }, "expect: ok gpu_nic 0000:18:00.0\nonly: yes"},
		{"it is slow", func(h *host) { h.Dev("0000:19:00.0").RDMA("mlx5_0", 25, guid+"1") }, "expect: warn gpu_nic 0000:18:00.0\nsays: mlx5_1\nonly: yes"},
		{"it is just fast enough", func(h *host) { h.Dev("0000:19:00.0").RDMA("mlx5_0", 40, guid+"1") }, "expect: ok gpu_nic 0000:18:00.0\nonly: yes"},
		{"all are slow", func(h *host) {
			h.Dev("0000:19:00.0").RDMA("mlx5_0", 25, guid+"1")
			h.Dev("0000:a9:00.0").RDMA("mlx5_1", 25, guid+"a")
		}, "never: ok|info|warn|fail|unknown gpu_nic *\nonly: yes"},
		{"two ports of 25 Gb/s are slow", func(h *host) {
			h.Dev("0000:19:00.0").Drop("infiniband").RDMA("mlx5_0", 25, guid+"1").Netdev("eth0", 25).Netdev("eth1", 25).Set("net/eth1/dev_port", "1")
		}, "expect: warn gpu_nic 0000:18:00.0\nsays: mlx5_1\nonly: yes"},
		{"no RDMA", func(h *host) { h.Dev("0000:19:00.0").Drop("infiniband").Netdev("eth0", 100) }, "expect: warn gpu_nic 0000:18:00.0\nonly: yes"},
		{"no RDMA, but planned as compute", func(h *host) {
			h.Dev("0000:19:00.0").Drop("infiniband").Netdev("eth0", 10)
			h.Set("fabricd.yaml", "plan: {roles: {eth0: compute}}")
		}, "expect: ok gpu_nic 0000:18:00.0\nsays: eth0\nonly: yes"},
		{"no RDMA, but cabled by the plan", func(h *host) {
			h.Dev("0000:19:00.0").Drop("infiniband").Netdev("eth0", 10)
			h.Set("fabricd.yaml", `plan: {cabling: [{address: "0000:19:00.0", switch: leaf, switch_port: E1}]}`)
		}, "expect: ok gpu_nic 0000:18:00.0\nonly: yes"},
		{"cabled, but for storage", func(h *host) {
			h.Set("fabricd.yaml", `plan: {cabling: [{address: "0000:19:00.0", switch: leaf, switch_port: E1}], roles: {mlx5_0: storage}}`)
		}, "expect: warn gpu_nic 0000:18:00.0\nsays: mlx5_1\nonly: yes"},
		{"planned as management", func(h *host) { h.Set("fabricd.yaml", "plan: {roles: {\"0000:19:00.0\": management}}") },
			"expect: warn gpu_nic 0000:18:00.0\nonly: yes"},
		{"several at the same distance", func(h *host) {
			h.Port("0000:17:02.0", "0000:16:00.0", "32x16")
			h.NIC("0000:1a:00.0", "0000:17:02.0", "32x16").RDMA("mlx5_2", 200, guid+"3")
		}, "expect: ok gpu_nic 0000:18:00.0\nsays: mlx5_0\nsays: mlx5_2\nonly: yes"},
		{"a NIC far from all GPUs", func(h *host) {
			h.Port("0000:30:01.0", "", "32x16")
			h.NIC("0000:31:00.0", "0000:30:01.0", "32x16").RDMA("mlx5_2", 200, guid+"3")
		}, "never: warn|fail gpu_nic *\nonly: yes"},
		{"nothing but bonds", func(h *host) {
			for i, name := range []string{"eth0", "eth1"} {
				address := []string{"0000:19:00.0", "0000:a9:00.0"}[i]
				dir := h.Dev(address).Netdev(name, 100).Dir
				h.Link(dir+"/net/"+name+"/master", "sys/class/net/bond0")
				h.Dev(address).Netdev(name+"_0", 100).Set("net/"+name+"_0/phys_port_name", "pf0vf0")
			}
			h.Set("sys/class/net/bond0/bonding/mode", "802.3ad 4")
		}, "expect: ok gpu_nic 0000:18:00.0\nonly: yes"},
		{"a bridge is no bond", func(h *host) {
			dir := h.Dev("0000:19:00.0").Netdev("eth0", 100).Dir
			h.Link(dir+"/net/eth0/master", "sys/class/net/br0").Set("sys/class/net/br0/bridge/bridge_id", "1")
		}, "expect: ok gpu_nic 0000:18:00.0\nonly: yes"},
		{"virtual functions", func(h *host) {
			h.Dev("0000:19:00.0").Drop("infiniband")
			h.NIC("0000:19:00.1", "0000:17:01.0", "2.5x0 of 2.5x0").VirtualOf("0000:19:00.0").RDMA("mlx5_5", 200, guid+"1")
		}, "expect: warn gpu_nic 0000:18:00.0\nsays: mlx5_1\nonly: yes"},
	})
}

func TestDistances(t *testing.T) {
	run(t, apart, []row{
		{"root buses of one node", nil, "expect: info gpu_nic 0000:16:00.0\nsays: NODE\nonly: yes"},
		{"of two nodes", func(h *host) { h.Dev("0000:26:00.0").Node(1) }, "expect: warn gpu_nic 0000:16:00.0\nsays: SYS\nsays: mlx5_0\nonly: yes"},
		{"of a node that is not known", func(h *host) { h.Dev("0000:26:00.0").Node(-1) },
			"expect: unknown gpu_nic 0000:16:00.0\nsays: 0000:26:00.0\nexpect: warn numa_unknown 0000:26:00.0\nonly: yes"},
		{"one far, one of a node that is not known", func(h *host) {
			h.Dev("0000:26:00.0").Node(1)
			h.Port("0000:35:01.0", "", "32x16")
			h.NIC("0000:36:00.0", "0000:35:01.0", "32x16").Node(-1).RDMA("mlx5_1", 200, guid+"2")
		}, "expect: unknown gpu_nic 0000:16:00.0\nexpect: warn numa_unknown 0000:36:00.0\nonly: yes"},
		{"one of the node, one of a node that is not known", func(h *host) {
			h.Port("0000:35:01.0", "", "32x16")
			h.NIC("0000:36:00.0", "0000:35:01.0", "32x16").Node(-1).RDMA("mlx5_1", 200, guid+"2")
		}, "expect: info gpu_nic 0000:16:00.0\nsays: NODE\nexpect: warn numa_unknown 0000:36:00.0\nonly: yes"},
		{"NUMA switched off", func(h *host) {
			h.Nodes("0-7").Drop("sys/devices/system/node/node1")
			h.Dev("0000:26:00.0").Node(-1)
		}, "expect: unknown gpu_nic 0000:16:00.0\nexpect: warn numa_disabled *\nonly: yes"},
		{"one root bus", func(h *host) {
			h.Port("0000:15:02.0", "", "32x16")
			h.NIC("0000:17:00.0", "0000:15:02.0", "32x16").RDMA("mlx5_1", 200, guid+"2")
		}, "expect: info gpu_nic 0000:16:00.0\nsays: PHB\nsays: mlx5_1\nonly: yes"},
		{"one root bus, whatever the nodes", func(h *host) {
			h.Port("0000:15:02.0", "", "32x16")
			h.NIC("0000:17:00.0", "0000:15:02.0", "32x16").Node(1).RDMA("mlx5_1", 200, guid+"2")
		}, "expect: info gpu_nic 0000:16:00.0\nsays: PHB\nonly: yes"},
		{"below two switches", func(h *host) {
			h.Switch("0000:40:00.0", "0000:25:01.0", "32x16", "0000:41:00.0", "0000:41:01.0")
			h.Switch("0000:42:00.0", "0000:41:00.0", "32x16", "0000:43:00.0")
			h.GPU("0000:44:00.0", "0000:43:00.0", "32x16")
			h.NIC("0000:45:00.0", "0000:41:01.0", "32x16").RDMA("mlx5_1", 200, guid+"2")
		}, "expect: ok gpu_nic 0000:44:00.0\nsays: PXB\nonly: yes"},
		{"sub-NUMA nodes of one socket", func(h *host) { h.Sockets("0").Nodes("0-3", "4-7"); h.Dev("0000:26:00.0").Node(1) },
			"expect: warn gpu_nic 0000:16:00.0\nsays: SYS\nonly: yes"},
	})
	flat := func(tb testing.TB) *host {
		h := hosttest.New(tb).Guest().Nodes("0-3", "4-7")
		h.GPU("0001:00:00.0", "", "32x16")
		h.NIC("0101:00:00.0", "", "32x16").RDMA("mlx5_0", 200, guid+"1")
		return h
	}
	run(t, flat, []row{
		{"flattened guest", nil, "expect: unknown gpu_nic 0001:00:00.0\nsays: topology is not visible\nonly: yes"},
		{"flattened guest of two nodes", func(h *host) { h.Dev("0101:00:00.0").Node(1) }, "expect: unknown gpu_nic 0001:00:00.0\nonly: yes"},
		{"guest with a switch", func(h *host) {
			h.Port("0000:15:01.0", "", "32x16")
			h.Switch("0000:16:00.0", "0000:15:01.0", "32x16", "0000:17:00.0", "0000:17:01.0")
			h.GPU("0000:18:00.0", "0000:17:00.0", "32x16")
			h.NIC("0000:19:00.0", "0000:17:01.0", "32x16").RDMA("mlx5_1", 200, guid+"2")
		}, "expect: ok gpu_nic 0000:18:00.0\nsays: PIX\nonly: yes"},
	})
	run(t, recorded("052-two-gpus-no-near-nic"), []row{
		{"one NIC only", func(h *host) { h.Set("fabricd.yaml", `devices: {exclude: ["0000:8*"]}`) }, "expect: warn|unknown gpu_nic 0000:41:00.0\nexpect: ok gpu_nic 0000:03:00.0"},
	})
	run(t, recorded("047-guest-nic-numa-unknown"), []row{
		{"the hypervisor tells", func(h *host) { h.Dev("0000:00:15.0").Node(0) }, "expect: ok numa_unknown 0000:00:15.0\nexpect: unknown gpu_nic 0000:00:16.0\nonly: yes"},
	})
}

// The distances of recorded hosts are those that were computed from the
// origin's own description of its topology.
func TestRecordedDistances(t *testing.T) {
	files, err := filepath.Glob("../testdata/hosts/*.distances")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files of distances: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".distances")
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			tree := hosttest.Load(t, name+".txtar").State().View.Topology
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			n := 0
			for lines := bufio.NewScanner(f); lines.Scan(); {
				part := strings.Fields(lines.Text())
				if len(part) != 3 || part[0] == "#" {
					continue
				}
				n++
				gpu, nic := tree.Inventory.Function(part[0]), tree.Inventory.Function(part[1])
				if gpu == nil || nic == nil {
					t.Fatalf("%s or %s is not there", part[0], part[1])
				}
				if d, why := tree.Distance(gpu, nic); d.String() != part[2] {
					t.Errorf("%s to %s is %s (%s), want %s", part[0], part[1], d, why, part[2])
				}
			}
			if n == 0 || n != len(tree.GPUs)*len(tree.NICs) && n < len(tree.GPUs)*len(tree.Candidates()) {
				t.Errorf("%d distances of %d GPUs and %d NICs", n, len(tree.GPUs), len(tree.NICs))
			}
		})
	}
}
