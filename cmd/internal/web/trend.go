// SPDX-License-Identifier: Apache-2.0

package web

import (
	"math"
	"sync"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

// Bounds of what is remembered for the page's curves: five minutes of each of a
// few counters of some ports. Prometheus remembers the rest.
const (
	trendEvery  = 5 * time.Second
	trendPoints = 60
	trendMost   = 1024 // counters
)

// A measure is something of a port that is drawn over time.
type measure uint8

// Measures, in the order in which they are shown.
const (
	sent measure = iota
	received
	stopped // by the peer, of the priority that was so the most
	stops   // the peer
	stopFrames
	stopsFrames
	marked
	cnpSent
	cnpHeard
	measures
)

// A source is the metric that a measure is the rise of, a second.
type source struct {
	metric       string
	label, value string // of the samples that count; "" are all
	of           string // the label that tells the port; "" is device/port
}

func sources() [measures]source {
	return [measures]source{
		sent:        {"rdma_transmitted_bytes_total", "", "", ""},
		received:    {"rdma_received_bytes_total", "", "", ""},
		stopped:     {"roce_pfc_pause_seconds_total", "direction", "rx", "netdev"},
		stops:       {"roce_pfc_pause_seconds_total", "direction", "tx", "netdev"},
		stopFrames:  {"roce_pfc_frames_total", "direction", "rx", "netdev"},
		stopsFrames: {"roce_pfc_frames_total", "direction", "tx", "netdev"},
		marked:      {"roce_ecn_marked_packets_total", "", "", ""},
		cnpSent:     {"roce_cnp_total", "event", "sent", ""},
		cnpHeard:    {"roce_cnp_total", "event", "handled", ""},
	}
}

// A curve is one measure of one port; a counter is one of those behind it.
type (
	curve struct {
		of   measure
		port string
	}
	counter struct {
		curve
		priority string
	}
)

// A trend is the last minutes of all curves. It is told of each judgement.
type trend struct {
	engine *collectors.Engine

	mu     sync.Mutex
	at     time.Duration
	last   map[counter]float64
	points int // that were taken
	rates  map[curve]*[trendPoints]float32
}

func newTrend(e *collectors.Engine) *trend {
	return &trend{engine: e, rates: map[curve]*[trendPoints]float32{}}
}

// observe takes a point, if it is time for one. Counters of before a restart of
// their device, or of a recording that begins anew, have no rate.
func (t *trend) observe(s *collectors.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	passed := s.View.At - t.at
	switch {
	case s.View.Still: // nothing has a rate
		return
	case t.last != nil && passed >= 0 && passed < trendEvery-trendEvery/10:
		return
	}
	now := t.counters(s)
	if t.last != nil && passed > 0 {
		t.add(now, passed.Seconds())
	}
	t.at, t.last = s.View.At, now
}

// counters reads what the curves are made of.
func (t *trend) counters(s *collectors.State) map[counter]float64 {
	all := make(map[counter]float64, len(t.last))
	for of, from := range sources() {
		t.engine.Samples(s, from.metric, func(label func(string) string, v float64) {
			if from.label != "" && label(from.label) != from.value || len(all) >= trendMost {
				return
			}
			c := counter{curve: curve{of: measure(of)}}
			if from.of == "" {
				c.port = label("device") + "/" + label("port")
			} else {
				c.port, c.priority = label(from.of), label("priority")
			}
			all[c] = v
		})
	}
	return all
}

// add makes a point of what the counters rose by; of several of one curve the
// one that rose most counts.
func (t *trend) add(now map[counter]float64, seconds float64) {
	slot := t.points % trendPoints
	t.points++
	for _, ring := range t.rates {
		ring[slot] = unknown()
	}
	for c, v := range now {
		before, ok := t.last[c]
		if !ok || v < before {
			continue
		}
		ring := t.rates[c.curve]
		if ring == nil {
			ring = &[trendPoints]float32{}
			for i := range ring {
				ring[i] = unknown()
			}
			t.rates[c.curve] = ring
		}
		if rate := float32((v - before) / seconds); !(ring[slot] >= rate) { // or nothing was there
			ring[slot] = rate
		}
	}
	for c, ring := range t.rates { // of devices that went long ago
		if allUnknown(ring) {
			delete(t.rates, c)
		}
	}
}

func unknown() float32 { return float32(math.NaN()) }

func allUnknown(ring *[trendPoints]float32) bool {
	for _, v := range ring {
		if v == v {
			return false
		}
	}
	return true
}

// curve gives the points of a curve, the newest last; nil if there are none.
func (t *trend) curve(of measure, port string) []float32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	ring := t.rates[curve{of, port}]
	if ring == nil {
		return nil
	}
	n := min(t.points, trendPoints)
	list := make([]float32, 0, n)
	for i := t.points - n; i < t.points; i++ {
		list = append(list, ring[i%trendPoints])
	}
	return list
}

// span is the time that the points cover, as far as they are apart as wanted.
func (t *trend) span() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Duration(min(t.points, trendPoints)) * trendEvery
}
