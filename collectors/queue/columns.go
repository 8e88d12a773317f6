// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/queue"
)

func columns() collectors.Columns[row] {
	netdev := collectors.Label[row]{Name: "netdev", Get: func(r *row) string { return r.Name }}
	number := collectors.Label[row]{Name: "queue", Get: (*row).queue}
	active := func(get func(*queue.Queue) float64) func(*row) (float64, bool) {
		return func(r *row) (float64, bool) {
			if r.q == nil || !r.Limits.OK {
				return 0, false
			}
			return get(r.q), true
		}
	}
	ratio := func(get func(queue.Counts) uint64) func(*row) (float64, bool) {
		return active(func(q *queue.Queue) float64 { return float64(get(q.Window)) / float64(max(q.Window.Samples, 1)) })
	}
	metrics := []collectors.Metric[row]{
		{Name: "nic_queue_inflight_bytes", Help: "Bytes that a transmit queue has handed to the device and that are not sent yet, in the newest sample. Of queues that carried something in the last minute.", Source: "byte_queue_limits/inflight",
			Get: active(func(q *queue.Queue) float64 { return float64(q.Inflight) })},
		{Name: "nic_queue_limit_bytes", Help: "Byte queue limit: how much the queue may have in flight. The kernel adapts it.", Source: "byte_queue_limits/limit",
			Get: active(func(q *queue.Queue) float64 { return float64(q.Limit) })},
		{Name: "nic_queue_full_ratio", Help: "Share of the last minute's samples in which the queue was at its byte queue limit.", Source: "byte_queue_limits",
			Get: ratio(func(c queue.Counts) uint64 { return c.Full })},
		{Name: "nic_queue_stopped_ratio", Help: "Share of the last minute's samples in which the driver had stopped the queue: its ring is full. Where the kernel's program sees it.", Source: "netdev_queue.state",
			Get: func(r *row) (float64, bool) {
				if r.way == queue.Files {
					return 0, false
				}
				return ratio(func(c queue.Counts) uint64 { return c.Stopped })(r)
			}},
	}
	metrics = append(metrics, counters()...)
	for _, w := range windows() {
		metrics = append(metrics, collectors.Metric[row]{
			Name: "nic_queue_peak_bytes", Help: "Most bytes in flight in a sample of the last 1, 10 or 60 s.", Source: "byte_queue_limits/inflight",
			Labels: []collectors.Label[row]{netdev, number, {Name: "window", Get: func(*row) string { return w.name }}},
			Get:    active(func(q *queue.Queue) float64 { return float64(w.get(q.Peaks)) }),
		})
	}
	return collectors.Columns[row]{Labels: []collectors.Label[row]{netdev, number}, Metrics: metrics, Checks: checks()}
}

// counters are those of a queue that are read once a reading or less.
func counters() []collectors.Metric[row] {
	discipline := func(get func(Counts) uint64) func(*row) (float64, bool) {
		return func(r *row) (float64, bool) {
			if r.Qdiscs == nil {
				return 0, false
			}
			c, ok := r.Qdiscs.ByQueue[r.index]
			return float64(get(c)), ok
		}
	}
	return []collectors.Metric[row]{
		{Name: "nic_queue_timeouts_total", Kind: collectors.Counter, Help: "Times that the kernel's watchdog found the queue stopped for too long.", Source: "queues/tx-N/tx_timeout",
			Get: func(r *row) (float64, bool) { return float64(r.timeouts.Count.V), r.timeouts.Count.OK && r.index >= 0 }},
		{Name: "nic_queue_stalls_total", Kind: collectors.Counter, Help: "Times that bytes were in flight and none completed for longer than the queue's threshold. Absent where none is set (stall_thrs), and in kernels before 6.9.", Source: "byte_queue_limits/stall_cnt",
			Get: func(r *row) (float64, bool) {
				if s := r.Stalls[r.index]; s != nil {
					return float64(s.Count), true
				}
				return 0, false
			}},
		{Name: "nic_queue_drops_total", Kind: collectors.Counter, Help: "Packets that the queueing discipline of this queue dropped.", Source: "RTM_GETQDISC",
			Get: discipline(func(c Counts) uint64 { return c.Drops })},
		{Name: "nic_queue_requeues_total", Kind: collectors.Counter, Help: "Packets that the driver handed back to the queueing discipline of this queue.", Source: "RTM_GETQDISC",
			Get: discipline(func(c Counts) uint64 { return c.Requeues })},
	}
}

// A peakWindow is one of the rolling windows of peaks.
type peakWindow struct {
	name string
	get  func(queue.Peaks) uint64
}

func windows() []peakWindow {
	return []peakWindow{
		{"1s", func(p queue.Peaks) uint64 { return p.Second }},
		{"10s", func(p queue.Peaks) uint64 { return p.Ten }},
		{"60s", func(p queue.Peaks) uint64 { return p.Minute }},
	}
}

func netdevColumns() collectors.Columns[Netdev] {
	netdev := collectors.Label[Netdev]{Name: "netdev", Get: func(n *Netdev) string { return n.Name }}
	known := func(get func(*Netdev) float64) func(*Netdev) (float64, bool) {
		return func(n *Netdev) (float64, bool) { return get(n), n.Limits.OK || n.Backlog != nil }
	}
	metrics := []collectors.Metric[Netdev]{
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
		{Name: "nic_queue_bursts_total", Kind: collectors.Counter, Help: "Times that the interface's queues together rose above 64 KiB, between two samples' time.", Source: "byte_queue_limits/inflight, qdisc backlog",
			Get: known(func(n *Netdev) float64 { return float64(n.Bursts) })},
		{Name: "nic_queue_burst_seconds_total", Kind: collectors.Counter, Help: "Time that bursts took which have ended.", Source: "byte_queue_limits/inflight, qdisc backlog",
			Get: known(func(n *Netdev) float64 { return n.BurstTime.Seconds() })},
		{Name: "nic_queue_burst_longest_seconds", Help: "Longest burst that has ended since the interface is sampled.", Source: "byte_queue_limits/inflight, qdisc backlog",
			Get: known(func(n *Netdev) float64 { return n.Longest.Seconds() })},
	}
	discipline := func(get func(Counts) uint64) func(*Netdev) (float64, bool) {
		return func(n *Netdev) (float64, bool) {
			if n.Qdiscs == nil {
				return 0, false
			}
			return float64(get(n.Qdiscs.Root)), true
		}
	}
	metrics = append(metrics,
		collectors.Metric[Netdev]{Name: "nic_qdisc_drops_total", Kind: collectors.Counter, Help: "Packets that the interface's queueing disciplines dropped.", Source: "RTM_GETQDISC",
			Get: discipline(func(c Counts) uint64 { return c.Drops })},
		collectors.Metric[Netdev]{Name: "nic_qdisc_requeues_total", Kind: collectors.Counter, Help: "Packets that the driver handed back to the queueing disciplines: its queues were stopped.", Source: "RTM_GETQDISC",
			Get: discipline(func(c Counts) uint64 { return c.Requeues })},
		collectors.Metric[Netdev]{Name: "nic_qdisc_backlog_bytes", Help: "Bytes that waited in the queueing disciplines when they were last asked, every 10 s.", Source: "RTM_GETQDISC",
			Get: discipline(func(c Counts) uint64 { return c.Backlog })})
	for _, w := range windows() {
		metrics = append(metrics, collectors.Metric[Netdev]{
			Name: "nic_queue_sum_peak_bytes", Help: "Most bytes in all of an interface's queues together in a sample of the last 1, 10 or 60 s: in flight and, where the kernel's program sees it, waiting in the queueing discipline.", Source: "byte_queue_limits/inflight, qdisc backlog",
			Labels: []collectors.Label[Netdev]{netdev, {Name: "window", Get: func(*Netdev) string { return w.name }}},
			Get:    known(func(n *Netdev) float64 { return float64(w.get(n.Peaks)) }),
		})
	}
	return collectors.Columns[Netdev]{Labels: []collectors.Label[Netdev]{netdev}, Metrics: metrics}
}

func samplerColumns() collectors.Columns[Reading] {
	return collectors.Columns[Reading]{
		Metrics: []collectors.Metric[Reading]{
			{Name: "nic_queue_sampler_info", Help: "1; the labels say which way transmit queues are sampled (timer: by the kernel's timer, kernel: by a program in the kernel, files: by files that are kept open), and why no better one.", Source: "sampler",
				Labels: []collectors.Label[Reading]{
					{Name: "reason", Get: func(s *Reading) string { return s.Why }},
					{Name: "way", Get: func(s *Reading) string { return s.Way.String() }}},
				Get: func(*Reading) (float64, bool) { return 1, true }},
			{Name: "softnet_drops_total", Kind: collectors.Counter, Help: "Received packets that were dropped because a processor's backlog was full, over all processors.", Source: "/proc/net/softnet_stat",
				Get: func(s *Reading) (float64, bool) {
					if s.Softnet == nil {
						return 0, false
					}
					return float64(s.Softnet.Dropped), true
				}},
			{Name: "softnet_squeezes_total", Kind: collectors.Counter, Help: "Times that a processor ran out of time or budget while packets were left to be received, over all processors.", Source: "/proc/net/softnet_stat",
				Get: func(s *Reading) (float64, bool) {
					if s.Softnet == nil {
						return 0, false
					}
					return float64(s.Softnet.Squeezed), true
				}},
			{Name: "nic_queue_sampled", Help: "Transmit queues that are sampled.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return float64(s.Queues), true }},
			{Name: "nic_queue_unsampled", Help: "Transmit queues beyond the number that is sampled.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return float64(s.LeftOut), true }},
			{Name: "nic_queue_sample_interval_seconds", Help: "Time between two samples in force: the wanted one, stretched where samples take too long.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return s.Every.Seconds(), s.Every > 0 }},
			{Name: "nic_queue_sample_ticks_total", Kind: collectors.Counter, Help: "Samples of all queues that were taken.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return float64(s.Ticks), true }},
			{Name: "nic_queue_sample_missed_ticks_total", Kind: collectors.Counter, Help: "Samples that were not taken because the one before came too late or took too long.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return float64(s.Missed), true }},
			{Name: "nic_queue_sample_lateness_seconds", Kind: collectors.Histogram, Help: "How much later than planned samples were taken.", Source: "sampler",
				Distribution: func(s *Reading) *collectors.Distribution {
					if s.Every == 0 {
						return nil
					}
					return inSeconds(&s.Late)
				}},
			{Name: "nic_queue_sample_seconds_total", Kind: collectors.Counter, Help: "Time that taking samples took.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return s.Cost.Seconds(), true }},
		},
	}
}
