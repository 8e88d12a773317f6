// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/queue"
)

// heat answers with the last minutes of transmit queues. It takes since (a
// time, Unix seconds, or a duration back from now) and netdev.
func (s *Site) heat(w http.ResponseWriter, r *http.Request) {
	state := s.Engine.State()
	if state == nil {
		plain(w, http.StatusServiceUnavailable, "the first readings are not there yet")
		return
	}
	since, ok := moment(r.FormValue("since"), time.Now())
	if !ok {
		plain(w, http.StatusBadRequest, "since: want a time (2026-11-30T13:00:00Z), Unix seconds or a duration back from now (2m)")
		return
	}
	reading := collectors.Reading[queue.Reading](state.View, "queue")
	if reading == nil {
		plain(w, http.StatusNotFound, "transmit queues are not sampled: see /api/v1/findings and fabricd_collector_up")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(reading.Heat(since, r.FormValue("netdev"))) //nolint:errcheck // the client went away
}

// moment reads a time that is past; nothing is the beginning of time. So is a
// time to come: the clock was set back since it was told.
func moment(text string, now time.Time) (t time.Time, ok bool) {
	if t, ok = readTime(text, now); t.After(now.Add(time.Second)) {
		return time.Time{}, ok
	}
	return t, ok
}

func readTime(text string, now time.Time) (t time.Time, ok bool) {
	if text == "" {
		return time.Time{}, true
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	const latest = 1 << 40 // seconds that a time holds
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < latest {
		return time.UnixMilli(int64(seconds * 1e3)), true
	}
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}
