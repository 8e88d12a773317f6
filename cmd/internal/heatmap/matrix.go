// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fabricd/fabricd/probes"
)

// A Matrix is values of nodes, a row each, and their ports, a column each.
// What is not there is NaN.
type Matrix struct {
	Metric     Metric
	By         string
	At         time.Time
	Window     time.Duration
	Rows, Cols []string
	Cells      [][]float64
	Bad        [][]bool
	RowAverage []float64
	ColAverage []float64
	Typical    float64 // the median of all cells
	StandOuts  []string

	Nodes, Ports, Absent int      // Absent: ports without a value
	Unanswered           []string // nodes that did not answer the newest scrape
	Domain               string   // of all nodes, which is not in Rows

	notable []bool // rows of nodes that do not answer, or with a bad cell that is not its column's fault
	targets int    // all nodes that are known, also those without such ports
	tcp     string // of all nodes, with the colon, which is not in Rows

	nodes  map[string]bool // until it is finished
	values map[string]map[string]float64
	leaves map[string]map[string]string
	warned map[[2]string]bool // of row and column: the node's own checks warn
	leaf   [][]string         // of each cell, "" where it is not known
	limit  float64            // off the typical value, from which on a cell stands out
}

func newMatrix(q Query) *Matrix {
	return &Matrix{Metric: q.Metric, By: q.By, At: q.At, Window: q.Window, nodes: map[string]bool{}, values: map[string]map[string]float64{}, leaves: map[string]map[string]string{}, warned: map[[2]string]bool{}}
}

// place gives the row and the column of a port, if it has any.
func (m *Matrix) place(node string, p *port) (row, col string, ok bool) {
	row, col = node, probes.Printable(p.name())
	switch m.By {
	case "rail":
		return row, strconv.Itoa(p.rail), p.rail >= 0
	case "lid":
		return fmt.Sprintf("0x%04x %s %s", int(p.lid), row, col), "value", !math.IsNaN(p.lid)
	}
	return row, col, true
}

// add notes a value; of several for one cell the worst stays.
func (m *Matrix) add(node string, p *port, v float64) {
	row, col, ok := m.place(node, p)
	if !ok {
		return
	}
	m.nodes[node] = true
	if m.values[row] == nil {
		m.values[row], m.leaves[row] = map[string]float64{}, map[string]string{}
	}
	if old, ok := m.values[row][col]; !ok || math.IsNaN(old) || m.Metric.worse(v, old) > 0 {
		m.values[row][col] = v
	}
	m.leaves[row][col] = probes.Printable(p.leaf)
}

// warn notes that the node's own checks warn of a port, which need not have a value.
func (m *Matrix) warn(node string, p *port) {
	m.add(node, p, math.NaN())
	row, col, _ := m.place(node, p)
	m.warned[[2]string{row, col}] = true
}

// silent notes that a node does not answer: it has a row, of what is still known.
func (m *Matrix) silent(node string) {
	m.nodes[node] = true
	m.Unanswered = append(m.Unanswered, node)
	if m.By != "lid" && m.values[node] == nil {
		m.values[node], m.leaves[node] = map[string]float64{}, map[string]string{}
	}
}

// finish sorts rows and columns, and finds averages and what stands out.
func (m *Matrix) finish() {
	cols := map[string]bool{}
	for _, row := range m.values {
		for col, v := range row {
			cols[col] = true
			m.Ports++
			if math.IsNaN(v) {
				m.Absent++
			}
		}
	}
	m.Nodes = len(m.nodes)
	m.Rows = slices.SortedFunc(maps.Keys(m.values), m.order())
	m.Cols = slices.SortedFunc(maps.Keys(cols), naturally)
	slices.SortFunc(m.Unanswered, naturally)
	for _, row := range m.Rows {
		cells, leaves, bad := make([]float64, len(m.Cols)), make([]string, len(m.Cols)), make([]bool, len(m.Cols))
		for i, col := range m.Cols {
			v, ok := m.values[row][col]
			if !ok {
				v = math.NaN()
			}
			cells[i], leaves[i], bad[i] = v, m.leaves[row][col], m.warned[[2]string{row, col}]
		}
		m.Cells, m.leaf, m.Bad = append(m.Cells, cells), append(m.leaf, leaves), append(m.Bad, bad)
		m.RowAverage = append(m.RowAverage, average(cells))
		m.notable = append(m.notable, slices.Contains(m.Unanswered, row))
	}
	for i := range m.Cols {
		m.ColAverage = append(m.ColAverage, average(m.column(i)))
	}
	m.nodes, m.values, m.leaves, m.warned = nil, nil, nil, nil
	m.trim()
	m.judge()
}

// order is that of the rows: LIDs are hexadecimal.
func (m *Matrix) order() func(a, b string) int {
	if m.By != "lid" {
		return naturally
	}
	return func(a, b string) int {
		x, restA, _ := strings.Cut(a, " ")
		y, restB, _ := strings.Cut(b, " ")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y), naturally(restA, restB))
	}
}

// trim takes the TCP port and the domain off the rows' names where all have
// the same.
func (m *Matrix) trim() {
	if m.By == "lid" || len(m.Rows) == 0 {
		return
	}
	m.trimPort()
	if m.Domain = domain(m.Rows); m.Domain != "" {
		for i, name := range m.Rows {
			m.Rows[i] = strings.TrimSuffix(name, m.Domain)
		}
	}
}

// domain gives what all names have in common after their first labels, with
// the dot; addresses have none.
func domain(names []string) string {
	if len(names) < 2 {
		return ""
	}
	suffix := names[0]
	for _, name := range names {
		for host, _, _ := strings.Cut(name, "."); !strings.HasSuffix(name[len(host):], suffix); {
			i := strings.Index(suffix[1:], ".")
			if i < 0 || net.ParseIP(name) != nil {
				return ""
			}
			suffix = suffix[1+i:]
		}
	}
	return suffix
}

func (m *Matrix) trimPort() {
	name := m.Rows[0]
	tcp, ok := name[strings.LastIndex(name, ":")+1:], strings.Contains(name, ":")
	if _, err := strconv.Atoi(tcp); !ok || err != nil || slices.ContainsFunc(m.Rows, func(s string) bool { return !strings.HasSuffix(s, ":"+tcp) }) {
		return
	}
	for i, name := range m.Rows {
		m.Rows[i] = strings.TrimSuffix(name, ":"+tcp)
	}
	m.tcp = ":" + tcp
}

func (m *Matrix) column(i int) []float64 {
	list := make([]float64, len(m.Cells))
	for r, cells := range m.Cells {
		list[r] = cells[i]
	}
	return list
}

// average is that of what is there; NaN of nothing.
func average(list []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range list {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n)
}

// median of what is there.
func median(list []float64) float64 {
	sorted := slices.DeleteFunc(slices.Clone(list), math.IsNaN)
	slices.Sort(sorted)
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// naturally compares names so that node-9 comes before node-10.
func naturally(a, b string) int {
	digit := func(r rune) bool { return unicode.IsDigit(r) }
	for a != "" && b != "" {
		if i, j := len(a)-len(strings.TrimLeftFunc(a, digit)), len(b)-len(strings.TrimLeftFunc(b, digit)); i > 0 && j > 0 {
			x, y := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}
