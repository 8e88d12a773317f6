// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// The memory that the sampler of transmit queues shares with user space. Go's types are made from these.

#pragma once

#define BUCKETS 33 // nothing, at most 1, 2, 4 … 2^30 bytes, and more

struct slot { // a queue
	__u32 device; // its place among the devices, from 1 on; 0: no queue, and none follows
	__u32 queue;
	__u32 inflight, limit, completed, backlog;
	__u32 peak[2]; // of inflight, by bank
	__u64 samples, busy, full, tight, stopped;
	__u64 sum;     // of inflight
	__u64 changed; // when bytes were last completed, or none were in flight
	__u32 depth[BUCKETS];
	__u32 pad;
};

struct device {
	// Written by user space.
	__u32 ifindex;
	__u32 frames;    // two frames' size
	__u64 threshold; // a depth above is a burst
	// Written by the program.
	__u32 present; // in the newest sample
	__u32 queues;  // that the device has now
	__u32 used;    // bytes were queued in some sample: the driver uses byte queue limits
	__u32 backlogs; // samples with a known backlog, modulo 2^32
	__u64 depth;   // in flight and waiting, of all queues
	__u64 peak[2];
	__u64 bursts, burst_ns, longest_ns, since; // since: when the present burst began
	__u32 backlog[BUCKETS];
	__u32 pad;
};

struct control {
	// Written by user space.
	__u64 interval; // of the timer
	__u64 deadline; // of this tick; with the timer, of the next one
	__u64 gap;      // after a longer pause what lasts begins anew: the machine may have stood still
	__u32 sysfs;    // a descriptor of ours: the sysfs that shows the interfaces
	__u32 want;     // the bank that peaks are to go to
	// Written by the program.
	__u64 net;   // the address of the network namespace
	__u64 last;  // when the newest sample was taken
	__u64 begun; // ticks, too; a bank that is not wanted is at rest when it is the same as ticks
	__u64 ticks, missed, cost_ns, late_ns;
	__u32 bank;
	__u32 late[BUCKETS]; // in units of 2^-20 s
};
