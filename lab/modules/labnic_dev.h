/* SPDX-License-Identifier: GPL-2.0-only */
/* labnic: a simulated network interface for fabricd's lab. */
#ifndef LABNIC_DEV_H
#define LABNIC_DEV_H

#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/dcbnl.h>

#define LABNIC_PRIOS	8	/* as many queues: queue N carries priority N */

/* The counters of the port, by their place in the table of names. */
enum labnic_general {
	LABNIC_RX_PACKETS,
	LABNIC_RX_BYTES,
	LABNIC_TX_PACKETS,
	LABNIC_TX_BYTES,
	LABNIC_RX_PACKETS_PHY,
	LABNIC_RX_BYTES_PHY,
	LABNIC_TX_PACKETS_PHY,
	LABNIC_TX_BYTES_PHY,
	LABNIC_RX_PAUSE_CTRL,
	LABNIC_TX_PAUSE_CTRL,
	LABNIC_LINK_DOWN,
	LABNIC_FEC_CORRECTED,
	LABNIC_FEC_UNCORRECTABLE,
	LABNIC_NAMED		/* the others are known by name only */
};

/* The counters of each priority. */
enum labnic_per_prio {
	LABNIC_PRIO_RX_BYTES,
	LABNIC_PRIO_RX_PACKETS,
	LABNIC_PRIO_RX_DISCARDS,
	LABNIC_PRIO_TX_BYTES,
	LABNIC_PRIO_TX_PACKETS,
	LABNIC_PRIO_RX_BUF_DISCARD,
	LABNIC_PRIO_RX_CONG_DISCARD,
	LABNIC_PRIO_RX_MARKED,
	LABNIC_PRIO_RX_PAUSE,
	LABNIC_PRIO_RX_PAUSE_DURATION,
	LABNIC_PRIO_RX_PAUSE_TRANSITION,
	LABNIC_PRIO_TX_PAUSE,
	LABNIC_PRIO_TX_PAUSE_DURATION,
	LABNIC_PRIO_COUNTERS
};

#define LABNIC_MAX_GENERAL	64
#define LABNIC_COUNTERS		(LABNIC_MAX_GENERAL + LABNIC_PRIOS * LABNIC_PRIO_COUNTERS)

/* A counter, which can go on growing by itself. */
struct labnic_counter {
	u64 value;
	u64 rate;		/* a second */
	u64 since;		/* ns, when value was right */
};

/* A pause that is going on or was. */
struct labnic_span {
	u64 from, until;	/* ns */
};

struct labnic_queue {
	struct sk_buff_head skbs;
	struct labnic_span paused;	/* our partner told us to be silent */
	struct labnic_span pausing;	/* we told our partner */
	bool stuck;
};

struct labnic {
	struct net_device *netdev;
	struct list_head list;
	struct dentry *dir;
	struct labnic __rcu *peer;	/* who is at the other end of the wire */
	struct hrtimer timer;
	spinlock_t lock;		/* all that follows */
	bool armed;
	struct labnic_queue queue[LABNIC_PRIOS];
	struct labnic_counter counter[LABNIC_COUNTERS];
	u32 speed;
	bool half_duplex, carrier;

	/* dcbnl, under rtnl as well */
	struct ieee_ets ets, peer_ets;
	struct ieee_pfc pfc, peer_pfc;
	struct dcbnl_buffer buffer;
	u8 dcbx;
	bool has_peer_pfc, stale_pfc;
	u64 requests[LABNIC_PRIOS], indications[LABNIC_PRIOS];

	/* ethtool */
	struct ethtool_pauseparam pause;
	struct ethtool_ringparam ring;
	u32 flags;
	u16 prevention;
};

/* labnic_main.c */
void labnic_kick(struct labnic *nic);
void labnic_pause(struct labnic *nic, unsigned int prio, u64 usec);
void labnic_send_pause(struct labnic *nic, unsigned int prio, u64 usec);
void labnic_set_peer(struct labnic *nic, struct labnic *peer);
struct labnic *labnic_by_name(const char *name);

/* labnic_dcb.c */
extern const struct dcbnl_rtnl_ops labnic_dcb_ops;
void labnic_dcb_init(struct labnic *nic);

/* labnic_ethtool.c */
extern const struct ethtool_ops labnic_ethtool_ops;
void labnic_ethtool_init(struct labnic *nic);
u64 labnic_read(struct labnic *nic, int index);
void labnic_add(struct labnic *nic, int index, u64 delta);
void labnic_write(struct labnic *nic, int index, u64 value);
void labnic_grow(struct labnic *nic, int index, u64 rate);
int labnic_counter_by_name(const char *name);

static inline int labnic_prio_counter(unsigned int prio, enum labnic_per_prio what)
{
	return LABNIC_MAX_GENERAL + prio * LABNIC_PRIO_COUNTERS + what;
}

/* labnic_knobs.c */
void labnic_knobs(struct labnic *nic, struct dentry *parent);

#endif
