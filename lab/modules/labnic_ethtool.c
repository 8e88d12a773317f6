// SPDX-License-Identifier: GPL-2.0-only
/*
 * labnic's answers to ethtool, under mlx5's names: statistics that come and go with the features
 * that they belong to, pause, FEC, rings, channels, private flags.
 */
#include <linux/device.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>

#include "labnic_dev.h"

static char *driver = "mlx5_core";
module_param(driver, charp, 0444);
MODULE_PARM_DESC(driver,
		 "driver that ethtool -i reports, by which readers know whose the names are");

enum { ALWAYS, NEVER, GLOBAL_PAUSE };	/* when is a name there */

struct name {
	const char *text;
	int when;
};

/* In the order of ethtool -S; the first ones as enum labnic_general has them. */
static const struct name general[] = {
	[LABNIC_RX_PACKETS] = { "rx_packets" },
	[LABNIC_RX_BYTES] = { "rx_bytes" },
	[LABNIC_TX_PACKETS] = { "tx_packets" },
	[LABNIC_TX_BYTES] = { "tx_bytes" },
	[LABNIC_RX_PACKETS_PHY] = { "rx_packets_phy" },
	[LABNIC_RX_BYTES_PHY] = { "rx_bytes_phy" },
	[LABNIC_TX_PACKETS_PHY] = { "tx_packets_phy" },
	[LABNIC_TX_BYTES_PHY] = { "tx_bytes_phy" },
	[LABNIC_RX_PAUSE_CTRL] = { "rx_pause_ctrl_phy" },
	[LABNIC_TX_PAUSE_CTRL] = { "tx_pause_ctrl_phy" },
	[LABNIC_LINK_DOWN] = { "link_down_events_phy" },
	/* Not strings but answers to ethtool -I --show-fec. */
	[LABNIC_FEC_CORRECTED] = { "fec_corrected_blocks", NEVER },
	[LABNIC_FEC_UNCORRECTABLE] = { "fec_uncorrectable_blocks", NEVER },
	{ "rx_out_of_buffer" },
	{ "rx_vport_rdma_unicast_packets" },
	{ "rx_vport_rdma_unicast_bytes" },
	{ "tx_vport_rdma_unicast_packets" },
	{ "tx_vport_rdma_unicast_bytes" },
	{ "rx_crc_errors_phy" },
	{ "rx_discards_phy" },
	{ "tx_discards_phy" },
	{ "tx_errors_phy" },
	{ "rx_symbol_err_phy" },
	{ "rx_pcs_symbol_err_phy" },
	{ "rx_corrected_bits_phy" },
	{ "rx_buffer_passed_thres_phy" },
	{ "rx_ecn_mark" },
	{ "rx_pci_signal_integrity" },
	{ "tx_pci_signal_integrity" },
	{ "outbound_pci_stalled_rd" },
	{ "outbound_pci_stalled_wr" },
	{ "outbound_pci_stalled_rd_events" },
	{ "outbound_pci_stalled_wr_events" },
	{ "outbound_pci_buffer_overflow" },
	{ "tx_pause_storm_warning_events" },
	{ "tx_pause_storm_error_events" },
	{ "rx_global_pause", GLOBAL_PAUSE },
	{ "rx_global_pause_duration", GLOBAL_PAUSE },
	{ "rx_global_pause_transition", GLOBAL_PAUSE },
	{ "tx_global_pause", GLOBAL_PAUSE },
	{ "tx_global_pause_duration", GLOBAL_PAUSE },
};

static_assert(ARRAY_SIZE(general) <= LABNIC_MAX_GENERAL);

static const char *const per_prio[LABNIC_PRIO_COUNTERS] = {
	[LABNIC_PRIO_RX_BYTES] = "rx_prio%d_bytes",
	[LABNIC_PRIO_RX_PACKETS] = "rx_prio%d_packets",
	[LABNIC_PRIO_RX_DISCARDS] = "rx_prio%d_discards",
	[LABNIC_PRIO_TX_BYTES] = "tx_prio%d_bytes",
	[LABNIC_PRIO_TX_PACKETS] = "tx_prio%d_packets",
	[LABNIC_PRIO_RX_BUF_DISCARD] = "rx_prio%d_buf_discard",
	[LABNIC_PRIO_RX_CONG_DISCARD] = "rx_prio%d_cong_discard",
	[LABNIC_PRIO_RX_MARKED] = "rx_prio%d_marked",
	[LABNIC_PRIO_RX_PAUSE] = "rx_prio%d_pause",
	[LABNIC_PRIO_RX_PAUSE_DURATION] = "rx_prio%d_pause_duration",
	[LABNIC_PRIO_RX_PAUSE_TRANSITION] = "rx_prio%d_pause_transition",
	[LABNIC_PRIO_TX_PAUSE] = "tx_prio%d_pause",
	[LABNIC_PRIO_TX_PAUSE_DURATION] = "tx_prio%d_pause_duration",
};

static u64 grown(const struct labnic_counter *c)
{
	return c->value + mul_u64_u64_div_u64(c->rate, ktime_get_ns() - c->since, NSEC_PER_SEC);
}

/*
 * How much of a pause that is going on has passed, in us: its counter has it when the next one
 * begins.
 */
static u64 passed(const struct labnic_span *span)
{
	return div_u64(min(ktime_get_ns(), span->until) - span->from, NSEC_PER_USEC);
}

/* The four that follow are called with the lock held. */
u64 labnic_read(struct labnic *nic, int index)
{
	u64 value = grown(&nic->counter[index]);
	int prio = (index - LABNIC_MAX_GENERAL) / LABNIC_PRIO_COUNTERS;

	if (index < LABNIC_MAX_GENERAL)
		return value;
	if (index == labnic_prio_counter(prio, LABNIC_PRIO_RX_PAUSE_DURATION))
		value += passed(&nic->queue[prio].paused);
	if (index == labnic_prio_counter(prio, LABNIC_PRIO_TX_PAUSE_DURATION))
		value += passed(&nic->queue[prio].pausing);
	return value;
}

void labnic_add(struct labnic *nic, int index, u64 delta)
{
	nic->counter[index].value += delta;
}

void labnic_write(struct labnic *nic, int index, u64 value)
{
	nic->counter[index].value = value;
	nic->counter[index].since = ktime_get_ns();
}

void labnic_grow(struct labnic *nic, int index, u64 rate)
{
	labnic_write(nic, index, grown(&nic->counter[index]));
	nic->counter[index].rate = rate;
}

int labnic_counter_by_name(const char *name)
{
	char text[ETH_GSTRING_LEN];
	int i, prio;

	for (i = 0; i < ARRAY_SIZE(general); i++)
		if (!strcmp(general[i].text, name))
			return i;
	for (prio = 0; prio < LABNIC_PRIOS; prio++)
		for (i = 0; i < LABNIC_PRIO_COUNTERS; i++) {
			snprintf(text, sizeof(text), per_prio[i], prio);
			if (!strcmp(text, name))
				return labnic_prio_counter(prio, i);
		}
	return -ENOENT;
}

static bool is_there(struct labnic *nic, int index)
{
	int prio, what;

	if (index < LABNIC_MAX_GENERAL) {
		if (index >= ARRAY_SIZE(general) || general[index].when == NEVER)
			return false;
		return general[index].when == ALWAYS || nic->pause.rx_pause || nic->pause.tx_pause;
	}
	prio = (index - LABNIC_MAX_GENERAL) / LABNIC_PRIO_COUNTERS;
	what = (index - LABNIC_MAX_GENERAL) % LABNIC_PRIO_COUNTERS;
	return what < LABNIC_PRIO_RX_PAUSE || nic->pfc.pfc_en & BIT(prio);
}

static const char flag_names[][ETH_GSTRING_LEN] = {
	"rx_cqe_moder", "tx_cqe_moder", "rx_cqe_compress", "rx_striding_rq", "rx_no_csum_complete",
	"xdp_tx_mpwqe", "skb_tx_mpwqe", "tx_port_ts", "fw-lldp-agent",
};

static int get_sset_count(struct net_device *netdev, int set)
{
	struct labnic *nic = netdev_priv(netdev);
	int i, n = 0;

	if (set == ETH_SS_PRIV_FLAGS)
		return ARRAY_SIZE(flag_names);
	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	for (i = 0; i < LABNIC_COUNTERS; i++)
		n += is_there(nic, i);
	return n;
}

static void get_strings(struct net_device *netdev, u32 set, u8 *to)
{
	struct labnic *nic = netdev_priv(netdev);
	int i;

	if (set == ETH_SS_PRIV_FLAGS)
		memcpy(to, flag_names, sizeof(flag_names));
	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < LABNIC_COUNTERS; i++) {
		int k = i - LABNIC_MAX_GENERAL;

		if (!is_there(nic, i))
			continue;
		if (k < 0)
			strscpy(to, general[i].text, ETH_GSTRING_LEN);
		else
			snprintf(to, ETH_GSTRING_LEN, per_prio[k % LABNIC_PRIO_COUNTERS],
				 k / LABNIC_PRIO_COUNTERS);
		to += ETH_GSTRING_LEN;
	}
}

static void get_ethtool_stats(struct net_device *netdev, struct ethtool_stats *stats, u64 *to)
{
	struct labnic *nic = netdev_priv(netdev);
	int i;

	spin_lock_bh(&nic->lock);
	for (i = 0; i < LABNIC_COUNTERS; i++)
		if (is_there(nic, i))
			*to++ = labnic_read(nic, i);
	for (i = 0; i < LABNIC_PRIOS; i++) {
		nic->requests[i] = labnic_read(nic, labnic_prio_counter(i, LABNIC_PRIO_TX_PAUSE));
		nic->indications[i] =
			labnic_read(nic, labnic_prio_counter(i, LABNIC_PRIO_RX_PAUSE));
	}
	spin_unlock_bh(&nic->lock);
}

static u32 get_priv_flags(struct net_device *netdev)
{
	struct labnic *nic = netdev_priv(netdev);

	return nic->flags;
}

static int set_priv_flags(struct net_device *netdev, u32 flags)
{
	struct labnic *nic = netdev_priv(netdev);

	nic->flags = flags;
	return 0;
}

static void get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, driver, sizeof(info->driver));
	strscpy(info->fw_version, "28.43.1014 (MT_0000000838)", sizeof(info->fw_version));
	strscpy(info->bus_info, dev_name(netdev->dev.parent), sizeof(info->bus_info));
}

static int get_link_ksettings(struct net_device *netdev, struct ethtool_link_ksettings *ks)
{
	struct labnic *nic = netdev_priv(netdev);
	bool up = netif_carrier_ok(netdev);

	ethtool_link_ksettings_zero_link_mode(ks, supported);
	ethtool_link_ksettings_zero_link_mode(ks, advertising);
	ethtool_link_ksettings_add_link_mode(ks, supported, FIBRE);
	ethtool_link_ksettings_add_link_mode(ks, supported, Autoneg);
	ks->base.autoneg = AUTONEG_ENABLE;
	ks->base.port = PORT_FIBRE;
	ks->base.speed = up ? nic->speed : SPEED_UNKNOWN;
	ks->base.duplex = DUPLEX_UNKNOWN;
	if (up)
		ks->base.duplex = nic->half_duplex ? DUPLEX_HALF : DUPLEX_FULL;
	return 0;
}

static void get_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	struct labnic *nic = netdev_priv(netdev);

	pause->autoneg = nic->pause.autoneg;
	pause->rx_pause = nic->pause.rx_pause;
	pause->tx_pause = nic->pause.tx_pause;
}

static int set_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	struct labnic *nic = netdev_priv(netdev);

	if (pause->autoneg)
		return -EINVAL;
	nic->pause.rx_pause = pause->rx_pause;
	nic->pause.tx_pause = pause->tx_pause;
	return 0;
}

static u64 read_locked(struct labnic *nic, int index)
{
	u64 value;

	spin_lock_bh(&nic->lock);
	value = labnic_read(nic, index);
	spin_unlock_bh(&nic->lock);
	return value;
}

static void get_pause_stats(struct net_device *netdev, struct ethtool_pause_stats *stats)
{
	struct labnic *nic = netdev_priv(netdev);

	stats->rx_pause_frames = read_locked(nic, LABNIC_RX_PAUSE_CTRL);
	stats->tx_pause_frames = read_locked(nic, LABNIC_TX_PAUSE_CTRL);
}

static void get_eth_ctrl_stats(struct net_device *netdev, struct ethtool_eth_ctrl_stats *stats)
{
	struct labnic *nic = netdev_priv(netdev);

	stats->MACControlFramesReceived = read_locked(nic, LABNIC_RX_PAUSE_CTRL);
	stats->MACControlFramesTransmitted = read_locked(nic, LABNIC_TX_PAUSE_CTRL);
}

static int get_fecparam(struct net_device *netdev, struct ethtool_fecparam *fec)
{
	fec->fec = ETHTOOL_FEC_AUTO | ETHTOOL_FEC_RS;
	fec->active_fec = netif_carrier_ok(netdev) ? ETHTOOL_FEC_RS : ETHTOOL_FEC_NONE;
	return 0;
}

static void get_fec_stats(struct net_device *netdev, struct ethtool_fec_stats *stats)
{
	struct labnic *nic = netdev_priv(netdev);

	stats->corrected_blocks.total = read_locked(nic, LABNIC_FEC_CORRECTED);
	stats->uncorrectable_blocks.total = read_locked(nic, LABNIC_FEC_UNCORRECTABLE);
}

static void get_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *kernel_ring,
			  struct netlink_ext_ack *extack)
{
	struct labnic *nic = netdev_priv(netdev);

	ring->rx_max_pending = nic->ring.rx_max_pending;
	ring->tx_max_pending = nic->ring.tx_max_pending;
	ring->rx_pending = nic->ring.rx_pending;
	ring->tx_pending = nic->ring.tx_pending;
}

static int set_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *kernel_ring,
			 struct netlink_ext_ack *extack)
{
	struct labnic *nic = netdev_priv(netdev);

	if (ring->rx_pending < 64 || ring->tx_pending < 64)
		return -EINVAL;
	spin_lock_bh(&nic->lock);
	nic->ring.rx_pending = ring->rx_pending;
	nic->ring.tx_pending = ring->tx_pending;
	spin_unlock_bh(&nic->lock);
	return 0;
}

static void get_channels(struct net_device *netdev, struct ethtool_channels *channels)
{
	channels->max_combined = LABNIC_PRIOS;
	channels->combined_count = netdev->real_num_tx_queues;
}

static int set_channels(struct net_device *netdev, struct ethtool_channels *channels)
{
	return netif_set_real_num_tx_queues(netdev, channels->combined_count);
}

static int get_tunable(struct net_device *netdev, const struct ethtool_tunable *tunable, void *data)
{
	struct labnic *nic = netdev_priv(netdev);

	if (tunable->id != ETHTOOL_PFC_PREVENTION_TOUT)
		return -EINVAL;
	*(u16 *)data = nic->prevention;
	return 0;
}

static int set_tunable(struct net_device *netdev, const struct ethtool_tunable *tunable,
		       const void *data)
{
	struct labnic *nic = netdev_priv(netdev);

	if (tunable->id != ETHTOOL_PFC_PREVENTION_TOUT)
		return -EINVAL;
	nic->prevention = *(const u16 *)data;
	return 0;
}

const struct ethtool_ops labnic_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = get_link_ksettings,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_ethtool_stats,
	.get_priv_flags = get_priv_flags,
	.set_priv_flags = set_priv_flags,
	.get_pauseparam = get_pauseparam,
	.set_pauseparam = set_pauseparam,
	.get_pause_stats = get_pause_stats,
	.get_eth_ctrl_stats = get_eth_ctrl_stats,
	.get_fecparam = get_fecparam,
	.get_fec_stats = get_fec_stats,
	.get_ringparam = get_ringparam,
	.set_ringparam = set_ringparam,
	.get_channels = get_channels,
	.set_channels = set_channels,
	.get_tunable = get_tunable,
	.set_tunable = set_tunable,
};

void labnic_ethtool_init(struct labnic *nic)
{
	u64 now = ktime_get_ns();
	int i;

	nic->ring.rx_max_pending = 8192;
	nic->ring.tx_max_pending = 8192;
	nic->ring.rx_pending = 1024;
	nic->ring.tx_pending = 1024;
	nic->flags = BIT(0) | BIT(3) | BIT(6);
	nic->prevention = 8000;
	for (i = 0; i < LABNIC_COUNTERS; i++)
		nic->counter[i].since = now;
}
