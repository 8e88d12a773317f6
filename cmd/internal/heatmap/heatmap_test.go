// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// matrix makes one of nodes × ports at a value, but for what change says.
func matrix(metric, by string, nodes, columns int, usual float64, change func(node, port int, p *port, v float64) float64) *Matrix {
	q := Query{By: by, At: time.Unix(1e9, 0), Window: 5 * time.Minute}
	for _, m := range Metrics() {
		if m.Name == metric {
			q.Metric = m
		}
	}
	m := newMatrix(q)
	for n := range nodes {
		for c := range columns {
			p := &port{number: 1, device: fmt.Sprintf("mlx5_%d", c), rail: c, lid: float64(n*columns + c + 1), leaf: fmt.Sprintf("leaf-%d", n%4)}
			v := usual
			if change != nil {
				v = change(n, c, p, usual)
			}
			m.add(fmt.Sprintf("node-%d:9794", n+1), p, v)
		}
	}
	m.finish()
	return m
}

func TestStandOuts(t *testing.T) {
	for _, test := range []struct {
		name, metric, by string
		nodes, ports     int
		usual            float64
		change           func(node, port int, p *port, v float64) float64
		want             []string
	}{
		{"all alike", "bandwidth", "port", 16, 8, 380, nil, nil},
		{"all idle", "bandwidth", "port", 16, 8, 0, nil, nil},
		{"noise is none", "bandwidth", "port", 16, 8, 380, func(n, p int, _ *port, v float64) float64 { return v + float64((n*7+p*13)%40) }, nil},
		{"a slow port everywhere", "bandwidth", "port", 16, 8, 380, func(_, p int, _ *port, v float64) float64 { return pick(p == 3, 40, v) }, []string{"port mlx5_3: 16 of 16 nodes at 40"}},
		{"a rail", "bandwidth", "rail", 16, 8, 380, func(_, p int, _ *port, v float64) float64 { return pick(p == 3, 40, v) }, []string{"port of rail 3: 16 of 16"}},
		{"a rail is one leaf", "pause", "port", 16, 8, 0, func(_, c int, p *port, v float64) float64 {
			p.leaf = fmt.Sprintf("leaf-%d", c)
			return pick(c == 5, 30, v)
		}, []string{"port mlx5_5 (all at leaf-5): 16 of 16 nodes at 30"}},
		{"a slow node", "bandwidth", "port", 16, 8, 380, func(n, _ int, _ *port, v float64) float64 { return pick(n == 6, 12, v) }, []string{"node node-7: 8 of 8 ports at 12"}},
		{"a node and a port", "bandwidth", "port", 16, 8, 380, func(n, p int, _ *port, v float64) float64 { return pick(n == 6 || p == 3, 12, v) }, []string{"port mlx5_3: ", "node node-7: "}},
		{"a bad leaf", "ecn", "port", 16, 8, 0, func(n, _ int, p *port, v float64) float64 {
			p.leaf = fmt.Sprintf("leaf-%d", n%2*4+n%4) // of one node only
			if n == 3 {
				p.leaf = ""
			}
			return v
		}, nil},
		{"a leaf across half of two nodes", "pause", "port", 16, 8, 0, func(n, c int, p *port, v float64) float64 {
			p.leaf = "leaf-good"
			if n < 2 && c < 4 {
				p.leaf = "leaf-bad"
			}
			return pick(p.leaf == "leaf-bad", 80, v)
		}, []string{"leaf leaf-bad: 8 of 8 ports at 80"}},
		{"one port of one node", "pause", "port", 16, 8, 1, func(n, p int, _ *port, v float64) float64 { return pick(n == 2 && p == 1, 60, v) }, []string{"node-3, port mlx5_1: 60, where 1 is usual"}},
		{"more is not worse of traffic", "bandwidth", "port", 16, 8, 100, func(n, _ int, _ *port, v float64) float64 { return pick(n == 2, 380, v) }, nil},
		{"a little pause is nothing", "pause", "port", 16, 8, 0, func(n, _ int, _ *port, v float64) float64 { return pick(n == 2, 0.5, v) }, nil},
		{"a warning", "status", "port", 16, 8, 0, func(n, p int, _ *port, v float64) float64 { return pick(n == 2 && p == 1, 2, pick(p == 2, 1, v)) }, []string{"node-3, port mlx5_1: 2"}},
		{"warnings all over", "status", "port", 16, 8, 2, func(n, p int, _ *port, v float64) float64 { return pick(p == 1, 0, v) }, []string{"the whole fleet: 112 of 128 ports at 2 on average, as is usual here, and bad all the same"}},
		{"one of half that fail", "status", "port", 4, 2, 0, func(n, p int, _ *port, v float64) float64 { return pick(n < 2, 3, v) }, []string{"node node-1: 2 of 2", "node node-2: 2 of 2"}},
		{"all stopped", "pause", "port", 16, 8, 95, nil, []string{"the whole fleet: 128 of 128 ports at 95"}},
		{"what is missing is no zero", "bandwidth", "port", 16, 8, 380, func(n, _ int, _ *port, v float64) float64 { return pick(n == 2, math.NaN(), v) }, nil},
		{"LIDs", "pause", "lid", 4, 8, 0, func(n, p int, _ *port, v float64) float64 { return pick(n == 1 && p == 1, 60, v) }, []string{"0x000a node-2:9794 mlx5_1: 60"}},
		{"one node alone", "bandwidth", "port", 1, 8, 380, func(_, p int, _ *port, v float64) float64 { return pick(p == 3, 12, v) }, []string{"node-1, port mlx5_3: 12"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := matrix(test.metric, test.by, test.nodes, test.ports, test.usual, test.change)
			if len(m.StandOuts) != len(test.want) {
				t.Fatalf("got %q, want %q", m.StandOuts, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(m.StandOuts[i], want) {
					t.Errorf("got %q, want %q…", m.StandOuts[i], want)
				}
			}
		})
	}
}

func pick(first bool, a, b float64) float64 {
	if first {
		return a
	}
	return b
}

// A thousand nodes of sixteen ports fit a terminal of 80 columns, and a person
// who reads what matters.
func TestText(t *testing.T) {
	slow := func(n, _ int, _ *port, v float64) float64 { return pick(n == 499, 12, v) }
	for _, test := range []struct {
		name                string
		nodes, ports, width int
		all                 bool
		lines               int
		says                []string
	}{
		{"a thousand nodes", 1000, 16, 80, false, 10, []string{"\nnode-500  !12 !12", "… 999 more (--all", "average   380", "ports mlx5_…", "1000 nodes, 16000 ports;", "node node-500: 16 of 16 ports at 12"}},
		{"all of them", 1000, 16, 80, true, 1008, []string{"\nnode-1000  380 380"}},
		{"more ports than fit", 2, 40, 80, false, 20, []string{"  37  38  39 avg"}},
		{"a wide terminal", 3, 16, 200, false, 11, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := matrix("bandwidth", "port", test.nodes, test.ports, 380, slow)
			var b strings.Builder
			if err := m.Text(&b, test.width, test.all); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(b.String(), "\n"); n != test.lines {
				t.Errorf("%d lines, want %d", n, test.lines)
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > test.width {
					t.Errorf("%d characters: %q", n, line)
				}
			}
			for _, want := range test.says {
				if !strings.Contains(b.String(), want) {
					t.Errorf("no %q", want)
				}
			}
			if t.Failed() && len(b.String()) < 4000 {
				t.Log(b.String())
			}
		})
	}
}

// Long names in 80 columns: rows differ, no line is longer, and it is said how
// many ports have no value.
func TestLongNames(t *testing.T) {
	m := newMatrix(Query{Metric: Metrics()[0], By: "port", At: time.Unix(1e9, 0), Window: 5 * time.Minute})
	for n := range 20 {
		for c := range 16 {
			v := pick(n == 7 && c < 12, 10, pick(n == 3, math.NaN(), 380))
			m.add(fmt.Sprintf("gpu-node-rack%02d-host%04d-left.cluster.example.com:9794", n/10, n), &port{number: 1, device: fmt.Sprintf("mlx5_%d", c), leaf: "leaf-of-a-very-long-name"}, v)
		}
	}
	m.finish()
	var b strings.Builder
	if err := m.Text(&b, 80, false); err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d characters: %q", n, line)
		}
		if name, _, _ := strings.Cut(line, " "); strings.Contains(name, "…") && strings.HasSuffix(name, "left") {
			rows[name] = true
		}
	}
	for _, want := range []string{"nodes of cluster.example.com\n", "16 of 320 ports have no value", "\nnode gpu-node-rack00-host0007-left: 12 of 16"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if len(rows) != 20 {
		t.Errorf("%d different rows", len(rows))
	}
	if t.Failed() {
		t.Log(b.String())
	}
}

func TestDomain(t *testing.T) {
	for want, names := range map[string][]string{
		".example.com": {"a.example.com", "b.example.com"},
		".com":         {"a.x.com", "b.y.com"},
		".c":           {"a.b.c", "b.c"},
		"":             {"10.0.0.1", "10.1.0.1"},
	} {
		if got := domain(names); got != want {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
	for _, names := range [][]string{nil, {"a.b"}, {"a", "b.a"}, {"", "a.b"}, {"a.b", ""}, {"a.b", "a.c"}} {
		if got := domain(names); got != "" {
			t.Errorf("%q: %q", names, got)
		}
	}
}

// LIDs are hexadecimal, and their order is.
func TestOrderOfLIDs(t *testing.T) {
	m := matrix("pause", "lid", 20, 8, 0, nil)
	for i, row := range m.Rows {
		if want := fmt.Sprintf("0x%04x ", i+1); !strings.HasPrefix(row, want) {
			t.Fatalf("row %d is %q", i, row)
		}
	}
	if m.Nodes != 20 || m.Ports != 160 {
		t.Errorf("%d nodes, %d ports", m.Nodes, m.Ports)
	}
}

// Files hold everything, and what is not there stays empty.
func TestFiles(t *testing.T) {
	m := matrix("bandwidth", "port", 3, 2, 380, func(n, p int, _ *port, v float64) float64 { return pick(n == 1 && p == 0, math.NaN(), v) })
	m.Rows[0], m.Rows[2], m.Cols[1] = `<&"node`, "=SUM(A1)", "@x"
	var b strings.Builder
	if err := m.CSV(&b); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(records) != 5 || records[2][1] != "" || records[2][3] != "380" || records[4][0] != "average" || records[1][0] != `<&"node` || records[3][0] != "'=SUM(A1)" || records[0][2] != "'@x" {
		t.Errorf("%v %q", err, records)
	}
	b.Reset()
	if err := m.SVG(&b); err != nil {
		t.Fatal(err)
	}
	boxes := 0
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			boxes++
		}
	}
	if boxes != 1+12-1 { // the ground, cells and averages, and one that is not there
		t.Errorf("%d boxes:\n%s", boxes, b.String())
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.01: "0", 0.25: ".2", 0.94: ".9", 0.96: "1", 1: "1", 99.6: "100", 999: "999", 999.6: "1k", 1499: "1k", 12000: "12k", 99400: "99k", 99600: ".1M", 260e3: ".3M", 1.2e6: "1M", 400e9: ".4T", 1e15: "big", math.Inf(1): "inf",
	} {
		if got := short(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
	if got := short(math.NaN()); got != "-" {
		t.Error(got)
	}
	for v := 1e-3; v < 1e16; v *= 1.07 {
		if got := short(v); len(got) > 3 {
			t.Errorf("%g: %q", v, got)
		}
	}
}

func TestNaturally(t *testing.T) {
	for _, pair := range [][2]string{{"node-9", "node-10"}, {"a", "b"}, {"mlx5_1", "mlx5_1/2"}, {"r2n9", "r10n1"}, {"", "a"}, {"a", "a1"}} {
		if naturally(pair[0], pair[1]) >= 0 || naturally(pair[1], pair[0]) <= 0 || naturally(pair[0], pair[0]) != 0 {
			t.Errorf("%q", pair)
		}
	}
}
