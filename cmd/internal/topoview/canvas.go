// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"cmp"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/fabricd/fabricd/probes"
)

// A Look is how text is written.
type Look struct {
	Colour  bool // with a terminal's colours
	Unicode bool // lines and marks beyond ASCII
	All     bool // every function, not only what leads to GPUs, NICs and NVSwitches
	Width   int  // columns; 0 is MaxWidth
}

// MaxWidth is the most columns that text has, whatever the terminal's width.
const MaxWidth = 120

// SpeaksUTF8 says whether the locale of an environment has more than ASCII.
func SpeaksUTF8(env func(string) string) bool {
	locale := strings.ToLower(cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

type style uint8

const (
	plain  style = iota
	bold         // headings
	faint        // what is only for those who look twice
	mild         // worth knowing, no defect
	strong       // a defect
)

func (s style) code() string {
	return [...]string{"", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[1;31m"}[s]
}

// A span is text in one style; a line is spans.
type (
	span struct {
		text  string
		style style
	}
	line []span
)

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += utf8.RuneCountInString(s.text)
	}
	return n
}

// add appends text unless it is empty, after a space if there is something before.
func (l line) add(s style, text string) line {
	if text == "" {
		return l
	}
	if len(l) > 0 {
		text = " " + text
	}
	return append(l, span{text, s})
}

// cut shortens a line to a width, its last column then a sign that something
// is missing.
func (l line) cut(width int, sign string) line {
	if l.width() <= width {
		return l
	}
	room := max(width-utf8.RuneCountInString(sign), 0)
	var short line
	for _, s := range l {
		runes := []rune(s.text)
		if len(runes) >= room {
			return append(short, span{string(runes[:room]) + sign, s.style})
		}
		short, room = append(short, s), room-len(runes)
	}
	return short
}

// A canvas writes lines of a bounded width and keeps the first error.
type canvas struct {
	w    io.Writer
	look Look
	err  error
}

// glyphs are the signs of a look.
type glyphs struct{ tee, end, bar, cut, mark, dot string }

func (c *canvas) glyphs() glyphs {
	if c.look.Unicode {
		return glyphs{"├─ ", "└─ ", "│  ", "…", "◄", " · "}
	}
	return glyphs{"|- ", "`- ", "|  ", "~", "<-", ", "}
}

// line writes one line.
func (c *canvas) line(l line) {
	if c.err != nil {
		return
	}
	var b strings.Builder
	for _, s := range l.cut(c.look.Width, c.glyphs().cut) {
		if c.look.Colour && s.style != plain {
			b.WriteString(s.style.code() + s.text + "\x1b[0m")
		} else {
			b.WriteString(s.text)
		}
	}
	_, c.err = io.WriteString(c.w, strings.TrimRight(b.String(), " ")+"\n")
}

func (c *canvas) text(s style, text string) { c.line(line{{text, s}}) }

// printable makes a name from the machine harmless for every format: without
// control characters, in valid UTF-8.
func printable(s string) string { return probes.Printable(s) }

// narrow makes a name harmless for a terminal's columns as well: what is not
// ASCII may be two columns wide, none, or turn the line around.
func narrow(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// pad fills text with spaces up to a width.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}
