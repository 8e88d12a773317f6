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

typedef struct {
	struct net *net;
} KERNEL possible_net_t;

struct net_device {
	struct hlist_node index_hlist;
	struct netdev_queue *_tx;
	int ifindex;
	unsigned int real_num_tx_queues;
	possible_net_t nd_net;
} KERNEL;

struct ns_common {
	unsigned int inum;
} KERNEL;

struct net {
	struct ns_common ns;
	struct hlist_node **dev_index_head;
	struct net_device *loopback_dev;
} KERNEL;

struct kernfs_super_info {
	const void *ns;
} KERNEL;

struct super_block {
	void *s_fs_info;
} KERNEL;

struct inode {
	struct super_block *i_sb;
} KERNEL;

struct file {
	struct inode *f_inode;
} KERNEL;

struct fdtable {
	struct file **fd;
} KERNEL;

struct files_struct {
	struct fdtable *fdt;
} KERNEL;

struct task_struct {
	struct files_struct *files;
} KERNEL;

// Constants of the kernel's.
#define DEVICE_HASH  256      // heads of net.dev_index_head
#define CPU_STATS    0x20     // Qdisc.flags: the statistics are kept for each processor
#define DRIVER_STOP  (1 << 0) // netdev_queue.state: the device's ring is full
#define HASH_CHAIN   128      // devices of one head that are looked at
