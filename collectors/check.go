// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"fmt"
	"time"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// Config, Topology and Facts are what a View holds of other packages.
type (
	Config   = config.Config
	Topology = topo.Tree
	Facts    = probes.Facts
)

// A Status is the outcome of a check. What has not been looked at is never OK.
type Status uint8

// Statuses. The zero Status is no finding: the row is no subject of the check.
const (
	None Status = iota
	Unknown
	OK
	Info
	Warn
	Fail
)

var statusNames = [...]string{"none", "unknown", "ok", "info", "warn", "fail"}

// String gives the status as findings spell it.
func (s Status) String() string { return statusNames[s] }

// MarshalText spells the status.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a status.
func (s *Status) UnmarshalText(b []byte) error {
	for i, name := range statusNames {
		if name == string(b) && Status(i) != None {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a status", b)
}

// Bad says whether the status is one to act on.
func (s Status) Bad() bool { return s >= Warn }

// A Check judges rows S. It costs one table row and one pure function.
type Check[S any] struct {
	Name string
	// Help says what is judged and by which rule; Silent what it must not
	// cry about. Both are the manual's text.
	Help, Silent string
	// Over is the window of history that Eval looks at in the daemon; zero is
	// none: Eval sees no Past.
	Over time.Duration
	// For is how long the daemon sees a condition before it alarms.
	For time.Duration
	// Subject names the finding's row; the table's labels if nil. Empty
	// values are left out.
	Subject    []Label[S]
	Thresholds []Threshold
	// Uses names the other collectors whose readings are looked at.
	Uses []string
	// Eval judges one row. It depends on nothing but its arguments.
	Eval func(*S, *Env[S]) Verdict
}

// A Threshold is a number of a check that the operator may set.
type Threshold struct {
	Name    string
	Default float64
	Unit    string
	Help    string
}

// Env is what a check may see beside its row.
type Env[S any] struct {
	View *View
	// Past is the row's history over the window, oldest first. Its last
	// sample is the row itself.
	Past []Sample[S]
	// Rows are all rows of the table, the judged one among them.
	Rows []S

	check      string
	thresholds []Threshold
}

// A Sample is a row at a moment.
type Sample[S any] struct {
	At  time.Duration
	Row S
}

// Threshold gives a number of the check: the operator's or the default.
func (e *Env[S]) Threshold(name string) float64 {
	for _, t := range e.thresholds {
		if t.Name == name {
			return e.View.config.Threshold(e.check, name, t.Default)
		}
	}
	panic("collectors: check " + e.check + " has no threshold " + name)
}

// Of gives a number of another check, which declares it so.
func (e *Env[S]) Of(check string, t Threshold) float64 {
	return e.View.config.Threshold(check, t.Name, t.Default)
}

// Span is the time that the history covers; zero of a single sample.
func (e *Env[S]) Span() time.Duration { return Span(e.Past) }

// Span is the time between the first and the last of samples.
func Span[S any](past []Sample[S]) time.Duration {
	if len(past) == 0 {
		return 0
	}
	return past[len(past)-1].At - past[0].At
}

// A Verdict is what a check makes of a row.
type Verdict struct {
	Status Status
	// Reason has the numbers and where they are from; Remedy the next thing
	// to do. Both are a sentence without a full stop at the end.
	Reason, Remedy string
	Evidence       []Evidence
}

// Evidence is one value that led to a verdict.
type Evidence struct {
	Source string `json:"source"`
	Value  string `json:"value"`
}

// Verdictf makes a verdict without a remedy.
func Verdictf(s Status, format string, args ...any) Verdict {
	return Verdict{Status: s, Reason: probes.Printable(fmt.Sprintf(format, args...))}
}

// Remedyf adds a remedy.
func (v Verdict) Remedyf(format string, args ...any) Verdict {
	v.Remedy = probes.Printable(fmt.Sprintf(format, args...))
	return v
}

// With adds evidence.
func (v Verdict) With(source string, value any) Verdict {
	v.Evidence = append(v.Evidence, Evidence{probes.Printable(source), probes.Printable(fmt.Sprint(value))})
	return v
}
