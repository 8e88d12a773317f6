// SPDX-License-Identifier: GPL-2.0-only
/* What can be done to a simulated interface: files under /sys/kernel/debug/labnic/NAME. */
#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "labnic_dev.h"

struct knob {
	const char *name;
	int (*turn)(struct labnic *nic, const char *line);
};

/* pause: PRIORITY USEC. The partner's PFC frame holds our queue for so long. */
static int turn_pause(struct labnic *nic, const char *line)
{
	unsigned int prio, usec;

	if (sscanf(line, "%u %u", &prio, &usec) != 2 || prio >= LABNIC_PRIOS)
		return -EINVAL;
	labnic_pause(nic, prio, usec);
	return 0;
}

/* send_pause: PRIORITY USEC. Our PFC frame holds the partner's queue. */
static int turn_send_pause(struct labnic *nic, const char *line)
{
	unsigned int prio, usec;

	if (sscanf(line, "%u %u", &prio, &usec) != 2 || prio >= LABNIC_PRIOS)
		return -EINVAL;
	labnic_send_pause(nic, prio, usec);
	return 0;
}

/* stuck: QUEUE 0|1. Nothing leaves the queue, and its bytes stay in flight. */
static int turn_stuck(struct labnic *nic, const char *line)
{
	unsigned int q, on;

	if (sscanf(line, "%u %u", &q, &on) != 2 || q >= LABNIC_PRIOS || on > 1)
		return -EINVAL;
	spin_lock_bh(&nic->lock);
	nic->queue[q].stuck = on;
	spin_unlock_bh(&nic->lock);
	labnic_kick(nic);
	return 0;
}

static int change_counter(struct labnic *nic, const char *line,
			  void (*change)(struct labnic *, int, u64))
{
	unsigned long long n;
	char name[ETH_GSTRING_LEN + 1];
	int index;

	if (sscanf(line, "%32s %llu", name, &n) != 2)
		return -EINVAL;
	index = labnic_counter_by_name(name);
	if (index < 0)
		return index;
	spin_lock_bh(&nic->lock);
	change(nic, index, n);
	spin_unlock_bh(&nic->lock);
	return 0;
}

/* set: COUNTER VALUE */
static int turn_set(struct labnic *nic, const char *line)
{
	return change_counter(nic, line, labnic_write);
}

/* add: COUNTER DELTA */
static int turn_add(struct labnic *nic, const char *line)
{
	return change_counter(nic, line, labnic_add);
}

/* grow: COUNTER PER_SECOND. It goes on growing; 0 ends that. */
static int turn_grow(struct labnic *nic, const char *line)
{
	return change_counter(nic, line, labnic_grow);
}

static void set_carrier(struct labnic *nic, bool on)
{
	if (nic->carrier && !on) {
		spin_lock_bh(&nic->lock);
		labnic_add(nic, LABNIC_LINK_DOWN, 1);
		spin_unlock_bh(&nic->lock);
	}
	nic->carrier = on;
	if (on && netif_running(nic->netdev))
		netif_carrier_on(nic->netdev);
	else
		netif_carrier_off(nic->netdev);
}

/* carrier: 0|1. The cable is out or in. */
static int turn_carrier(struct labnic *nic, const char *line)
{
	unsigned int on;

	if (kstrtouint(line, 10, &on) || on > 1)
		return -EINVAL;
	set_carrier(nic, on);
	return 0;
}

/* flap: COUNT. So often the link goes down and comes back. */
static int turn_flap(struct labnic *nic, const char *line)
{
	unsigned int count;

	if (kstrtouint(line, 10, &count) || count > 1000)
		return -EINVAL;
	while (count--) {
		set_carrier(nic, false);
		usleep_range(500, 1000);
		set_carrier(nic, true);
		usleep_range(500, 1000);
	}
	return 0;
}

/* speed: MBPS [half|full] */
static int turn_speed(struct labnic *nic, const char *line)
{
	char duplex[8] = "full";
	unsigned int speed;

	if (sscanf(line, "%u %7s", &speed, duplex) < 1 ||
	    (strcmp(duplex, "half") && strcmp(duplex, "full")))
		return -EINVAL;
	nic->speed = speed;
	nic->half_duplex = duplex[0] == 'h';
	return 0;
}

/* peer: NAME|none. The interface at the other end of the wire; its end is here then. */
static int turn_peer(struct labnic *nic, const char *line)
{
	struct labnic *peer = NULL;
	int err = 0;

	rtnl_lock();
	if (strcmp(line, "none")) {
		peer = labnic_by_name(line);
		if (!peer || peer == nic)
			err = -ENODEV;
	}
	if (!err)
		labnic_set_peer(nic, peer);
	rtnl_unlock();
	return err;
}

/* pfc: HEX [CAP]. What the firmware has on, and on how many priorities it says that it can. */
static int turn_pfc(struct labnic *nic, const char *line)
{
	unsigned int on, cap = LABNIC_PRIOS;

	if (sscanf(line, "%x %u", &on, &cap) < 1 || on > 0xff || cap > LABNIC_PRIOS)
		return -EINVAL;
	rtnl_lock();
	spin_lock_bh(&nic->lock);
	nic->pfc.pfc_en = on;
	nic->pfc.pfc_cap = cap;
	spin_unlock_bh(&nic->lock);
	rtnl_unlock();
	return 0;
}

/* stale_pfc: 0|1. The driver says that PFC is off, whatever the firmware does. */
static int turn_stale_pfc(struct labnic *nic, const char *line)
{
	return kstrtobool(line, &nic->stale_pfc);
}

/* peer_pfc: HEX|none. What the switch told the firmware, which speaks DCBX then. */
static int turn_peer_pfc(struct labnic *nic, const char *line)
{
	unsigned int on = 0;
	bool has = strcmp(line, "none");

	if (has && (kstrtouint(line, 16, &on) || on > 0xff))
		return -EINVAL;
	rtnl_lock();
	nic->has_peer_pfc = has;
	nic->peer_pfc.pfc_cap = LABNIC_PRIOS;
	nic->peer_pfc.pfc_en = on;
	nic->dcbx = DCB_CAP_DCBX_VER_IEEE | (has ? DCB_CAP_DCBX_LLD_MANAGED : DCB_CAP_DCBX_HOST);
	rtnl_unlock();
	return 0;
}

/* dcb: 0|1. Does the driver have dcbnl at all? */
static int turn_dcb(struct labnic *nic, const char *line)
{
	bool on;
	int err = kstrtobool(line, &on);

	if (err)
		return err;
	rtnl_lock();
	nic->netdev->dcbnl_ops = on ? &labnic_dcb_ops : NULL;
	rtnl_unlock();
	return 0;
}

static const struct knob knobs[] = {
	{ "pause", turn_pause },
	{ "send_pause", turn_send_pause },
	{ "stuck", turn_stuck },
	{ "set", turn_set },
	{ "add", turn_add },
	{ "grow", turn_grow },
	{ "carrier", turn_carrier },
	{ "flap", turn_flap },
	{ "speed", turn_speed },
	{ "peer", turn_peer },
	{ "pfc", turn_pfc },
	{ "stale_pfc", turn_stale_pfc },
	{ "peer_pfc", turn_peer_pfc },
	{ "dcb", turn_dcb },
};

static int turn(const struct knob *knob, struct labnic *nic, const char *line)
{
	return knob->turn(nic, line);
}

#include "knobs.h"

void labnic_knobs(struct labnic *nic, struct dentry *parent)
{
	nic->dir = knob_files(nic->netdev->name, parent, nic);
}
