// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

type depths struct {
	name string
	d    *Distribution
}

type depthReader []depths

func (r depthReader) Read(time.Duration) (*[]depths, error) { return (*[]depths)(&r), nil }
func (depthReader) Close()                                  {}

func playDepths(t *testing.T, rows ...depths) *Engine {
	t.Helper()
	c := New(Spec[[]depths]{
		Name: "q", Help: "Test.", Every: time.Second,
		Open: func(context.Context, *probes.Host, string) (Reader[[]depths], error) { return depthReader(rows), nil },
		Tables: []Table[[]depths]{Rows(func(r *[]depths) []depths { return *r }, Columns[depths]{
			Labels: []Label[depths]{{"netdev", func(d *depths) string { return d.name }}},
			Metrics: []Metric[depths]{{
				Name: "q_depth_bytes", Help: "Test.", Kind: Histogram,
				Distribution: func(d *depths) *Distribution { return d.d },
			}},
		})},
	})
	e := NewEngine(Options{Host: emptyHost(t), Collectors: []Collector{c}})
	if err := e.Play(); err != nil {
		t.Fatal(err)
	}
	return e
}

// Every value falls into the bucket whose bounds hold it.
func TestObserve(t *testing.T) {
	for _, test := range []struct {
		v    float64
		want Distribution
	}{
		{0, Distribution{Small: 1, Buckets: []uint64{0, 0, 0}}},
		{0.5, Distribution{Small: 1, Buckets: []uint64{0, 0, 0}}},
		{0.51, Distribution{Buckets: []uint64{1, 0, 0}}},
		{1, Distribution{Buckets: []uint64{1, 0, 0}}},
		{2, Distribution{Buckets: []uint64{0, 1, 0}}},
		{2.1, Distribution{Buckets: []uint64{0, 0, 1}}},
		{4, Distribution{Buckets: []uint64{0, 0, 1}}},
		{5, Distribution{Large: 1, Buckets: []uint64{0, 0, 0}}},
		{math.MaxFloat64, Distribution{Large: 1, Buckets: []uint64{0, 0, 0}}},
	} {
		d := Distribution{Buckets: make([]uint64, 3)}
		d.Observe(test.v)
		if d.Small != test.want.Small || d.Large != test.want.Large || !bytes.Equal(small(d.Buckets), small(test.want.Buckets)) || d.Count() != 1 || d.Sum != test.v {
			t.Errorf("%g: %+v", test.v, d)
		}
	}
}

func small(counts []uint64) (b []byte) {
	for _, n := range counts {
		b = append(b, byte(n))
	}
	return b
}

// What the engine writes is what the library writes of the same histogram, and
// a native histogram has the same counts.
func TestDistributionAsHistogram(t *testing.T) {
	deep := &Distribution{Low: -2, Buckets: make([]uint64, 24)}
	for _, v := range []float64{0, 0.1, 0.3, 1, 1500, 1500, 65536, 65537, 1 << 20, 1 << 40} {
		deep.Observe(v)
	}
	e := playDepths(t, depths{`e"2`, &Distribution{Low: 10, Buckets: []uint64{0, 1}, Sum: 1500.5}}, depths{"eth0", deep}, depths{"eth1", nil})
	registry := prometheus.NewPedanticRegistry()
	if err := e.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var family *dto.MetricFamily
	for _, f := range families {
		if f.GetName() == "fabricd_q_depth_bytes" {
			family = f
		}
	}
	for _, open := range []bool{false, true} {
		var library bytes.Buffer
		write := func(w *bytes.Buffer, f *dto.MetricFamily) (int, error) { return expfmt.MetricFamilyToText(w, f) }
		if open {
			write = func(w *bytes.Buffer, f *dto.MetricFamily) (int, error) { return expfmt.MetricFamilyToOpenMetrics(w, f) }
		}
		if _, err := write(&library, family); err != nil {
			t.Fatal(err)
		}
		own := string(e.AppendText(nil, Exposition{OpenMetrics: open}))
		own = own[strings.Index(own, "# HELP fabricd_q_depth"):]
		own, _, _ = strings.Cut(own, "# HELP fabricd_check")
		own, _, _ = strings.Cut(own, "# HELP fabricd_collector")
		if strings.TrimSpace(own) != strings.TrimSpace(library.String()) {
			t.Errorf("own:\n%s\nthe library's:\n%s", own, library.String())
		}
	}
	for _, m := range family.Metric {
		h, sum := m.Histogram, int64(m.Histogram.GetZeroCount())
		count := int64(0)
		for _, delta := range h.PositiveDelta {
			count += delta
			sum += count
		}
		if h.GetSchema() != 0 || sum != int64(h.GetSampleCount()) {
			t.Errorf("%v: the native buckets hold %d of %d", m.Label, sum, h.GetSampleCount())
		}
	}
}
