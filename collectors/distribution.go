// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A Distribution counts values in buckets that double, as they are counted
// where values come too fast to be handled one by one. Bucket i is of values
// above 2^(Low+i-1) and up to 2^(Low+i). It is exported as a histogram with
// classic buckets at these powers of two, and natively with schema 0.
type Distribution struct {
	Low int
	// Small counts the values up to 2^(Low-1), which have no bucket.
	Small uint64
	// Buckets has the same length at all times; values beyond the last one
	// count in Large.
	Buckets []uint64
	Large   uint64
	Sum     float64
}

// Observe counts a value that is not negative.
func (d *Distribution) Observe(v float64) {
	d.Sum += v
	fraction, exponent := math.Frexp(v) // v = fraction × 2^exponent, fraction in [½, 1)
	if fraction == 0.5 {
		exponent-- // a power of two is the last value of its bucket
	}
	switch i := exponent - d.Low; {
	case v == 0 || i < 0:
		d.Small++
	case i >= len(d.Buckets):
		d.Large++
	default:
		d.Buckets[i]++
	}
}

// Count gives the number of values.
func (d *Distribution) Count() uint64 {
	n := d.Small + d.Large
	for _, b := range d.Buckets {
		n += b
	}
	return n
}

// each gives the classic buckets: the upper bound and the number of values up to it.
func (d *Distribution) each(bucket func(bound float64, cumulative uint64)) {
	n := d.Small
	bucket(math.Ldexp(1, d.Low-1), n)
	for i, b := range d.Buckets {
		n += b
		bucket(math.Ldexp(1, d.Low+i), n)
	}
}

// metric gives the library's form of d, with both kinds of buckets.
func (d *Distribution) metric(desc *prometheus.Desc, labels []string) (prometheus.Metric, error) {
	classic, native := map[float64]uint64{}, map[int]int64{}
	d.each(func(bound float64, n uint64) { classic[bound] = n })
	for i, b := range d.Buckets {
		if b > 0 {
			native[d.Low+i] = int64(b)
		}
	}
	if d.Large > 0 {
		native[d.Low+len(d.Buckets)] = int64(d.Large)
	}
	c, err := prometheus.NewConstHistogram(desc, d.Count(), d.Sum, classic, labels...)
	if err != nil {
		return nil, err
	}
	n, err := prometheus.NewConstNativeHistogram(desc, d.Count(), d.Sum, native, nil, d.Small, 0, math.Ldexp(1, d.Low-1), time.Time{}, labels...)
	return twofold{n, c}, err
}

// A twofold histogram is a native one with the buckets of a classic one.
type twofold struct {
	prometheus.Metric
	classic prometheus.Metric
}

func (t twofold) Write(to *dto.Metric) error {
	var classic dto.Metric
	if err := t.classic.Write(&classic); err != nil {
		return err
	}
	if err := t.Metric.Write(to); err != nil {
		return err
	}
	to.Histogram.Bucket = classic.Histogram.Bucket
	to.Histogram.CreatedTimestamp = nil // not known
	return nil
}

// appendText writes the lines of a classic histogram.
func (d *Distribution) appendText(b []byte, x Exposition, name string, labels []byte) []byte {
	var text []byte
	le := func(bound string, n uint64) {
		text = appendLabel(append(text[:0], labels...), "le", bound)
		b = appendSample(b, name+"_bucket", text, float64(n))
	}
	d.each(func(bound float64, n uint64) {
		text := strconv.FormatFloat(bound, 'g', -1, 64)
		if x.OpenMetrics && !strings.ContainsAny(text, "e.") {
			text += ".0"
		}
		le(text, n)
	})
	le("+Inf", d.Count())
	b = appendSample(b, name+"_sum", labels, d.Sum)
	return appendSample(b, name+"_count", labels, float64(d.Count()))
}
