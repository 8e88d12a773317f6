// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"fmt"
	"strings"
	"testing"
)

// bonded makes pairs of NICs bonds, as mlx5 does: the first of each pair has an
// RDMA device, which tells of the bond.
func bonded(pairs int) func(testing.TB) *host {
	return func(tb testing.TB) *host {
		h := server(tb, 2*pairs, roce)
		for i := range pairs {
			bond, device := fmt.Sprintf("bond%d", i), fmt.Sprintf("mlx5_%d", 2*i)
			dir := "sys/class/net/" + bond + "/"
			h.Set(dir+"bonding/mode", "802.3ad 4").Set(dir+"type", "1").Set(dir+"mtu", "9000").Set(dir+"flags", "0x1403").Set(dir+"carrier", "1").Set(dir+"carrier_changes", "2")
			for leg := 2 * i; leg < 2*i+2; leg++ {
				h.Link(h.Dev(nic(leg)).Dir+fmt.Sprintf("/net/eth%d/master", leg), strings.TrimSuffix(dir, "/"))
			}
			gids(h.Dev(nic(2*i)), device, bond, "0000:0000:0000:0000:0000:ffff:0a00:0001 v2", "")
			other := fmt.Sprintf("mlx5_%d", 2*i+1)
			h.Drop("sys/class/infiniband/" + other).Drop(h.Dev(nic(2*i+1)).Dir + "/infiniband")
		}
		return h
	}
}

// lose takes a NIC's carrier away.
func lose(h *host, i int) {
	later(h, i).Set(fmt.Sprintf("net/eth%d/carrier", i), "0").Set(fmt.Sprintf("net/eth%d/carrier_changes", i), "3").Set(fmt.Sprintf("net/eth%d/speed", i), "-1")
}

// A bond hides its legs: the RDMA device and the bond stay up without one.
func TestLegs(t *testing.T) {
	flap := func(i int) func(*host) {
		return func(h *host) { later(h, i).Set(fmt.Sprintf("net/eth%d/carrier_changes", i), "6") }
	}
	none := func(h *host) { h.Set("fabricd.yaml", "plan: {roles: {eth0: management, eth1: management}}") }
	run(t, bonded(1), []row{
		{"steady", film, "expect: ok rdma_flap eth0\nexpect: ok rdma_flap eth1\nexpect: ok rdma_flap bond0\nexpect: ok rdma_port eth0\nexpect: ok rdma_port eth1\nexpect: ok rdma_port bond0"},
		{"the first flaps", flap(0), "expect: warn rdma_flap eth0\nsays: carrier_changes 4\nexpect: ok rdma_flap eth1\nexpect: ok rdma_flap bond0"},
		{"the second flaps", flap(1), "expect: warn rdma_flap eth1\nexpect: ok rdma_flap eth0"},
		{"of no role that matters", both(none, flap(1)), "expect: warn rdma_flap eth1"},
		{"the device tells too", both(flap(0), counts("counters/link_downed 2")), "expect: warn rdma_flap eth0\nexpect: info rdma_flap bond0\nsays: legs"},
		{"the bond alone flaps", func(h *host) { h.At("60s").Set("sys/class/net/bond0/carrier_changes", "6") }, "expect: warn rdma_flap bond0\nexpect: ok rdma_flap eth0"},
		{"one loses its carrier", func(h *host) { lose(h, 1) }, "expect: warn rdma_flap eth1\nexpect: fail rdma_port eth1\nsays: a leg of bond0\nexpect: ok rdma_port bond0"},
		{"long ago", func(h *host) { lose(h, 1); h.At("45m").Set("proc/version", "x") }, "expect: ok rdma_flap eth1\nexpect: fail rdma_port eth1\nexpect: warn lldp_silent eth0"},
		{"one never had carrier", func(h *host) {
			h.Dev(nic(1)).Set("net/eth1/carrier", "0").Set("net/eth1/speed", "-1")
			film(h)
		}, "expect: info rdma_port eth1\nsays: nothing says"},
		{"one is switched off", func(h *host) { later(h, 1).Set("net/eth1/flags", "0x1002").Fail("net/eth1/carrier", "EINVAL") }, "expect: info rdma_port eth1\nsays: administratively"},
		{"its carrier cannot be read", func(h *host) { h.Dev(nic(1)).Fail("net/eth1/carrier", "EIO") }, "expect: unknown rdma_port eth1"},
		{"all lose it", func(h *host) {
			lose(h, 0)
			lose(h, 1)
			port(later(h, 0), "mlx5_0", down, "phys_state 3: Disabled", noRate)
			h.At("60s").Set("sys/class/net/bond0/carrier_changes", "3")
		}, "expect: fail rdma_port bond0\nexpect: info rdma_port eth0\nexpect: info rdma_port eth1\nexpect: warn rdma_flap eth0\nexpect: warn rdma_flap eth1\nexpect: info rdma_flap bond0"},
		{"the addresses are the leg's own", func(h *host) {
			gids(h.Dev(nic(0)), "mlx5_0", "eth0", "0000:0000:0000:0000:0000:ffff:0a00:0001 v2", "")
			flap(0)(h)
		}, "expect: warn rdma_flap eth0"},
	})
	run(t, bonded(2), []row{{"one of four never had carrier", func(h *host) {
		h.Dev(nic(3)).Set("net/eth3/carrier", "0").Set("net/eth3/speed", "-1")
		film(h)
	}, "expect: fail rdma_port eth3\nsays: 3 of 4 legs"}})
}
