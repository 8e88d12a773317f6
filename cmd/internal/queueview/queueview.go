// SPDX-License-Identifier: Apache-2.0

// Package queueview shows samples of transmit queues to a person: as strips
// that are drawn anew in place, as lines, as CSV, and as a summary. It knows
// how they look and not where they come from.
package queueview

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/queue"
)

// A Look says how things are shown.
type Look struct {
	Unicode bool
	Width   int // of the terminal
	Height  int
}

// step is the time that one character of a strip stands for.
const step = 100 * time.Millisecond

// maxStrip bounds the length of a strip.
const maxStrip = 120

// maxUnread bounds what is kept of errors.
const maxUnread = 64

// A View collects samples.
type View struct {
	look   Look
	queues []*line // in order of appearance
	index  map[key]*line
	end    time.Duration
	sweeps uint64
	missed uint64
	late   [64]uint64 // by powers of two of nanoseconds
	way    queue.Way
	why    string
	unread []string // what could not be read, and why: maxUnread at most
	at     int64    // the newest step
	drawn  int      // lines that are on the terminal
}

type key struct {
	netdev string
	index  int
}

// A line is what was seen of a queue.
type line struct {
	key
	limits         bool // the driver uses byte queue limits
	limited        bool // and the newest one is known
	waits          bool // what waits above is seen
	now, limit     uint64
	peak           uint64
	samples, full  uint64
	counts         [66]uint64 // by powers of two
	strip          []uint64   // peaks by step, a ring
	last           uint64     // the newest step of the ring
	recent         uint64     // peak since the last call of Lines, and so on
	recentSamples  uint64
	recentOccupied uint64
}

// New makes an empty view.
func New(l Look) *View {
	return &View{look: l, index: map[key]*line{}}
}

// Add takes a look at all queues.
func (v *View) Add(s *queue.Sweep) {
	v.end, v.missed, v.way, v.why = s.At, s.Missed, s.Way, s.Why
	v.sweeps++
	v.late[bits.Len64(uint64(max(s.Late, 0)))]++
	v.at = int64(s.At / step)
	for _, err := range s.Unread {
		if text := probes.Printable(err.Error()); len(v.unread) < maxUnread && !slices.Contains(v.unread, text) {
			v.unread = append(v.unread, text)
		}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		l := v.index[key{q.Netdev, q.Index}]
		if l == nil {
			l = &line{key: key{q.Netdev, q.Index}, strip: make([]uint64, maxStrip)}
			v.index[l.key] = l
			v.queues = append(v.queues, l)
		}
		l.add(q, v.at)
	}
}

func (l *line) add(q *queue.Sample, at int64) {
	depth := uint64(q.Inflight) + uint64(q.Backlog)
	l.limits, l.waits = l.limits || q.Limits, l.waits || q.Waits
	l.limited = l.limits && !q.NoLimit
	l.now, l.limit = depth, uint64(q.Limit)
	l.samples++
	l.recentSamples++
	if depth > 0 {
		l.recentOccupied++
	}
	if q.Limit > 0 && q.Inflight >= q.Limit {
		l.full++
	}
	l.counts[bucket(depth)]++
	l.peak, l.recent = max(l.peak, depth), max(l.recent, depth)
	if l.last != uint64(at) { // the ring comes round
		for back := l.last + 1; back <= uint64(at) && back-l.last <= maxStrip; back++ {
			l.strip[back%maxStrip] = 0
		}
		l.last = uint64(at)
	}
	cell := &l.strip[uint64(at)%maxStrip]
	*cell = max(*cell, depth)
}

func bucket(v uint64) int {
	if v == 0 {
		return 0
	}
	return bits.Len64(v-1) + 1
}

// quantile gives a bound that a share of the samples does not exceed.
func (l *line) quantile(share float64) uint64 {
	sum := uint64(0)
	for i, n := range l.counts {
		if sum += n; float64(sum) >= share*float64(l.samples) && sum > 0 {
			if i == 0 {
				return 0
			}
			return min(uint64(1)<<(i-1), l.peak)
		}
	}
	return l.peak
}

// shown lists the queues that carried something, the deepest first if there
// are more than most. idle are those that are seen, and carried nothing.
func (v *View) shown(most int) (list []*line, idle int) {
	for _, l := range v.queues {
		switch {
		case l.peak > 0:
			list = append(list, l)
		case l.limits || l.waits:
			idle++
		}
	}
	if len(list) > most {
		slices.SortStableFunc(list, func(a, b *line) int { return compare(b.peak, a.peak) })
		list = list[:most]
	}
	return list, idle
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Draw draws the state in place of what it drew before.
func (v *View) Draw(w io.Writer) error {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	lines := v.lines()
	for _, text := range lines {
		b.WriteString(text + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	v.drawn = len(lines)
	_, err := io.WriteString(w, b.String())
	return err
}

// lines are those of the live view. None reaches the terminal's edge, and there
// is room for the cursor below them: nothing scrolls.
func (v *View) lines() []string {
	list, idle := v.shown(max(v.look.Height-5, 1))
	const numbers = 68
	strip := min(max(v.look.Width-numbers-1, 8), maxStrip)
	lines := []string{v.head()}
	for _, l := range list {
		limit, full := "-", "-"
		if l.limited {
			limit, full = size(l.limit), fmt.Sprintf("%.1f%%", 100*float64(l.full)/float64(max(l.samples, 1)))
		}
		lines = append(lines, fmt.Sprintf("%-15s %4d %s %9s %9s %9s %9s %6s",
			cut(l.netdev, 15), l.index, v.strip(l, strip), size(l.now), size(l.quantile(0.99)), size(l.peak), limit, full))
	}
	if len(list) > 0 {
		head := fmt.Sprintf("%-15s %4s %-*s %9s %9s %9s %9s %6s", "interface", "tx", strip, "last "+(time.Duration(strip)*step).String(), "now", "p99", "peak", "limit", "full")
		lines = slices.Insert(lines, 1, head)
	}
	if idle > 0 {
		lines = append(lines, queues(idle)+" with nothing in any sample")
	}
	if text := v.blind(); text != "" {
		lines = append(lines, text)
	}
	for i, text := range lines {
		lines[i] = cut(text, max(v.look.Width-1, 1))
	}
	return lines
}

func (v *View) head() string {
	return fmt.Sprintf("%s: %d looks, %d missed, 99 %% at most %s late, by %s", v.end.Round(step), v.sweeps, v.missed, v.lateness(), how(v.way))
}

// lateness gives how late 99 of 100 ticks were at most.
func (v *View) lateness() time.Duration {
	sum := uint64(0)
	for i, n := range v.late {
		if sum += n; float64(sum) >= 0.99*float64(v.sweeps) {
			return time.Duration(uint64(1) << i).Round(time.Microsecond)
		}
	}
	return 0
}

func how(w queue.Way) string {
	if w == queue.Kernel {
		return "a BPF program"
	}
	return "open files"
}

// strip draws the peaks of the newest steps, on a logarithmic scale up to the
// largest of all.
func (v *View) strip(l *line, n int) string {
	levels := []rune(" .:-=+*#@")
	if v.look.Unicode {
		levels = []rune(" ▁▂▃▄▅▆▇█")
	}
	top := 0
	for _, o := range v.queues {
		top = max(top, bucket(o.peak))
	}
	const low = 6 // 64 bytes: about a frame
	text := make([]rune, n)
	for i := range text {
		at := v.at - int64(n-1-i)
		text[i] = levels[0]
		if at < 0 || uint64(at)+maxStrip <= l.last || uint64(at) > l.last {
			continue
		}
		if p := l.strip[uint64(at)%maxStrip]; p > 0 {
			steps := len(levels) - 1
			text[i] = levels[min(max(1+(bucket(p)-low)*(steps-1)/max(top-low, 1), 1), steps)]
		}
	}
	return string(text)
}

// queues writes a number of them for a person.
func queues(n int) string {
	if n == 1 {
		return "1 queue"
	}
	return fmt.Sprintf("%d queues", n)
}

// size writes a number of bytes for a person.
func size(n uint64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
