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
	held, before := r.slowAndBusy(e, busy)
	text := held.Truncate(time.Second)
	switch {
	case held >= wait && r.load.most >= busy:
		v.Reason += fmt.Sprintf("; for the last %s it was slow and the GPU busy all the time (%d %% now)", text, r.load.most)
		return v
	case held >= wait && held > 0 && r.load.old:
		v.Reason += fmt.Sprintf("; for %s it was slow and the GPU busy all the time, until its driver last answered", text)
		return v
	case r.load.most < busy:
		v.Status, v.Remedy = collectors.Info, ""
		v.Reason += "; " + r.notBusy()
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

// notBusy says why a slow link to GPUs is no fault.
func (r *linkRow) notBusy() string {
	switch {
	case r.load.known:
		return fmt.Sprintf("idle (%d %% utilisation): GPUs slow their links down when idle", r.load.most)
	case r.load.old:
		return "load unknown: the driver told the GPU's utilisation too long ago"
	}
	return "load unknown: nobody tells the GPU's utilisation"
}

// What was before a link was slow and its GPUs busy.
type before int

const (
	nothing before = iota // that is known: the window begins there
	notSlow
	notBusy
)

// slowAndBusy says for how long up to now, or until the driver last answered,
// the link has been slow and a GPU below it busy in every reading, and what was
// before. An answer of the driver that is still its newest at the next reading
// is no second one, and the time in which the newest one was too old is between
// two answers.
func (r *linkRow) slowAndBusy(e *linkEnv, busy int) (held time.Duration, was before) {
	var last *collectors.Sample[linkRow]
	for i := len(e.Past) - 1; i >= 0; i-- {
		s := &e.Past[i]
		switch {
		case s.Row.now.Speed == 0 || s.Row.now.Speed >= s.Row.Max.Speed:
			return held, notSlow
		case s.Row.load.most < busy && !s.Row.load.old:
			return held, notBusy
		case s.Row.load.most < busy:
			continue
		case last == nil:
			last = s
		}
		held = min(last.At-s.At, last.Row.load.told-s.Row.load.told)
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
