// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/gpu"
)

// judge makes the verdict: what works, and whether chunks pay. With an RDMA
// device one way to register is enough; without one the export has to do.
func (r *gdrResult) judge() {
	tried, works, partly := false, false, false
	for _, s := range r.Sizes {
		if s.Failed != "" {
			r.say("%s was not tried: %s.", bytesText(s.Size), s.Failed)
			partly = true
		}
		tried = tried || len(s.Ways) > 0
	}
	for _, way := range []string{gpu.WayExport, gpu.WayRegister, gpu.WayPeerMemory} {
		good, bad := r.outcomes(way)
		if way != gpu.WayExport || r.RDMA == "" {
			works = works || good > 0
			partly = partly || good > 0 && bad > 0
		}
	}
	if r.NoRDMA != "" {
		r.say("Registration was not measured: %s. It comes on top of the export.", r.NoRDMA)
	}
	switch {
	case !tried:
		r.Status = collectors.Unknown
	case !works:
		r.Status = collectors.Fail
	case partly:
		r.Status = collectors.Warn
	default:
		r.Status = collectors.OK
	}
}

func (r *gdrResult) say(format string, args ...any) {
	r.Verdict = append(r.Verdict, fmt.Sprintf(format, args...))
}

// outcomes counts how often a way worked and failed, and says so.
func (r *gdrResult) outcomes(way string) (good, bad int) {
	var failed *gpu.GDRWay
	var of uint64
	for _, s := range r.Sizes {
		for i, w := range s.Ways {
			switch {
			case w.Way != way:
			case w.Failed == "" && w.All != nil:
				good++
			default:
				if bad++; failed == nil {
					failed, of = &s.Ways[i], s.Size
				}
			}
		}
	}
	switch {
	case bad > 0 && good == 0:
		r.say("%s does not work: %s.", wayTitle(way), failed.Failed)
	case bad > 0:
		r.say("%s of %s by %s does not work: %s.", wayTitle(way), bytesText(of), bytesText(failed.Chunk), failed.Failed)
	}
	if good > 0 {
		r.compare(way)
	}
	return good, bad
}

// compare says what chunks do to the largest size that was measured whole and
// by chunks.
func (r *gdrResult) compare(way string) {
	var whole, chunks *gpu.GDRWay
	var size uint64
	for _, s := range r.Sizes {
		var one, many *gpu.GDRWay
		for i, w := range s.Ways {
			switch {
			case w.Way != way || w.All == nil:
			case w.Handles == 1:
				one = &s.Ways[i]
			default:
				many = &s.Ways[i]
			}
		}
		if one != nil && many != nil && s.Size >= size {
			whole, chunks, size = one, many, s.Size
		}
	}
	if whole == nil {
		r.say("%s works; nothing was measured both whole and by chunks.", wayTitle(way))
		return
	}
	ratio := float64(chunks.All.Median) / max(float64(whole.All.Median), 1)
	meaning := "Chunks are slower here."
	switch {
	case ratio < 0.9:
		meaning = "Chunks are faster here."
	case ratio <= 1.1:
		meaning = "It makes no difference here."
	}
	r.say("%s of %s takes %s as a whole, and %s by %d chunks of %s: %s times as long. %s", wayTitle(way), bytesText(size),
		timeText(whole.All.Median), timeText(chunks.All.Median), chunks.Handles, bytesText(chunks.Chunk), ratioText(ratio), meaning)
}

// ratioText gives a ratio in about two digits.
func ratioText(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("%.0f", ratio)
	}
	return fmt.Sprintf("%.2g", ratio)
}

func wayTitle(way string) string {
	switch way {
	case gpu.WayExport:
		return "Export as dma-buf"
	case gpu.WayRegister:
		return "Registration of a dma-buf"
	case gpu.WayPeerMemory:
		return "Registration through peer memory"
	}
	return way
}
