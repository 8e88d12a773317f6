// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// counters gathers what a round of a film shows, with all counters moved on by
// what they were at the end of the round before: a counter that fell back from
// 1000 to 900 would be one that was reset and counted 900 since, and every
// rate a lie. Histograms are the daemon's own: they start with it at 0.
type counters struct {
	prometheus.Gatherer
	before map[string]float64 // added to each series
}

// follow makes the counters of a film that has just begun go on from its last end.
func (c *counters) follow(last *counters) {
	end, begin := last.values(), c.values()
	c.before = make(map[string]float64, len(end))
	for series, v := range end {
		c.before[series] = v - begin[series]
	}
}

// Gather implements prometheus.Gatherer.
func (c *counters) Gather() ([]*dto.MetricFamily, error) {
	families, err := c.Gatherer.Gather()
	eachCounter(families, func(series string, counter *dto.Counter) {
		if before, ok := c.before[series]; ok {
			*counter.Value += before
		}
	})
	return families, err
}

// values gives the counters as they are shown.
func (c *counters) values() map[string]float64 {
	families, _ := c.Gather() //nolint:errcheck // what could not be gathered starts anew
	values := map[string]float64{}
	eachCounter(families, func(series string, counter *dto.Counter) { values[series] = counter.GetValue() })
	return values
}

func eachCounter(families []*dto.MetricFamily, do func(series string, counter *dto.Counter)) {
	var series strings.Builder
	for _, f := range families {
		if f.GetType() != dto.MetricType_COUNTER || !strings.HasPrefix(f.GetName(), "fabricd_") {
			continue
		}
		for _, m := range f.Metric {
			series.Reset()
			series.WriteString(f.GetName())
			for _, l := range m.Label {
				series.WriteString("\xff" + l.GetName() + "\xff" + l.GetValue())
			}
			do(series.String(), m.Counter)
		}
	}
}
