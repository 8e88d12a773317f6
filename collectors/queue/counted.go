// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"strconv"

	"github.com/fabricd/fabricd/collectors"
)

// maxCounted bounds the queues of an interface that have counters of their own.
const maxCounted = 64

// A counted is a queue that counts, idle or not: a counter that began with its
// first event would not show it.
type counted struct {
	*Netdev
	index int
}

func countedQueues(r *Reading) []counted {
	var list []counted
	for i := range r.Netdevs {
		n := &r.Netdevs[i]
		for q := range min(len(n.Timeouts), maxCounted) {
			list = append(list, counted{n, q})
		}
	}
	return list
}

func countedColumns() collectors.Columns[counted] {
	discipline := func(get func(Counts) uint64) func(*counted) (float64, bool) {
		return func(c *counted) (float64, bool) {
			if c.Qdiscs == nil {
				return 0, false
			}
			counts, ok := c.Qdiscs.ByQueue[c.index]
			return float64(get(counts)), ok
		}
	}
	const bound = " Of the first 64 queues of each interface"
	return collectors.Columns[counted]{
		Labels: []collectors.Label[counted]{
			{Name: "netdev", Get: func(c *counted) string { return c.Name }},
			{Name: "queue", Get: func(c *counted) string { return strconv.Itoa(c.index) }}},
		Metrics: []collectors.Metric[counted]{
			{Name: "nic_queue_timeouts_total", Kind: collectors.Counter, Help: "Times that the kernel's watchdog found the queue stopped for too long." + bound + "; fabricd_nic_timeouts_total has all.", Source: "queues/tx-N/tx_timeout",
				Get: func(c *counted) (float64, bool) { t := c.Timeouts[c.index].Count; return float64(t.V), t.OK }},
			{Name: "nic_queue_drops_total", Kind: collectors.Counter, Help: "Packets that the queueing discipline of this queue dropped." + bound + "; fabricd_nic_qdisc_drops_total has all.", Source: "RTM_GETQDISC",
				Get: discipline(func(c Counts) uint64 { return c.Drops })},
			{Name: "nic_queue_requeues_total", Kind: collectors.Counter, Help: "Packets that the driver handed back to the queueing discipline of this queue." + bound + "; fabricd_nic_qdisc_requeues_total has all.", Source: "RTM_GETQDISC",
				Get: discipline(func(c Counts) uint64 { return c.Requeues })},
		},
	}
}

// timeoutsOf adds up an interface's timeouts; not ok: nothing is told, or not
// by all queues that count them.
func timeoutsOf(n *Netdev) (sum float64, ok bool) {
	for _, t := range n.Timeouts {
		switch {
		case t.Count.OK:
			sum, ok = sum+float64(t.Count.V), true
		case t.told() == unreadable:
			return 0, false
		}
	}
	return sum, ok
}
