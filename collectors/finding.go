// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/config"
)

// A Finding is what one check made of one row.
type Finding struct {
	Check    string     `json:"check"`
	Status   Status     `json:"status"`
	Subject  Subject    `json:"subject"`
	Reason   string     `json:"reason"`
	Remedy   string     `json:"remedy,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Since is when the status came to be: a time, or in a recording without
	// one the mark (10s).
	Since string `json:"since,omitempty"`
	// Ended is set while the daemon still shows a finding whose condition is over.
	Ended bool `json:"ended,omitempty"`
	// Muted says that the operator silenced the finding; its Status is then Info.
	Muted *Muted `json:"muted,omitempty"`
}

// Muted is what a mute hid.
type Muted struct {
	Status Status `json:"status"`
	Reason string `json:"reason"`
	Until  string `json:"until,omitempty"`
}

// A Subject is the labels that name what was judged, in order.
type Subject []Pair

// A Pair is one label and its value.
type Pair struct{ Name, Value string }

// String joins the values by /, as fabricd_check_status does.
func (s Subject) String() string {
	values := make([]string, len(s))
	for i, p := range s {
		values[i] = p.Value
	}
	return strings.Join(values, "/")
}

// MarshalJSON writes the labels as an object in their order.
func (s Subject) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, part := range []string{p.Name, p.Value} {
			text, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				b.WriteByte(':')
			}
			b.Write(text)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads the object back in its order.
func (s *Subject) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		var p Pair
		name, err := d.Token()
		if err != nil {
			return err
		}
		p.Name, _ = name.(string)
		if err := d.Decode(&p.Value); err != nil {
			return err
		}
		*s = append(*s, p)
	}
	return nil
}

// Sort puts the worst first; what could not be judged stands between what
// alarms and what does not.
func Sort(fs []Finding) {
	rank := [...]int{None: 5, Unknown: 2, OK: 4, Info: 3, Warn: 1, Fail: 0}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		if c := cmp.Compare(rank[a.Status], rank[b.Status]); c != 0 {
			return c
		}
		if c := strings.Compare(a.Check, b.Check); c != 0 {
			return c
		}
		return slices.CompareFunc(a.Subject, b.Subject, func(a, b Pair) int { return strings.Compare(a.Value, b.Value) })
	})
}

// Worst gives the status of all findings together: the worst that was judged,
// Unknown if nothing could be.
func Worst(fs []Finding) Status {
	worst := Unknown
	for _, f := range fs {
		worst = max(worst, f.Status)
	}
	return worst
}

// A Report is what check prints as JSON and /api/v1/findings answers.
type Report struct {
	Host     string    `json:"host"`
	Time     string    `json:"time,omitempty"`
	Status   Status    `json:"status"`
	Findings []Finding `json:"findings"`
	// Troubles lists the sources that could not be read.
	Troubles []string `json:"troubles,omitempty"`
}

// Report makes a report of a state.
func (e *Engine) Report(host string, s *State) *Report {
	return &Report{Host: host, Time: e.Stamp(s), Status: Worst(s.Findings), Findings: s.Findings, Troubles: s.Troubles()}
}

// mute hides a finding if the operator said so and the date has not passed.
func mute(f *Finding, mutes []config.Mute, now time.Time) {
	if !f.Status.Bad() {
		return
	}
	for _, m := range mutes {
		if !m.Until.IsZero() && !now.IsZero() && !now.Before(m.Until) || !muteMatches(m, f) {
			continue
		}
		f.Muted = &Muted{Status: f.Status, Reason: m.Reason}
		if !m.Until.IsZero() {
			f.Muted.Until = m.Until.Format(time.RFC3339)
		}
		f.Status = Info
		return
	}
}

func muteMatches(m config.Mute, f *Finding) bool {
	if ok, _ := path.Match(m.Check, f.Check); !ok {
		return false
	}
	if m.Subject == "" || m.Subject == f.Subject.String() {
		return true
	}
	for _, p := range f.Subject {
		if ok, _ := path.Match(m.Subject, p.Value); ok {
			return true
		}
	}
	return false
}
