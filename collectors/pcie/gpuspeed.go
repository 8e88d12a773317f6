// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"fmt"
	"time"

	"github.com/fabricd/fabricd/collectors"
)

// gpuSpeed decides about a slow link to GPUs alone by their load.
func gpuSpeed(r *linkRow, e *linkEnv, v verdict) verdict {
	busy := int(e.Threshold("busy_percent"))
	wait := time.Duration(e.Threshold("busy_for") * float64(time.Second))
	v.Evidence = append(v.Evidence, collectors.Evidence{Source: "gpu utilisation", Value: loadText(r.load)})
	if r.load.most < busy {
		v.Status, v.Remedy = collectors.Info, ""
		switch {
		case r.load.known:
			v.Reason += fmt.Sprintf("; idle (%d %% utilisation): GPUs slow their links down when idle", r.load.most)
		case r.load.old:
			v.Reason += "; load unknown: the driver told the GPU's utilisation too long ago"
		default:
			v.Reason += "; load unknown: nobody tells the GPU's utilisation"
		}
		return v
	}
	held, before := r.slowAndBusy(e, busy)
	text := held.Truncate(time.Second)
	if held >= wait {
		v.Reason += fmt.Sprintf("; for the last %s it was slow and the GPU busy all the time (%d %% now)", text, r.load.most)
		return v
	}
	switch before {
	case nothing:
		v.Status = collectors.Unknown
		v.Reason += fmt.Sprintf("; the GPU is busy (%d %%), but only %s of readings are there and %s are wanted", r.load.most, text, wait)
		v.Remedy = "watch it for longer: fabricd check --window 15s"
	case notSlow:
		v.Status, v.Remedy = collectors.Info, ""
		v.Reason += fmt.Sprintf("; slow with the GPU busy (%d %% now) %s only, at full speed or not known before: judged once it was for %s", r.load.most, lately(held), wait)
	case notBusy:
		v.Status, v.Remedy = collectors.Info, ""
		v.Reason += fmt.Sprintf("; busy %s only (%d %% utilisation now), idle or unknown before: judged once it was for %s", lately(held), r.load.most, wait)
	}
	return v
}

// What was before a link was slow and its GPUs busy.
type before int

const (
	nothing before = iota // that is known: the window begins there
	notSlow
	notBusy
)

// slowAndBusy says for how long up to now the link has been slow and a GPU
// below it busy in every reading, and what was before. An answer of the driver
// that is still its newest at the next reading is no second one, and the time
// in which the newest one was too old is between two answers.
func (r *linkRow) slowAndBusy(e *linkEnv, busy int) (held time.Duration, was before) {
	for i := len(e.Past) - 1; i >= 0; i-- {
		past := &e.Past[i].Row
		switch {
		case past.now.Speed == 0 || past.now.Speed >= past.Max.Speed:
			return held, notSlow
		case past.load.most >= busy:
			held = min(e.Past[len(e.Past)-1].At-e.Past[i].At, r.load.told-past.load.told)
		case !past.load.old:
			return held, notBusy
		}
	}
	return held, nothing
}

func lately(d time.Duration) string {
	if d < time.Second {
		return "in the newest reading"
	}
	return fmt.Sprintf("for the last %s", d.Truncate(time.Second))
}

func loadText(l load) string {
	if l.most < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%d %%", l.most)
}
