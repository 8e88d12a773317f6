// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

type host = hosttest.Host

// stats are counters by name, or what they rise by.
type stats map[string]int

// A rig is a machine with RoCE ports whose counters rise steadily for a minute.
type rig struct {
	*host
	driver string
	ports  []string
	dirs   map[string]string // of RDMA counters
}

// ids and drivers' RDMA counters of those that tests have.
func identity(driver string) (id, rdma string) {
	switch driver {
	case "bnxt_en":
		return "14e4:1760", "bnxt_re"
	case "ice":
		return "8086:1592", "irdma"
	case "ionic":
		return "1dd8:1002", "ionic_"
	case "hns3":
		return "19e5:a224", "hns_"
	}
	return "15b3:1021", "mlx5_"
}

// newRig has n ports at 400 Gb/s with link; eth0 is the first.
func newRig(tb testing.TB, driver string, n int) *rig {
	r := &rig{host: hosttest.New(tb), driver: driver, dirs: map[string]string{}}
	id, rdma := identity(driver)
	for i := range n {
		bridge, address := fmt.Sprintf("0000:%x0:01.0", i+1), fmt.Sprintf("0000:%x1:00.0", i+1)
		r.Port(bridge, "", "32x16")
		netdev, device := fmt.Sprintf("eth%d", i), fmt.Sprintf("%s%d", rdma, i)
		d := r.NIC(address, bridge, "32x16").ID(id).Driver(driver).Netdev(netdev, 400).RDMA(device, 400, fmt.Sprintf("946d:ae03:0000:%04x", i+1))
		d.Set("net/"+netdev+"/duplex", "full").Set("infiniband/"+device+"/node_type", "1: CA").Set("infiniband/"+device+"/ports/1/link_layer", "Ethernet")
		r.Set("ethtool/"+netdev+"/driver", "driver: "+driver+"\nbus-info: "+address)
		r.ports = append(r.ports, netdev)
		r.dirs[netdev] = d.Dir + "/infiniband/" + device + "/ports/1/hw_counters/"
	}
	return r
}

// dcb sets what dcbnl answers of a port.
func (r *rig) dcb(netdev, config string) *rig {
	r.Set("dcb/"+netdev+".json", config)
	return r
}

// lossless sets PFC on priorities of all ports, and DSCP 26 for the first.
func (r *rig) lossless(priorities string) *rig {
	for _, p := range r.ports {
		r.dcb(p, fmt.Sprintf(`{"pfc": {"cap": 8, "enabled": [%s]}, "app": [{"selector": "dscp", "protocol": 26, "priority": %c}]}`, priorities, priorities[0]))
	}
	return r
}

// marks are the moments of a minute's film.
func marks() []string { return []string{"", "10s", "20s", "30s", "40s", "50s", "60s"} }

// grow lets statistics of a port rise by so much each 10 s, from a base.
func (r *rig) grow(netdev string, base, by stats) *rig {
	return r.play(netdev, func(i int) stats {
		now := maps.Clone(base)
		for name, n := range by {
			now[name] += i * n
		}
		return now
	})
}

// play sets the statistics of a port at each mark.
func (r *rig) play(netdev string, at func(i int) stats) *rig {
	for i, mark := range marks() {
		r.At(mark).Set("ethtool/"+netdev+"/stats", text(at(i)))
	}
	return r
}

func text(s stats) string {
	var b strings.Builder
	b.WriteString("NIC statistics:\n")
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "     %s: %d\n", name, uint64(s[name])) // -1: all ones
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// rdma lets RDMA counters of a port rise by so much each 10 s.
func (r *rig) rdma(netdev string, by stats) *rig {
	for i, mark := range marks() {
		for name, n := range by {
			r.At(mark).Set(r.dirs[netdev]+name, fmt.Sprint(1000+i*n))
		}
	}
	return r
}

const gigabyte = 1_000_000_000

// busy are counters of an mlx5 port with 80 Gb/s of RDMA each way on priority 3.
func busy() stats {
	return stats{
		"rx_vport_rdma_unicast_bytes": 100 * gigabyte, "tx_vport_rdma_unicast_bytes": 100 * gigabyte,
		"rx_prio3_bytes": 101 * gigabyte, "tx_prio3_bytes": 101 * gigabyte, "rx_prio0_bytes": gigabyte / 100, "tx_prio0_bytes": gigabyte / 100,
		"rx_discards_phy": 0,
	}
}

// and joins counters.
func (s stats) and(more stats) stats {
	all := maps.Clone(s)
	maps.Copy(all, more)
	return all
}

// zero has the names alone.
func (s stats) zero() stats {
	all := stats{}
	for name := range s {
		all[name] = 0
	}
	return all
}

// A row is a machine and what is to be said of it, as in a recording's comment.
type row struct {
	name   string
	rig    func(testing.TB) *rig
	expect string
}

func run(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.rig(t).Expect(r.expect)
		})
	}
}

// one is a port of a driver with PFC on 3 whose counters rise.
func one(driver string, base, by stats) func(testing.TB) *rig {
	return func(tb testing.TB) *rig { return newRig(tb, driver, 1).lossless("3").grow("eth0", base, by) }
}
