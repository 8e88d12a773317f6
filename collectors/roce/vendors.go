// SPDX-License-Identifier: Apache-2.0

package roce

// vendors are the names by which drivers count. A driver is added by one table
// here and one recorded host that has it (CONTRIBUTING.md).
var vendors = []vendor{
	// drivers/net/ethernet/mellanox/mlx5/core/en_stats.c. The names of pause are
	// there only for priorities that have PFC on, those of global pause only
	// while that is on; storms are those of priority 0's block.
	{
		drivers: []string{"mlx5_core"}, relabels: true,
		counters: []counter{
			{pfcFrames, rx, "rx_prio#_pause"}, {pfcFrames, tx, "tx_prio#_pause"},
			{pfcTime, rx, "rx_prio#_pause_duration"}, {pfcTime, tx, "tx_prio#_pause_duration"},
			{pfcTransitions, rx, "rx_prio#_pause_transition"},
			{prioBytes, rx, "rx_prio#_bytes"}, {prioBytes, tx, "tx_prio#_bytes"},
			{prioPackets, rx, "rx_prio#_packets"}, {prioPackets, tx, "tx_prio#_packets"},
			{prioDiscards, rx, "rx_prio#_discards"}, {prioDiscards, rx, "rx_prio#_buf_discard"}, {prioDiscards, rx, "rx_prio#_cong_discard"},
			{prioMarked, rx, "rx_prio#_marked"},
			{pauseControl, rx, "rx_pause_ctrl_phy"}, {pauseControl, tx, "tx_pause_ctrl_phy"},
			{pauseFrames, rx, "rx_global_pause"}, {pauseFrames, tx, "tx_global_pause"},
			{pauseTime, rx, "rx_global_pause_duration"}, {pauseTime, tx, "tx_global_pause_duration"},
			{stormEvents, tx, "tx_pause_storm_warning_events"}, {stormEvents, tx, "tx_pause_storm_error_events"},
			{discards, rx, "rx_discards_phy"}, {discards, tx, "tx_discards_phy"}, {discards, rx, "outbound_pci_buffer_overflow"},
			{rdmaBytes, rx, "rx_vport_rdma_unicast_bytes"}, {rdmaBytes, tx, "tx_vport_rdma_unicast_bytes"},
			{rdmaPackets, rx, "rx_vport_rdma_unicast_packets"}, {rdmaPackets, tx, "tx_vport_rdma_unicast_packets"},
			{portBytes, rx, "rx_bytes_phy"}, {portBytes, tx, "tx_bytes_phy"},
			{stallRead, rx, "outbound_pci_stalled_rd"}, {stallWrite, rx, "outbound_pci_stalled_wr"},
			{stallReadSecs, rx, "outbound_pci_stalled_rd_events"}, {stallWriteSecs, rx, "outbound_pci_stalled_wr_events"},
			{outOfBuffer, rx, "rx_out_of_buffer"}, {bufferFull, rx, "rx_buffer_passed_thres_phy"},
		},
	},
	// drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c. A continuous pause is
	// one that the NIC's own watchdog took for a storm.
	{
		drivers: []string{"bnxt_en"},
		counters: []counter{
			{pfcFrames, rx, "rx_pfc_ena_frames_pri#"}, {pfcFrames, tx, "tx_pfc_ena_frames_pri#"},
			{pfcTime, rx, "pfc_pri#_rx_duration_us"}, {pfcTime, tx, "pfc_pri#_tx_duration_us"},
			{pfcTransitions, rx, "pfc_pri#_rx_transitions"}, {pfcTransitions, tx, "pfc_pri#_tx_transitions"},
			{prioBytes, rx, "rx_bytes_pri#"}, {prioBytes, tx, "tx_bytes_pri#"},
			{prioPackets, rx, "rx_packets_pri#"}, {prioPackets, tx, "tx_packets_pri#"},
			{pauseFrames, rx, "rx_pause_frames"}, {pauseFrames, tx, "tx_pause_frames"},
			{stormEvents, tx, "continuous_roce_pause_events"}, {stormEvents, tx, "continuous_pause_events"},
			{discards, rx, "rx_stat_discard"}, {discards, tx, "tx_stat_discard"},
			{discards, rx, "rx_total_ring_discards"}, {discards, rx, "rx_total_discard_pkts"}, {discards, rx, "rx_discard_packets_cos#"},
			{portBytes, rx, "rx_bytes"}, {portBytes, tx, "tx_bytes"},
			{fecCorrected, rx, "rx_fec_corrected_blocks"}, {fecUncorrectable, rx, "rx_fec_uncorrectable_blocks"},
			{bufferFull, rx, "rx_buffer_passed_threshold"},
		},
	},
	// drivers/net/ethernet/intel/ice/ice_ethtool.c: frames without a duration.
	{
		drivers: []string{"ice"},
		counters: []counter{
			{pfcFrames, rx, "rx_priority_#_xoff.nic"}, {pfcFrames, tx, "tx_priority_#_xoff.nic"},
			{pfcXON, rx, "rx_priority_#_xon.nic"}, {pfcXON, tx, "tx_priority_#_xon.nic"},
			{pauseFrames, rx, "link_xoff_rx.nic"}, {pauseFrames, tx, "link_xoff_tx.nic"},
			{discards, rx, "rx_dropped.nic"},
			{portBytes, rx, "rx_bytes.nic"}, {portBytes, tx, "tx_bytes.nic"},
		},
	},
	// drivers/net/ethernet/intel/i40e/i40e_ethtool.c; with a direction at their
	// ends in older kernels.
	{
		drivers: []string{"i40e"},
		counters: []counter{
			{pfcFrames, rx, "port.rx_priority_#_xoff"}, {pfcFrames, tx, "port.tx_priority_#_xoff"},
			{pfcFrames, rx, "port.rx_priority_#_xoff_rx"}, {pfcFrames, tx, "port.tx_priority_#_xoff_tx"},
			{pfcXON, rx, "port.rx_priority_#_xon"}, {pfcXON, tx, "port.tx_priority_#_xon"},
			{pfcXON, rx, "port.rx_priority_#_xon_rx"}, {pfcXON, tx, "port.tx_priority_#_xon_tx"},
			{pfcTransitions, rx, "port.rx_priority_#_xon_2_xoff"},
			{pauseFrames, rx, "port.link_xoff_rx"}, {pauseFrames, tx, "port.link_xoff_tx"},
			{discards, rx, "port.rx_dropped"},
			{portBytes, rx, "port.rx_bytes"}, {portBytes, tx, "port.tx_bytes"},
		},
	},
	// drivers/net/ethernet/intel/ixgbe/ixgbe_ethtool.c: by packet buffers, one
	// for each traffic class.
	{
		drivers: []string{"ixgbe"},
		counters: []counter{
			{pfcFrames, rx, "rx_pb_#_pxoff"}, {pfcFrames, tx, "tx_pb_#_pxoff"},
			{pfcXON, rx, "rx_pb_#_pxon"}, {pfcXON, tx, "tx_pb_#_pxon"},
			{pauseFrames, rx, "rx_flow_control_xoff"}, {pauseFrames, tx, "tx_flow_control_xoff"},
			{discards, rx, "rx_missed_errors"}, {discards, rx, "rx_no_dma_resources"},
			{portBytes, rx, "rx_bytes_nic"}, {portBytes, tx, "tx_bytes_nic"},
		},
	},
	// drivers/net/ethernet/pensando/ionic/ionic_stats.c: durations of a priority
	// but frames of all of them; frames_rx_pri_N are data.
	{
		drivers: []string{"ionic"},
		counters: []counter{
			{pfcTime, rx, "rx_pripause_#_1us_count"}, {pfcTime, tx, "tx_pripause_#_1us_count"},
			{prioPackets, rx, "frames_rx_pri_#"}, {prioPackets, tx, "frames_tx_pri_#"},
			{pfcFramesAll, rx, "frames_rx_pripause"}, {pfcFramesAll, tx, "frames_tx_pripause"},
			{pauseFrames, rx, "frames_rx_pause"}, {pauseFrames, tx, "frames_tx_pause"},
			{pauseTime, rx, "rx_pause_1us_count"},
			{discards, rx, "frames_rx_dropped"},
			{portBytes, rx, "octets_rx_ok"}, {portBytes, tx, "octets_tx_ok"},
		},
	},
	// drivers/net/ethernet/hisilicon/hns3/hns3pf/hclge_main.c, which does not
	// say in which unit xoff_time is.
	{
		drivers: []string{"hns3"},
		counters: []counter{
			{pfcFrames, rx, "mac_rx_pfc_pri#_pkt_num"}, {pfcFrames, tx, "mac_tx_pfc_pri#_pkt_num"},
			{pfcTimeUnknown, rx, "mac_rx_pfc_pri#_xoff_time"}, {pfcTimeUnknown, tx, "mac_tx_pfc_pri#_xoff_time"},
			{pauseFrames, rx, "mac_rx_mac_pause_num"}, {pauseFrames, tx, "mac_tx_mac_pause_num"},
			{portBytes, rx, "mac_rx_total_oct_num"}, {portBytes, tx, "mac_tx_total_oct_num"},
		},
	},
	// drivers/net/ethernet/chelsio/cxgb4/cxgb4_ethtool.c, padded with blanks there.
	{
		drivers: []string{"cxgb4"},
		counters: []counter{
			{pfcFrames, rx, "rx_ppp#_frames"}, {pfcFrames, tx, "tx_ppp#_frames"},
			{pauseFrames, rx, "rx_pause_frames"}, {pauseFrames, tx, "tx_pause_frames"},
			{discards, rx, "rx_bg#_frames_dropped"}, {discards, rx, "rx_bg#_frames_trunc"},
			{portBytes, rx, "rx_octets_ok"}, {portBytes, tx, "tx_octets_ok"},
		},
	},
	// drivers/net/ethernet/mellanox/mlx4/en_ethtool.c. Durations and transitions
	// go by whose transmitter was paused (mlx4_stats.h): tx is ours, held by
	// frames received. A host that received 14812 frames and sent none was
	// seen to have 7406 of them under tx.
	{
		drivers: []string{"mlx4_en", "mlx4_core"},
		counters: []counter{
			{pfcFrames, rx, "rx_pause_prio_#"}, {pfcFrames, tx, "tx_pause_prio_#"},
			{pfcTime, rx, "tx_pause_duration_prio_#"}, {pfcTime, tx, "rx_pause_duration_prio_#"},
			{pfcTransitions, rx, "tx_pause_transition_prio_#"}, {pfcTransitions, tx, "rx_pause_transition_prio_#"},
			{prioBytes, rx, "rx_prio_#_bytes"}, {prioBytes, tx, "tx_prio_#_bytes"},
			{prioPackets, rx, "rx_prio_#_packets"}, {prioPackets, tx, "tx_prio_#_packets"},
			{pauseFrames, rx, "rx_pause"}, {pauseFrames, tx, "tx_pause"},
			{pauseTime, rx, "tx_pause_duration"}, {pauseTime, tx, "rx_pause_duration"},
			{discards, rx, "rx_dropped"},
			{portBytes, rx, "rx_bytes"}, {portBytes, tx, "tx_bytes"},
		},
	},
}
