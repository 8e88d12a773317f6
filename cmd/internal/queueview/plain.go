// SPDX-License-Identifier: Apache-2.0

package queueview

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes/queue"
)

// Lines writes a line for each queue that carried something since the last
// call: for what is no terminal.
func (v *View) Lines(w io.Writer) error {
	var b strings.Builder
	for _, l := range v.queues {
		if l.recent > 0 {
			limit := "without limit"
			switch {
			case l.limits && !l.limited:
				limit = "limit not known"
			case l.limits:
				limit = "limit " + size(l.limit)
			}
			fmt.Fprintf(&b, "%7.1fs  %s tx %d: peak %s, %s, occupied in %.1f %% of %d samples\n",
				v.end.Seconds(), l.netdev, l.index, size(l.recent), limit, 100*float64(l.recentOccupied)/float64(max(l.recentSamples, 1)), l.recentSamples)
		}
		l.recent, l.recentSamples, l.recentOccupied = 0, 0, 0
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary writes what was seen in all.
func (v *View) Summary(w io.Writer) error {
	var b strings.Builder
	b.WriteString(v.head() + "\n")
	if v.why != "" && v.way == queue.Files {
		b.WriteString("no program in the kernel: " + v.why + "\n")
	}
	list, idle := v.shown(len(v.queues))
	for _, l := range list {
		fmt.Fprintf(&b, "%s tx %d: half of the samples at most %s, 99 %% at most %s, peak %s; ", l.netdev, l.index, size(l.quantile(0.5)), size(l.quantile(0.99)), size(l.peak))
		switch {
		case l.limits && !l.limited:
			b.WriteString("its limit is not known\n")
		case l.limits:
			fmt.Fprintf(&b, "at its limit (%s now) in %.1f %%\n", size(l.limit), 100*float64(l.full)/float64(l.samples))
		default:
			b.WriteString("no byte queue limits: only what waits above the queue is seen\n")
		}
	}
	if idle > 0 {
		b.WriteString(queues(idle) + " with nothing in any sample" + v.above() + "\n")
	}
	if text := v.blind(); text != "" {
		b.WriteString(text + "\n")
	}
	for _, text := range v.unread {
		b.WriteString("could not be read: " + text + "\n")
	}
	if len(v.queues) == 0 && len(v.unread) == 0 {
		b.WriteString("no queue tells what it holds: there are no byte queue limits\n")
	}
	b.WriteString("RDMA traffic never enters these queues.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// blind names the interfaces of whose queues nothing is seen: nothing says that
// they were empty.
func (v *View) blind() string {
	n, names := v.unlimited(false)
	if n == 0 {
		return ""
	}
	return "blind to " + queues(n) + ": the driver was not seen to use byte queue limits: " + names
}

// above names those of which only what waits above the queues is seen.
func (v *View) above() string {
	n, names := v.unlimited(true)
	if n == 0 {
		return ""
	}
	return "; only what waits above the queue is seen of " + names
}

// unlimited counts and names what was not seen to use byte queue limits, and of
// which what waits above is seen or not.
func (v *View) unlimited(waits bool) (n int, names string) {
	var list []string
	for _, l := range v.queues {
		if l.limits || l.waits != waits {
			continue
		}
		n++
		if !slices.Contains(list, l.netdev) {
			list = append(list, l.netdev)
		}
	}
	return n, strings.Join(list, ", ")
}

// A CSV writes every sample.
type CSV struct{ w *bufio.Writer }

// NewCSV writes the head.
func NewCSV(w io.Writer) *CSV {
	c := &CSV{bufio.NewWriterSize(w, 64<<10)}
	c.w.WriteString("seconds,netdev,queue,inflight_bytes,limit_bytes,backlog_bytes\n") //nolint:errcheck // Flush says it
	return c
}

// Add writes a look at all queues. What is in flight is left empty as long as
// the driver was not seen to use byte queue limits: nobody counts it. So is
// what waits above where that is not seen.
func (c *CSV) Add(s *queue.Sweep) error {
	var b []byte
	for i := range s.Queues {
		q := &s.Queues[i]
		b = c.w.AvailableBuffer()
		b = strconv.AppendFloat(b, s.At.Round(time.Microsecond).Seconds(), 'f', 6, 64)
		b = append(append(b, ','), field(q.Netdev)...)
		b = strconv.AppendUint(append(b, ','), uint64(q.Index), 10)
		if b = append(b, ','); q.Limits {
			b = strconv.AppendUint(b, uint64(q.Inflight), 10)
		}
		if b = append(b, ','); q.Limits && !q.NoLimit {
			b = strconv.AppendUint(b, uint64(q.Limit), 10)
		}
		if b = append(b, ','); q.Waits {
			b = strconv.AppendUint(b, uint64(q.Backlog), 10)
		}
		if _, err := c.w.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Flush writes what is held back.
func (c *CSV) Flush() error { return c.w.Flush() }

// field quotes a name where CSV asks for it.
func field(s string) string {
	if strings.ContainsAny(s, ",\"\r\n") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}
