// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

type host = hosttest.Host

// nic gives the address of the NIC of that number on a server.
func nic(i int) string { return fmt.Sprintf("0000:%02x:00.0", 0x20+i) }

// server has a GPU and n NICs below one switch: all of them are compute. Each
// NIC has one RDMA device, mlx5_0 and so on.
func server(tb testing.TB, n int, port func(d *hosttest.Dev, name string)) *host {
	h := hosttest.New(tb)
	h.Port("0000:15:01.0", "", "32x16")
	h.Port("0000:16:00.0", "0000:15:01.0", "32x16")
	h.Port("0000:17:00.0", "0000:16:00.0", "32x16")
	h.GPU("0000:18:00.0", "0000:17:00.0", "32x16")
	for i := range n {
		above := fmt.Sprintf("0000:17:%02x.0", i+1)
		h.Port(above, "0000:16:00.0", "32x16")
		port(h.NIC(nic(i), above, "32x16"), fmt.Sprintf("mlx5_%d", i))
	}
	return h
}

// infiniBand adds an NDR port that is up, with counters of zero.
func infiniBand(d *hosttest.Dev, name string) {
	d.RDMA(name, 400, "946d:ae03:0000:"+d.Address[5:7]+"00")
	files(d, name, "node_type", "1: CA")
	port(d, name, "counters/symbol_error 0", "counters/link_downed 0", "counters/port_rcv_errors 0", "counters/port_xmit_discards 0",
		"counters/port_xmit_packets 1000000", "counters/port_rcv_packets 1000000", "counters/port_xmit_data 1000000000", "counters/port_rcv_data 1000000000",
		"counters/port_xmit_wait 0", "hw_counters/out_of_sequence 0", "hw_counters/local_ack_timeout_err 0", "hw_counters/out_of_buffer 0",
		"hw_counters/rnr_nak_retry_err 0", "hw_counters/req_transport_retries_exceeded 0", "hw_counters/lifespan 10")
}

// roce adds a 400 Gb/s port over Ethernet that is up, with two addresses.
func roce(d *hosttest.Dev, name string) {
	infiniBand(d, name)
	netdev := "eth" + strings.TrimPrefix(name, "mlx5_")
	d.Netdev(netdev, 400)
	d.Set("net/"+netdev+"/flags", "0x1003").Set("net/"+netdev+"/carrier_changes", "2")
	port(d, name, "link_layer Ethernet", "hw_counters/np_cnp_sent 0", "hw_counters/np_ecn_marked_roce_packets 0", "hw_counters/rp_cnp_ignored 0")
	gids(d, name, netdev, "fe80:0000:0000:0000:0202:c9ff:fe00:0001 v2", "0000:0000:0000:0000:0000:ffff:0a00:0001 v2")
}

// gids writes a port's table; an entry is "ADDRESS v1", "ADDRESS v2" or "" for an empty slot.
func gids(d *hosttest.Dev, name, netdev string, entries ...string) {
	for i, e := range entries {
		address, version, ok := strings.Cut(e, " ")
		n := fmt.Sprint(i)
		if !ok {
			port(d, name, "gids/"+n+" 0000:0000:0000:0000:0000:0000:0000:0000", "gid_attrs/types/"+n+".err EINVAL", "gid_attrs/ndevs/"+n+".err EINVAL")
			continue
		}
		port(d, name, "gids/"+n+" "+address, "gid_attrs/types/"+n+" "+map[string]string{"v1": "IB/RoCE v1", "v2": "RoCE v2"}[version], "gid_attrs/ndevs/"+n+" "+netdev)
	}
}

// port writes files of a device's port 1: "state 4: ACTIVE".
func port(d *hosttest.Dev, name string, list ...string) {
	for _, f := range list {
		file, content, _ := strings.Cut(f, " ")
		d.Set("infiniband/"+name+"/ports/1/"+file, content)
	}
}

// files writes files of a device, names and contents in turn.
func files(d *hosttest.Dev, name string, list ...string) {
	for i := 0; i < len(list); i += 2 {
		d.Set("infiniband/"+name+"/"+list[i], list[i+1])
	}
}

// later gives a NIC as it is after a minute.
func later(h *host, i int) *hosttest.Dev { return h.Dev(nic(i)).At("60s") }

// film lets a minute pass, in which a counter of every port moves on.
func film(h *host) { h.At("60s").Set("sys/kernel/mm/x", "") }

type row struct {
	name   string
	change func(*host)
	expect string
}

// run plays a machine with changes and holds it to what is expected. Nothing
// else may warn or fail.
func run(t *testing.T, machine func(testing.TB) *host, rows []row) {
	t.Helper()
	for _, test := range rows {
		t.Run(test.name, func(t *testing.T) {
			h := machine(t)
			if test.change != nil {
				test.change(h)
			}
			h.Expect(test.expect + "\nonly: yes")
		})
	}
}

func four(tb testing.TB) *host     { return server(tb, 4, infiniBand) }
func fourRoCE(tb testing.TB) *host { return server(tb, 4, roce) }
func one(tb testing.TB) *host      { return server(tb, 1, infiniBand) }
func oneRoCE(tb testing.TB) *host  { return server(tb, 1, roce) }
