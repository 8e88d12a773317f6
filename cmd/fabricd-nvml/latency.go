// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"slices"
	"time"

	"github.com/fabricd/fabricd/probes/gpu"
)

// latency sums up times; it sorts them.
func latency(times []time.Duration) *gpu.Latency {
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	rank := func(percent int) time.Duration { return times[(len(times)*percent+99)/100-1] }
	return &gpu.Latency{Samples: len(times), Min: times[0], Median: rank(50), P99: rank(99)}
}
