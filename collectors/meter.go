// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/config"
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
	Judge  float64 // fraction of one core that judging may take
}

// DefaultBudget is 1 % of the time for a device, 2 % of a core for all of them
// and 0.2 % for judging.
func DefaultBudget() Budget { return Budget{Device: 0.01, All: 0.02, Judge: 0.002} }

// or fills in what is not set.
func (b Budget) or(c Budget) Budget {
	return Budget{cmp.Or(b.Device, c.Device), cmp.Or(b.All, c.All), cmp.Or(b.Judge, c.Judge)}
}

// budgetOf gives what a configuration sets.
func budgetOf(c config.Budget) Budget { return Budget{c.Device / 100, c.All / 100, c.Judge / 100} }

// A meter accounts for the cost of one unit and stretches its period. Only the
// unit's own goroutine files costs.
type meter struct {
	budget   Budget
	load     *atomic.Uint64 // of all units together: fraction of a core, as float bits
	histo    prometheus.Observer
	errors   func(reason string)
	overruns atomic.Uint64
	cpu      atomic.Int64 // smoothed, of a read, in nanoseconds
	period   atomic.Int64 // in force

	recent []cost        // of the newest reads, the last one last
	debt   time.Duration // of device time that is not yet paid for by waiting
	paid   time.Duration // until when it is
}

// A cost is what one read took of the device and of the processor.
type cost struct{ device, cpu time.Duration }

const (
	// A device may owe what it is allowed in a minute, before its reads are stretched.
	creditFor = time.Minute
	// A read is compared with so many before it.
	recentReads = 3
)

// account files the cost of a read that ended now and gives the period that it
// allows: the wanted one, or as much longer as it takes until this device's
// debt is in its credit, and by what all units together are over their budget.
func (m *meter) account(now time.Duration, c cost, wanted time.Duration) time.Duration {
	c = m.usual(c)
	waited := now - m.paid
	m.paid = now
	credit := time.Duration(m.budget.Device * float64(creditFor))
	m.debt = max(m.debt-time.Duration(m.budget.Device*float64(waited)), 0) + c.device
	period := max(wanted, c.device+time.Duration(float64(m.debt-credit)/m.budget.Device))
	cpu := smooth(m.cpu.Load(), int64(c.cpu), float64(waited)/float64(wanted))
	m.cpu.Store(cpu)
	if over := math.Float64frombits(m.load.Load()) / m.budget.All; over > 1 && cpu > 0 {
		period = max(period, time.Duration(float64(wanted)*over))
	}
	// A grid of whole multiples keeps units aligned while they are stretched.
	period = min((period+wanted-1)/wanted*wanted, max(maxPeriod, wanted))
	m.period.Store(int64(period))
	return period
}

// usual gives what a read is charged: no more than the dearest of the few
// before it. One read that took long may have waited for a busy machine, and
// the first opens files and warms caches; a device that is slow is so again.
func (m *meter) usual(c cost) cost {
	var most cost
	for _, r := range m.recent {
		most = cost{max(most.device, r.device), max(most.cpu, r.cpu)}
	}
	if len(m.recent) == recentReads {
		m.recent = m.recent[:copy(m.recent, m.recent[1:])]
	}
	m.recent = append(m.recent, c)
	return cost{min(c.device, most.device), min(c.cpu, most.cpu)}
}

// demand is the fraction of a core that the unit would take at its wanted period.
func (m *meter) demand(wanted time.Duration) float64 {
	return float64(m.cpu.Load()) / float64(max(wanted, minPeriod))
}

// smooth follows a cost: a rise counts at once by half, a fall by an eighth for
// each of the wanted periods since, so that a stretched unit is soon believed.
func smooth(old, v int64, periods float64) int64 {
	switch {
	case old == 0:
		return v
	case v > old:
		return old + (v-old)/2
	}
	return v + int64(float64(old-v)*math.Pow(7.0/8, max(periods, 1)))
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
