// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// A Table is rows found in the readings R of a collector, with their Columns.
type Table[R any] struct {
	metrics []MetricDoc
	checks  []CheckDoc
	start   func() judge[R]
}

// A judge is a table at work: it holds its rows' history.
type judge[R any] interface {
	// step takes the rows of a moment and judges them.
	step(units []Unit[R], v *View, want func(check string) bool, o over) (sheet, []judged)
}

// over says how far back checks look.
type over struct {
	window time.Duration // instead of each check's own; zero: its own
	all    bool          // everything: in a recording
}

// judged is a verdict on a row.
type judged struct {
	check   string
	subject Subject
	hold    time.Duration // For
	verdict Verdict
}

// A sheet is the rows of a table as they were at a moment, ready for scrapes.
type sheet interface {
	// appendText appends the samples of the table's metric of that number that
	// are not in the set.
	appendText(b []byte, x Exposition, metric int, set *seriesSet) []byte
	collect(metric int, set *seriesSet, send func(k Kind, v value, labels []string))
}

// Rows makes a table of the rows that get finds in each unit's reading.
func Rows[R, S any](get func(*R) []S, c Columns[S]) Table[R] {
	return Derive(func(_ *View, units []Unit[R]) []S {
		var rows []S
		for _, u := range units {
			rows = append(rows, get(u.Reading)...)
		}
		return rows
	}, c)
}

// Derive makes a table of rows that follow from all readings of the collector
// and from what else a View shows.
func Derive[R, S any](get func(*View, []Unit[R]) []S, c Columns[S]) Table[R] {
	c.sorted = byName(c.Labels)
	c.Metrics = slices.Clone(c.Metrics)
	for i := range c.Metrics {
		c.Metrics[i].sorted = byName(c.Metrics[i].Labels)
	}
	return Table[R]{
		metrics: metricDocs(c),
		checks:  checkDocs(c),
		start: func() judge[R] {
			return &table[R, S]{Columns: c, get: get, past: map[string]*history[S]{}}
		},
	}
}

func byName[S any](labels []Label[S]) []Label[S] {
	return slices.SortedFunc(slices.Values(labels), func(a, b Label[S]) int { return strings.Compare(a.Name, b.Name) })
}

type table[R, S any] struct {
	Columns[S]
	get  func(*View, []Unit[R]) []S
	past map[string]*history[S]
}

// historySpan is how far back a row's history goes at most.
const historySpan = 30 * time.Minute

// thinEvery is how many samples are added between two clearings-out.
const thinEvery = 16

// A history is a row's past. What is older than a minute is kept at every
// tenth second only: windows that long count slow things.
type history[S any] struct {
	samples []Sample[S]
	seen    time.Duration
}

func (h *history[S]) add(s Sample[S], span time.Duration, all bool) {
	h.samples = append(h.samples, s)
	if all || len(h.samples)%thinEvery != 0 {
		return
	}
	kept := h.samples[:0]
	for i, old := range h.samples {
		age := s.At - old.At
		switch {
		case age > span && i < len(h.samples)-2:
			continue
		case age > time.Minute && i > 0 && len(kept) > 0 && old.At-kept[len(kept)-1].At < 10*time.Second:
			continue
		}
		kept = append(kept, old)
	}
	clear(h.samples[len(kept):])
	h.samples = kept
}

// within gives the samples not older than window; all of them for zero. The
// newest two are there in any case: a film's marks may lie far apart.
func within[S any](samples []Sample[S], window time.Duration) []Sample[S] {
	for i, s := range samples {
		if window == 0 || samples[len(samples)-1].At-s.At <= window || i == len(samples)-2 {
			return samples[i:]
		}
	}
	return nil
}

func (t *table[R, S]) step(units []Unit[R], v *View, want func(string) bool, o over) (sheet, []judged) {
	rows := t.get(v, units)
	t.remember(rows, v.At, o)
	s := &rowSheet[S]{columns: &t.Columns, rows: rows}
	var list []judged
	for i := range t.Checks {
		if c := &t.Checks[i]; want(c.Name) {
			list = append(list, t.judge(c, rows, v, o)...)
		}
	}
	return s, list
}

func (t *table[R, S]) judge(c *Check[S], rows []S, v *View, o over) []judged {
	var list []judged
	window := c.Over
	switch {
	case o.all:
		window = 0
	case o.window > 0:
		window = o.window
	}
	env := Env[S]{View: v, Rows: rows, check: c.Name, thresholds: c.Thresholds}
	for i := range rows {
		if c.Over > 0 {
			env.Past = within(t.past[t.key(&rows[i])].samples, window)
		}
		verdict := c.Eval(&rows[i], &env)
		if verdict.Status == None {
			continue
		}
		list = append(list, judged{c.Name, t.subject(c, &rows[i]), c.For, verdict})
	}
	return list
}

// keepRow is how long a live row may be missing and keeps its history: a device
// that answered too late is still the same.
const keepRow = time.Minute

// remember appends the rows to their histories; rows that are gone lose theirs.
func (t *table[R, S]) remember(rows []S, at time.Duration, o over) {
	span := time.Duration(0)
	for i := range t.Checks {
		span = max(span, t.Checks[i].Over)
	}
	if span == 0 {
		return
	}
	span = max(span, o.window)
	for i := range rows {
		key := t.key(&rows[i])
		h := t.past[key]
		if h == nil {
			h = &history[S]{}
			t.past[key] = h
		}
		h.add(Sample[S]{at, rows[i]}, min(span, historySpan), o.all)
		h.seen = at
	}
	for key, h := range t.past {
		if h.seen != at && (o.all || at-h.seen > keepRow) {
			delete(t.past, key)
		}
	}
}

func (t *table[R, S]) key(row *S) string {
	if len(t.Labels) == 1 {
		return t.Labels[0].Get(row)
	}
	var b strings.Builder
	for _, l := range t.Labels {
		b.WriteString(l.Get(row))
		b.WriteByte(0)
	}
	return b.String()
}

func (t *table[R, S]) subject(c *Check[S], row *S) Subject {
	labels := c.Subject
	if labels == nil {
		labels = t.Labels
	}
	s := Subject{}
	for _, l := range labels {
		if v := l.Get(row); v != "" {
			s = append(s, Pair{l.Name, v})
		}
	}
	return s
}

type rowSheet[S any] struct {
	columns *Columns[S]
	rows    []S

	once   sync.Once
	labels [][]byte // of each row, rendered
}

func (s *rowSheet[S]) collect(metric int, set *seriesSet, send func(Kind, value, []string)) {
	m := &s.columns.Metrics[metric]
	labels := s.columns.Labels
	if m.Labels != nil {
		labels = m.Labels
	}
	s.each(metric, set, func(row *S, _ []byte, v value) { send(m.Kind, v, values(labels, row)) })
}

func values[S any](labels []Label[S], row *S) []string {
	list := make([]string, len(labels))
	for i, l := range labels {
		list[i] = l.Get(row)
	}
	return list
}

func labelNames[S any](labels []Label[S]) []string {
	list := make([]string, len(labels))
	for i, l := range labels {
		list[i] = l.Name
	}
	return list
}
