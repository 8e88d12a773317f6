// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Two rows of one name are one series, the first of them: of a scrape with two
// Prometheus would take nothing at all.
func TestEqualRowsAreOneSeries(t *testing.T) {
	s := &source{read: func(string) (float64, error) { return 1, nil }}
	c := s.spec("a", time.Second, "x", "y").(spec[gauge])
	twice := New(Spec[gauge]{
		Name: "a", Help: "Test.", Every: time.Second, Units: c.Units, Open: c.Open,
		Tables: []Table[gauge]{
			Rows(func(g *gauge) []gauge { return []gauge{*g, *g} }, Columns[gauge]{
				Labels: []Label[gauge]{{"unit", func(*gauge) string { return "same" }}},
				Metrics: []Metric[gauge]{
					{Name: "a_value", Help: "Test.", Get: func(g *gauge) (float64, bool) { return g.n, true }},
					{Name: "a_own", Help: "Test.", Labels: []Label[gauge]{{"of", func(*gauge) string { return "one" }}}, Get: func(g *gauge) (float64, bool) { return g.n, true }},
				},
			}),
		},
	})
	e := NewEngine(Options{Host: emptyHost(t), Collectors: []Collector{twice}})
	if err := e.Play(); err != nil {
		t.Fatal(err)
	}
	text := string(e.AppendText(nil, Exposition{}))
	for _, series := range []string{`fabricd_a_value{unit="same"} 1`, `fabricd_a_own{of="one"} 1`} {
		if n := strings.Count(text, series+"\n"); n != 1 {
			t.Errorf("%s is there %d times", series, n)
		}
	}
	r := prometheus.NewRegistry()
	if err := e.Register(r); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Gather(); err != nil {
		t.Errorf("the library: %v", err)
	}
}
