// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A column is one measure of all ports, or another where a driver does not
// count the first.
type column struct {
	head    string
	of, or  measure
	say     func(float64) string
	instead func(float64) string // how the other one is said
}

func columns() []column {
	frames := func(v float64) string { return si(v, " ", "frames/s") }
	packets := func(v float64) string { return si(v, "", "/s") }
	bits := func(v float64) string { return si(8*v, " ", "b/s") }
	return []column{
		{"Sent", sent, sent, bits, bits},
		{"Received", received, received, bits, bits},
		{"Stopped by PFC", stopped, stopFrames, percent, frames},
		{"Stops by PFC", stops, stopsFrames, percent, frames},
		{"ECN marks", marked, marked, packets, packets},
		{"CNP sent", cnpSent, cnpSent, packets, packets},
		{"CNP heard", cnpHeard, cnpHeard, packets, packets},
	}
}

// Size of a curve; its text says what it is worth.
const (
	sparkWidth  = trendPoints - 1
	sparkHeight = 16
)

// A spark is a curve without axes: its newest and highest value in words, and
// its path, unless it is flat at zero.
type spark struct {
	Head, Text, Most, Path string
	Known                  bool // the port counts this
}

func (t *trend) spark(c column, p *portView) spark {
	points, say := t.pointsOf(c.of, p), c.say
	if points == nil && c.or != c.of {
		points, say = t.pointsOf(c.or, p), c.instead
	}
	s := spark{Head: c.head, Known: points != nil}
	if !s.Known {
		return s
	}
	newest, most := float64(points[len(points)-1]), 0.0
	for _, v := range points {
		if float64(v) > most { // what is not known is not
			most = float64(v)
		}
	}
	s.Text = "not read"
	if !math.IsNaN(newest) {
		s.Text = say(newest)
	}
	if most > 0 {
		s.Most, s.Path = say(most), path(points, float32(most))
	}
	return s
}

// pointsOf gives the curve of a port, which RDMA counts by device and Ethernet
// by interface.
func (t *trend) pointsOf(of measure, p *portView) []float32 {
	if sources()[of].of == "" {
		return t.curve(of, p.Name)
	}
	return t.curve(of, p.Netdev)
}

// path draws points, the newest at the right; where one is not known there is a gap.
func path(points []float32, most float32) string {
	var b strings.Builder
	command := byte('M')
	first := sparkWidth + 1 - len(points)
	for i, v := range points {
		if v != v {
			command = 'M'
			continue
		}
		b.WriteByte(command)
		b.WriteString(strconv.Itoa(first + i))
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(sparkHeight - int(math.Round(float64(v/most*sparkHeight)))))
		command = 'L'
	}
	return b.String()
}

func percent(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }

// si writes a number of at most three digits with a prefix.
func si(v float64, space, unit string) string {
	prefixes := []string{"", "k", "M", "G", "T"}
	for v >= 999.5 && len(prefixes) > 1 {
		v, prefixes = v/1000, prefixes[1:]
	}
	return fmt.Sprintf("%.3g%s%s%s", v, space, prefixes[0], unit)
}
