/* SPDX-License-Identifier: GPL-2.0-only */
/* What labrdma offers to fakepci. */
#ifndef LABRDMA_API_H
#define LABRDMA_API_H

#include <linux/types.h>

struct device;
struct ib_device;
struct net_device;

/*
 * Registers an RDMA device, or returns an ERR_PTR. An Ethernet port needs its interface, an
 * InfiniBand port has none: netdevs holds one for each port, or NULL. Devices with one system image
 * GUID are of one card.
 */
struct ib_device *labrdma_create(struct device *parent, const char *name, u32 rate_gbps,
				 bool ethernet, unsigned int ports,
				 struct net_device *const *netdevs, u64 system_image_guid);
void labrdma_destroy(struct ib_device *ibdev);

#endif
