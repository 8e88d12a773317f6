// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Prefix begins every metric's name.
const Prefix = "fabricd_"

// tableDescs are the descriptions of one table's metrics.
type tableDescs []*prometheus.Desc

func newDescs(d Doc) []tableDescs {
	var all []tableDescs
	for _, table := range d.tables {
		var descs tableDescs
		for _, m := range table {
			descs = append(descs, prometheus.NewDesc(Prefix+m.Name, m.Help, m.Labels, nil))
		}
		all = append(all, descs)
	}
	return all
}

// selfMetrics are what the engine says of itself and of its findings.
type selfMetrics struct {
	reads  *prometheus.HistogramVec
	errors *prometheus.CounterVec
	gauges map[string]*prometheus.Desc
	docs   map[string]MetricDoc
	order  []string // of the manual
}

// selfDocs lists the engine's own metrics for the manual and for their descriptions.
func selfDocs() []MetricDoc {
	collector := []string{"collector"}
	check := []string{"check", "subject"}
	return []MetricDoc{
		{Name: "check_status", Kind: Gauge, Labels: check, Help: "Verdict of a check on a subject: 0 ok, 1 info, 2 warn, 3 fail. What could not be judged has no series here.", Source: "checks"},
		{Name: "check_unknown", Kind: Gauge, Labels: check, Help: "1 where a check could not judge its subject; the reason is in /api/v1/findings.", Source: "checks"},
		{Name: "check_muted", Kind: Gauge, Labels: check, Help: "1 where the operator muted a verdict that would warn or fail.", Source: "configuration"},
		{Name: "collector_up", Kind: Gauge, Labels: collector, Help: "1 if every unit of the collector has a fresh reading without errors, 0 if not. A collector for which the machine has nothing to read has no series; before the first readings all are 0.", Source: "engine"},
		{Name: "collector_units", Kind: Gauge, Labels: []string{"collector", "state"}, Help: "Units that the collector reads, such as devices, by state: fresh, stale, absent.", Source: "engine"},
		{Name: "collector_period_seconds", Kind: Gauge, Labels: collector, Help: "Longest period of reads in force: the wanted one, stretched where reads cost more than their budget.", Source: "engine"},
		{Name: "collector_last_read_timestamp_seconds", Kind: Gauge, Labels: collector, Help: "When the newest read ended.", Source: "engine"},
		{Name: "collector_overruns_total", Kind: Counter, Labels: collector, Help: "Ticks missed because the read before was still running.", Source: "engine"},
		{Name: "collector_errors_total", Kind: Counter, Labels: []string{"collector", "reason"}, Help: "Reads, or parts of them, that failed, by reason.", Source: "engine"},
		{Name: "collector_read_seconds", Kind: Histogram, Labels: collector, Help: "How long reads of a unit took.", Source: "engine"},
	}
}

func newSelfMetrics() selfMetrics {
	s := selfMetrics{gauges: map[string]*prometheus.Desc{}, docs: map[string]MetricDoc{}}
	for _, d := range selfDocs() {
		s.docs[d.Name], s.order = d, append(s.order, d.Name)
		name := Prefix + d.Name
		switch d.Name {
		case "collector_read_seconds":
			s.reads = prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: name, Help: d.Help, Buckets: prometheus.ExponentialBuckets(1e-5, 10, 7),
				NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			}, d.Labels)
		case "collector_errors_total":
			s.errors = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: d.Help}, d.Labels)
		default:
			s.gauges[d.Name] = prometheus.NewDesc(name, d.Help, d.Labels, nil)
		}
	}
	return s
}

// Describe implements prometheus.Collector.
func (e *Engine) Describe(ch chan<- *prometheus.Desc) {
	e.self.reads.Describe(ch)
	e.self.errors.Describe(ch)
	for _, d := range e.self.gauges {
		ch <- d
	}
	for _, tables := range e.descs {
		for _, descs := range tables {
			for _, d := range descs {
				ch <- d
			}
		}
	}
}

// Collect implements prometheus.Collector. It shows the newest judgement and
// never waits for a device.
func (e *Engine) Collect(ch chan<- prometheus.Metric) {
	e.self.reads.Collect(ch)
	e.self.errors.Collect(ch)
	s := e.state.Load()
	if s == nil {
		s = e.waiting()
	} else {
		e.collectSheets(ch, s)
	}
	e.eachFinding(s, func(metric, check, subject string, v float64) {
		send(ch, e.self.gauges[metric], Gauge, value{number: v}, check, subject)
	})
	for i, r := range e.runners {
		e.eachStat(r.name(), s.stats[i], func(metric string, v float64, labels ...string) {
			send(ch, e.self.gauges[metric], e.self.docs[metric].Kind, value{number: v}, labels...)
		})
	}
}

// collectSheets gives the series of all rows, each family's once.
func (e *Engine) collectSheets(ch chan<- prometheus.Metric, s *State) {
	for i, tables := range e.docs {
		sets := map[string]*seriesSet{}
		for t, metrics := range tables {
			for m, doc := range metrics {
				if sets[doc.Name] == nil {
					sets[doc.Name] = newSeriesSet()
				}
				s.sheets[i][t].collect(m, sets[doc.Name], func(k Kind, v value, labels []string) {
					send(ch, e.descs[i][t][m], k, v, labels...)
				})
			}
		}
	}
}

// Samples gives the samples of a gauge or counter in a state, by its name
// without the prefix. label finds the value of one of a sample's labels.
func (e *Engine) Samples(s *State, name string, sample func(label func(name string) string, v float64)) {
	set := newSeriesSet()
	for i, tables := range e.docs {
		for t, metrics := range tables {
			for m, doc := range metrics {
				if doc.Name != name {
					continue
				}
				s.sheets[i][t].collect(m, set, func(_ Kind, v value, labels []string) {
					sample(func(name string) string {
						if i := slices.Index(doc.Labels, name); i >= 0 {
							return labels[i]
						}
						return ""
					}, v.number)
				})
			}
		}
	}
}

func send(ch chan<- prometheus.Metric, d *prometheus.Desc, k Kind, v value, labels ...string) {
	var m prometheus.Metric
	var err error
	switch k {
	case Gauge:
		m, err = prometheus.NewConstMetric(d, prometheus.GaugeValue, v.number, labels...)
	case Counter:
		m, err = prometheus.NewConstMetric(d, prometheus.CounterValue, v.number, labels...)
	case Histogram:
		m, err = v.distribution.metric(d, labels)
	}
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	ch <- m
}

// eachFinding gives the series of all findings.
func (e *Engine) eachFinding(s *State, series func(metric, check, subject string, v float64)) {
	seen := make(map[string]bool, len(s.Findings))
	for i := range s.Findings {
		f := &s.Findings[i]
		subject := f.Subject.String()
		if key := f.Check + "\x00" + subject; seen[key] {
			continue
		} else {
			seen[key] = true
		}
		switch {
		case f.Muted != nil:
			series("check_muted", f.Check, subject, 1)
		case f.Status == Unknown:
			series("check_unknown", f.Check, subject, 1)
		default:
			series("check_status", f.Check, subject, float64(f.Status-OK))
		}
	}
}

// waiting is what is shown before the first judgement: no collector is up, so
// that an inventory that hangs raises an alert.
func (e *Engine) waiting() *State {
	s := &State{stats: make([]stats, len(e.runners))}
	for i := range s.stats {
		s.stats[i].waiting = true
	}
	return s
}

// eachStat gives the series of one collector's state.
func (e *Engine) eachStat(name string, s stats, series func(metric string, v float64, labels ...string)) {
	if s.waiting {
		series("collector_up", 0, name)
		return
	}
	series("collector_units", float64(s.fresh), name, "fresh")
	series("collector_units", float64(s.absent), name, "absent")
	series("collector_units", float64(s.units-s.fresh-s.absent), name, "stale")
	series("collector_period_seconds", s.period.Seconds(), name)
	series("collector_overruns_total", float64(s.overruns), name)
	if s.units == s.absent {
		return
	}
	up := 0.0
	if s.fresh == s.units-s.absent && s.failing == 0 {
		up = 1
	}
	series("collector_up", up, name)
	if s.newest > 0 && !e.epoch.IsZero() {
		series("collector_last_read_timestamp_seconds", float64(e.epoch.Add(s.newest).UnixMilli())/1e3, name)
	}
}
