// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"testing"
)

const (
	linkLocal = "fe80:0000:0000:0000:0202:c9ff:fe00:0001"
	private   = "0000:0000:0000:0000:0000:ffff:0a00:0001"
	unique    = "fd00:0000:0000:0010:0000:0000:0000:0001"
)

func TestGID(t *testing.T) {
	table := func(entries ...string) func(*host) {
		return func(h *host) {
			d := h.Dev(nic(0))
			h.Discard(d.Dir + "/infiniband/mlx5_0/ports/1/gids").Discard(d.Dir + "/infiniband/mlx5_0/ports/1/gid_attrs")
			gids(d, "mlx5_0", "eth0", entries...)
		}
	}
	run(t, oneRoCE, []row{
		{"IPv4", table(linkLocal+" v1", linkLocal+" v2", private+" v1", private+" v2"), "expect: ok rdma_gid mlx5_0\nsays: index 3\nsays: 10.0.0.1"},
		{"after empty slots", table("", "", linkLocal+" v2", "", unique+" v2"), "expect: ok rdma_gid mlx5_0\nsays: index 4"},
		{"link-local only", table(linkLocal+" v1", linkLocal+" v2"), "expect: warn rdma_gid mlx5_0\nsays: link-local\nsays: eth0"},
		{"version 1 only", table(private + " v1"), "expect: warn rdma_gid mlx5_0\nsays: v1"},
		{"empty", table("", ""), "expect: warn rdma_gid mlx5_0\nsays: empty"},
		{"not readable", func(h *host) {
			table()(h)
			port(h.Dev(nic(0)), "mlx5_0", "gids/0.err EIO", "gids/1.err EIO")
		}, "expect: unknown rdma_gid mlx5_0"},
		{"types not readable", func(h *host) {
			table()(h)
			port(h.Dev(nic(0)), "mlx5_0", "gids/0 "+private, "gid_attrs/types/0.err EACCES")
		}, "expect: unknown rdma_gid mlx5_0"},
		{"no table", table(), "expect: unknown rdma_gid mlx5_0"},
		{"port without link", func(h *host) {
			table(linkLocal + " v2")(h)
			port(h.Dev(nic(0)), "mlx5_0", down, "phys_state 3: Disabled")
		}, "never: warn|ok|unknown rdma_gid *"},
		{"iWARP", func(h *host) { table(linkLocal + " v1")(h); files(h.Dev(nic(0)), "mlx5_0", "node_type", "4: RNIC") }, "never: warn|ok|unknown rdma_gid *\nnever: warn|info|ok rdma_mtu *"},
		{"EFA", func(h *host) {
			table(linkLocal + " v1")(h)
			h.Dev(nic(0)).Driver("efa")
			port(h.Dev(nic(0)), "mlx5_0", "link_layer Unknown")
			files(h.Dev(nic(0)), "mlx5_0", "node_type", "7: unspecified")
		}, "never: warn|ok|unknown rdma_gid *\nnever: ok|warn|unknown rdma_layer *\nexpect: ok rdma_port mlx5_0"},
	})
	run(t, one, []row{{"InfiniBand", nil, "never: warn|ok|unknown rdma_gid *\nnever: warn|info|ok rdma_mtu *"}})
}

func TestMTU(t *testing.T) {
	set := func(mtu string, ports ...int) func(*host) {
		return func(h *host) {
			for _, i := range ports {
				h.Dev(nic(i)).Set("net/eth"+string(rune('0'+i))+"/mtu", mtu)
			}
		}
	}
	run(t, fourRoCE, []row{
		{"9000", nil, "expect: ok rdma_mtu eth0\nsays: 4096"},
		{"4200 is enough", set("4200", 1), "expect: ok rdma_mtu eth1\nsays: 4096"},
		{"4192 too", set("4192", 1), "expect: ok rdma_mtu eth1"},
		{"4191 is not", set("4191", 1), "expect: warn rdma_mtu eth1\nsays: 2048"},
		{"one of four at 1500", set("1500", 1), "expect: warn rdma_mtu eth1\nsays: 1500\nsays: 1024"},
		{"all at 1500", set("1500", 0, 1, 2, 3), "expect: info rdma_mtu eth1\nsays: 1024"},
		{"one of four larger", set("1500", 0, 1, 2), "expect: warn rdma_mtu eth3\nexpect: info rdma_mtu eth0"},
		{"half", set("1500", 0, 1), "expect: info rdma_mtu eth1\nexpect: ok rdma_mtu eth2"},
		{"of another role", func(h *host) { set("1500", 1)(h); h.Set("fabricd.yaml", "plan: {roles: {mlx5_1: storage}}") }, "expect: info rdma_mtu eth1"},
		{"not readable", func(h *host) { h.Dev(nic(1)).Fail("net/eth1/mtu", "EIO") }, "expect: unknown rdma_mtu eth1"},
	})
}

func TestHidden(t *testing.T) {
	hide := func(list ...int) func(*host) {
		return func(h *host) {
			for _, i := range list {
				dir := h.Dev(nic(i)).Dir + "/infiniband/mlx5_" + string(rune('0'+i)) + "/ports/1/"
				h.Drop(dir + "counters").Drop(dir + "hw_counters")
			}
		}
	}
	run(t, four, []row{
		{"visible", nil, "expect: ok counters_hidden mlx5_0"},
		{"of none", hide(0, 1, 2, 3), "expect: warn counters_hidden mlx5_0\nexpect: warn counters_hidden mlx5_1\nexpect: warn counters_hidden mlx5_2\nexpect: warn counters_hidden mlx5_3\nsays: network\nexpect: unknown rdma_errors mlx5_0\nexpect: unknown rdma_loss mlx5_0\nexpect: unknown rdma_receiver mlx5_0"},
		{"of one", hide(1), "expect: info counters_hidden mlx5_1"},
		{"hw_counters only", func(h *host) {
			for i := range 4 {
				h.Drop(h.Dev(nic(i)).Dir + "/infiniband/mlx5_" + string(rune('0'+i)) + "/ports/1/counters")
			}
		}, "expect: ok counters_hidden mlx5_0"},
		{"of drivers that have none", func(h *host) {
			hide(0, 1, 2, 3)(h)
			for i := range 4 {
				h.Dev(nic(i)).Driver("enic")
			}
		}, "never: warn|info|ok counters_hidden *"},
	})
}
