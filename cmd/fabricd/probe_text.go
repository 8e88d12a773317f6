// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/fabricd/fabricd/probes/gpu"
)

// gdrHead says what is tried. A nil printer prints nothing.
func (p *printer) gdrHead(r *gdrResult) {
	if p == nil {
		return
	}
	says := func(yes *bool) string {
		switch {
		case yes == nil:
			return "not known"
		case *yes:
			return "yes"
		}
		return "no"
	}
	p.printf("GPU %d  %s  %s  (driver for CUDA %s)\n", r.Index, r.Address, r.Name, r.Driver)
	p.printf("the driver says: dma-buf %s, GPUDirect RDMA %s\n", says(r.DMABuf), says(r.PeerMemory))
	if r.RDMA != "" {
		p.printf("RDMA device: %s\n", r.RDMA)
	} else {
		p.printf("RDMA device: none (%s)\n", r.NoRDMA)
	}
	p.printf("\n%50s  %-29s  %s\n", "", "all handles together", "each handle")
	p.printf("%-9s %-22s %-9s %7s  %9s %9s %9s  %9s %9s\n", "memory", "way", "by", "handles", "min", "median", "p99", "median", "p99")
}

// gdrSize prints the rows of one size.
func (p *printer) gdrSize(s *gpu.GDRSize) {
	if p == nil {
		return
	}
	if s.Failed != "" {
		p.printf("%-9s failed: %s\n", bytesText(s.Size), s.Failed)
	}
	for i, w := range s.Ways {
		memory, by := "", "whole"
		if i == 0 {
			memory = bytesText(s.Size)
		}
		if w.Handles > 1 {
			by = bytesText(w.Chunk)
		}
		p.printf("%-9s %-22s %-9s ", memory, wayText(w.Way), by)
		switch {
		case w.Failed != "":
			p.printf("failed: %s\n", w.Failed)
		case w.All == nil || w.Each == nil:
			p.printf("not measured\n")
		case w.Handles == 1:
			p.printf("%7d  %9s %9s %9s\n", w.Handles, timeText(w.All.Min), timeText(w.All.Median), timeText(w.All.P99))
		default:
			p.printf("%7d  %9s %9s %9s  %9s %9s\n", w.Handles, timeText(w.All.Min), timeText(w.All.Median), timeText(w.All.P99), timeText(w.Each.Median), timeText(w.Each.P99))
		}
	}
}

func (p *printer) gdrVerdict(r *gdrResult) {
	if p == nil {
		return
	}
	p.printf("\n%s GPU %d\n", p.label(r.Status), r.Index)
	for _, text := range r.Verdict {
		p.printf("        %s\n", text)
	}
	p.printf("\n")
}

// wayText names a way for a person.
func wayText(way string) string {
	switch way {
	case gpu.WayExport:
		return "dma-buf export"
	case gpu.WayRegister:
		return "dma-buf registration"
	case gpu.WayPeerMemory:
		return "peer memory"
	}
	return way
}

// timeText gives a time in three digits.
func timeText(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= unit.of {
			v := float64(d) / float64(unit.of)
			digits := 2
			if v >= 99.95 {
				digits = 0
			} else if v >= 9.995 {
				digits = 1
			}
			return fmt.Sprintf("%.*f %s", digits, v, unit.name)
		}
	}
	return fmt.Sprintf("%d ns", d)
}
