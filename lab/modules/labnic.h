/* SPDX-License-Identifier: GPL-2.0-only */
/* What labnic offers to fakepci. */
#ifndef LABNIC_API_H
#define LABNIC_API_H

#include <linux/types.h>

struct device;
struct net_device;

/* Registers an interface of a device's port, counted from 0, or returns an ERR_PTR. */
struct net_device *labnic_create(struct device *parent, const char *name, u32 speed_mbps,
				 unsigned int port);
void labnic_destroy(struct net_device *netdev);

#endif
