// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Of what stands out: a cell that is bad by itself, or off the median by more
// than three standard deviations (of the middle, so that outliers do not count) and
// a quarter of it; a node, port or leaf more than half of whose cells do.
const (
	deviations = 3 * 1.4826 // of a normal distribution, in median deviations
	quarter    = 0.25
	mostCells  = 20 // that are named one by one
)

type cell struct{ row, col int }

// judge finds what stands out: columns first, for a bad port or leaf makes a
// cell bad in every row, then rows, leaves, and the cells that are left.
func (m *Matrix) judge() {
	var all, off []float64
	for _, cells := range m.Cells {
		all = append(all, cells...)
	}
	m.Typical = median(all)
	for _, v := range all {
		off = append(off, math.Abs(v-m.Typical))
	}
	m.limit = max(deviations*median(off), quarter*math.Abs(m.Typical), m.Metric.least)
	var cols, rows = map[int][]cell{}, map[int][]cell{}
	leaves := map[string][]cell{}
	for r, cells := range m.Cells {
		for c, v := range cells {
			if math.IsNaN(v) {
				continue // it is bad if the node warns of it, of what size nobody knows
			}
			m.Bad[r][c] = m.Bad[r][c] || m.Metric.worse(v, m.Typical) >= m.limit || m.Metric.always(v)
			at := cell{r, c}
			cols[c], rows[r] = append(cols[c], at), append(rows[r], at)
			if leaf := m.leaf[r][c]; leaf != "" {
				leaves[leaf] = append(leaves[leaf], at)
			}
		}
	}
	told := map[cell]bool{}
	m.group("fleet", "", slices.Concat(slices.Collect(maps.Values(rows))...), told)
	for c, name := range m.Cols {
		m.group("port", m.columnTitle(name), cols[c], told)
	}
	for r, name := range m.Rows {
		for c, bad := range m.Bad[r] {
			m.notable[r] = m.notable[r] || bad && !told[cell{r, c}]
		}
		m.group("node", name, rows[r], told)
	}
	for _, leaf := range slices.SortedFunc(maps.Keys(leaves), naturally) {
		m.group("leaf", leaf, leaves[leaf], told)
	}
	m.single(told)
}

func (m *Matrix) columnTitle(name string) string {
	if m.By == "rail" {
		return "of rail " + name
	}
	return name
}

// group says so if most of the cells are bad, unless something said it before.
func (m *Matrix) group(kind, name string, cells []cell, told map[cell]bool) {
	var bad []cell
	var values []float64
	fresh := false
	for _, at := range cells {
		if m.Bad[at.row][at.col] {
			bad, values = append(bad, at), append(values, m.Cells[at.row][at.col])
			fresh = fresh || !told[at]
		}
	}
	if !fresh || len(bad) < 2 || 2*len(bad) <= len(cells) {
		return
	}
	for _, at := range bad {
		told[at] = true
	}
	title, of := kind+" "+name, map[string]string{"port": "nodes"}[kind]
	if kind == "fleet" {
		title = "the whole fleet"
	}
	m.StandOuts = append(m.StandOuts, fmt.Sprintf("%s%s: %d of %d %s at %s on average, %s",
		title, m.oneLeaf(kind, bad), len(bad), len(cells), cmp.Or(of, "ports"), short(average(values)), m.usual(average(values))))
}

// usual compares a bad value with the typical one.
func (m *Matrix) usual(v float64) string {
	switch {
	case m.Metric.worse(v, m.Typical) >= m.limit:
		return fmt.Sprintf("where %s is usual", short(m.Typical))
	case m.Metric.always(v):
		return "as is usual here, and bad all the same"
	}
	return "as is usual here, but " + m.warning() + " warns"
}

func (m *Matrix) warning() string { return strings.ReplaceAll(m.Metric.checks, "|", " or ") }

// oneLeaf names the switch if all bad cells of a port are at it.
func (m *Matrix) oneLeaf(kind string, bad []cell) string {
	leaf := m.leaf[bad[0].row][bad[0].col]
	if kind != "port" || leaf == "" || slices.ContainsFunc(bad, func(at cell) bool { return m.leaf[at.row][at.col] != leaf }) {
		return ""
	}
	return " (all at " + leaf + ")"
}

// single names the bad cells that nothing else explains, the worst first.
func (m *Matrix) single(told map[cell]bool) {
	var rest []cell
	for r, cells := range m.Bad {
		for c, bad := range cells {
			if bad && !told[cell{r, c}] {
				rest = append(rest, cell{r, c})
			}
		}
	}
	value := func(at cell) float64 { return m.Cells[at.row][at.col] }
	slices.SortStableFunc(rest, func(a, b cell) int {
		if math.IsNaN(value(a)) || math.IsNaN(value(b)) {
			return cmp.Compare(value(b), value(a)) // the one without a value last
		}
		return cmp.Compare(m.Metric.worse(value(b), value(a)), 0)
	})
	for i, at := range rest {
		if i == mostCells {
			m.StandOuts = append(m.StandOuts, fmt.Sprintf("and %d more ports of single nodes", len(rest)-i))
			return
		}
		name := m.Rows[at.row]
		if m.By != "lid" {
			name += ", port " + m.columnTitle(m.Cols[at.col])
		}
		if math.IsNaN(value(at)) {
			m.StandOuts = append(m.StandOuts, fmt.Sprintf("%s: no value, but %s warns", name, m.warning()))
			continue
		}
		m.StandOuts = append(m.StandOuts, fmt.Sprintf("%s: %s, %s", name, short(value(at)), m.usual(value(at))))
	}
}
