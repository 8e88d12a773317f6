// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// How interfaces are found in the kernel's memory. Addresses are numbers: they lead into the kernel.

#pragma once

// belongs says whether a device is of a network namespace.
static __always_inline int belongs(struct net_device *dev, __u64 net)
{
	struct net *of = 0;

	if (!bpf_core_field_exists(dev->nd_net.net)) // there is but one
		return 1;
	bpf_core_read(&of, sizeof(of), &dev->nd_net.net);
	return (__u64)of == net;
}

// find gives where an interface of a network namespace is; 0: there is none.
__noinline __u64 find(__u64 net, __u32 ifindex)
{
	struct hlist_node **heads = 0, *node = 0;
	int i, index;

	bpf_core_read(&heads, sizeof(heads), &((struct net *)net)->dev_index_head);
	bpf_probe_read_kernel(&node, sizeof(node), &heads[ifindex & (DEVICE_HASH - 1)]);
	for (i = 0; i < HASH_CHAIN && node; i++) {
		struct net_device *dev = (void *)node - bpf_core_field_offset(struct net_device, index_hlist);

		index = 0;
		bpf_core_read(&index, sizeof(index), &dev->ifindex);
		if (index == ifindex && belongs(dev, net))
			return (__u64)dev;
		bpf_core_read(&node, sizeof(node), &node->next);
	}
	return 0;
}

// is_net says whether there is a network namespace at an address: its loopback interface is its own.
static __always_inline int is_net(__u64 address)
{
	struct net_device *loopback = 0;

	bpf_core_read(&loopback, sizeof(loopback), &((struct net *)address)->loopback_dev);
	return loopback && belongs(loopback, address);
}
