// SPDX-License-Identifier: GPL-2.0-only
/*
 * labnic: network interfaces without hardware. Packets wait in eight queues, one for each priority,
 * with real byte queue limits; a timer takes them out at a set rate and hands them to the interface
 * at the other end of the wire, if there is one. A pause of a priority holds its queue.
 *
 * Interfaces are made for fakepci's functions, see labnic.h. README.md describes the knobs.
 */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "labnic.h"
#include "labnic_dev.h"

#define SLOT	(250 * NSEC_PER_USEC)	/* how often packets are taken out */
/* how often paused queues are looked at: a pause can be cut short */
#define LOOK	(10 * NSEC_PER_MSEC)

static unsigned int rate = 200;
module_param(rate, uint, 0644);
MODULE_PARM_DESC(rate, "Mb/s that really leave an interface, whatever speed it reports");

static struct dentry *dir;
static LIST_HEAD(nics);	/* under rtnl */

struct labnic *labnic_by_name(const char *name)
{
	struct labnic *nic;

	list_for_each_entry(nic, &nics, list)
		if (!strcmp(nic->netdev->name, name))
			return nic;
	return NULL;
}

/*
 * What a priority is. A tagged packet's comes from its tag, another's from the socket or from tc.
 */
static u16 select_queue(struct net_device *netdev, struct sk_buff *skb, struct net_device *sb_dev)
{
	if (skb_vlan_tag_present(skb))
		return skb_vlan_tag_get_prio(skb);
	return skb->priority % LABNIC_PRIOS;
}

static void kick_locked(struct labnic *nic)
{
	if (nic->armed || !netif_running(nic->netdev))
		return;
	nic->armed = true;
	hrtimer_start(&nic->timer, ns_to_ktime(SLOT), HRTIMER_MODE_REL_SOFT);
}

/* Has a queue that can send again looked at. */
void labnic_kick(struct labnic *nic)
{
	spin_lock_bh(&nic->lock);
	kick_locked(nic);
	spin_unlock_bh(&nic->lock);
}

static netdev_tx_t start_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct labnic *nic = netdev_priv(netdev);
	u16 q = skb_get_queue_mapping(skb);
	struct netdev_queue *txq = netdev_get_tx_queue(netdev, q);
	struct sk_buff_head *skbs = &nic->queue[q].skbs;

	spin_lock(&nic->lock);
	skb_tx_timestamp(skb);
	netdev_tx_sent_queue(txq, skb->len);
	__skb_queue_tail(skbs, skb);
	if (skb_queue_len(skbs) >= nic->ring.tx_pending)
		netif_tx_stop_queue(txq);
	kick_locked(nic);
	spin_unlock(&nic->lock);
	return NETDEV_TX_OK;
}

static void count_tx(struct labnic *nic, unsigned int q, unsigned int packets, unsigned int bytes)
{
	labnic_add(nic, labnic_prio_counter(q, LABNIC_PRIO_TX_PACKETS), packets);
	labnic_add(nic, labnic_prio_counter(q, LABNIC_PRIO_TX_BYTES), bytes);
	labnic_add(nic, LABNIC_TX_PACKETS, packets);
	labnic_add(nic, LABNIC_TX_BYTES, bytes);
	labnic_add(nic, LABNIC_TX_PACKETS_PHY, packets);
	labnic_add(nic, LABNIC_TX_BYTES_PHY, bytes + packets * ETH_FCS_LEN);
	dev_sw_netstats_tx_add(nic->netdev, packets, bytes);
}

/* Takes packets out of one queue until the slot is full. */
static void drain(struct labnic *nic, unsigned int q, long *budget, struct sk_buff_head *out)
{
	struct netdev_queue *txq = netdev_get_tx_queue(nic->netdev, q);
	unsigned int packets = 0, bytes = 0;
	struct sk_buff *skb;

	while (*budget > 0 && (skb = __skb_dequeue(&nic->queue[q].skbs))) {
		packets++;
		bytes += skb->len;
		*budget -= skb->len;
		skb->priority = q;
		__skb_queue_tail(out, skb);
	}
	if (!packets)
		return;
	count_tx(nic, q, packets, bytes);
	netdev_tx_completed_queue(txq, packets, bytes);
	if (netif_tx_queue_stopped(txq))
		netif_tx_wake_queue(txq);
}

static void receive(struct labnic *nic, struct sk_buff *skb)
{
	unsigned int len = skb->len, q = skb->priority;

	spin_lock(&nic->lock);
	labnic_add(nic, labnic_prio_counter(q, LABNIC_PRIO_RX_PACKETS), 1);
	labnic_add(nic, labnic_prio_counter(q, LABNIC_PRIO_RX_BYTES), len);
	labnic_add(nic, LABNIC_RX_PACKETS, 1);
	labnic_add(nic, LABNIC_RX_BYTES, len);
	labnic_add(nic, LABNIC_RX_PACKETS_PHY, 1);
	labnic_add(nic, LABNIC_RX_BYTES_PHY, len + ETH_FCS_LEN);
	spin_unlock(&nic->lock);
	skb_orphan(skb);
	skb_scrub_packet(skb, false);
	skb->priority = 0;
	skb->protocol = eth_type_trans(skb, nic->netdev);
	dev_sw_netstats_rx_add(nic->netdev, len);
	netif_rx(skb);
}

static void deliver(struct labnic *nic, struct sk_buff_head *out)
{
	struct labnic *peer;
	struct sk_buff *skb;

	rcu_read_lock();
	peer = rcu_dereference(nic->peer);
	if (peer && !(netif_running(peer->netdev) && netif_carrier_ok(peer->netdev)))
		peer = NULL;
	while ((skb = __skb_dequeue(out))) {
		if (peer)
			receive(peer, skb);
		else
			dev_consume_skb_any(skb);
	}
	rcu_read_unlock();
}

/* One slot. Where all that waits is paused, the next one is when the first pause ends, or soon. */
static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct labnic *nic = container_of(timer, struct labnic, timer);
	long budget = max(rate * 125UL * (SLOT / NSEC_PER_USEC) / 1000, 1600UL);
	u64 now = ktime_get_ns(), next = U64_MAX;
	struct sk_buff_head out;
	int q;

	__skb_queue_head_init(&out);
	spin_lock(&nic->lock);
	for (q = LABNIC_PRIOS - 1; q >= 0; q--) {
		struct labnic_queue *queue = &nic->queue[q];

		if (queue->stuck || skb_queue_empty(&queue->skbs))
			continue;
		if (now >= queue->paused.until)
			drain(nic, q, &budget, &out);
		if (!skb_queue_empty(&queue->skbs))
			next = min(next, clamp(queue->paused.until, now + SLOT, now + LOOK));
	}
	nic->armed = next != U64_MAX;
	if (nic->armed)
		hrtimer_forward_now(timer, ns_to_ktime(next - now));
	spin_unlock(&nic->lock);
	deliver(nic, &out);
	return next != U64_MAX ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/*
 * Adds what of a pause is over to its counter, and begins another, which lasts for usec from now.
 */
static void begin(struct labnic *nic, struct labnic_span *span, int counter, u64 usec)
{
	u64 now = ktime_get_ns();

	if (span->until > span->from)
		labnic_add(nic, counter,
			   div_u64(min(now, span->until) - span->from, NSEC_PER_USEC));
	span->from = now;
	span->until = now + usec * NSEC_PER_USEC;
}

/* A PFC frame arrives. A port ignores one for a priority on which it has no PFC. */
void labnic_pause(struct labnic *nic, unsigned int prio, u64 usec)
{
	spin_lock_bh(&nic->lock);
	if (nic->pfc.pfc_en & BIT(prio)) {
		labnic_add(nic, labnic_prio_counter(prio, LABNIC_PRIO_RX_PAUSE), 1);
		labnic_add(nic, labnic_prio_counter(prio, LABNIC_PRIO_RX_PAUSE_TRANSITION), 1);
		labnic_add(nic, LABNIC_RX_PAUSE_CTRL, 1);
		begin(nic, &nic->queue[prio].paused,
		      labnic_prio_counter(prio, LABNIC_PRIO_RX_PAUSE_DURATION), usec);
	}
	spin_unlock_bh(&nic->lock);
}

/* This port sends a PFC frame. */
void labnic_send_pause(struct labnic *nic, unsigned int prio, u64 usec)
{
	struct labnic *peer;
	bool sent;

	spin_lock_bh(&nic->lock);
	sent = nic->pfc.pfc_en & BIT(prio);
	if (sent) {
		labnic_add(nic, labnic_prio_counter(prio, LABNIC_PRIO_TX_PAUSE), 1);
		labnic_add(nic, LABNIC_TX_PAUSE_CTRL, 1);
		begin(nic, &nic->queue[prio].pausing,
		      labnic_prio_counter(prio, LABNIC_PRIO_TX_PAUSE_DURATION), usec);
	}
	spin_unlock_bh(&nic->lock);
	rcu_read_lock();
	peer = rcu_dereference(nic->peer);
	if (sent && peer)
		labnic_pause(peer, prio, usec);
	rcu_read_unlock();
}

/* Puts a wire between two interfaces, or cuts that of one. Called under rtnl. */
void labnic_set_peer(struct labnic *nic, struct labnic *peer)
{
	struct labnic *old = rtnl_dereference(nic->peer);

	if (old)
		RCU_INIT_POINTER(old->peer, NULL);
	if (peer) {
		old = rtnl_dereference(peer->peer);
		if (old)
			RCU_INIT_POINTER(old->peer, NULL);
		rcu_assign_pointer(peer->peer, nic);
	}
	rcu_assign_pointer(nic->peer, peer);
	synchronize_net();
}

static int open(struct net_device *netdev)
{
	struct labnic *nic = netdev_priv(netdev);

	if (nic->carrier)
		netif_carrier_on(netdev);
	netif_tx_start_all_queues(netdev);
	return 0;
}

static int stop(struct net_device *netdev)
{
	struct labnic *nic = netdev_priv(netdev);
	int q;

	netif_tx_disable(netdev);
	netif_carrier_off(netdev);
	hrtimer_cancel(&nic->timer);
	spin_lock_bh(&nic->lock);
	nic->armed = false;
	spin_unlock_bh(&nic->lock);
	for (q = 0; q < LABNIC_PRIOS; q++) {
		__skb_queue_purge(&nic->queue[q].skbs);
		netdev_tx_reset_queue(netdev_get_tx_queue(netdev, q));
	}
	return 0;
}

/*
 * The kernel counts it, in tx_timeout of the queue. Nothing is done: a stuck queue stays so until
 * the knob is turned.
 */
static void tx_timeout(struct net_device *netdev, unsigned int q)
{
}

static const struct net_device_ops netdev_ops = {
	.ndo_open = open,
	.ndo_stop = stop,
	.ndo_start_xmit = start_xmit,
	.ndo_select_queue = select_queue,
	.ndo_tx_timeout = tx_timeout,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_get_stats64 = dev_get_tstats64,
};

/*
 * The same address for the same name, so that recordings of two runs differ in what matters only.
 */
static void set_address(struct net_device *netdev)
{
	u8 addr[ETH_ALEN] = { 0x02, 0x1a };
	u32 hash = jhash(netdev->name, strlen(netdev->name), 0);

	memcpy(addr + 2, &hash, sizeof(hash));
	eth_hw_addr_set(netdev, addr);
}

static void setup(struct net_device *netdev, struct device *parent, const char *name, u32 speed,
		  unsigned int port)
{
	struct labnic *nic = netdev_priv(netdev);
	int q;

	SET_NETDEV_DEV(netdev, parent);
	set_dev_node(&netdev->dev, dev_to_node(parent));
	strscpy(netdev->name, name, sizeof(netdev->name));
	set_address(netdev);
	netdev->dev_port = port;
	netdev->netdev_ops = &netdev_ops;
	netdev->ethtool_ops = &labnic_ethtool_ops;
	netdev->dcbnl_ops = &labnic_dcb_ops;
	netdev->watchdog_timeo = 5 * HZ;
	netdev->min_mtu = 68;
	netdev->max_mtu = 9978;
	nic->netdev = netdev;
	nic->speed = speed;
	nic->carrier = true;
	spin_lock_init(&nic->lock);
	for (q = 0; q < LABNIC_PRIOS; q++)
		skb_queue_head_init(&nic->queue[q].skbs);
	hrtimer_init(&nic->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	nic->timer.function = tick;
	labnic_dcb_init(nic);
	labnic_ethtool_init(nic);
}

struct net_device *labnic_create(struct device *parent, const char *name, u32 speed_mbps,
				 unsigned int port)
{
	struct net_device *netdev = alloc_etherdev_mqs(sizeof(struct labnic), LABNIC_PRIOS, 1);
	struct labnic *nic;
	int err = -ENOMEM;

	if (!netdev)
		return ERR_PTR(-ENOMEM);
	nic = netdev_priv(netdev);
	setup(netdev, parent, name, speed_mbps, port);
	netdev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!netdev->tstats)
		goto free;
	netif_carrier_off(netdev);
	err = register_netdev(netdev);
	if (err)
		goto free_stats;
	rtnl_lock();
	list_add_tail(&nic->list, &nics);
	rtnl_unlock();
	labnic_knobs(nic, dir);
	return netdev;

free_stats:
	free_percpu(netdev->tstats);
free:
	free_netdev(netdev);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(labnic_create);

void labnic_destroy(struct net_device *netdev)
{
	struct labnic *nic = netdev_priv(netdev);

	/* First, so that no knob is being turned. */
	debugfs_remove_recursive(nic->dir);
	rtnl_lock();
	list_del(&nic->list);
	labnic_set_peer(nic, NULL);
	rtnl_unlock();
	unregister_netdev(netdev);
	hrtimer_cancel(&nic->timer);
	free_percpu(netdev->tstats);
	free_netdev(netdev);
}
EXPORT_SYMBOL_GPL(labnic_destroy);

static int __init labnic_init(void)
{
	dir = debugfs_create_dir("labnic", NULL);
	return 0;
}

static void __exit labnic_exit(void)
{
	debugfs_remove_recursive(dir);
}

module_init(labnic_init);
module_exit(labnic_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Simulated network interfaces for fabricd's lab");
