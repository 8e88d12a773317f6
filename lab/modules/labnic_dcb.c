// SPDX-License-Identifier: GPL-2.0-only
/* labnic's answers to dcbnl, the kernel's interface for 802.1Qaz: priorities, PFC, buffers. */
#include <linux/dcbnl.h>
#include <linux/netdevice.h>
#include <net/dcbnl.h>

#include "labnic_dev.h"

static int get_ets(struct net_device *netdev, struct ieee_ets *ets)
{
	struct labnic *nic = netdev_priv(netdev);

	*ets = nic->ets;
	return 0;
}

static int set_ets(struct net_device *netdev, struct ieee_ets *ets)
{
	struct labnic *nic = netdev_priv(netdev);

	nic->ets = *ets;
	nic->ets.ets_cap = LABNIC_PRIOS;
	return 0;
}

/*
 * The counts are those of the last time that somebody read the statistics, as mlx5's are. A driver
 * that keeps what it was told, and was told nothing, says that PFC is off whatever the firmware
 * does: stale_pfc.
 */
static int get_pfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	struct labnic *nic = netdev_priv(netdev);
	int i;

	spin_lock_bh(&nic->lock);
	*pfc = nic->pfc;
	if (nic->stale_pfc)
		pfc->pfc_en = 0;
	for (i = 0; i < LABNIC_PRIOS; i++) {
		pfc->requests[i] = nic->requests[i];
		pfc->indications[i] = nic->indications[i];
	}
	spin_unlock_bh(&nic->lock);
	return 0;
}

static int set_pfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	struct labnic *nic = netdev_priv(netdev);

	spin_lock_bh(&nic->lock);
	nic->pfc.pfc_en = pfc->pfc_en;
	nic->pfc.mbc = pfc->mbc;
	nic->pfc.delay = pfc->delay;
	spin_unlock_bh(&nic->lock);
	return 0;
}

static int get_peer_ets(struct net_device *netdev, struct ieee_ets *ets)
{
	struct labnic *nic = netdev_priv(netdev);

	if (!nic->has_peer_pfc)
		return -ENODATA;
	*ets = nic->peer_ets;
	return 0;
}

static int get_peer_pfc(struct net_device *netdev, struct ieee_pfc *pfc)
{
	struct labnic *nic = netdev_priv(netdev);

	if (!nic->has_peer_pfc)
		return -ENODATA;
	*pfc = nic->peer_pfc;
	return 0;
}

static int set_app(struct net_device *netdev, struct dcb_app *app)
{
	return dcb_ieee_setapp(netdev, app);
}

static int del_app(struct net_device *netdev, struct dcb_app *app)
{
	return dcb_ieee_delapp(netdev, app);
}

static u8 get_dcbx(struct net_device *netdev)
{
	struct labnic *nic = netdev_priv(netdev);

	return nic->dcbx;
}

static u8 set_dcbx(struct net_device *netdev, u8 mode)
{
	struct labnic *nic = netdev_priv(netdev);

	nic->dcbx = mode;
	return 0;
}

static int get_buffer(struct net_device *netdev, struct dcbnl_buffer *buffer)
{
	struct labnic *nic = netdev_priv(netdev);

	*buffer = nic->buffer;
	return 0;
}

static int set_buffer(struct net_device *netdev, struct dcbnl_buffer *buffer)
{
	struct labnic *nic = netdev_priv(netdev);

	memcpy(nic->buffer.prio2buffer, buffer->prio2buffer, sizeof(buffer->prio2buffer));
	memcpy(nic->buffer.buffer_size, buffer->buffer_size, sizeof(buffer->buffer_size));
	return 0;
}

static int get_maxrate(struct net_device *netdev, struct ieee_maxrate *maxrate)
{
	memset(maxrate, 0, sizeof(*maxrate));
	return 0;
}

static int get_numtcs(struct net_device *netdev, int tcid, u8 *num)
{
	*num = LABNIC_PRIOS;
	return 0;
}

static u8 get_cap(struct net_device *netdev, int capid, u8 *cap)
{
	struct labnic *nic = netdev_priv(netdev);

	switch (capid) {
	case DCB_CAP_ATTR_PFC:
		*cap = true;
		break;
	case DCB_CAP_ATTR_PG_TCS:
	case DCB_CAP_ATTR_PFC_TCS:
		*cap = 1 << (LABNIC_PRIOS - 1);
		break;
	case DCB_CAP_ATTR_DCBX:
		*cap = nic->dcbx;
		break;
	default:
		*cap = 0;
	}
	return 0;
}

const struct dcbnl_rtnl_ops labnic_dcb_ops = {
	.ieee_getets = get_ets,
	.ieee_setets = set_ets,
	.ieee_getpfc = get_pfc,
	.ieee_setpfc = set_pfc,
	.ieee_getmaxrate = get_maxrate,
	.ieee_peer_getets = get_peer_ets,
	.ieee_peer_getpfc = get_peer_pfc,
	.ieee_setapp = set_app,
	.ieee_delapp = del_app,
	.getdcbx = get_dcbx,
	.setdcbx = set_dcbx,
	.getcap = get_cap,
	.getnumtcs = get_numtcs,
	.dcbnl_getbuffer = get_buffer,
	.dcbnl_setbuffer = set_buffer,
};

void labnic_dcb_init(struct labnic *nic)
{
	int i;

	nic->dcbx = DCB_CAP_DCBX_VER_IEEE | DCB_CAP_DCBX_HOST;
	nic->ets.ets_cap = LABNIC_PRIOS;
	nic->pfc.pfc_cap = LABNIC_PRIOS;
	for (i = 0; i < LABNIC_PRIOS; i++) {
		nic->ets.prio_tc[i] = i;
		nic->ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
	}
	nic->peer_ets = nic->ets;
	nic->buffer.buffer_size[0] = 262016;
	nic->buffer.total_size = 1048320;
}
