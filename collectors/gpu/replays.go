// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/pci"
)

func replaysCheck() collectors.Check[row] {
	return collectors.Check[row]{
		Name:   "pcie_replays",
		Help:   "Warns when a GPU, as its driver counts, had to repeat packets on its PCI Express link: from 3 in the window on, when they are more than the link's GT/s divided by 8 a minute.",
		Silent: "a counter that fell was reset with the GPU or the driver.",
		Over:   time.Minute,
		Thresholds: []collectors.Threshold{
			{Name: "least", Default: 3, Unit: "replays", Help: "fewer in the window never warn"},
			{Name: "per_minute", Default: 0.125, Unit: "replays a minute for each GT/s", Help: "more warn"},
		},
		Eval: evalReplays,
	}
}

func evalReplays(r *row, e *collectors.Env[row]) collectors.Verdict {
	if r.unknown != "" || r.PCIe == nil || r.PCIe.Replays == nil {
		return r.unanswered("pcie_replays", "replay counter")
	}
	if len(e.Past) < 2 {
		return collectors.Verdictf(collectors.Unknown, "one reading only: a rate needs a second")
	}
	n := repeated(e.Past)
	speed := pci.Gen1
	switch {
	case r.PCIe.Generation != nil:
		speed = max(speed, pci.SpeedOf(*r.PCIe.Generation))
	case r.f != nil: // the driver does not say; the link is at most as fast as the GPU
		speed = max(speed, r.f.Max.Speed)
	}
	perMinute := float64(n) / e.Span().Minutes()
	if float64(n) >= e.Threshold("least") && perMinute > e.Threshold("per_minute")*speed.GigaTransfers() {
		return collectors.Verdictf(collectors.Warn, "%d packets repeated in %s at %s: the link makes errors", n, e.Span().Round(time.Second), speed).
			Remedyf("reseat the GPU, its riser or cable; look for the other end's errors (pcie_aer)").With("replay counter", *r.PCIe.Replays)
	}
	return collectors.Verdictf(collectors.OK, "%d packets repeated in %s", n, e.Span().Round(time.Second))
}

// repeated sums the rises of the counter over the window.
func repeated(past []collectors.Sample[row]) uint64 {
	return collectors.Growth(past, func(r *row) (uint64, bool) {
		if r.PCIe == nil || r.PCIe.Replays == nil {
			return 0, false
		}
		return *r.PCIe.Replays, true
	})
}
