// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"

	"github.com/fabricd/fabricd/collectors"
)

func netdevColumns() collectors.Columns[Netdev] {
	netdev := collectors.Label[Netdev]{Name: "netdev", Get: func(n *Netdev) string { return n.Name }}
	return collectors.Columns[Netdev]{
		Labels: []collectors.Label[Netdev]{netdev},
		Metrics: slices.Concat(depths(), bursts(), totalPeaks(netdev), qdiscCounters(), []collectors.Metric[Netdev]{
			{Name: "nic_timeouts_total", Kind: collectors.Counter, Help: "Times that the kernel's watchdog found a transmit queue of the interface stopped for too long, over all of its queues.", Source: "queues/tx-N/tx_timeout", Get: timeoutsOf},
		}),
	}
}

// depths tell how deep the queues are, and whether that can be seen.
func depths() []collectors.Metric[Netdev] {
	return []collectors.Metric[Netdev]{
		{Name: "nic_queues", Help: "Transmit queues of the interface that are sampled.", Source: "queues/",
			Get: func(n *Netdev) (float64, bool) { return float64(n.Queues), true }},
		{Name: "nic_queue_limits_used", Help: "1 if the driver uses byte queue limits, 0 if packets were sent without: the depth of its queues cannot be seen. Absent until there is traffic.", Source: "byte_queue_limits",
			Get: func(n *Netdev) (float64, bool) {
				if n.Limits.OK {
					return 1, true
				}
				return 0, n.Traffic.Packets.OK && n.Traffic.Span > 0 && n.Traffic.Rate >= 1
			}},
		{Name: "nic_queue_depth_bytes", Kind: collectors.Histogram, Help: "Bytes in flight of the interface's transmit queues, a value for each queue and sample. RDMA traffic never enters these queues.", Source: "byte_queue_limits/inflight",
			Distribution: func(n *Netdev) *collectors.Distribution {
				if !n.Limits.OK {
					return nil
				}
				return inBytes(&n.Inflight)
			}},
		{Name: "nic_queue_backlog_bytes", Kind: collectors.Histogram, Help: "Bytes that wait above all of the interface's transmit queues together, a value for each sample. Where the kernel's program runs and the queueing discipline counts in one place (not pfifo_fast).", Source: "Qdisc.qstats.backlog",
			Distribution: func(n *Netdev) *collectors.Distribution {
				if n.Backlog == nil {
					return nil
				}
				return inBytes(n.Backlog)
			}},
	}
}

// seen gives a value of interfaces of which some depth can be seen.
func seen(get func(*Netdev) float64) func(*Netdev) (float64, bool) {
	return func(n *Netdev) (float64, bool) { return get(n), n.Limits.OK || n.Backlog != nil }
}

// bursts tell of the times when the queues together were deep.
func bursts() []collectors.Metric[Netdev] {
	const source = "byte_queue_limits/inflight, qdisc backlog"
	return []collectors.Metric[Netdev]{
		{Name: "nic_queue_bursts_total", Kind: collectors.Counter, Help: "Times that the interface's queues together rose above the depth of a burst, as samples show it.", Source: source,
			Get: seen(func(n *Netdev) float64 { return float64(n.Bursts) })},
		{Name: "nic_queue_burst_threshold_bytes", Help: "Depth above which the interface's queues together are in a burst: what its link sends in 100 µs, 64 KiB at least.", Source: "speed",
			Get: seen(func(n *Netdev) float64 { return float64(n.Netdev.Burst) })},
		{Name: "nic_queue_burst_seconds_total", Kind: collectors.Counter, Help: "Time that bursts took which have ended.", Source: source,
			Get: seen(func(n *Netdev) float64 { return n.BurstTime.Seconds() })},
		{Name: "nic_queue_burst_longest_seconds", Help: "Longest burst that has ended since the interface is sampled.", Source: source,
			Get: seen(func(n *Netdev) float64 { return n.Longest.Seconds() })},
	}
}

// totalPeaks are those of all queues together.
func totalPeaks(netdev collectors.Label[Netdev]) []collectors.Metric[Netdev] {
	var metrics []collectors.Metric[Netdev]
	for _, w := range windows() {
		metrics = append(metrics, collectors.Metric[Netdev]{
			Name: "nic_queue_sum_peak_bytes", Help: "Most bytes in all of an interface's queues together in a sample of the last 1, 10 or 60 s: in flight and, where the kernel's program sees it, waiting in the queueing discipline.", Source: "byte_queue_limits/inflight, qdisc backlog",
			Labels: []collectors.Label[Netdev]{netdev, {Name: "window", Get: func(*Netdev) string { return w.name }}},
			Get:    seen(func(n *Netdev) float64 { return float64(w.get(n.Peaks)) }),
		})
	}
	return metrics
}

// qdiscCounters are those of the queueing disciplines at the root.
func qdiscCounters() []collectors.Metric[Netdev] {
	discipline := func(get func(Counts) uint64) func(*Netdev) (float64, bool) {
		return func(n *Netdev) (float64, bool) {
			if n.Qdiscs == nil {
				return 0, false
			}
			return float64(get(n.Qdiscs.Root)), true
		}
	}
	return []collectors.Metric[Netdev]{
		{Name: "nic_qdisc_drops_total", Kind: collectors.Counter, Help: "Packets that the interface's queueing disciplines dropped.", Source: "RTM_GETQDISC",
			Get: discipline(func(c Counts) uint64 { return c.Drops })},
		{Name: "nic_qdisc_requeues_total", Kind: collectors.Counter, Help: "Packets that the driver handed back to the queueing disciplines: its queues were stopped.", Source: "RTM_GETQDISC",
			Get: discipline(func(c Counts) uint64 { return c.Requeues })},
		{Name: "nic_qdisc_backlog_bytes", Help: "Bytes that waited in the queueing disciplines when they were last asked, every 10 s.", Source: "RTM_GETQDISC",
			Get: discipline(func(c Counts) uint64 { return c.Backlog })},
	}
}
