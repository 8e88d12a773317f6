// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"fmt"
	"testing"
)

// counts writes counters of the first NIC after a minute, in which a million
// packets were sent.
func counts(list ...string) func(*host) {
	return func(h *host) {
		port(later(h, 0), "mlx5_0", "counters/port_xmit_packets 2000000")
		port(later(h, 0), "mlx5_0", list...)
	}
}

// before writes them as they are at the start, and after writes both.
func before(list ...string) func(*host) {
	return func(h *host) { port(h.Dev(nic(0)), "mlx5_0", list...) }
}

func both(a, b func(*host)) func(*host) { return func(h *host) { a(h); b(h) } }

func TestErrors(t *testing.T) {
	run(t, one, []row{
		{"none", counts(), "expect: ok rdma_errors mlx5_0"},
		{"a picture", before("counters/symbol_error 7"), "expect: unknown rdma_errors mlx5_0\nsays: symbol_error 7"},
		{"growing", counts("counters/symbol_error 3"), "expect: warn rdma_errors mlx5_0\nsays: symbol_error 3"},
		{"receive errors", counts("counters/port_rcv_errors 1"), "expect: warn rdma_errors mlx5_0\nsays: port_rcv_errors 1"},
		{"not those of the management class", both(before("counters/VL15_dropped 5"), counts("counters/VL15_dropped 9")), "expect: ok rdma_errors mlx5_0"},
		{"old ones", both(before("counters/symbol_error 77"), counts()), "expect: ok rdma_errors mlx5_0\nsays: symbol_error 77"},
		{"cleared by the subnet manager", both(before("counters/symbol_error 77"), counts("counters/symbol_error 3")), "expect: ok rdma_errors mlx5_0"},
		{"grew long ago", func(h *host) {
			counts("counters/symbol_error 3")(h)
			port(h.Dev(nic(0)).At("2m"), "mlx5_0", "counters/port_xmit_packets 3000000")
		}, "expect: ok rdma_errors mlx5_0"},
		{"saturated", before("counters/symbol_error 65535"), "expect: warn rdma_errors mlx5_0\nsays: saturated\nsays: 65535"},
		{"saturated since long", both(before("counters/link_error_recovery 255"), counts()), "expect: warn rdma_errors mlx5_0\nsays: link_error_recovery 255"},
		{"wider than it should be", before("counters/link_downed 300"), "expect: unknown rdma_errors mlx5_0"},
		{"waiting saturated", both(before("counters/port_xmit_wait 4294967295"), counts()), "expect: info rdma_errors mlx5_0\nsays: port_xmit_wait"},
		{"one EINVAL, another grows", both(before("counters/symbol_error.err EINVAL"), counts("counters/port_rcv_errors 1")), "expect: warn rdma_errors mlx5_0\nsays: port_rcv_errors"},
		{"none of the link can be read, others can", both(before("counters/symbol_error.err EINVAL", "counters/port_rcv_errors.err EINVAL"), counts()), "expect: unknown rdma_errors mlx5_0\nsays: of the link can be read"},
		{"nor then waiting at its maximum", both(before("counters/symbol_error.err EINVAL", "counters/port_rcv_errors.err EINVAL", "counters/port_xmit_wait 4294967295"), counts()), "expect: unknown rdma_errors mlx5_0"},
		{"but what is saturated warns", both(before("counters/symbol_error.err EINVAL", "counters/port_rcv_errors.err EINVAL", "counters/link_downed 255"), counts()), "expect: warn rdma_errors mlx5_0\nsays: link_downed 255"},
		{"one cannot be read", both(before("counters/symbol_error.err EINVAL"), counts()), "expect: ok rdma_errors mlx5_0\nsays: cannot be read: symbol_error"},
		{"grows to its maximum", both(before("counters/symbol_error 65000"), counts("counters/symbol_error 65535")), "expect: warn rdma_errors mlx5_0\nsays: symbol_error 535\nsays: saturated: symbol_error 65535"},
		{"another limit", func(h *host) {
			counts("counters/symbol_error 3")(h)
			h.Set("fabricd.yaml", "thresholds: {rdma_errors: {least: 4}}")
		}, "expect: ok rdma_errors mlx5_0"},
		{"no agent", func(h *host) {
			for _, f := range []string{"symbol_error", "link_downed", "port_rcv_errors", "port_xmit_discards", "port_xmit_wait"} {
				before("counters/" + f + " N/A (no PMA)")(h)
			}
			film(h)
		}, "expect: unknown rdma_errors mlx5_0\nsays: N/A"},
		{"no counters at all", func(h *host) { h.Drop(h.Dev(nic(0)).Dir + "/infiniband/mlx5_0/ports/1/counters"); film(h) },
			"expect: unknown rdma_errors mlx5_0\nexpect: ok rdma_loss mlx5_0\nnever: warn counters_hidden *"},
		{"odd names", before("counters/symbol error\x1b 3", "hw_counters/a,b 4", "hw_counters/\u202eevil 5"), "expect: unknown rdma_errors mlx5_0"},
	})
}

func TestFlap(t *testing.T) {
	run(t, oneRoCE, []row{
		{"old ones", both(before("counters/link_downed 14"), counts()), "expect: ok rdma_flap eth0"},
		{"a picture", nil, "expect: unknown rdma_flap eth0"},
		{"grew", counts("counters/link_downed 1"), "expect: warn rdma_flap mlx5_0\nsays: link_downed 1"},
		{"grew, long before the end", both(counts("counters/link_downed 1"), func(h *host) { h.At("45m").Set("proc/version", "x") }), "expect: ok rdma_flap mlx5_0\nexpect: warn lldp_silent eth0"},
		{"grew a while ago", func(h *host) {
			counts("counters/link_downed 1")(h)
			port(h.Dev(nic(0)).At("20m"), "mlx5_0", "counters/port_xmit_packets 3000000")
		}, "expect: warn rdma_flap mlx5_0\nexpect: warn lldp_silent eth0"},
		{"the carrier changed", func(h *host) { later(h, 0).Set("net/eth0/carrier_changes", "4") }, "expect: warn rdma_flap eth0\nsays: carrier_changes 2"},
		{"switched off and on", func(h *host) {
			d := h.Dev(nic(0))
			d.At("20s").Set("net/eth0/flags", "0x1002").Set("net/eth0/carrier_changes", "3")
			d.At("40s").Set("net/eth0/flags", "0x1003").Set("net/eth0/carrier_changes", "4")
			film(h)
		}, "expect: ok rdma_flap eth0"},
		{"switched off and on, the carrier comes later", func(h *host) {
			h.Dev(nic(0)).At("5s").Set("net/eth0/flags", "0x1002").Set("net/eth0/carrier_changes", "3").Fail("net/eth0/carrier", "EINVAL")
			h.Dev(nic(0)).At("10s").Set("net/eth0/flags", "0x1003").Set("net/eth0/carrier", "0")
			h.Dev(nic(0)).At("15s").Set("net/eth0/carrier", "1").Set("net/eth0/carrier_changes", "4")
			h.At("20s").Set("proc/version", "x")
		}, "expect: ok rdma_flap eth0"},
		{"its driver closes it", func(h *host) {
			h.Dev(nic(0)).At("5s").Set("net/eth0/carrier_changes", "3").Fail("net/eth0/carrier", "EINVAL")
			h.Dev(nic(0)).At("10s").Set("net/eth0/flags", "0x1002")
		}, "expect: ok rdma_flap eth0"},
		{"lost, and switched off soon after", func(h *host) {
			h.Dev(nic(0)).At("5s").Set("net/eth0/carrier", "0").Set("net/eth0/carrier_changes", "3")
			h.Dev(nic(0)).At("6s").Set("net/eth0/flags", "0x1002").Fail("net/eth0/carrier", "EINVAL")
			for i := range 60 {
				h.At(fmt.Sprintf("%ds", 20+20*i)).Set("proc/version", "x")
			}
		}, "expect: warn rdma_flap eth0\nsays: carrier_changes 1"},
		{"to the maximum", both(before("counters/link_downed 250"), counts("counters/link_downed 255")), "expect: warn rdma_flap mlx5_0\nsays: link_downed 5\nexpect: warn rdma_errors mlx5_0"},
		{"saturated, and nothing else tells", func(h *host) {
			h.Drop(h.Dev(nic(0)).Dir + "/net/eth0/carrier_changes")
			both(before("counters/link_downed 255"), counts())(h)
		}, "expect: unknown rdma_flap mlx5_0\nsays: maximum\nexpect: warn rdma_errors mlx5_0"},
		{"saturated, the carrier tells", both(before("counters/link_downed 255"), counts()), "expect: ok rdma_flap eth0\nexpect: warn rdma_errors mlx5_0"},
		{"the interface came back as another", func(h *host) {
			d := h.Dev(nic(0))
			h.At("60s").Remove("sys/class/net/eth0", d.Dir+"/net/eth0")
			later(h, 0).Netdev("eth0", 400).Set("net/eth0/flags", "0x1003").Set("net/eth0/carrier_changes", "9").Set("net/eth0/ifindex", "77")
		}, "expect: ok rdma_flap eth0"},
		{"the interface was renamed", func(h *host) {
			d := h.Dev(nic(0))
			h.At("60s").Remove("sys/class/net/eth0", d.Dir+"/net/eth0")
			later(h, 0).Netdev("ens9", 400).Set("net/ens9/flags", "0x1003").Set("net/ens9/carrier_changes", "9")
			gids(later(h, 0), "mlx5_0", "ens9", "fe80:0000:0000:0000:0202:c9ff:fe00:0001 v2", "0000:0000:0000:0000:0000:ffff:0a00:0001 v2")
		}, "expect: ok rdma_flap ens9\nexpect: ok rdma_port ens9"},
		{"the device was renamed", func(h *host) {
			d := h.Dev(nic(0))
			h.At("60s").Remove("sys/class/infiniband/mlx5_0", d.Dir+"/infiniband/mlx5_0")
			infiniBand(later(h, 0), "ibp32s0")
			port(later(h, 0), "ibp32s0", "counters/link_downed 9", "hw_counters/local_ack_timeout_err 5000")
		}, "expect: unknown rdma_flap ibp32s0\nexpect: ok rdma_port ibp32s0\nexpect: unknown rdma_loss ibp32s0\nnever: ok rdma_port mlx5_0"},
		{"the device came back, its counters higher", func(h *host) {
			d := h.Dev(nic(0))
			h.At("60s").Remove("sys/class/infiniband/mlx5_0", d.Dir+"/infiniband/mlx5_0")
			roce(later(h, 0), "mlx5_0")
			port(later(h, 0), "mlx5_0", "counters/link_downed 9", "counters/symbol_error 12", "hw_counters/local_ack_timeout_err 5000")
		}, "expect: ok rdma_flap eth0\nexpect: ok rdma_errors mlx5_0\nexpect: ok rdma_loss mlx5_0"},
	})
	run(t, func(tb testing.TB) *host {
		h := server(tb, 1, infiniBand)
		h.Port("0000:17:08.0", "0000:16:00.0", "32x16")
		h.Add("0000:30:00.0", "0000:17:08.0", "020000", "8086:1592", "16x16").Driver("ice").Netdev("ens8", 100).Set("net/ens8/carrier_changes", "2")
		h.Set("fabricd.yaml", "plan: {roles: {ens8: storage}}")
		return h
	}, []row{
		{"an interface without RDMA", func(h *host) { h.Dev("0000:30:00.0").At("60s").Set("net/ens8/carrier_changes", "8") }, "expect: warn rdma_flap ens8\nsays: carrier_changes 6"},
		{"steady", func(h *host) { film(h) }, "expect: ok rdma_flap ens8"},
		{"of no role that matters", func(h *host) {
			h.Set("fabricd.yaml", "plan: {roles: {ens8: management}}")
			h.Dev("0000:30:00.0").At("60s").Set("net/ens8/carrier_changes", "8")
		}, "never: ok|warn rdma_flap ens8"},
	})
}

// noLoss are the counters of loss that cannot be read, the one of broken connections first.
var noLoss = []string{"hw_counters/req_transport_retries_exceeded.err EINVAL", "hw_counters/out_of_sequence.err EINVAL", "hw_counters/local_ack_timeout_err.err EINVAL"}

func TestLoss(t *testing.T) {
	run(t, one, []row{
		{"none", counts(), "expect: ok rdma_loss mlx5_0\nsays: does not clear the fabric"},
		{"a picture", before("hw_counters/out_of_sequence 9"), "expect: unknown rdma_loss mlx5_0"},
		{"ten for a million", counts("hw_counters/out_of_sequence 10"), "expect: info rdma_loss mlx5_0\nsays: out_of_sequence 10"},
		{"eleven", counts("hw_counters/out_of_sequence 6", "hw_counters/local_ack_timeout_err 5"), "expect: warn rdma_loss mlx5_0\nsays: out_of_sequence 6\nsays: local_ack_timeout_err 5\nsays: 11 for a million"},
		{"none can be read, others can", both(before(noLoss...), counts()), "expect: unknown rdma_loss mlx5_0\nexpect: ok rdma_receiver mlx5_0"},
		{"broken connections alone can be read", both(before(noLoss[1:]...), counts()), "expect: unknown rdma_loss mlx5_0"},
		{"they alone, and grow", both(before(noLoss[1:]...), counts("hw_counters/req_transport_retries_exceeded 1")), "expect: fail rdma_loss mlx5_0"},
		{"adaptive retransmissions alone can be read", both(before(append(noLoss, "hw_counters/roce_adp_retrans 0")...), counts()), "expect: unknown rdma_loss mlx5_0"},
		{"some can be read", both(before(noLoss[:2]...), counts()), "expect: ok rdma_loss mlx5_0"},
		{"grew, and cannot be read any more", func(h *host) {
			port(h.Dev(nic(0)).At("30s"), "mlx5_0", "hw_counters/out_of_sequence 500")
			port(later(h, 0), "mlx5_0", noLoss...)
		}, "expect: info rdma_loss mlx5_0"},
		{"a wrap is small", both(before("hw_counters/out_of_sequence 4294967290"), counts("hw_counters/out_of_sequence 3")), "expect: info rdma_loss mlx5_0\nsays: out_of_sequence 9"},
		{"a reset is none", both(before("hw_counters/out_of_sequence 5000"), counts("hw_counters/out_of_sequence 300")), "expect: ok rdma_loss mlx5_0"},
		{"a driver's counter does not wrap", both(before("hw_counters/to_retransmits 4294967290"), counts("hw_counters/to_retransmits 3")), "expect: ok rdma_loss mlx5_0"},
		{"all ones is no number", both(before("hw_counters/packet_seq_err 1"), counts("hw_counters/packet_seq_err 18446744073709551615")), "expect: ok rdma_loss mlx5_0"},
		{"gone and back", func(h *host) {
			port(h.Dev(nic(0)).At("20s"), "mlx5_0", "hw_counters/out_of_sequence.err EINVAL")
			counts("hw_counters/out_of_sequence 50")(h)
		}, "expect: info rdma_loss mlx5_0\nsays: out_of_sequence 50"},
		{"grew, and stopped", func(h *host) {
			counts("hw_counters/out_of_sequence 500")(h)
			port(h.Dev(nic(0)).At("2m"), "mlx5_0", "counters/port_xmit_packets 2000001")
		}, "expect: info rdma_loss mlx5_0"},
		{"nothing but losses", func(h *host) { port(later(h, 0), "mlx5_0", "hw_counters/local_ack_timeout_err 3") }, "expect: warn rdma_loss mlx5_0\nsays: no packet"},
		{"retries in vain", counts("hw_counters/req_transport_retries_exceeded 1"), "expect: fail rdma_loss mlx5_0\nsays: req_transport_retries_exceeded 1"},
		{"a program's end", both(before("hw_counters/req_cqe_flush_error 0", "hw_counters/resp_cqe_flush_error 0"), counts("hw_counters/req_cqe_flush_error 36071", "hw_counters/resp_cqe_flush_error 96")), "expect: ok rdma_loss mlx5_0"},
		{"with the names of switchdev", both(before("hw_counters/vport_out_of_sequence 0"), counts("hw_counters/vport_out_of_sequence 99")), "expect: warn rdma_loss mlx5_0\nsays: vport_out_of_sequence 99"},
		{"bytes but no packets", func(h *host) {
			dir := h.Dev(nic(0)).Dir + "/infiniband/mlx5_0/ports/1/counters/"
			h.Drop(dir + "port_xmit_packets").Drop(dir + "port_rcv_packets")
			port(later(h, 0), "mlx5_0", "counters/port_xmit_data 2024000000", "hw_counters/out_of_sequence 11")
		}, "expect: warn rdma_loss mlx5_0\nsays: as packets of 4096"},
		{"neither bytes nor packets", func(h *host) {
			h.Drop(h.Dev(nic(0)).Dir + "/infiniband/mlx5_0/ports/1/counters")
			port(later(h, 0), "mlx5_0", "hw_counters/out_of_sequence 11")
		}, "expect: unknown rdma_loss mlx5_0\nsays: no packets"},
		{"another limit", func(h *host) {
			counts("hw_counters/out_of_sequence 11")(h)
			h.Set("fabricd.yaml", "thresholds: {rdma_loss: {per_million: 20}}")
		}, "expect: info rdma_loss mlx5_0"},
	})
}

// Every vendor's names, as far as they are known, lead to the same verdicts.
func TestVendors(t *testing.T) {
	var rows []row
	for expect, names := range map[string][]string{
		"expect: warn rdma_loss mlx5_0": {
			"to_retransmits", "seq_err_naks_rcvd", "oos_drop_count", "sq_num_to", "sq_num_oos", "rq_num_oos", "requester_timeout", "requester_oos_nak",
			"responder_oos", "requester_implicit_nak", "tx_rdma_ack_timeout", "req_rx_pkt_seq_err", "resp_rx_outouf_seq", "resp_rx_outofseq",
			"out_of_seq_request", "rcvd_seq_err", "roce_adp_retrans", "impaired_remote_conn_events", "unresponsive_remote_events", "retrans_timeout_events",
		},
		"expect: fail rdma_loss mlx5_0":     {"max_retry_exceeded", "retry_exceeded_err", "req_tx_retry_excd_err", "requester_retries_exceeded", "sq_num_tree"},
		"expect: warn rdma_receiver mlx5_0": {"rx_out_of_buffer", "resp_rx_outof_buf", "rnr_naks_rcvd", "requester_rnr_nak", "responder_rnr_nak", "send_rnr_err", "rcvd_rnr_err", "rq_num_rnr", "req_rx_rnr_retry_err"},
		"expect: ok rdma_loss mlx5_0":       {"retrans_pkts", "tcpRetransSegs", "dup_req", "rx_icrc_encapsulated", "roce_slow_restart_cnps"},
	} {
		for _, name := range names {
			rows = append(rows, row{name, both(before("hw_counters/"+name+" 5"), counts("hw_counters/"+name+" 505")), expect})
		}
	}
	run(t, one, rows)
}

func TestReceiver(t *testing.T) {
	run(t, one, []row{
		{"none", counts(), "expect: ok rdma_receiver mlx5_0"},
		{"a picture", before("hw_counters/out_of_buffer 48"), "expect: unknown rdma_receiver mlx5_0"},
		{"here", counts("hw_counters/out_of_buffer 48"), "expect: warn rdma_receiver mlx5_0\nsays: this host\nsays: out_of_buffer 48"},
		{"at the peer", counts("hw_counters/rnr_nak_retry_err 3"), "expect: warn rdma_receiver mlx5_0\nsays: peers\nnever: warn rdma_loss *"},
		{"cannot be read", both(before("hw_counters/out_of_buffer.err EINVAL", "hw_counters/rnr_nak_retry_err.err EINVAL"), counts()), "expect: unknown rdma_receiver mlx5_0\nexpect: ok rdma_loss mlx5_0"},
		{"of this host it cannot be read", both(before("hw_counters/out_of_buffer.err EINVAL"), counts()), "expect: unknown rdma_receiver mlx5_0"},
		{"of this host it cannot be read, at the peer it grows", both(before("hw_counters/out_of_buffer.err EINVAL"), counts("hw_counters/rnr_nak_retry_err 3")), "expect: warn rdma_receiver mlx5_0\nsays: peers"},
		{"old", both(before("hw_counters/out_of_buffer 48"), counts()), "expect: ok rdma_receiver mlx5_0"},
	})
}

func TestCNP(t *testing.T) {
	run(t, oneRoCE, []row{
		{"idle", counts(), "expect: ok roce_cnp mlx5_0"},
		{"at work", counts("hw_counters/np_cnp_sent 300", "hw_counters/np_ecn_marked_roce_packets 9000"), "expect: ok roce_cnp mlx5_0"},
		{"a picture", before("hw_counters/rp_cnp_ignored 7"), "expect: unknown roce_cnp mlx5_0"},
		{"marks, no CNP", counts("hw_counters/np_ecn_marked_roce_packets 9000"), "expect: warn roce_cnp mlx5_0\nsays: np_cnp_sent\nsays: notification point"},
		{"CNPs, no marks", counts("hw_counters/np_cnp_sent 300"), "expect: warn roce_cnp mlx5_0\nsays: np_ecn_marked_roce_packets"},
		{"ignored", counts("hw_counters/rp_cnp_ignored 1"), "expect: warn roce_cnp mlx5_0\nsays: ignored"},
		{"only what is ignored can be read", both(before("hw_counters/np_cnp_sent.err EINVAL", "hw_counters/np_ecn_marked_roce_packets.err EINVAL"), counts()), "expect: unknown roce_cnp mlx5_0"},
		{"ignored before", both(before("hw_counters/rp_cnp_ignored 7"), counts()), "expect: ok roce_cnp mlx5_0"},
		{"too few to tell", counts("hw_counters/np_ecn_marked_roce_packets 9"), "expect: ok roce_cnp mlx5_0"},
		{"the device as a whole counts", func(h *host) {
			dir := h.Dev(nic(0)).Dir + "/infiniband/mlx5_0/"
			h.Drop(dir + "ports/1/hw_counters/np_cnp_sent").Drop(dir + "ports/1/hw_counters/np_ecn_marked_roce_packets")
			h.Set(dir+"hw_counters/sent_cnps", "0").Set(dir+"hw_counters/received_ecns", "0")
			h.At("60s").Set(dir+"hw_counters/received_ecns", "5000")
		}, "expect: warn roce_cnp mlx5_0\nsays: sent_cnps"},
		{"optional counters stand in for missing ones", func(h *host) {
			dir := h.Dev(nic(0)).Dir + "/infiniband/mlx5_0/ports/1/hw_counters/"
			h.Drop(dir + "np_ecn_marked_roce_packets").Drop(dir + "np_cnp_sent")
			h.Set("rdma/mlx5_0/1/statistic", "link mlx5_0/1 out_of_buffer 0 cc_rx_ce_pkts 0 cc_tx_cnp_pkts 0")
			h.At("60s").Set("rdma/mlx5_0/1/statistic", "link mlx5_0/1 out_of_buffer 0 cc_rx_ce_pkts 7000 cc_tx_cnp_pkts 0")
		}, "expect: warn roce_cnp mlx5_0\nsays: cc_rx_ce_pkts"},
		{"no marks counted by the driver", func(h *host) {
			dir := h.Dev(nic(0)).Dir + "/infiniband/mlx5_0/ports/1/hw_counters/"
			h.Drop(dir + "np_ecn_marked_roce_packets").Drop(dir + "np_cnp_sent").Drop(dir + "rp_cnp_ignored")
			both(before("hw_counters/tx_cnp_pkt 0"), counts("hw_counters/tx_cnp_pkt 4000"))(h)
		}, "expect: ok roce_cnp mlx5_0"},
	})
	run(t, one, []row{{"not on InfiniBand", both(before("hw_counters/np_ecn_marked_roce_packets 0", "hw_counters/np_cnp_sent 0"), counts("hw_counters/np_ecn_marked_roce_packets 9000")), "never: warn|ok|unknown roce_cnp *"}})
}
