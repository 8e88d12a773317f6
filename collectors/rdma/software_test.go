// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"testing"
)

// soft adds soft-RoCE's rxe0 on an interface, as the kernel shows it: with counters, and no PCI function.
func soft(h *host, netdev string) {
	const dir = "sys/devices/virtual/infiniband/rxe0"
	h.Link("sys/class/infiniband/rxe0", dir)
	softFiles(h, dir, netdev)
}

func softFiles(h *host, dir, netdev string) {
	h.Set(dir+"/node_type", "1: CA").Set(dir+"/parent", netdev).Set(dir+"/node_desc", "rxe").Set(dir+"/fw_ver", "")
	for name, content := range map[string]string{
		"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "10 Gb/sec (1X FDR10)", "link_layer": "Ethernet", "lid": "0x0", "sm_lid": "0x0",
		"gids/0": linkLocal, "gid_attrs/types/0": "RoCE v2", "gid_attrs/ndevs/0": netdev, "gids/1": private, "gid_attrs/types/1": "RoCE v2", "gid_attrs/ndevs/1": netdev,
		"hw_counters/sent_pkts": "1000", "hw_counters/rcvd_pkts": "1000", "hw_counters/rcvd_seq_err": "0", "hw_counters/out_of_seq_request": "0",
		"hw_counters/retry_exceeded_err": "0", "hw_counters/send_rnr_err": "0", "hw_counters/link_downed": "0", "hw_counters/lifespan": "12",
	} {
		h.Set(dir+"/ports/1/"+name, content)
	}
}

// A device that software makes has counters and states; it asks nothing of the
// interface below it, nor of the server that it is on.
func TestSoftware(t *testing.T) {
	const dir = "sys/devices/virtual/infiniband/rxe0/ports/1/"
	never := "\nnever: ok|info|warn|fail|unknown rdma_rate rxe0\nnever: ok|info|warn|fail|unknown rdma_layer rxe0\nnever: ok|info|warn|fail|unknown rdma_errors rxe0" +
		"\nnever: ok|info|warn|fail|unknown roce_cnp rxe0\nnever: ok|info|warn|fail|unknown rdma_flap rxe0\nnever: ok|info|warn|fail|unknown pcie_budget rxe0"
	run(t, oneRoCE, []row{
		{"beside a RoCE port", func(h *host) { soft(h, "eth0") }, "expect: ok rdma_port rxe0\nexpect: ok rdma_gid rxe0\nsays: 10.0.0.1\nexpect: ok counters_hidden rxe0\nexpect: ok rdma_gid mlx5_0\nexpect: ok rdma_mtu eth0" + never},
		{"as older kernels show it", func(h *host) {
			d := h.Dev(nic(0))
			h.Link("sys/class/infiniband/rxe0", d.Dir+"/infiniband/rxe0").Link(d.Dir+"/infiniband/rxe0/device", d.Dir)
			softFiles(h, d.Dir+"/infiniband/rxe0", "eth0")
		}, "expect: ok rdma_port rxe0\nexpect: ok pcie_budget mlx5_0\nsays: 400" + never},
		{"on an interface of nothing, without a routable address", func(h *host) {
			soft(h, "veth0")
			h.Drop(dir + "gids/1")
		}, "expect: info rdma_gid rxe0\nsays: software makes it of veth0"},
		{"down", func(h *host) { soft(h, "eth0"); h.Set(dir+"state", "1: DOWN").Set(dir+"phys_state", "3: Disabled") }, "expect: info rdma_port rxe0\nsays: software makes it of eth0"},
		{"was up", func(h *host) { soft(h, "eth0"); h.At("60s").Set(dir+"state", "1: DOWN") }, "expect: info rdma_port rxe0"},
		{"removed", func(h *host) {
			soft(h, "eth0")
			h.At("60s").Remove("sys/class/infiniband/rxe0", "sys/devices/virtual/infiniband/rxe0")
		}, "never: info|warn|fail|unknown rdma_port rxe0"},
		{"loses packets", func(h *host) {
			soft(h, "eth0")
			h.At("60s").Set(dir+"hw_counters/sent_pkts", "9000").Set(dir+"hw_counters/rcvd_seq_err", "7")
		}, "expect: warn rdma_loss rxe0\nsays: rcvd_seq_err 7"},
		{"loses none", func(h *host) { soft(h, "eth0"); h.At("60s").Set(dir+"hw_counters/sent_pkts", "9000") }, "expect: ok rdma_loss rxe0\nexpect: ok rdma_receiver rxe0"},
		{"is no port that the plan counts", func(h *host) { soft(h, "eth0"); h.Set("fabricd.yaml", "plan: {ports: {count: 2}}") }, "expect: warn rdma_port compute ports\nsays: asks for 2, and this machine has 1"},
		{"its interface is excluded", func(h *host) {
			soft(h, "eth0")
			h.Set("fabricd.yaml", `devices: {exclude: ["`+nic(0)+`"]}`)
		}, "never: ok|info|warn|fail|unknown rdma_port rxe0"},
		{"soft-iWARP", func(h *host) {
			soft(h, "eth0")
			h.Drop("sys/devices/virtual/infiniband/rxe0/parent").Set("sys/devices/virtual/infiniband/rxe0/node_type", "4: RNIC")
		}, "expect: ok rdma_port rxe0\nnever: ok|info|warn|fail|unknown rdma_gid rxe0"},
		{"beside hardware that hides its counters", func(h *host) {
			soft(h, "eth0")
			own := h.Dev(nic(0)).Dir + "/infiniband/mlx5_0/ports/1/"
			h.Drop(own + "counters").Drop(own + "hw_counters")
		}, "expect: warn counters_hidden mlx5_0"},
		{"on another NIC, whose port it is not", func(h *host) {
			h.Port("0000:17:09.0", "0000:16:00.0", "32x16")
			h.NIC("0000:40:00.0", "0000:17:09.0", "32x16").ID("8086:1592").Driver("ice").Netdev("ens9", 100)
			soft(h, "ens9")
			h.Set("dcb/ens9.json", `{"pfc": {"cap": 8, "enabled": []}}`).Set("ethtool/ens9/driver", "driver: ice\nbus-info: 0000:40:00.0")
			h.At("60s").Set(dir+"hw_counters/sent_pkts", "9000000")
		}, "expect: ok rdma_port rxe0\nnever: ok|info|warn|fail|unknown roce_pfc ens9\nnever: ok|info|warn|fail|unknown gpu_nic 0000:40:00.0"},
	})
}
