/* SPDX-License-Identifier: GPL-2.0-only */
/* labrdma: a simulated RDMA device for fabricd's lab. */
#ifndef LABRDMA_DEV_H
#define LABRDMA_DEV_H

#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#define LABRDMA_MAX_PORTS	2
#define LABRDMA_CC_PARAMS	20
#define LABRDMA_HW_COUNTERS	32
#define LABRDMA_OPTIONAL	(LABRDMA_HW_COUNTERS - 1)	/* the last of them */

/*
 * The counters of an InfiniBand port. The narrow ones stay at their maximum, as the architecture
 * has it.
 */
enum pma {
	PMA_SYMBOL_ERROR,
	PMA_LINK_ERROR_RECOVERY,
	PMA_LINK_DOWNED,
	PMA_RCV_ERRORS,
	PMA_RCV_REMOTE_PHYSICAL_ERRORS,
	PMA_RCV_SWITCH_RELAY_ERRORS,
	PMA_XMIT_DISCARDS,
	PMA_XMIT_CONSTRAINT_ERRORS,
	PMA_RCV_CONSTRAINT_ERRORS,
	PMA_LOCAL_LINK_INTEGRITY_ERRORS,
	PMA_EXCESSIVE_BUFFER_OVERRUN_ERRORS,
	PMA_VL15_DROPPED,
	PMA_XMIT_WAIT,
	PMA_XMIT_DATA,
	PMA_RCV_DATA,
	PMA_XMIT_PACKETS,
	PMA_RCV_PACKETS,
	PMA_UNICAST_XMIT_PACKETS,
	PMA_UNICAST_RCV_PACKETS,
	PMA_MULTICAST_XMIT_PACKETS,
	PMA_MULTICAST_RCV_PACKETS,
	PMA_COUNTERS
};

/* Those under hw_counters, then those under counters. */
#define LABRDMA_COUNTERS	(LABRDMA_HW_COUNTERS + PMA_COUNTERS)

/* A counter, which can go on growing by itself. */
struct labrdma_counter {
	u64 value;
	u64 rate;		/* a second */
	u64 since;		/* ns */
	bool fails;		/* reading it is an error */
};

struct labrdma_port {
	struct net_device *netdev;
	struct labrdma_counter counter[LABRDMA_COUNTERS];
	u8 width;		/* as the kernel's enumerations have them */
	u16 speed;
	/* Set by the knob; on Ethernet the interface decides unless they are. */
	u8 state, phys_state;
	bool ethernet;
};

struct labrdma {
	struct ib_device ib;
	spinlock_t lock;
	struct dentry *dir, *cc_dir;
	struct labrdma_port port[LABRDMA_MAX_PORTS];
	u64 node_guid, system_image_guid;	/* big endian */
	u32 cc[LABRDMA_CC_PARAMS];
};

static inline struct labrdma *labrdma_of(struct ib_device *ib)
{
	return container_of(ib, struct labrdma, ib);
}

static inline struct labrdma_port *labrdma_port(struct ib_device *ib, u32 number)
{
	return &labrdma_of(ib)->port[number - 1];
}

/* labrdma_main.c */
int labrdma_set_rate(struct labrdma_port *port, u32 rate, u32 lanes);

/* labrdma_counters.c */
extern const struct ib_device_ops labrdma_hw_ops, labrdma_pma_ops;
u64 labrdma_grown(const struct labrdma_counter *c);
int labrdma_counter_by_name(const char *name);

/* labrdma_knobs.c */
void labrdma_show(struct labrdma *priv);
void labrdma_hide(struct labrdma *priv);
void labrdma_knobs_init(void);
void labrdma_knobs_exit(void);

#endif
