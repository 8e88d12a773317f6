// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// CSV writes the matrix with its averages; what is not there is an empty field.
func (m *Matrix) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	line := func(name string, cells []float64, average float64) {
		record := []string{harmless(name)}
		for _, v := range append(cells[:len(cells):len(cells)], average) {
			text := ""
			if !math.IsNaN(v) {
				text = strconv.FormatFloat(v, 'g', 6, 64)
			}
			record = append(record, text)
		}
		c.Write(record) //nolint:errcheck // Flush and Error below
	}
	head := []string{"node"}
	for _, name := range m.Cols {
		head = append(head, harmless(name))
	}
	c.Write(append(head, "average")) //nolint:errcheck
	for r, name := range m.Rows {
		line(name+m.Domain, m.Cells[r], m.RowAverage[r])
	}
	line("average", m.ColAverage, average(m.RowAverage))
	c.Flush()
	return c.Error()
}

// harmless keeps a spreadsheet from taking a name for a formula.
func harmless(name string) string {
	if name != "" && strings.ContainsRune("=+-@", rune(name[0])) {
		return "'" + name
	}
	return name
}

// Sizes of the drawing.
const (
	boxWidth, boxHeight = 40, 14
	marginTop           = 60
	lineHeight          = 16
)

// SVG draws the matrix: the darker, the higher; what stands out has a frame.
func (m *Matrix) SVG(w io.Writer) error {
	p := &printer{w: w}
	left := 20
	for _, name := range append([]string{"average"}, m.Rows...) {
		left = max(left, 8*len(name)+16)
	}
	width := left + boxWidth*(len(m.Cols)+1) + 20
	bottom := marginTop + boxHeight*(len(m.Rows)+1) + lineHeight
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11" role="img">`+"\n", max(width, 700), bottom+lineHeight*(len(m.StandOuts)+1))
	p.printf("<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", escaped(m.Metric.Title))
	p.printf("<text x=\"8\" y=\"18\" font-size=\"14\">%s; %s</text>\n", escaped(m.Metric.Title), m.when())
	if notes := m.notes(); len(notes) > 0 {
		p.printf("<text x=\"8\" y=\"34\">%s</text>\n", escaped(strings.Join(notes, "; ")))
	}
	for c, name := range append(m.Cols[:len(m.Cols):len(m.Cols)], "average") {
		p.printf("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", left+boxWidth*c+boxWidth/2, marginTop-6, escaped(shorten(name, 7)))
	}
	most := m.Metric.most
	for _, cells := range m.Cells {
		for _, v := range cells {
			if m.Metric.most == 0 && v > most && !math.IsInf(v, 0) {
				most = v
			}
		}
	}
	for r, name := range m.Rows {
		m.svgRow(p, left, marginTop+boxHeight*r, name, append(m.Cells[r][:len(m.Cols):len(m.Cols)], m.RowAverage[r]), append(m.Bad[r][:len(m.Cols):len(m.Cols)], false), most)
	}
	m.svgRow(p, left, marginTop+boxHeight*len(m.Rows)+4, "average", append(m.ColAverage[:len(m.Cols):len(m.Cols)], average(m.RowAverage)), make([]bool, len(m.Cols)+1), most)
	for i, s := range m.StandOuts {
		p.printf("<text x=\"8\" y=\"%d\">%s</text>\n", bottom+lineHeight*(i+1), escaped(s))
	}
	p.printf("</svg>\n")
	return p.err
}

func (m *Matrix) svgRow(p *printer, left, y int, name string, cells []float64, bad []bool, most float64) {
	p.printf("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-6, y+boxHeight-3, escaped(name))
	for c, v := range cells {
		if math.IsNaN(v) && !bad[c] {
			continue
		}
		frame, part := "", 0.0
		if bad[c] {
			frame = ` stroke="#c00" stroke-width="2"`
		}
		if most > 0 && !math.IsNaN(v) {
			part = min(max(v/most, 0), 1)
		}
		ink := "#000"
		if part > 0.55 {
			ink = "#fff"
		}
		x := left + boxWidth*c
		p.printf("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"hsl(210,70%%,%.0f%%)\"%s/>", x+1, y+1, boxWidth-2, boxHeight-2, 96-66*part, frame)
		p.printf("<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"9\" fill=\"%s\">%s</text>\n", x+boxWidth/2, y+boxHeight-4, ink, short(v))
	}
}

func escaped(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) //nolint:errcheck // into memory
	return b.String()
}

// Write writes the matrix in a format: text, csv or svg.
func (m *Matrix) Write(w io.Writer, format string, width int, all bool) error {
	switch format {
	case "csv":
		return m.CSV(w)
	case "svg":
		return m.SVG(w)
	case "text":
		return m.Text(w, width, all)
	}
	return fmt.Errorf("there is no format %q", format)
}
