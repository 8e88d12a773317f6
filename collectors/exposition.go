// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Exposition is the text format of a state's metrics, written without the
// library: a node has thousands of series that change every second, and to
// make an object of each costs more than ten times what the bytes do.
type Exposition struct {
	OpenMetrics bool // instead of the text format 0.0.4
}

// AppendText appends all metrics of the newest state but those of Rest.
func (e *Engine) AppendText(b []byte, x Exposition) []byte {
	s := e.state.Load()
	if s == nil {
		return e.appendStats(b, x, e.waiting())
	}
	set := newSeriesSet()
	for i, tables := range e.docs {
		var seen []string
		for t, metrics := range tables {
			for m, doc := range metrics {
				if slices.Contains(seen, doc.Name) {
					continue
				}
				seen = append(seen, doc.Name)
				set.reset()
				b = e.appendFamily(b, x, set, s.sheets[i][t:], tables[t:], m)
			}
		}
	}
	b = e.appendFindings(b, x, s)
	return e.appendStats(b, x, s)
}

// appendFamily writes the family of metric m of the first table: all metrics
// of the tables that have its name.
func (e *Engine) appendFamily(b []byte, x Exposition, set *seriesSet, sheets []sheet, tables [][]MetricDoc, m int) []byte {
	doc := tables[0][m]
	return x.appendFamily(b, doc, func(b []byte) []byte {
		for t := range tables {
			for ; m < len(tables[t]); m++ {
				if tables[t][m].Name == doc.Name {
					b = sheets[t].appendText(b, x, m, set)
				}
			}
			m = 0
		}
		return b
	})
}

// appendFamily writes the head of a family and its samples, or nothing where there are none.
func (x Exposition) appendFamily(b []byte, doc MetricDoc, samples func([]byte) []byte) []byte {
	head := len(b)
	b = x.appendHead(b, doc)
	body := len(b)
	if b = samples(b); len(b) == body {
		return b[:head]
	}
	return b
}

func (x Exposition) appendHead(b []byte, doc MetricDoc) []byte {
	name := doc.Name
	if x.OpenMetrics && doc.Kind == Counter {
		name = strings.TrimSuffix(name, "_total")
	}
	b = append(append(append(append(append(b, "# HELP "...), Prefix...), name...), ' '), escapeHelp(doc.Help)...)
	b = append(append(append(append(b, "\n# TYPE "...), Prefix...), name...), ' ')
	return append(append(b, doc.Kind.String()...), '\n')
}

// escapeHelp is for the rare help text that holds a backslash or a line break.
func escapeHelp(s string) string {
	return strings.NewReplacer("\\", "\\\\", "\n", "\\n").Replace(s)
}

// appendSample writes one line.
func appendSample(b []byte, name string, labels []byte, v float64) []byte {
	b = append(append(append(b, Prefix...), name...), labels...)
	b = append(b, ' ')
	switch {
	case math.IsInf(v, 1):
		b = append(b, "+Inf"...)
	case math.IsInf(v, -1):
		b = append(b, "-Inf"...)
	default:
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return append(b, '\n')
}

// appendLabel writes one label; the first begins the braces.
func appendLabel(b []byte, name, value string) []byte {
	if len(b) == 0 {
		b = append(b, '{')
	} else {
		b[len(b)-1] = ','
	}
	b = append(append(b, name...), '=', '"')
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"', '}')
}

// appendText writes all samples of one metric that are new to the family.
func (s *rowSheet[S]) appendText(b []byte, x Exposition, metric int, set *seriesSet) []byte {
	name := s.columns.Metrics[metric].Name
	s.each(metric, set, func(_ *S, labels []byte, v value) {
		if v.distribution != nil {
			b = v.distribution.appendText(b, x, name, labels)
		} else {
			b = appendSample(b, name, labels, v.number)
		}
	})
	return b
}

func (s *rowSheet[S]) renderLabels() {
	s.labels = make([][]byte, len(s.rows))
	var all []byte
	for i := range s.rows {
		from := len(all)
		var one []byte
		for _, l := range s.columns.sorted {
			one = appendLabel(one, l.Name, l.Get(&s.rows[i]))
		}
		all = append(all, one...)
		s.labels[i] = all[from:len(all):len(all)]
	}
}

// appendFindings writes the families of findings, each of which holds a part of them.
func (e *Engine) appendFindings(b []byte, x Exposition, s *State) []byte {
	families := map[string][]byte{}
	var labels []byte
	e.eachFinding(s, func(metric, check, subject string, v float64) {
		labels = appendLabel(appendLabel(labels[:0], "check", check), "subject", subject)
		families[metric] = appendSample(families[metric], metric, labels, v)
	})
	return e.appendSelf(b, x, families)
}

// appendStats writes the families of the collectors' states.
func (e *Engine) appendStats(b []byte, x Exposition, s *State) []byte {
	families := map[string][]byte{}
	var labels []byte
	for i, r := range e.runners {
		e.eachStat(r.name(), s.stats[i], func(metric string, v float64, values ...string) {
			labels = labels[:0]
			for j, value := range values {
				labels = appendLabel(labels, e.self.docs[metric].Labels[j], value)
			}
			families[metric] = appendSample(families[metric], metric, labels, v)
		})
	}
	return e.appendSelf(b, x, families)
}

// appendSelf writes those of the engine's own families that have samples.
func (e *Engine) appendSelf(b []byte, x Exposition, families map[string][]byte) []byte {
	for _, name := range e.self.order {
		b = x.appendFamily(b, e.self.docs[name], func(b []byte) []byte { return append(b, families[name]...) })
	}
	return b
}

// Rest gives the metrics that AppendText leaves to the library: those that
// live on between judgements.
func (e *Engine) Rest() []prometheus.Collector {
	return []prometheus.Collector{e.self.reads, e.self.errors}
}
