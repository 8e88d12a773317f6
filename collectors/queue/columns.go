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
	limited := func(get func(*queue.Queue) float64) func(*row) (float64, bool) {
		return func(r *row) (float64, bool) {
			v, ok := active(get)(r)
			return v, ok && r.q.NoLimit == nil
		}
	}
	share := func(get func(queue.Counts) uint64) func(*queue.Queue) float64 {
		return func(q *queue.Queue) float64 { return float64(get(q.Window)) / float64(max(q.Window.Samples, 1)) }
	}
	metrics := []collectors.Metric[row]{
		{Name: "nic_queue_inflight_bytes", Help: "Bytes that a transmit queue has handed to the device and that are not sent yet, in the newest sample. Of queues that carried something in the last minute.", Source: "byte_queue_limits/inflight",
			Get: active(func(q *queue.Queue) float64 { return float64(q.Inflight) })},
		{Name: "nic_queue_limit_bytes", Help: "Byte queue limit: how much the queue may have in flight. The kernel adapts it.", Source: "byte_queue_limits/limit",
			Get: limited(func(q *queue.Queue) float64 { return float64(q.Limit) })},
		{Name: "nic_queue_full_ratio", Help: "Share of the last minute's samples in which the queue was at its byte queue limit.", Source: "byte_queue_limits",
			Get: limited(share(func(c queue.Counts) uint64 { return c.Full }))},
		{Name: "nic_queue_stopped_ratio", Help: "Share of the last minute's samples in which the driver had stopped the queue: its ring is full. Where the kernel's program sees it.", Source: "netdev_queue.state",
			Get: func(r *row) (float64, bool) {
				if r.way == queue.Files {
					return 0, false
				}
				return active(share(func(c queue.Counts) uint64 { return c.Stopped }))(r)
			}},
	}
	metrics = append(metrics, collectors.Metric[row]{
		Name: "nic_queue_stalls_total", Kind: collectors.Counter, Help: "Times that bytes were in flight and none completed for longer than the queue's threshold. Absent where none is set (stall_thrs), and in kernels before 6.9.", Source: "byte_queue_limits/stall_cnt",
		Get: func(r *row) (float64, bool) {
			if s := r.Stalls[r.index]; s != nil {
				return float64(s.Count), true
			}
			return 0, false
		},
	})
	for _, w := range windows() {
		metrics = append(metrics, collectors.Metric[row]{
			Name: "nic_queue_peak_bytes", Help: "Most bytes in flight in a sample of the last 1, 10 or 60 s.", Source: "byte_queue_limits/inflight",
			Labels: []collectors.Label[row]{netdev, number, {Name: "window", Get: func(*row) string { return w.name }}},
			Get:    active(func(q *queue.Queue) float64 { return float64(w.get(q.Peaks)) }),
		})
	}
	return collectors.Columns[row]{Labels: []collectors.Label[row]{netdev, number}, Metrics: metrics, Checks: checks()}
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
