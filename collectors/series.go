// SPDX-License-Identifier: Apache-2.0

package collectors

import "hash/maphash"

// A seriesSet knows the series of a family that are written. Prometheus takes
// nothing of a scrape in which one is there twice: rows whose names became
// equal, as those of hostile devices may when they are made printable, are to
// cost the later one and not the rest.
type seriesSet struct {
	seed maphash.Seed
	seen map[uint64]struct{}
}

func newSeriesSet() *seriesSet {
	return &seriesSet{maphash.MakeSeed(), map[uint64]struct{}{}}
}

// reset forgets all series: another family begins.
func (s *seriesSet) reset() { clear(s.seen) }

// first says whether the labels, as rendered, are new to the family.
func (s *seriesSet) first(labels []byte) bool {
	h := maphash.Bytes(s.seed, labels)
	if _, ok := s.seen[h]; ok {
		return false
	}
	s.seen[h] = struct{}{}
	return true
}

// each gives the samples of a metric, and their labels as rendered. The labels
// of a row are rendered at its first metric and kept: the sheet is this
// judgement's alone.
func (s *rowSheet[S]) each(metric int, set *seriesSet, sample func(row *S, labels []byte, v value)) {
	m := &s.columns.Metrics[metric]
	s.once.Do(s.renderLabels)
	var own []byte
	for i := range s.rows {
		row := &s.rows[i]
		v, ok := m.value(row)
		if !ok {
			continue
		}
		labels := s.labels[i]
		if m.Labels != nil {
			own = own[:0]
			for _, l := range m.sorted {
				own = appendLabel(own, l.Name, l.Get(row))
			}
			labels = own
		}
		if set.first(labels) {
			sample(row, labels, v)
		}
	}
}
