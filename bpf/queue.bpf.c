//go:build ignore

// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// Looks at transmit queues: how many bytes each has handed to its device that are not sent yet (byte queue limits), and
// how many wait in the queueing discipline above. It is run once a tick, by a program or by the kernel's timer, and adds
// to memory that user space has mapped: nobody is woken and nothing is copied.
//
// It follows pointers through the kernel's memory by reads that do not fault: a device that goes away while it is looked
// at gives one wrong sample at most.

#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "kernel.h"
#include "netdev.h"
#include "queue.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct device);
} devices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} controls SEC(".maps");

struct timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timer);
} timers SEC(".maps");

// Functions that are not static are verified once, whoever calls them: what they branch over does not multiply.

// bucket gives the place of a number in a histogram: the smallest power of two that holds it.
__noinline __u32 bucket(__u32 v)
{
	__u32 n = 1;

	if (v <= 1)
		return v;
	v--;
	if (v >> 16) { n += 16; v >>= 16; }
	if (v >> 8) { n += 8; v >>= 8; }
	if (v >> 4) { n += 4; v >>= 4; }
	if (v >> 2) { n += 2; v >>= 2; }
	if (v >> 1) { n += 1; v >>= 1; }
	return n + v;
}

static __always_inline void count(__u32 *histogram, __u32 v)
{
	__u64 b = bucket(v);

	barrier_var(b); // the verifier is to see the comparison as it stands
	if (b < BUCKETS)
		histogram[b]++;
	else
		histogram[BUCKETS - 1]++;
}

// A sweep is one look at all queues. Addresses are numbers: they lead into the kernel.
struct sweep {
	__u64 now, net;
	__u64 queues;  // the address of the device's queues
	__u64 qdisc;   // of the queue before
	__u64 depth, backlog;
	__u32 device;  // the slots' at hand
	__u32 n;       // its queues
	__u32 bank;
	__u32 blind;   // a backlog is not known
	__u32 anew;    // there was a gap
};

// finish adds up a device of which all queues were looked at.
static __always_inline void finish(struct sweep *w)
{
	__u32 key = w->device - 1;
	struct device *d;

	if (!w->device || !w->queues)
		return;
	d = bpf_map_lookup_elem(&devices, &key);
	if (!d)
		return;
	if (!w->blind) {
		w->depth += w->backlog;
		d->backlogs++;
		count(d->backlog, w->backlog >> 32 ? -1 : w->backlog);
	}
	d->depth = w->depth;
	if (w->depth > d->peak[w->bank & 1])
		d->peak[w->bank & 1] = w->depth;
	if (w->anew)
		d->since = 0;
	if (w->depth > d->threshold) {
		if (!d->since) {
			d->since = w->now;
			d->bursts++;
		}
	} else if (d->since) {
		__u64 took = w->now - d->since;

		d->burst_ns += took;
		if (took > d->longest_ns)
			d->longest_ns = took;
		d->since = 0;
	}
}

// begin finds the device that the following slots are of.
static __always_inline void begin(struct sweep *w, __u32 device)
{
	__u32 key = device - 1;
	struct device *d = bpf_map_lookup_elem(&devices, &key);
	struct net_device *dev;
	void *queues = 0;

	w->device = device;
	w->queues = w->qdisc = w->depth = w->backlog = 0;
	w->n = w->blind = 0;
	if (!d)
		return;
	dev = (void *)find(w->net, d->ifindex);
	d->present = dev != 0;
	if (!dev) {
		d->depth = d->since = 0; // what lasts ends unseen
		return;
	}
	bpf_core_read(&queues, sizeof(queues), &dev->_tx);
	bpf_core_read(&w->n, sizeof(w->n), &dev->real_num_tx_queues);
	d->queues = w->n;
	w->queues = (__u64)queues;
}

// Kernels from 6.2 on let programs read through a pointer whose type is known, without a call for each field.
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

#define TYPED(address, type) ((struct type *)bpf_rdonly_cast((void *)(address), bpf_core_type_id_kernel(struct type)))

// What is seen of a queue.
struct seen {
	__u64 qdisc;
	__u32 queued, completed, limit;
	__u32 state;
};

// see reads a queue. The completed bytes come before those that were queued: what is completed in between must not make
// the difference negative.
static __always_inline void see(__u64 address, struct seen *s)
{
	struct netdev_queue *queue = (void *)address;
	unsigned long state = 0;

	if (bpf_rdonly_cast) {
		queue = TYPED(address, netdev_queue);
		s->qdisc = (__u64)queue->qdisc;
		if (!bpf_core_field_exists(queue->dql))
			return;
		s->completed = *(volatile __u32 *)&queue->dql.num_completed;
		s->limit = queue->dql.limit;
		s->queued = *(volatile __u32 *)&queue->dql.num_queued;
		s->state = queue->state;
		return;
	}
	bpf_core_read(&s->qdisc, sizeof(s->qdisc), &queue->qdisc);
	if (!bpf_core_field_exists(queue->dql))
		return;
	bpf_core_read(&s->completed, sizeof(s->completed), &queue->dql.num_completed);
	bpf_core_read(&s->limit, sizeof(s->limit), &queue->dql.limit);
	bpf_core_read(&s->queued, sizeof(s->queued), &queue->dql.num_queued);
	bpf_core_read(&state, sizeof(state), &queue->state);
	s->state = state;
}

// above adds what waits in the queueing discipline, which queues may share.
static __always_inline void above(struct sweep *w, struct slot *s, __u64 address)
{
	struct Qdisc *qdisc = (void *)address;
	unsigned int flags = 0;
	__u32 backlog = 0;

	if (!address || address == w->qdisc) {
		s->backlog = 0;
		return;
	}
	w->qdisc = address;
	if (bpf_rdonly_cast) {
		qdisc = TYPED(address, Qdisc);
		flags = qdisc->flags;
		backlog = qdisc->qstats.backlog;
	} else {
		bpf_core_read(&flags, sizeof(flags), &qdisc->flags);
		bpf_core_read(&backlog, sizeof(backlog), &qdisc->qstats.backlog);
	}
	if (flags & CPU_STATS) {
		s->backlog = 0;
		w->blind = 1;
		return;
	}
	s->backlog = backlog;
	w->backlog += backlog;
}

// add counts a sample of a queue.
static __always_inline void add(struct sweep *w, struct slot *s, struct device *d, const struct seen *seen)
{
	__u32 inflight = seen->queued - seen->completed, limit = seen->limit;

	if (inflight >> 31) // both counts were set back in between
		inflight = 0;
	s->samples++;
	if (inflight) {
		s->busy++;
		s->sum += inflight;
		count(s->depth, inflight);
		if (inflight > s->peak[w->bank & 1])
			s->peak[w->bank & 1] = inflight;
		if (limit && inflight >= limit)
			s->full++;
	} else {
		s->depth[0]++;
	}
	if (limit && (inflight >= limit || limit < d->frames))
		s->tight++;
	if (seen->state & DRIVER_STOP)
		s->stopped++;
	if (!inflight || seen->completed != s->completed || w->anew)
		s->changed = w->now;
	s->inflight = inflight;
	s->limit = limit;
	s->completed = seen->completed;
	w->depth += inflight;
}

// vacate is for a queue that is not there: what was in it is not either.
static __always_inline void vacate(struct sweep *w, struct slot *s)
{
	s->inflight = s->limit = s->backlog = 0;
	s->changed = w->now;
}

static long visit(void *map, const __u32 *key, struct slot *s, struct sweep *w)
{
	struct seen seen = {};
	struct device *d;
	__u32 at;

	if (!s->device)
		return 1;
	if (s->device != w->device) {
		finish(w);
		begin(w, s->device);
	}
	at = s->device - 1;
	d = bpf_map_lookup_elem(&devices, &at);
	if (!d || !w->queues || s->queue >= w->n) {
		vacate(w, s);
		return 0;
	}
	see(w->queues + (__u64)s->queue * bpf_core_type_size(struct netdev_queue), &seen);
	above(w, s, seen.qdisc);
	if (seen.queued)
		d->used = 1;
	if (bpf_core_field_exists(((struct netdev_queue *)0)->dql)) // with CONFIG_BQL
		add(w, s, d, &seen);
	return 0;
}

// look takes one sample of all queues. late is how much after its time the tick came.
static __always_inline void look(struct control *c, __u64 now, __u64 late)
{
	struct sweep w = {.now = now, .net = c->net};

	__sync_fetch_and_add(&c->begun, 1); // before the bank is chosen
	w.bank = c->bank = *(volatile __u32 *)&c->want;
	w.anew = c->gap && c->last && now - c->last > c->gap;
	bpf_for_each_map_elem(&slots, visit, &w, 0);
	finish(&w);
	c->last = now;
	c->late_ns += late;
	late = late >> 40 ? -1 : (late << 20) / 1000000000;
	count(c->late, late >> 32 ? -1 : late);
	c->cost_ns += bpf_ktime_get_ns() - now;
	__sync_fetch_and_add(&c->ticks, 1);
}

static __always_inline struct control *the_control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&controls, &zero);
}

// locate finds the network namespace of which a sysfs shows the interfaces: it is the tag of its super block, and need
// not be that of the calling task.
SEC("syscall")
int locate(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct control *c = the_control();
	struct file **open, *file = 0;
	struct kernfs_super_info *info;
	__u64 tag;

	if (!c)
		return 1;
	open = BPF_CORE_READ(task, files, fdt, fd);
	bpf_probe_read_kernel(&file, sizeof(file), &open[c->sysfs]);
	info = BPF_CORE_READ(file, f_inode, i_sb, s_fs_info);
	tag = (__u64)BPF_CORE_READ(info, ns);
	if (!is_net(tag)) // newer kernels point to what all kinds of namespaces have in common
		tag -= bpf_core_field_offset(struct net, ns);
	c->net = is_net(tag) ? tag : 0;
	return c->net ? 0 : 1;
}

// sample is one tick, run by a thread of the program's.
SEC("syscall")
int sample(void *ctx)
{
	struct control *c = the_control();
	__u64 now = bpf_ktime_get_ns();

	if (!c || !c->net)
		return 1;
	look(c, now, now > c->deadline ? now - c->deadline : 0);
	return 0;
}

// tick is one tick of the kernel's timer. The next one's time does not depend on how late this one is.
static int tick(void *map, __u32 *key, struct timer *t)
{
	struct control *c = the_control();
	__u64 now = bpf_ktime_get_ns(), missed;

	if (!c || !c->interval)
		return 0;
	look(c, now, now > c->deadline ? now - c->deadline : 0);
	c->deadline += c->interval;
	now = bpf_ktime_get_ns();
	if (now >= c->deadline) {
		missed = (now - c->deadline) / c->interval + 1;
		c->missed += missed;
		c->deadline += missed * c->interval;
	}
	bpf_timer_start(&t->timer, c->deadline - now, 0);
	return 0;
}

// arm starts the timer. It lives as long as somebody holds its map open.
SEC("syscall")
int arm(void *ctx)
{
	struct control *c = the_control();
	__u32 zero = 0;
	struct timer *t = bpf_map_lookup_elem(&timers, &zero);
	__u64 now = bpf_ktime_get_ns();

	if (!c || !t || !c->interval || !c->net)
		return 1;
	c->deadline = now - now % c->interval + c->interval;
	if (bpf_timer_init(&t->timer, &timers, 1 /* CLOCK_MONOTONIC */))
		return 2;
	bpf_timer_set_callback(&t->timer, tick);
	return bpf_timer_start(&t->timer, c->deadline - now, 0) ? 2 : 0;
}
