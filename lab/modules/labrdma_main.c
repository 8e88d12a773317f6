// SPDX-License-Identifier: GPL-2.0-only
/*
 * labrdma: RDMA devices without hardware, for what the kernel's RDMA core shows of a device in
 * sysfs and over netlink: ports, states, rates, GIDs, counters under mlx5's names. There are no
 * verbs: nothing can be sent.
 *
 * Devices are made for fakepci's functions, see labrdma.h. README.md describes the knobs.
 */
#include <linux/jhash.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/version.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "labrdma.h"
#include "labrdma_dev.h"

/*
 * Devices made while one of these is off are like those of drivers that count nothing of the kind.
 */
static bool with_counters = true;
module_param_named(counters, with_counters, bool, 0644);
MODULE_PARM_DESC(counters, "do devices have ports/N/counters");
static bool with_hw_counters = true;
module_param_named(hw_counters, with_hw_counters, bool, 0644);
MODULE_PARM_DESC(hw_counters, "do devices have ports/N/hw_counters");

static int query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->vendor_id = 0x02c9;
	attr->vendor_part_id = 4129;
	attr->max_qp = 131072;
	attr->max_qp_wr = 32768;
	attr->max_sge_rd = 30;
	attr->max_cq = 1 << 20;
	attr->max_pkeys = 1;
	attr->sys_image_guid = labrdma_of(ib)->system_image_guid;
	return 0;
}

/* How much a lane of each speed carries, in Gb/s. */
static const struct {
	u32 lane;
	u16 speed;
} speeds[] = {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	{ 200, IB_SPEED_XDR },
#endif
	{ 100, IB_SPEED_NDR },
	{ 50, IB_SPEED_HDR },
	{ 25, IB_SPEED_EDR },
	{ 14, IB_SPEED_FDR },
	{ 10, IB_SPEED_QDR },
	{ 5, IB_SPEED_DDR },
};

static const struct {
	u32 lanes;
	u8 width;
} widths[] = {
	{ 1, IB_WIDTH_1X },
	{ 2, IB_WIDTH_2X },
	{ 4, IB_WIDTH_4X },
	{ 8, IB_WIDTH_8X },
	{ 12, IB_WIDTH_12X },
};

static u32 usual_lanes(u32 rate)
{
	if (rate <= 25)
		return 1;
	if (rate == 50)
		return 2;
	/* Before XDR was known, 800 Gb/s took eight lanes. */
	return rate > 4 * speeds[0].lane ? 8 : 4;
}

/* The fastest speed of so many lanes, or of as many as are usual, that does not exceed a rate. */
int labrdma_set_rate(struct labrdma_port *port, u32 rate, u32 lanes)
{
	int i, width = 0;

	if (!lanes)
		lanes = usual_lanes(rate);
	for (i = 0; i < ARRAY_SIZE(widths); i++)
		if (widths[i].lanes == lanes)
			width = widths[i].width;
	if (!width)
		return -EINVAL;
	port->width = width;
	port->speed = IB_SPEED_SDR;
	for (i = 0; i < ARRAY_SIZE(speeds); i++)
		if (speeds[i].lane * lanes <= rate) {
			port->speed = speeds[i].speed;
			break;
		}
	return 0;
}

static int query_port(struct ib_device *ib, u32 number, struct ib_port_attr *attr)
{
	struct labrdma_port *port = labrdma_port(ib, number);
	bool up = true;

	if (port->netdev)
		up = netif_running(port->netdev) && netif_carrier_ok(port->netdev);
	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	if (port->state)
		attr->state = port->state;
	if (port->phys_state)
		attr->phys_state = port->phys_state;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = port->netdev ? iboe_get_mtu(READ_ONCE(port->netdev->mtu)) : IB_MTU_4096;
	attr->gid_tbl_len = port->ethernet ? 255 : 8;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = 1 << 30;
	attr->max_vl_num = 4;
	attr->lid = port->ethernet ? 0 : 0x10 + number;
	attr->sm_lid = port->ethernet || attr->state != IB_PORT_ACTIVE ? 0 : 1;
	attr->active_width = port->width;
	attr->active_speed = port->speed;
	/* What mlx5 says of an Ethernet port that is down. */
	if (port->ethernet && attr->state != IB_PORT_ACTIVE) {
		attr->active_width = IB_WIDTH_4X;
		attr->active_speed = IB_SPEED_QDR;
	}
	return 0;
}

static int get_port_immutable(struct ib_device *ib, u32 number, struct ib_port_immutable *immutable)
{
	bool ethernet = labrdma_port(ib, number)->ethernet;

	/* Without management datagrams: nobody could answer them. */
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	if (ethernet)
		immutable->core_cap_flags =
			RDMA_CORE_CAP_PROT_ROCE | RDMA_CORE_CAP_PROT_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = ethernet ? 255 : 8;
	immutable->pkey_tbl_len = 1;
	immutable->max_mad_size = 0;
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = 0xffff;
	return 0;
}

/* For InfiniBand ports; the core keeps the GIDs of Ethernet ports itself. */
static int query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (!index) {
		gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
		gid->global.interface_id =
			cpu_to_be64(be64_to_cpu((__force __be64)labrdma_of(ib)->node_guid) + port);
	}
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ib, u32 number)
{
	if (labrdma_port(ib, number)->ethernet)
		return IB_LINK_LAYER_ETHERNET;
	return IB_LINK_LAYER_INFINIBAND;
}

static int add_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static int del_gid(const struct ib_gid_attr *attr, void **context)
{
	return 0;
}

static void get_dev_fw_str(struct ib_device *ib, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "28.43.1014");
}

static ssize_t hca_type_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct labrdma *priv = rdma_device_to_drv_device(dev, struct labrdma, ib);
	struct device *parent = priv->ib.dev.parent;

	return sysfs_emit(buf, "MT%d\n", dev_is_pci(parent) ? to_pci_dev(parent)->device : 4129);
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t hw_rev_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0\n");
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t board_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "MT_0000000838\n");
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *attributes[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_board_id.attr,
	NULL
};

static const struct attribute_group group = { .attrs = attributes };

static const struct ib_device_ops ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.device_group = &group,
	.query_device = query_device,
	.query_port = query_port,
	.get_port_immutable = get_port_immutable,
	.query_pkey = query_pkey,
	.query_gid = query_gid,
	.get_link_layer = get_link_layer,
	.add_gid = add_gid,
	.del_gid = del_gid,
	.get_dev_fw_str = get_dev_fw_str,
};

static void setup(struct labrdma *priv, struct device *parent, const char *name, u32 rate,
		  bool ethernet, unsigned int ports, struct net_device *const *netdevs)
{
	/* the same for the same name */
	u64 guid = 0x946dae0000000000ULL | jhash(name, strlen(name), 0);
	u64 now = ktime_get_ns();
	int i, k;

	spin_lock_init(&priv->lock);
	priv->node_guid = (__force u64)cpu_to_be64(guid);
	priv->ib.node_guid = (__force __be64)priv->node_guid;
	priv->ib.node_type = RDMA_NODE_IB_CA;
	priv->ib.phys_port_cnt = ports;
	priv->ib.num_comp_vectors = 1;
	priv->ib.dev.parent = parent;
	snprintf(priv->ib.node_desc, sizeof(priv->ib.node_desc), "lab %s", name);
	for (i = 0; i < ports; i++) {
		struct labrdma_port *port = &priv->port[i];

		port->ethernet = ethernet;
		port->netdev = ethernet ? netdevs[i] : NULL;
		labrdma_set_rate(port, rate, 0);
		for (k = 0; k < LABRDMA_COUNTERS; k++)
			port->counter[k].since = now;
	}
	ib_set_device_ops(&priv->ib, &ops);
	if (with_hw_counters)
		ib_set_device_ops(&priv->ib, &labrdma_hw_ops);
	if (with_counters)
		ib_set_device_ops(&priv->ib, &labrdma_pma_ops);
}

struct ib_device *labrdma_create(struct device *parent, const char *name, u32 rate_gbps,
				 bool ethernet, unsigned int ports,
				 struct net_device *const *netdevs, u64 system_image_guid)
{
	struct labrdma *priv;
	unsigned int i;
	int err = 0;

	if (!ports || ports > LABRDMA_MAX_PORTS)
		return ERR_PTR(-EINVAL);
	for (i = 0; ethernet && i < ports; i++)
		if (!netdevs[i])
			return ERR_PTR(-EINVAL);
	priv = ib_alloc_device(labrdma, ib);
	if (!priv)
		return ERR_PTR(-ENOMEM);
	setup(priv, parent, name, rate_gbps, ethernet, ports, netdevs);
	priv->system_image_guid = (__force u64)cpu_to_be64(system_image_guid);
	for (i = 0; ethernet && !err && i < ports; i++)
		err = ib_device_set_netdev(&priv->ib, netdevs[i], i + 1);
	if (!err)
		err = ib_register_device(&priv->ib, name, NULL);
	if (err) {
		ib_dealloc_device(&priv->ib);
		return ERR_PTR(err);
	}
	labrdma_show(priv);
	return &priv->ib;
}
EXPORT_SYMBOL_GPL(labrdma_create);

void labrdma_destroy(struct ib_device *ibdev)
{
	struct labrdma *priv = labrdma_of(ibdev);

	labrdma_hide(priv);
	ib_unregister_device(ibdev);
	ib_dealloc_device(ibdev);
}
EXPORT_SYMBOL_GPL(labrdma_destroy);

static int __init labrdma_init(void)
{
	labrdma_knobs_init();
	return 0;
}

static void __exit labrdma_exit(void)
{
	labrdma_knobs_exit();
}

module_init(labrdma_init);
module_exit(labrdma_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Simulated RDMA devices for fabricd's lab");
