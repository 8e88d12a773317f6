// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/topo"
)

// maxAffinity bounds a CPU list in the matrix; the node's heading has all of it.
const maxAffinity = 28

// A column of the matrix.
type column struct {
	title string
	cells []string // one a row
	apart bool     // a wider gap before it
}

func (k column) gap() string {
	if k.apart {
		return "   "
	}
	return " "
}

func (k column) width() int {
	n := utf8.RuneCountInString(k.title)
	for _, s := range k.cells {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

// matrix writes the distances of GPUs from GPUs and NICs in nvidia-smi's
// words; of NICs from NICs on a machine without GPUs.
func (m *Machine) matrix(c *canvas) {
	nics := m.matrixNICs(c.look.All)
	rows := m.gpus
	if len(rows) == 0 {
		rows = nics
	}
	if len(m.gpus)+len(nics) < 2 {
		return
	}
	words, why := map[string]bool{}, ""
	titles := column{}
	for _, f := range rows {
		titles.cells = append(titles.cells, m.labels[f])
	}
	gpus, others := m.deviceColumns(rows, m.gpus, words, &why), m.deviceColumns(rows, nics, words, &why)
	if len(gpus) > 0 && len(others) > 0 {
		others[0].apart = true
	}
	for _, block := range blocks(gpus, others, m.placeColumns(c, rows), c.look.Width-titles.width()) {
		c.line(nil)
		writeBlock(c, titles, block)
	}
	m.words(c, words, why)
	m.legend(c, nics)
}

// matrixNICs are those that training traffic may use: with an RDMA device, or
// all where none has one.
func (m *Machine) matrixNICs(all bool) []*probes.Function {
	if all || !slices.ContainsFunc(m.nics, hasRDMA) {
		return m.nics
	}
	return slices.DeleteFunc(slices.Clone(m.nics), func(f *probes.Function) bool { return !hasRDMA(f) })
}

func (m *Machine) deviceColumns(rows, devices []*probes.Function, words map[string]bool, why *string) []column {
	var columns []column
	for _, d := range devices {
		k := column{title: m.labels[d]}
		for _, r := range rows {
			word, reason := m.word(r, d)
			*why = cmp.Or(*why, reason)
			words[word] = true
			k.cells = append(k.cells, word)
		}
		columns = append(columns, k)
	}
	return columns
}

// word gives a cell of the matrix, and why it is a question mark.
func (m *Machine) word(a, b *probes.Function) (word, why string) {
	if a == b {
		return "X", ""
	}
	if n := m.nvlinks(a, b); n > 0 {
		return fmt.Sprintf("NV%d", n), ""
	}
	d, why := m.tree.Distance(a, b)
	if d == topo.Unknown {
		return "?", why
	}
	return d.String(), ""
}

// nvlinks counts the NVLinks between two GPUs. Where all of a GPU's links lead
// to NVSwitches they lead to every other such GPU; whither other links lead is
// not known.
func (m *Machine) nvlinks(a, b *probes.Function) int {
	return min(switched(m.snapshot.Find(a.Address)), switched(m.snapshot.Find(b.Address)))
}

func switched(d *gpu.Device) int {
	if d == nil {
		return 0
	}
	n := 0
	for i := range d.NVLinks {
		switch l := &d.NVLinks[i]; {
		case !l.IsActive():
		case l.RemoteType != "switch":
			return 0
		default:
			n++
		}
	}
	return n
}

// placeColumns are the processors near each row, and its node.
func (m *Machine) placeColumns(c *canvas, rows []*probes.Function) []column {
	cpus, node := column{title: "CPU affinity", apart: true}, column{title: "NUMA"}
	for _, f := range rows {
		near := line{{cmp.Or(narrow(f.LocalCPUs), "?"), plain}}.cut(maxAffinity, c.glyphs().cut)
		cpus.cells = append(cpus.cells, near[0].text)
		text := "?"
		if n := m.node(f); n >= 0 {
			text = fmt.Sprint(n)
		}
		node.cells = append(node.cells, text)
	}
	return []column{cpus, node}
}

// total is the columns of text that columns of the matrix need.
func total(columns []column) int {
	n := 0
	for _, k := range columns {
		n += len(k.gap()) + k.width()
	}
	return n
}

// blocks splits the matrix where it is too wide: first the GPUs and their
// places, then the NICs, in blocks of about the same width.
func blocks(gpus, nics, places []column, width int) [][]column {
	whole := slices.Concat(gpus, nics, places)
	if total(whole) <= width {
		return [][]column{whole}
	}
	var list [][]column
	for _, part := range [][]column{slices.Concat(gpus, places), nics} {
		n := 1
		for n < len(part) && slices.ContainsFunc(split(part, n), func(b []column) bool { return total(b) > width }) {
			n++
		}
		list = append(list, split(part, n)...)
	}
	return list
}

// split makes n parts of about the same number of columns.
func split(columns []column, n int) [][]column {
	var list [][]column
	for chunk := range slices.Chunk(columns, max((len(columns)+n-1)/n, 1)) {
		list = append(list, chunk)
	}
	return list
}

func writeBlock(c *canvas, titles column, block []column) {
	head := line{{pad("", titles.width()), plain}}
	for _, k := range block {
		head = append(head, span{k.gap() + pad(k.title, k.width()), bold})
	}
	c.line(head)
	for i, title := range titles.cells {
		l := line{{pad(title, titles.width()), bold}}
		for _, k := range block {
			l = append(l, span{k.gap() + pad(k.cells[i], k.width()), wordStyle(k.cells[i])})
		}
		c.line(l)
	}
}

// wordStyle lets the near ones stand out and the far ones step back.
func wordStyle(word string) style {
	switch word {
	case "PIX", "PXB":
		return bold
	case "X", "SYS":
		return faint
	case "?":
		return mild
	}
	return plain
}

// words explains what the matrix says.
func (m *Machine) words(c *canvas, used map[string]bool, why string) {
	c.line(nil)
	for d := topo.PIX; d <= topo.SYS; d++ {
		if used[d.String()] {
			c.text(plain, fmt.Sprintf("%-4s  %s", d, d.Meaning()))
		}
	}
	var counts []string
	for word := range used {
		if strings.HasPrefix(word, "NV") {
			counts = append(counts, word)
		}
	}
	if len(counts) > 0 {
		slices.Sort(counts)
		c.text(plain, fmt.Sprintf("%-4s  so many NVLinks to the NVSwitches", strings.Join(counts, " ")))
	}
	if used["?"] {
		c.text(plain, "?     cannot be told: "+narrow(why))
	}
}

// legend says which NIC is which, in two columns where they fit.
func (m *Machine) legend(c *canvas, nics []*probes.Function) {
	if len(nics) == 0 {
		return
	}
	c.line(nil)
	entries := make([]string, len(nics))
	for i, f := range nics {
		rdma, netdevs := topo.Names(f)
		names := narrow(strings.Join(slices.Concat(rdma, netdevs), " "))
		entries[i] = fmt.Sprintf("%-6s %s  %s", m.labels[f]+":", f.Address, names)
	}
	half := len(entries)
	widest := column{cells: entries}.width()
	if len(entries) > 4 && 2*widest+4 <= c.look.Width {
		half = (len(entries) + 1) / 2
	}
	for i := range half {
		text := entries[i]
		if i+half < len(entries) {
			text = pad(text, widest+4) + entries[i+half]
		}
		c.text(plain, text)
	}
}
