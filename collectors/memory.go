// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"fmt"
	"time"
)

// remember turns verdicts into findings: with the time since when, with what
// For asks (if hold), with what ended just now, and with the operator's mutes.
func (e *Engine) remember(list []judged, at time.Duration, hold bool) []Finding {
	findings := make([]Finding, 0, len(list))
	mutes, now := e.config.Load().Mute, e.wall(at)
	for _, j := range list {
		f := Finding{Check: j.check, Status: j.verdict.Status, Subject: j.subject, Reason: j.verdict.Reason, Remedy: j.verdict.Remedy, Evidence: j.verdict.Evidence}
		key := f.key()
		m := e.memory[key]
		if m == nil {
			m = &remembered{badFrom: -1, badAt: -1, since: at}
			e.memory[key] = m
		}
		if hold && e.options.Window == 0 {
			m.hold(&f, j.hold, at)
		}
		if m.finding.Status != f.Status {
			m.since = at
		}
		m.finding, m.seen = f, at
		f.Since = e.stamp(m.since)
		mute(&f, mutes, now)
		findings = append(findings, f)
	}
	findings = append(findings, e.ended(at, hold)...)
	Sort(findings)
	return findings
}

func (f *Finding) key() string { return f.Check + "\x00" + f.Subject.String() }

// hold lets a condition alarm only after it held for a while, and keeps what
// alarmed for a minute after it ended.
func (m *remembered) hold(f *Finding, wait, at time.Duration) {
	if f.Status.Bad() {
		if m.badFrom < 0 {
			m.badFrom = at
		}
		if held := at - m.badFrom; held < wait {
			f.Reason = fmt.Sprintf("%s (for %s; alarms after %s)", f.Reason, held.Round(time.Second), wait)
			f.Status = Info
			return
		}
		m.bad, m.badAt = *f, at
		return
	}
	m.badFrom = -1
	if m.badAt >= 0 && at-m.badAt < keepEnded {
		*f = m.bad.over(at - m.badAt)
	}
}

// over marks a finding as one whose condition ended a while ago.
func (f Finding) over(ago time.Duration) Finding {
	f.Reason = fmt.Sprintf("%s (ended %s ago)", f.Reason, ago.Round(time.Second))
	f.Ended = true
	return f
}

// ended gives the alarms whose subject is no longer judged at all, and forgets
// what has been gone for long.
func (e *Engine) ended(at time.Duration, keep bool) []Finding {
	var list []Finding
	for key, m := range e.memory {
		if m.seen == at {
			continue
		}
		if keep && m.badAt >= 0 && at-m.badAt < keepEnded {
			f := m.bad.over(at - m.badAt)
			f.Since = e.stamp(m.since)
			mute(&f, e.config.Load().Mute, e.wall(at))
			list = append(list, f)
			continue
		}
		delete(e.memory, key)
	}
	return list
}

// wall gives the wall time of a moment; zero in a recording that has none.
func (e *Engine) wall(at time.Duration) time.Time {
	if e.epoch.IsZero() {
		return time.Time{}
	}
	return e.epoch.Add(at)
}

// stamp writes a moment: as a time, or as a recording's mark.
func (e *Engine) stamp(at time.Duration) string {
	if t := e.wall(at); !t.IsZero() {
		return t.UTC().Format(time.RFC3339)
	}
	return at.String()
}

// Stamp writes the moment of the state as findings do.
func (e *Engine) Stamp(s *State) string { return e.stamp(s.View.At) }
