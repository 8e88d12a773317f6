// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be done to a simulated RDMA device: files under /sys/kernel/debug/labrdma/NAME. And the
 * files that mlx5 has in debugfs under its own name.
 */
#include <linux/device.h>
#include <rdma/ib_verbs.h>

#include "labrdma_dev.h"

static struct dentry *root, *mlx5_root;

struct knob {
	const char *name;
	int (*turn)(struct labrdma *priv, unsigned int port, const char *rest);
};

static int change_counter(struct labrdma *priv, struct labrdma_port *port, const char *rest,
			  const char *how)
{
	unsigned long long n;
	struct labrdma_counter *c;
	char name[40];
	int index;

	if (sscanf(rest, "%39s %llu", name, &n) != 2)
		return -EINVAL;
	index = labrdma_counter_by_name(name);
	if (index < 0)
		return index;
	c = &port->counter[index];
	spin_lock(&priv->lock);
	if (!strcmp(how, "fail")) {
		c->fails = n;
	} else {
		c->value = labrdma_grown(c);
		c->since = ktime_get_ns();
		if (!strcmp(how, "set"))
			c->value = n;
		else if (!strcmp(how, "add"))
			c->value += n;
		else
			c->rate = n;
	}
	spin_unlock(&priv->lock);
	return 0;
}

/* set: PORT COUNTER VALUE, before it wraps or saturates */
static int turn_set(struct labrdma *priv, unsigned int port, const char *rest)
{
	return change_counter(priv, &priv->port[port], rest, "set");
}

/* add: PORT COUNTER DELTA */
static int turn_add(struct labrdma *priv, unsigned int port, const char *rest)
{
	return change_counter(priv, &priv->port[port], rest, "add");
}

/* grow: PORT COUNTER PER_SECOND. It goes on growing; 0 ends that. */
static int turn_grow(struct labrdma *priv, unsigned int port, const char *rest)
{
	return change_counter(priv, &priv->port[port], rest, "grow");
}

/* fail: PORT COUNTER 0|1. Reading it is an error. */
static int turn_fail(struct labrdma *priv, unsigned int port, const char *rest)
{
	return change_counter(priv, &priv->port[port], rest, "fail");
}

/*
 * state: PORT STATE PHYS, numbers as in the files state and phys_state; 0 0 leaves it to the
 * interface, or to be up
 */
static int turn_state(struct labrdma *priv, unsigned int port, const char *rest)
{
	struct ib_event event = { .device = &priv->ib, .element.port_num = port + 1 };
	unsigned int state, phys;

	if (sscanf(rest, "%u %u", &state, &phys) != 2 || state > IB_PORT_ACTIVE_DEFER || phys > 7)
		return -EINVAL;
	priv->port[port].state = state;
	priv->port[port].phys_state = phys;
	event.event = state && state != IB_PORT_ACTIVE ? IB_EVENT_PORT_ERR : IB_EVENT_PORT_ACTIVE;
	ib_dispatch_event(&event);
	return 0;
}

/* rate: PORT GBPS [LANES] */
static int turn_rate(struct labrdma *priv, unsigned int port, const char *rest)
{
	unsigned int rate, lanes = 0;

	if (sscanf(rest, "%u %u", &rate, &lanes) < 1)
		return -EINVAL;
	return labrdma_set_rate(&priv->port[port], rate, lanes);
}

static const struct knob knobs[] = {
	{ "set", turn_set },
	{ "add", turn_add },
	{ "grow", turn_grow },
	{ "fail", turn_fail },
	{ "state", turn_state },
	{ "rate", turn_rate },
};

static int turn(const struct knob *knob, struct labrdma *priv, const char *line)
{
	unsigned int port;
	int skip = 0;

	if (sscanf(line, "%u %n", &port, &skip) < 1 || !skip || !port ||
	    port > priv->ib.phys_port_cnt)
		return -EINVAL;
	return knob->turn(priv, port - 1, line + skip);
}

#include "knobs.h"

/*
 * What mlx5 shows of congestion control, under its own name: the parameters of both ends, with
 * their usual values.
 */
static const struct {
	const char *name;
	u32 value;
} cc_names[LABRDMA_CC_PARAMS] = {
	{ "rp_clamp_tgt_rate", 0 },
	{ "rp_clamp_tgt_rate_ati", 1 },
	{ "rp_time_reset", 300 },
	{ "rp_byte_reset", 32767 },
	{ "rp_threshold", 1 },
	{ "rp_ai_rate", 5 },
	{ "rp_hai_rate", 50 },
	{ "rp_max_rate", 0 },
	{ "rp_min_rate", 1 },
	{ "rp_min_dec_fac", 50 },
	{ "rp_rate_to_set_on_first_cnp", 0 },
	{ "rp_dce_tcp_g", 1019 },
	{ "rp_dce_tcp_rtt", 1 },
	{ "rp_initial_alpha_value", 1023 },
	{ "rp_rate_reduce_monitor_period", 4 },
	{ "rp_gd", 11 },
	{ "np_min_time_between_cnps", 4 },
	{ "np_cnp_dscp", 48 },
	{ "np_cnp_prio_mode", 0 },
	{ "np_cnp_prio", 6 },
};

void labrdma_show(struct labrdma *priv)
{
	struct dentry *params;
	int i;

	priv->dir = knob_files(dev_name(&priv->ib.dev), root, priv);
	if (!priv->port[0].ethernet)
		return;
	priv->cc_dir = debugfs_create_dir(dev_name(priv->ib.dev.parent), mlx5_root);
	params = debugfs_create_dir("cc_params", priv->cc_dir);
	for (i = 0; i < LABRDMA_CC_PARAMS; i++) {
		priv->cc[i] = cc_names[i].value;
		debugfs_create_u32(cc_names[i].name, 0600, params, &priv->cc[i]);
	}
}

void labrdma_hide(struct labrdma *priv)
{
	debugfs_remove_recursive(priv->dir);
	debugfs_remove_recursive(priv->cc_dir);
}

void labrdma_knobs_init(void)
{
	root = debugfs_create_dir("labrdma", NULL);
	mlx5_root = debugfs_create_dir("mlx5", NULL);
}

void labrdma_knobs_exit(void)
{
	debugfs_remove_recursive(root);
	debugfs_remove_recursive(mlx5_root);
}
