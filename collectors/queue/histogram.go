// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/queue"
)

// Bounds of the exported histograms as powers of two: what is below the first
// or above the last is in one bucket.
const (
	lowBytes, highBytes     = 6, 24  // 64 bytes to 16 MiB
	lowSeconds, highSeconds = -16, 1 // 15 µs to 2 s
	lateUnit                = -20
)

// inBytes exports a histogram of bytes.
func inBytes(h *queue.Histogram) *collectors.Distribution {
	return distribution(h, 0, lowBytes, highBytes)
}

// inSeconds exports a histogram whose unit is 2^-20 s.
func inSeconds(h *queue.Histogram) *collectors.Distribution {
	return distribution(h, lateUnit, lowSeconds, highSeconds)
}

// distribution cuts a histogram of numbers of 2^unit to buckets from 2^low to
// 2^high.
func distribution(h *queue.Histogram, unit, low, high int) *collectors.Distribution {
	// Counts[i] is of what is at most 2^(i-1) units.
	first, end := low-unit+1, high-unit+2
	d := &collectors.Distribution{Low: low, Buckets: slices.Clone(h.Counts[first:end]), Sum: h.Sum}
	for _, n := range h.Counts[:first] {
		d.Small += n
	}
	for _, n := range h.Counts[end:] {
		d.Large += n
	}
	return d
}
