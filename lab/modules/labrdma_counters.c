// SPDX-License-Identifier: GPL-2.0-only
/*
 * labrdma's counters, under mlx5's names: those that the core asks the driver for, which it shows
 * under hw_counters and over netlink, and those that it asks the port's performance agent for,
 * which it shows under counters.
 */
#include <linux/math64.h>
#include <linux/netdevice.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rdma/ib_verbs.h>

#include "labrdma_dev.h"

struct name {
	const char *text;
	unsigned int bits;	/* how wide the register is that the hardware would count in */
};

/* What mlx5 counts for each port. The narrow ones wrap. */
static const struct name hw_names[LABRDMA_HW_COUNTERS] = {
	{ "rx_write_requests", 32 },
	{ "rx_read_requests", 32 },
	{ "rx_atomic_requests", 32 },
	{ "rx_dct_connect", 32 },
	{ "out_of_buffer", 32 },
	{ "out_of_sequence", 32 },
	{ "duplicate_request", 32 },
	{ "rnr_nak_retry_err", 32 },
	{ "packet_seq_err", 32 },
	{ "implied_nak_seq_err", 32 },
	{ "local_ack_timeout_err", 32 },
	{ "resp_local_length_error", 32 },
	{ "resp_cqe_error", 32 },
	{ "req_cqe_error", 32 },
	{ "req_remote_invalid_request", 32 },
	{ "req_remote_access_errors", 32 },
	{ "resp_remote_access_errors", 32 },
	{ "resp_cqe_flush_error", 32 },
	{ "req_cqe_flush_error", 32 },
	{ "req_transport_retries_exceeded", 32 },
	{ "req_rnr_retries_exceeded", 32 },
	{ "roce_adp_retrans", 32 },
	{ "roce_adp_retrans_to", 32 },
	{ "roce_slow_restart", 32 },
	{ "roce_slow_restart_cnps", 32 },
	{ "roce_slow_restart_trans", 32 },
	{ "rp_cnp_ignored", 64 },
	{ "rp_cnp_handled", 64 },
	{ "np_ecn_marked_roce_packets", 64 },
	{ "np_cnp_sent", 64 },
	{ "rx_icrc_encapsulated", 64 },
	[LABRDMA_OPTIONAL] = { "cc_rx_ce_pkts", 64 },
};

/* The narrow ones stay at their maximum, as the architecture has it. */
static const struct name pma_names[PMA_COUNTERS] = {
	[PMA_SYMBOL_ERROR] = { "symbol_error", 16 },
	[PMA_LINK_ERROR_RECOVERY] = { "link_error_recovery", 8 },
	[PMA_LINK_DOWNED] = { "link_downed", 8 },
	[PMA_RCV_ERRORS] = { "port_rcv_errors", 16 },
	[PMA_RCV_REMOTE_PHYSICAL_ERRORS] = { "port_rcv_remote_physical_errors", 16 },
	[PMA_RCV_SWITCH_RELAY_ERRORS] = { "port_rcv_switch_relay_errors", 16 },
	[PMA_XMIT_DISCARDS] = { "port_xmit_discards", 16 },
	[PMA_XMIT_CONSTRAINT_ERRORS] = { "port_xmit_constraint_errors", 8 },
	[PMA_RCV_CONSTRAINT_ERRORS] = { "port_rcv_constraint_errors", 8 },
	[PMA_LOCAL_LINK_INTEGRITY_ERRORS] = { "local_link_integrity_errors", 4 },
	[PMA_EXCESSIVE_BUFFER_OVERRUN_ERRORS] = { "excessive_buffer_overrun_errors", 4 },
	[PMA_VL15_DROPPED] = { "VL15_dropped", 16 },
	[PMA_XMIT_WAIT] = { "port_xmit_wait", 32 },
	[PMA_XMIT_DATA] = { "port_xmit_data", 64 },
	[PMA_RCV_DATA] = { "port_rcv_data", 64 },
	[PMA_XMIT_PACKETS] = { "port_xmit_packets", 64 },
	[PMA_RCV_PACKETS] = { "port_rcv_packets", 64 },
	[PMA_UNICAST_XMIT_PACKETS] = { "unicast_xmit_packets", 64 },
	[PMA_UNICAST_RCV_PACKETS] = { "unicast_rcv_packets", 64 },
	[PMA_MULTICAST_XMIT_PACKETS] = { "multicast_xmit_packets", 64 },
	[PMA_MULTICAST_RCV_PACKETS] = { "multicast_rcv_packets", 64 },
};

static struct rdma_stat_desc descs[LABRDMA_HW_COUNTERS];

u64 labrdma_grown(const struct labrdma_counter *c)
{
	return c->value + mul_u64_u64_div_u64(c->rate, ktime_get_ns() - c->since, NSEC_PER_SEC);
}

/* What the hardware's register holds: some begin anew, some stay at their maximum. */
static u64 wrapped(const struct labrdma_counter *c, unsigned int bits)
{
	return labrdma_grown(c) & GENMASK_ULL(bits - 1, 0);
}

static u64 saturated(const struct labrdma_counter *c, unsigned int bits)
{
	return min(labrdma_grown(c), GENMASK_ULL(bits - 1, 0));
}

static struct rdma_hw_stats *alloc_hw_port_stats(struct ib_device *ib, u32 port)
{
	struct rdma_hw_stats *stats;
	int i;

	for (i = 0; i < LABRDMA_HW_COUNTERS; i++)
		descs[i].name = hw_names[i].text;
	descs[LABRDMA_OPTIONAL].flags = IB_STAT_FLAG_OPTIONAL;
	stats = rdma_alloc_hw_stats_struct(descs, LABRDMA_HW_COUNTERS,
					   RDMA_HW_STATS_DEFAULT_LIFESPAN);
	if (stats)
		set_bit(LABRDMA_OPTIONAL, stats->is_disabled);
	return stats;
}

/* The core asks before it lets an administrator enable a counter: rdma statistic set. */
static int modify_hw_stat(struct ib_device *ib, u32 port, unsigned int index, bool enable)
{
	return index == LABRDMA_OPTIONAL ? 0 : -EINVAL;
}

/*
 * A driver may answer with all counters, whichever was asked for. While one of them fails it says
 * that it gave only one, or the core would keep the others' answer for the one that fails.
 */
static int get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats, u32 number, int index)
{
	struct labrdma *priv = labrdma_of(ib);
	int i, given = LABRDMA_HW_COUNTERS;
	struct labrdma_port *port;

	if (!number || !stats)
		return -EINVAL;
	port = labrdma_port(ib, number);
	if (index < LABRDMA_HW_COUNTERS && port->counter[index].fails)
		return -EINVAL;
	spin_lock(&priv->lock);
	for (i = 0; i < LABRDMA_HW_COUNTERS; i++) {
		stats->value[i] = wrapped(&port->counter[i], hw_names[i].bits);
		if (port->counter[i].fails)
			given = 1;
	}
	spin_unlock(&priv->lock);
	return given;
}

/* Is one of a range of the port's counters to fail? */
static bool any_fails(const struct labrdma_counter *c, enum pma from, enum pma to)
{
	for (; from <= to; from++)
		if (c[from].fails)
			return true;
	return false;
}

static u64 pma(const struct labrdma_counter *c, enum pma index)
{
	return saturated(&c[index], pma_names[index].bits);
}

static void narrow_counters(const struct labrdma_counter *c, struct ib_pma_portcounters *to)
{
	to->symbol_error_counter = cpu_to_be16(pma(c, PMA_SYMBOL_ERROR));
	to->link_error_recovery_counter = pma(c, PMA_LINK_ERROR_RECOVERY);
	to->link_downed_counter = pma(c, PMA_LINK_DOWNED);
	to->port_rcv_errors = cpu_to_be16(pma(c, PMA_RCV_ERRORS));
	to->port_rcv_remphys_errors = cpu_to_be16(pma(c, PMA_RCV_REMOTE_PHYSICAL_ERRORS));
	to->port_rcv_switch_relay_errors = cpu_to_be16(pma(c, PMA_RCV_SWITCH_RELAY_ERRORS));
	to->port_xmit_discards = cpu_to_be16(pma(c, PMA_XMIT_DISCARDS));
	to->port_xmit_constraint_errors = pma(c, PMA_XMIT_CONSTRAINT_ERRORS);
	to->port_rcv_constraint_errors = pma(c, PMA_RCV_CONSTRAINT_ERRORS);
	to->link_overrun_errors = pma(c, PMA_LOCAL_LINK_INTEGRITY_ERRORS) << 4 |
				  pma(c, PMA_EXCESSIVE_BUFFER_OVERRUN_ERRORS);
	to->vl15_dropped = cpu_to_be16(pma(c, PMA_VL15_DROPPED));
	to->port_xmit_wait = cpu_to_be32(pma(c, PMA_XMIT_WAIT));
}

static void wide_counters(const struct labrdma_counter *c, struct ib_pma_portcounters_ext *to)
{
	to->port_xmit_data = cpu_to_be64(pma(c, PMA_XMIT_DATA));
	to->port_rcv_data = cpu_to_be64(pma(c, PMA_RCV_DATA));
	to->port_xmit_packets = cpu_to_be64(pma(c, PMA_XMIT_PACKETS));
	to->port_rcv_packets = cpu_to_be64(pma(c, PMA_RCV_PACKETS));
	to->port_unicast_xmit_packets = cpu_to_be64(pma(c, PMA_UNICAST_XMIT_PACKETS));
	to->port_unicast_rcv_packets = cpu_to_be64(pma(c, PMA_UNICAST_RCV_PACKETS));
	to->port_multicast_xmit_packets = cpu_to_be64(pma(c, PMA_MULTICAST_XMIT_PACKETS));
	to->port_multicast_rcv_packets = cpu_to_be64(pma(c, PMA_MULTICAST_RCV_PACKETS));
}

/*
 * The performance agent, through which the core reads the files under counters. The core asks for
 * all narrow or all wide ones and takes out the one it wants, so where one is to fail, its group
 * does.
 */
static int process_mad(struct ib_device *ib, int flags, u32 number, const struct ib_wc *wc,
		       const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index)
{
	struct labrdma *priv = labrdma_of(ib);
	struct labrdma_counter *c = &labrdma_port(ib, number)->counter[LABRDMA_HW_COUNTERS];
	struct ib_class_port_info *info;
	void *data = out->data + 40;
	bool fails = false;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT)
		return IB_MAD_RESULT_SUCCESS;
	memset(out->data, 0, sizeof(out->data));
	spin_lock(&priv->lock);
	if (in->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO) {
		info = data;
		info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH;
	} else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS) {
		narrow_counters(c, data);
		fails = any_fails(c, PMA_SYMBOL_ERROR, PMA_XMIT_WAIT);
	} else if (in->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT) {
		wide_counters(c, data);
		fails = any_fails(c, PMA_XMIT_DATA, PMA_MULTICAST_RCV_PACKETS);
	}
	spin_unlock(&priv->lock);
	return fails ? IB_MAD_RESULT_FAILURE : IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

const struct ib_device_ops labrdma_hw_ops = {
	.alloc_hw_port_stats = alloc_hw_port_stats,
	.get_hw_stats = get_hw_stats,
	.modify_hw_stat = modify_hw_stat,
};

const struct ib_device_ops labrdma_pma_ops = {
	.process_mad = process_mad,
};

int labrdma_counter_by_name(const char *name)
{
	int i;

	for (i = 0; i < LABRDMA_HW_COUNTERS; i++)
		if (!strcmp(hw_names[i].text, name))
			return i;
	for (i = 0; i < PMA_COUNTERS; i++)
		if (!strcmp(pma_names[i].text, name))
			return LABRDMA_HW_COUNTERS + i;
	return -ENOENT;
}
