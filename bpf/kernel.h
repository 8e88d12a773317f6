// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// What is used of the kernel's structures and constants. Where a member stands in the structures of the kernel at hand is
// found out when a program is loaded.

#pragma once

#define KERNEL __attribute__((preserve_access_index))

struct hlist_node {
	struct hlist_node *next;
} KERNEL;

struct dql {
	unsigned int num_queued, limit, num_completed;
} KERNEL;

struct gnet_stats_queue {
	__u32 backlog;
} KERNEL;

struct Qdisc {
	unsigned int flags;
	struct gnet_stats_queue qstats;
} KERNEL;

struct netdev_queue {
	struct Qdisc *qdisc;
	struct dql dql;
	unsigned long state;
} KERNEL;

struct net_device {
	struct hlist_node index_hlist;
	struct netdev_queue *_tx;
	int ifindex;
	unsigned int real_num_tx_queues;
} KERNEL;

struct ns_common {
	unsigned int inum;
} KERNEL;

struct list_head {
	struct list_head *next;
} KERNEL;

struct net {
	struct list_head list;
	struct ns_common ns;
	struct hlist_node **dev_index_head;
} KERNEL;

struct nsproxy {
	struct net *net_ns;
} KERNEL;

struct task_struct {
	struct nsproxy *nsproxy;
} KERNEL;

// Constants of the kernel's.
#define DEVICE_HASH  256      // heads of net.dev_index_head
#define CPU_STATS    0x20     // Qdisc.flags: the statistics are kept for each processor
#define DRIVER_STOP  (1 << 0) // netdev_queue.state: the device's ring is full
#define HASH_CHAIN   128      // devices of one head that are looked at
#define NAMESPACES   1024     // that are looked at
