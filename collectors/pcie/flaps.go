// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"time"

	"github.com/fabricd/fabricd/collectors"
)

func flapsCheck() linkCheck {
	return linkCheck{
		Name:    "pcie_flaps",
		Help:    "Warns when speed or width of a link to GPUs changed more than 10 times in 10 minutes while a GPU below it was busy; a shorter window is judged in proportion, from 3 changes on.",
		Silent:  "changes while the GPU is idle are power management; a speed that stays low is pcie_speed's. Without a source for the GPU's load nothing can be said.",
		Over:    10 * time.Minute,
		Subject: linkSubject(),
		Uses:    []string{"gpu"},
		Thresholds: []collectors.Threshold{
			{Name: "changes", Default: 10, Unit: "changes in 10 minutes", Help: "more than these warn"},
			{Name: "least", Default: 3, Unit: "changes", Help: "fewer than these never warn"},
			{Name: "busy_percent", Default: 10, Unit: "percent", Help: "utilisation from which a GPU is busy"},
		},
		Eval: evalFlaps,
	}
}

func evalFlaps(r *linkRow, e *linkEnv) verdict {
	if r.load.gpus == 0 {
		return verdict{}
	}
	if v := r.unread(); v.Status != collectors.None {
		return v
	}
	if len(e.Past) < 2 {
		return collectors.Verdictf(collectors.Unknown, "one reading only: changes need a second")
	}
	changes, all, loadSeen := flapsOf(e.Past, int(e.Threshold("busy_percent")))
	limit := e.Threshold("changes") * e.Span().Minutes() / 10
	switch {
	case float64(changes) > limit && changes >= uint64(e.Threshold("least")):
		return collectors.Verdictf(collectors.Warn, "speed or width changed %d times in %s while the GPU was busy; now %s of %s", changes, e.Span().Round(time.Second), r.now, r.Max).
			Remedyf("look for errors of the link (pcie_aer, pcie_replays); reseat the card, its riser or cable; lspci -vv -s %s", r.Lower.Address).
			With("transitions while busy", changes).With("transitions in all", all)
	case !loadSeen && all > 0:
		return collectors.Verdictf(collectors.Unknown, "speed or width changed %d times in %s; load unknown: an idle GPU does that", all, e.Span().Round(time.Second))
	}
	if !loadSeen {
		return collectors.Verdictf(collectors.OK, "0 changes of speed or width in %s", e.Span().Round(time.Second))
	}
	return collectors.Verdictf(collectors.OK, "%d changes of speed or width in %s while the GPU was busy, %d in all", changes, e.Span().Round(time.Second), all)
}

// flapsOf counts changes while a GPU was busy: between two answers of its
// driver that both say so, not between two looks at the same one.
func flapsOf(past []collectors.Sample[linkRow], busy int) (changes, all uint64, loadSeen bool) {
	told, pending := past[0].Row.load, uint64(0)
	for i := 1; i < len(past); i++ {
		from, to := &past[i-1].Row, &past[i].Row
		loadSeen = loadSeen || to.load.most >= 0
		if from.at != nil && to.at != nil && to.at.Transitions > from.at.Transitions {
			pending += to.at.Transitions - from.at.Transitions
			all += to.at.Transitions - from.at.Transitions
		}
		if to.load.told == told.told {
			continue
		}
		if told.most >= busy && to.load.most >= busy {
			changes += pending
		}
		told, pending = to.load, 0
	}
	return changes, all, loadSeen
}
