// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"slices"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/gpu"
)

// A Load is how busy a GPU is, as its driver told.
type Load struct {
	Percent int           // -1: not known
	Told    time.Duration // when; the same in two judgements is the same answer
	Old     bool          // told too long ago to say what is now; Percent is -1
}

// loadGood is how long a GPU's load is believed: drivers that are slow to
// answer are asked less often than GPUs begin and end to work.
const loadGood = 5 * time.Second

// LoadOf gives the load of a GPU.
func LoadOf(v *collectors.View, address string) Load {
	for _, u := range collectors.Readings[Reading](v, "gpu") {
		r := u.Reading
		if d := r.Find(address); d != nil && d.Utilization != nil && r.Trouble == "" {
			if r.old(v) {
				return Load{-1, r.Asked, true}
			}
			return Load{*d.Utilization, r.Asked, false}
		}
	}
	return Load{Percent: -1}
}

func (r *Reading) old(v *collectors.View) bool { return v.At-r.Asked > loadGood }

func withoutLoad(s *gpu.Snapshot) *gpu.Snapshot {
	c := *s
	c.Devices = slices.Clone(s.Devices)
	for i := range c.Devices {
		c.Devices[i].Utilization = nil
	}
	return &c
}
