// SPDX-License-Identifier: Apache-2.0

package rdma

import "strings"

// A Family is what counters of different drivers have in common.
type Family uint8

// Families. A driver that cannot tell handled from ignored CNPs counts those
// that it received as handled.
const (
	NoFamily Family = iota

	TransmittedBytes
	ReceivedBytes
	TransmittedPackets
	ReceivedPackets

	CNPSent    // this host saw marked packets and told the sender
	CNPHandled // this host was told, and slowed down
	CNPIgnored // this host was told, and did not
	ECNMarked  // packets received with a mark of congestion

	OutOfBuffer // packets that found no receive buffer here
	RNRSent     // "receiver not ready" said to the peer
	RNRReceived // "receiver not ready" heard from the peer
	RNRExceeded // connections lost because the peer never was ready

	AckTimeout    // acknowledgements that did not come in time
	SequenceNAK   // the peer missed a packet of ours
	OutOfSequence // we missed a packet of the peer's
	ImpliedNAK    // an answer came for a later request than was due
	Adaptive      // adaptive retransmissions

	RetriesExceeded // connections lost because the network did not deliver

	RemoteImpaired     // EFA: connections that run with a reduced rate
	RemoteUnresponsive // EFA: peers that no longer answered

	families
)

// Lossy says whether the family's events mean that packets were lost, or came
// too late.
func (f Family) Lossy() bool { return f >= AckTimeout && f <= Adaptive }

// FamilyOf gives the family of a file in hw_counters. The names are those of
// drivers/infiniband/hw/*: mlx5/counters.c, mlx4/main.c, bnxt_re/hw_counters.c,
// irdma/verbs.c, hns/hns_roce_main.c, efa/efa_verbs.c, erdma, mana/counters.c,
// cxgb4/provider.c and sw/rxe; ionic's come from its firmware. In switchdev mode
// mlx5 puts vport_ before them.
func FamilyOf(name string) Family {
	switch strings.TrimPrefix(name, "vport_") {
	case "tx_bytes", "tx_rdma_ucast_bytes", "tx_bytes_cnt", "ip4OutOctets", "ip6OutOctets":
		return TransmittedBytes
	case "rx_bytes", "rx_rdma_ucast_bytes", "rx_bytes_cnt", "ip4InOctets", "ip6InOctets":
		return ReceivedBytes
	case "tx_pkts", "tx_packets", "tx_pkt", "tx_rdma_ucast_pkts", "tx_packets_cnt", "ip4OutPkts", "ip6OutPkts", "ip4OutSegs", "ip6OutSegs", "sent_pkts":
		return TransmittedPackets
	case "rx_pkts", "rx_packets", "rx_pkt", "rx_rdma_ucast_pkts", "rx_packets_cnt", "ip4InPkts", "ip6InPkts", "ip4InSegs", "ip6InSegs", "rcvd_pkts":
		return ReceivedPackets
	case "np_cnp_sent", "tx_cnp_pkts", "cnpSent", "tx_cnp_pkt", "tx_rdma_cnp_pkts", "sent_cnps":
		return CNPSent
	case "rp_cnp_handled", "rx_cnp_pkts", "cnpHandled", "rx_cnp_pkt", "rx_rdma_cnp_pkts", "received_cnps":
		return CNPHandled
	case "rp_cnp_ignored", "cnpIgnored":
		return CNPIgnored
	case "np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd", "rx_rdma_ecn_pkts", "received_ecns":
		return ECNMarked
	}
	return troubleOf(strings.TrimPrefix(name, "vport_"))
}

// optionalFamily gives the family of one of mlx5's optional counters, which a
// port may have where it lacks the others, as in switchdev mode.
func optionalFamily(name string) Family {
	switch name {
	case "cc_rx_ce_pkts":
		return ECNMarked
	case "cc_tx_cnp_pkts":
		return CNPSent
	case "cc_rx_cnp_pkts":
		return CNPHandled
	case "rdma_tx_bytes":
		return TransmittedBytes
	case "rdma_rx_bytes":
		return ReceivedBytes
	case "rdma_tx_packets":
		return TransmittedPackets
	case "rdma_rx_packets":
		return ReceivedPackets
	}
	return NoFamily
}

func troubleOf(name string) Family {
	switch name {
	case "out_of_buffer", "rx_out_of_buffer", "resp_rx_outof_buf":
		return OutOfBuffer
	case "responder_rnr_nak", "rq_num_rnr", "send_rnr_err", "resp_tx_rnr_retry_err":
		return RNRSent
	case "rnr_nak_retry_err", "rnr_naks_rcvd", "requester_rnr_nak", "sq_num_rnr", "rcvd_rnr_err", "req_rx_rnr_retry_err":
		return RNRReceived
	case "req_rnr_retries_exceeded", "requester_rnr_nak_retries_exceeded", "sq_num_rree", "retry_rnr_exceeded_err":
		return RNRExceeded
	case "local_ack_timeout_err", "to_retransmits", "requester_timeout", "sq_num_to", "tx_rdma_ack_timeout", "retrans_timeout_events":
		return AckTimeout
	case "packet_seq_err", "seq_err_naks_rcvd", "requester_oos_nak", "sq_num_oos", "req_rx_pkt_seq_err", "rcvd_seq_err":
		return SequenceNAK
	case "out_of_sequence", "oos_drop_count", "responder_oos", "rq_num_oos", "resp_rx_outofseq", "resp_rx_outouf_seq", "out_of_seq_request":
		return OutOfSequence
	case "implied_nak_seq_err", "requester_implicit_nak", "req_rx_impl_nak_seq_err":
		return ImpliedNAK
	case "roce_adp_retrans", "roce_adp_retrans_to":
		return Adaptive
	case "req_transport_retries_exceeded", "max_retry_exceeded", "requester_retries_exceeded", "sq_num_tree", "req_tx_retry_excd_err", "retry_exceeded_err":
		return RetriesExceeded
	case "impaired_remote_conn_events":
		return RemoteImpaired
	case "unresponsive_remote_events":
		return RemoteUnresponsive
	}
	return NoFamily
}

// gauge says whether a file in hw_counters is a level, not a count: what exists
// at the moment, or did at most (bnxt_re), and rates and registers.
func gauge(name string) bool {
	switch name {
	case "current_rate", "db_fifo_register", "num_qps_congested":
		return true
	}
	return strings.HasPrefix(name, "active_") || strings.HasPrefix(name, "watermark_")
}

// wraps says whether a counter of hw_counters is of 32 bits in hardware and
// starts again at zero: all of mlx5's but those of congestion and of
// encapsulated packets, mlx4's, and some of irdma's.
func wraps(name string) bool {
	name = strings.TrimPrefix(name, "vport_")
	switch name {
	case "rx_write_requests", "rx_read_requests", "rx_atomic_requests", "rx_dct_connect", "out_of_buffer", "out_of_sequence", "duplicate_request",
		"rnr_nak_retry_err", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err", "resp_local_length_error", "resp_cqe_error",
		"req_cqe_error", "req_remote_invalid_request", "req_remote_access_errors", "resp_remote_access_errors", "resp_cqe_flush_error",
		"req_cqe_flush_error", "req_transport_retries_exceeded", "req_rnr_retries_exceeded",
		"cnpHandled", "cnpIgnored", "cnpSent", "tcpRetransSegs", "tcpInOptErrors", "tcpInProtoErrors", "rxVlanErrors",
		"ip4InDiscards", "ip4InTruncatedPkts", "ip4OutNoRoutes", "ip6InDiscards", "ip6InTruncatedPkts", "ip6OutNoRoutes":
		return true
	}
	return strings.HasPrefix(name, "roce_") || strings.HasPrefix(name, "rq_num_") || strings.HasPrefix(name, "sq_num_")
}
