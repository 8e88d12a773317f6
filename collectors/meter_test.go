// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// periods gives the periods that reads of these costs are allowed, each begun
// when the one before it let it.
func periods(wanted time.Duration, device ...time.Duration) []time.Duration {
	m := &meter{budget: DefaultBudget(), load: new(atomic.Uint64)}
	var list []time.Duration
	now := time.Duration(0)
	for _, d := range device {
		list = append(list, m.account(now+d, cost{device: d, cpu: d / 10}, wanted))
		now += list[len(list)-1]
	}
	return list
}

func costs(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }

// A device whose reads are slow is read less; one read that was slow, the
// first above all, costs nothing.
func TestPeriodAllowed(t *testing.T) {
	const ms = time.Millisecond
	quick := costs(20, ms)
	for _, test := range []struct {
		name        string
		costs       []time.Duration
		worst, last time.Duration
	}{
		{"quick", quick, time.Second, time.Second},
		{"a slow first read", append([]time.Duration{5 * time.Second}, quick...), time.Second, time.Second},
		{"a slow read among others", append(append(costs(5, ms), 3*time.Second), quick...), time.Second, time.Second},
		{"a slow minute", append(costs(3, 2*time.Second), costs(60, ms)...), 360 * time.Second, time.Second},
		{"always slow", costs(60, 40*ms), 4 * time.Second, 4 * time.Second},
		{"every third one slow", slices.Repeat(append(quick[:2:2], 400*ms), 20), 40 * time.Second, 38 * time.Second},
		{"hardly ever done", costs(5, time.Hour), maxPeriod, maxPeriod},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := periods(time.Second, test.costs...)
			var worst time.Duration
			for _, p := range got {
				worst = max(worst, p)
			}
			if worst > test.worst || got[len(got)-1] != test.last {
				t.Errorf("the longest is %v, the last %v, of %v", worst, got[len(got)-1], got)
			}
		})
	}
}

// Over an hour, a device is given no more than its budget and the credit.
func TestBudgetIsKept(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 700 * time.Millisecond} {
		var sum, used time.Duration
		for _, p := range periods(time.Second, costs(10000, d)...) {
			sum, used = sum+p, used+d
			if sum > time.Hour {
				break
			}
		}
		if most := sum/100 + creditFor/100 + 2*d; used > most {
			t.Errorf("reads of %v take %v of %v, more than %v", d, used, sum, most)
		}
	}
}
