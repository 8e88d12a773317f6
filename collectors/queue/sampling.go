// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/queue"
)

func samplerColumns() collectors.Columns[Reading] {
	return collectors.Columns[Reading]{
		Metrics: append(softnetMetrics(), []collectors.Metric[Reading]{
			{Name: "nic_queue_sampler_info", Help: "1; the labels say which way transmit queues are sampled (timer: by the kernel's timer, kernel: by a program in the kernel, files: by files that are kept open, none: there is no queue), and why no better one.", Source: "sampler",
				Labels: []collectors.Label[Reading]{
					{Name: "reason", Get: func(s *Reading) string { return s.Why }},
					{Name: "way", Get: func(s *Reading) string { return s.Way.String() }}},
				Get: func(*Reading) (float64, bool) { return 1, true }},
			{Name: "nic_queue_sampled", Help: "Transmit queues that are sampled.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return float64(s.Queues), true }},
			{Name: "nic_queue_unsampled", Help: "Transmit queues beyond the number that is sampled.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return float64(s.LeftOut), true }},
			{Name: "nic_queue_sample_interval_seconds", Help: "Time between two samples in force: the wanted one, stretched where samples take too long.", Source: "sampler",
				Get: func(s *Reading) (float64, bool) { return s.Every.Seconds(), s.Every > 0 && s.Way != queue.None }},
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
		}...),
	}
}

func softnetMetrics() []collectors.Metric[Reading] {
	return []collectors.Metric[Reading]{
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
	}
}
