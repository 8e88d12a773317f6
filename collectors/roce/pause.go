// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

func pauseCheck() collectors.Check[lane] {
	return collectors.Check[lane]{
		Name:   "roce_pause",
		Help:   "Warns when a priority was paused for more than 5 % of the window, fails from 50 % on, or when a storm counter grows. We sent: this host is slow; we received: the fabric or the peer is.",
		Silent: "frames that only let go (XON), and frames of drivers that count no time: unknown while they grow. A priority that mlx5 counts no pause of has PFC off.",
		Over:   time.Minute,
		Thresholds: []collectors.Threshold{
			{Name: "warn_percent", Default: 5, Unit: "percent of time", Help: "more in either direction warns"},
			{Name: "fail_percent", Default: 50, Unit: "percent of time", Help: "more in either direction fails"},
		},
		Eval: lately(evalPause),
	}
}

// held is what is known of one direction of a priority.
type held struct {
	share float64 // percent of the window
	timed bool    // share is known
	name  string  // the counter that it is from
	rise  uint64
	moved bool // frames, times or transitions rose
	text  string
}

func evalPause(l *lane, e *collectors.Env[lane]) verdict {
	if l.priority == anyPriority {
		return evalStorm(l, e)
	}
	if !l.hasPause() {
		if l.DCB != nil && l.DCB.PFC != nil && l.DCB.PFC.On(l.priority) {
			return collectors.Verdictf(collectors.Unknown, "PFC is on, but pause of this priority is not counted: %s", cmp.Or(l.unasked(), "driver "+l.Driver+" names no counter of it"))
		}
		return verdict{}
	}
	span := covers(portSamples(e.Past))
	if span == 0 {
		return collectors.Verdictf(collectors.Unknown, "one reading only: a share of time needs a second")
	}
	received, sent := l.heldIn(e.Past, span, rx), l.heldIn(e.Past, span, tx)
	worst, by := received, "the peer held priority %d of this port: the fabric or the peer is slow"
	remedy := "follow the pause to the switch port and beyond: its PFC counters, the receiver behind it, and whether the switch marks (roce_ecn_silent)"
	if sent.share > received.share {
		worst, by = sent, "this host held priority %d of the peer: this host is slow"
		remedy = "look at what the NIC waits for: nic_pcie_stall, pcie_width, nic_discards, numa placement, and the receive buffer (dcb buffer show)"
	}
	if storms := l.storms(e); storms != "" && (received.moved || sent.moved) {
		return collectors.Verdictf(collectors.Fail, "a pause storm: %s; "+by+", %.0f %% of %s", storms, l.priority, worst.share, short(span)).
			Remedyf("%s", remedy).With(worst.name, worst.rise)
	}
	text := fmt.Sprintf(by+", %.0f %% of %s (%s rose by %s)", l.priority, worst.share, short(span), worst.name, seconds(worst.rise))
	switch {
	case worst.share > e.Threshold("fail_percent"):
		return collectors.Verdictf(collectors.Fail, "%s", text).Remedyf("%s", remedy).With(worst.name, worst.rise)
	case worst.share > e.Threshold("warn_percent"):
		return collectors.Verdictf(collectors.Warn, "%s", text).Remedyf("%s", remedy).With(worst.name, worst.rise)
	}
	for _, h := range []held{received, sent} {
		if !h.timed && h.moved {
			return collectors.Verdictf(collectors.Unknown, "%s", h.text)
		}
	}
	return collectors.Verdictf(collectors.OK, "received pause %.1f %%, sent pause %.1f %% of %s", received.share, sent.share, short(span))
}

func span(e *env) time.Duration { return short(e.Span()) }

// short rounds a span for people.
func short(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// pauseKinds are what counts pause of a priority.
var pauseKinds = [...]kind{pfcFrames, pfcTime, pfcTimeUnknown, pfcTransitions}

// hasPause says whether the driver counts pause of the priority.
func (l *lane) hasPause() bool {
	for _, k := range pauseKinds {
		for d := range direction(directions) {
			if v, ok := l.Counters.get(k, d, l.priority); ok && (v > 0 || l.lossless(l.priority)) {
				return true
			}
		}
	}
	return false
}

// rise sums a counter's rises over samples of a priority.
func (l *lane) rise(past []collectors.Sample[lane], k kind, d direction) (uint64, bool) {
	if _, ok := l.Counters.get(k, d, l.priority); !ok {
		return 0, false
	}
	return collectors.Growth(past, func(o *lane) (uint64, bool) { return o.Counters.get(k, d, l.priority) }), true
}

func (l *lane) heldIn(past []collectors.Sample[lane], span time.Duration, d direction) held {
	h := held{}
	for _, k := range pauseKinds {
		n, _ := l.rise(past, k, d)
		h.moved = h.moved || n > 0
	}
	if micros, ok := l.rise(past, pfcTime, d); ok {
		h.share, h.timed = min(100, 100*float64(micros)/float64(max(span.Microseconds(), 1))), true
		h.name, h.rise = l.Counters.name(pfcTime, d, l.priority), micros
		return h
	}
	frames, _ := l.rise(past, pfcFrames, d)
	h.name = l.Counters.name(pfcFrames, d, l.priority)
	what := fmt.Sprintf("%d frames (%s)", frames, h.name)
	if n, ok := l.rise(past, pfcTransitions, d); ok && n > 0 {
		what = fmt.Sprintf("%s, paused anew %d times", what, n)
		if most := l.longest(); most > 0 {
			what += fmt.Sprintf(", at most %.0f %% of the time", min(100, 100*float64(n)*most.Seconds()/span.Seconds()))
		}
	}
	if n, ok := l.rise(past, pfcTimeUnknown, d); ok && n > 0 {
		what += fmt.Sprintf(", %s +%d in a unit that the driver does not document", l.Counters.name(pfcTimeUnknown, d, l.priority), n)
	}
	direction := "received"
	if d == tx {
		direction = "sent"
	}
	h.text = fmt.Sprintf("%s %s in %s: for how long that held the priority, driver %s does not count", direction, what, short(span), l.Driver)
	return h
}

// longest is how long one frame holds a port of this speed at most: 65535
// quanta of 512 bit times.
func (l *lane) longest() time.Duration {
	if l.net.SpeedMbps.V <= 0 {
		return 0
	}
	return time.Duration(65535*512*1000/l.net.SpeedMbps.V) * time.Nanosecond
}

// storms names the storm counters that grow; "" if none does.
func (l *lane) storms(e *collectors.Env[lane]) string {
	past := portSamples(e.Newest())
	return names(append(risen(past, stormEvents, tx), risen(past, stormEvents, rx)...))
}

func portSamples(past []collectors.Sample[lane]) []sample {
	list := make([]sample, len(past))
	for i := range past {
		list[i] = sample{At: past[i].At, Row: past[i].Row.port}
	}
	return list
}

// evalStorm tells of storms during which no priority's pause grew.
func evalStorm(l *lane, e *collectors.Env[lane]) verdict {
	if len(e.Past) < 2 {
		return verdict{}
	}
	storms := l.storms(e)
	if storms == "" {
		return verdict{}
	}
	for n := range priorityCount {
		o := lane{port: l.port, priority: n}
		if o.hasPause() && (o.heldIn(e.Past, time.Second, rx).moved || o.heldIn(e.Past, time.Second, tx).moved) {
			return verdict{} // that priority tells of it
		}
	}
	return collectors.Verdictf(collectors.Fail, "a pause storm: %s, and of no priority is pause counted", storms).
		Remedyf("look at what holds this host's receive buffers: nic_pcie_stall, nic_discards, a hung process; the NIC stops sending pause after its time-out and drops").
		With("storm counters", storms)
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
