// SPDX-License-Identifier: Apache-2.0

// Package collectors is the engine: it takes readings at their periods within
// a cost budget, publishes them, judges them by tables of checks, and shows
// them as metrics, findings and manuals. It knows how a collector is declared,
// not what any of them reads or means; those are the packages below it.
package collectors

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

// A Spec declares a collector: how to take a reading R, how often, and what a
// reading means.
type Spec[R any] struct {
	Name, Help string
	// Every is the period of reads where the budget allows it.
	Every time.Duration
	// Floor is the shortest period that may be asked for; zero is 1 ms.
	Floor time.Duration
	// Samples is, of a collector whose readers are Samplers, the time between
	// two samples by default. An interval that is asked for is this one, and
	// readings stay at Every.
	Samples time.Duration
	// Units splits the collector into units that are read each by its own
	// goroutine, such as devices, so that a stuck one costs only itself. It
	// is asked anew after each inventory. Nil is a single unit named "".
	Units func(*View) []string
	// Open prepares the reads of a unit. An error that is fs.ErrNotExist says
	// that the machine has no such thing: the unit rests.
	Open   func(ctx context.Context, h *probes.Host, unit string) (Reader[R], error)
	Tables []Table[R]
}

// A Reader takes readings of one unit. One goroutine uses it.
type Reader[R any] interface {
	// Read takes a reading, which is not changed after. Where parts could not
	// be read it returns the others and an error that joins the causes.
	Read(at time.Duration) (*R, error)
	Close()
}

// A Sampler is a Reader that looks at its device by itself between readings,
// many times faster than these are taken; a reading shows what it has seen.
type Sampler interface {
	// Sample sets the time between two samples, before the first reading.
	Sample(every time.Duration)
}

// ErrReopen is what Read returns when the device went and came back: the
// engine opens a new Reader at once.
var ErrReopen = errors.New("the device was replaced; its reader is opened anew")

// A Unit is the newest reading of one unit.
type Unit[R any] struct {
	Name    string
	Reading *R
	Age     time.Duration
	Err     error // what could not be read
}

// A Label names a row.
type Label[S any] struct {
	Name string
	Get  func(*S) string
}

// A Kind is the type of a metric.
type Kind uint8

// Kinds of metric.
const (
	Gauge Kind = iota
	Counter
	Histogram
)

// String gives the kind's name as in the exposition format.
func (k Kind) String() string { return [...]string{"gauge", "counter", "histogram"}[k] }

// A Metric is one column of a table. Exposition and manual are made from it.
type Metric[S any] struct {
	// Name is without the prefix fabricd_. Counters end in _total.
	Name, Help string
	// Source names the file, register or call that the value is from.
	Source string
	Kind   Kind
	// Get gives the value; not ok is an absent series.
	Get func(*S) (v float64, ok bool)
	// Distribution gives the value of a Histogram, which is not changed after,
	// instead of Get; nil is an absent series.
	Distribution func(*S) *Distribution
	// Labels replaces the table's labels.
	Labels []Label[S]

	sorted []Label[S] // by name, as the exposition wants them
}

// value gives a row's value; not ok is an absent series.
func (m *Metric[S]) value(row *S) (v value, ok bool) {
	if m.Kind == Histogram {
		v.distribution = m.Distribution(row)
		return v, v.distribution != nil
	}
	v.number, ok = m.Get(row)
	return v, ok && !math.IsNaN(v.number)
}

// A value is one sample of a metric: a number or a distribution.
type value struct {
	number       float64
	distribution *Distribution
}

// Columns says what the rows S of a table mean: how they are named, what is
// exported of them and what is wrong with them.
type Columns[S any] struct {
	Labels  []Label[S]
	Metrics []Metric[S]
	Checks  []Check[S]

	sorted []Label[S]
}

// A View is what tables and checks see of the machine at one moment. It is
// never changed.
type View struct {
	// At is the time since the start, monotonic; in a recording its mark.
	At        time.Duration
	Inventory *probes.Inventory
	Topology  *Topology
	Manifest  *probes.Manifest // of a recording; nil on a live host
	// Recorded says that moments are a recording's marks; Still, that it has
	// one only: nothing can have a rate.
	Recorded, Still bool
	// Excludes says that devices are excluded: what is not seen may be there.
	Excludes bool

	readings map[string]any // collector to []Unit[R]
	config   *Config
}

// Plan gives what the operator says that the machine should look like, with
// the names that interfaces have on it.
func (v *View) Plan() config.Plan { return v.Topology.Plan() }

// Readings gives the newest readings of a collector.
func Readings[R any](v *View, collector string) []Unit[R] {
	units, _ := v.readings[collector].([]Unit[R])
	return units
}

// Reading gives the newest reading of a collector of a single unit, or nil.
func Reading[R any](v *View, collector string) *R {
	for _, u := range Readings[R](v, collector) {
		return u.Reading
	}
	return nil
}
