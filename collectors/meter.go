// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/prometheus/client_golang/prometheus"
)

// A clock tells the time since the engine's start: monotonic, so that neither
// steps of the wall clock nor the suspension of a virtual machine become rates.
type clock struct{ start time.Time }

func (c *clock) now() time.Duration { return time.Since(c.start) }

func (c *clock) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// A Budget bounds what reading may cost.
type Budget struct {
	Device float64 // fraction of wall time that one device's reads may take
	All    float64 // fraction of one core that all reads may take together
}

// DefaultBudget is 1 % of the time for a device and 2 % of a core in all.
func DefaultBudget() Budget { return Budget{Device: 0.01, All: 0.02} }

// A meter accounts for the cost of one unit and stretches its period.
type meter struct {
	budget   Budget
	load     *atomic.Uint64 // of all units together: fraction of a core, as float bits
	histo    prometheus.Observer
	errors   func(reason string)
	overruns atomic.Uint64
	wall     atomic.Int64 // smoothed cost of a read in nanoseconds
	cpu      atomic.Int64
	period   atomic.Int64 // in force
}

// account files the cost of one read and gives the period that it allows: the
// wanted one, stretched until this device's share of wall time is in budget,
// and by what all units together are over theirs.
func (m *meter) account(wall, cpu, wanted time.Duration) time.Duration {
	m.histo.Observe(wall.Seconds())
	smoothWall, smoothCPU := smooth(&m.wall, wall), smooth(&m.cpu, cpu)
	period := max(wanted, time.Duration(float64(smoothWall)/m.budget.Device))
	if over := math.Float64frombits(m.load.Load()) / m.budget.All; over > 1 && smoothCPU > 0 {
		period = max(period, time.Duration(float64(wanted)*over))
	}
	// A grid of whole multiples keeps units aligned while they are stretched.
	period = min((period+wanted-1)/wanted*wanted, max(maxPeriod, wanted))
	m.period.Store(int64(period))
	return period
}

// demand is the fraction of a core that the unit would take at its wanted period.
func (m *meter) demand(wanted time.Duration) float64 {
	return float64(m.cpu.Load()) / float64(max(wanted, minPeriod))
}

// smooth follows a cost: a rise counts at once by half, a fall by an eighth, so
// that one slow read in a while does not hide.
func smooth(a *atomic.Int64, d time.Duration) time.Duration {
	old := a.Load()
	v := int64(d)
	switch {
	case old == 0:
	case v > old:
		v = old + (v-old)/2
	default:
		v = old + (v-old)/8
	}
	a.Store(v)
	return time.Duration(v)
}

// failed counts an error by its reasons; what joins several counts each.
func (m *meter) failed(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			m.failed(e)
		}
		return
	}
	m.errors(reasonLabel(err))
}

// reasonLabel gives a bounded set of values for the reason label.
func reasonLabel(err error) string {
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	case errors.Is(err, fs.ErrPermission):
		return "permission"
	case errors.As(err, &errno):
		return probes.Reason(errno)
	}
	return "other"
}
