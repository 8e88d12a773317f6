// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/common/model"
)

const (
	cellWidth = 4  // a value of three characters and a mark
	mostRows  = 40 // that are shown unless all are wanted
	leastName = 12 // that a name gets, or else the columns are put in blocks
	mostName  = 28 // beside blocks

	mostSilent = 5 // nodes that are named
)

// Text writes the matrix for a person, in lines of at most width characters.
// Of many nodes it shows those with something that stands out, unless all is set.
func (m *Matrix) Text(w io.Writer, width int, all bool) error {
	p := &printer{w: w}
	p.wrapped(width, m.Metric.Title)
	p.wrapped(width, fmt.Sprintf("%s; %d nodes, %d ports; ! stands out, - absent", m.when(), m.Nodes, m.Ports))
	if m.Domain != "" {
		p.wrapped(width, "nodes of "+m.Domain[1:])
	}
	rows := m.shown(all)
	names := m.rowNames(rows, width)
	heads, legend := m.heads()
	if legend != "" {
		p.wrapped(width, legend)
	}
	room := max((width-names.width-cellWidth)/cellWidth, 1)
	for from := 0; from < len(m.Cols); from += room {
		m.block(p, rows, names, heads, from, min(from+room, len(m.Cols)))
	}
	p.printf("\n")
	notes := m.notes()
	for _, s := range notes {
		p.wrapped(width, s)
	}
	if len(m.StandOuts) == 0 {
		p.printf("nothing%s stands out\n", map[bool]string{true: " else"}[len(m.Unanswered) > 0])
	}
	for _, s := range m.StandOuts {
		p.wrapped(width, s)
	}
	return p.err
}

// notes say of how many nodes and ports nothing is known.
func (m *Matrix) notes() (list []string) {
	if s := m.silence(); s != "" {
		list = append(list, s)
	}
	if m.Absent > 0 {
		list = append(list, fmt.Sprintf("%d of %d ports have no value: nothing is known of them", m.Absent, m.Ports))
	}
	return list
}

// silence says which nodes do not answer, or nothing if all do.
func (m *Matrix) silence() string {
	n := len(m.Unanswered)
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d nodes does not answer: ", n, m.targets)
	if n > 1 {
		text = fmt.Sprintf("%d of %d nodes do not answer: ", n, m.targets)
	}
	for i, name := range m.Unanswered[:min(n, mostSilent)] {
		text += map[bool]string{true: ", "}[i > 0] + strings.TrimSuffix(strings.TrimSuffix(name, m.tcp), m.Domain)
	}
	if n > mostSilent {
		text += fmt.Sprintf(" and %d more", n-mostSilent)
	}
	return text
}

// when says of which time the values are.
func (m *Matrix) when() string {
	at := m.At.UTC().Format(time.RFC3339)
	if m.Metric.Name == "status" {
		return at
	}
	return model.Duration(m.Window).String() + " to " + at
}

// block writes some columns of the matrix, and the averages of the rows.
func (m *Matrix) block(p *printer, rows []int, names rowNames, heads []string, from, to int) {
	p.printf("\n%*s", names.width, "")
	for _, h := range heads[from:to] {
		p.printf("%*s", cellWidth, h)
	}
	p.printf("%s\n", m.beside("avg"))
	for i, r := range rows {
		p.printf("%-*s", names.width, names.list[i])
		for c := from; c < to; c++ {
			mark := ""
			if m.Bad[r][c] {
				mark = "!"
			}
			p.printf("%*s", cellWidth, mark+short(m.Cells[r][c]))
		}
		p.printf("%s\n", m.beside(short(m.RowAverage[r])))
	}
	if n := len(m.Rows) - len(rows); n > 0 {
		p.printf("… %d more (--all shows them)\n", n)
	}
	p.printf("%-*s", names.width, "average")
	for c := from; c < to; c++ {
		p.printf(" %3s", short(m.ColAverage[c]))
	}
	p.printf("%s\n", m.beside(short(average(m.RowAverage))))
}

// beside is what stands at the right of a row; a LID has one value and no average.
func (m *Matrix) beside(s string) string {
	if m.By == "lid" {
		return ""
	}
	return fmt.Sprintf("%*s", cellWidth, s)
}

// shown gives the rows to show: all if they are few, else the notable ones as
// far as a person reads.
func (m *Matrix) shown(all bool) []int {
	var rows, bad []int
	for r := range m.Rows {
		rows = append(rows, r)
		if m.notable[r] {
			bad = append(bad, r)
		}
	}
	if all || len(rows) <= mostRows {
		return rows
	}
	return bad[:min(len(bad), mostRows)]
}

type rowNames struct {
	list  []string
	width int
}

// rowNames cuts the rows' names to what all columns leave of a line.
func (m *Matrix) rowNames(rows []int, width int) rowNames {
	n := rowNames{width: len("average") + 1}
	room := width - cellWidth*(len(m.Cols)+1)
	if room < leastName {
		room = min(mostName, width/2)
	}
	for _, most := range []int{room, mostName, width / 2} {
		if most < room {
			continue
		}
		n.list = nil
		distinct := map[string]bool{}
		for _, r := range rows {
			name := shorten(m.Rows[r], most-1)
			n.list, distinct[name] = append(n.list, name), true
		}
		if len(distinct) == len(rows) {
			break
		}
	}
	for _, name := range n.list {
		n.width = max(n.width, utf8.RuneCountInString(name)+1)
	}
	return n
}

// shorten cuts in the middle: names of nodes differ at their ends.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	end := (most - 1) * 2 / 3
	return string(r[:most-1-end]) + "…" + string(r[len(r)-end:])
}

// heads gives the columns' heads, without what all names have in common, or
// numbers with a legend where that does not make them short enough.
func (m *Matrix) heads() (heads []string, legend string) {
	if m.By == "lid" {
		return []string{"val"}, ""
	}
	prefix := common(m.Cols)
	fits := true
	for _, name := range m.Cols {
		short := strings.TrimPrefix(name, prefix)
		heads, fits = append(heads, short), fits && len(short) < cellWidth
	}
	if !fits {
		for i, name := range m.Cols {
			heads[i] = strconv.Itoa(i + 1)
			legend += ", " + heads[i] + "\u00a0" + name
		}
		return heads, strings.TrimPrefix(legend, ", ")
	}
	if prefix != "" {
		legend = "ports " + prefix + "…"
	}
	return heads, legend
}

// common gives what all names begin with; none may be nothing but that.
func common(names []string) string {
	if len(names) < 2 {
		return ""
	}
	prefix := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, prefix) || name == prefix {
			_, n := utf8.DecodeLastRuneInString(prefix)
			prefix = prefix[:len(prefix)-n]
		}
	}
	return strings.TrimRight(prefix, "0123456789")
}

// A printer writes until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// wrapped writes a sentence in lines of at most width characters. Words stay
// whole where they fit, and a no-break space holds two together.
func (p *printer) wrapped(width int, text string) {
	line, indent := "", ""
	for word := range strings.SplitSeq(text, " ") {
		word = shorten(strings.ReplaceAll(word, "\u00a0", " "), width-2)
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			p.printf("%s\n", line)
			line, indent = "", "  "
		}
		if line == "" {
			line = indent + word
		} else {
			line += " " + word
		}
	}
	p.printf("%s\n", line)
}
