// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"fmt"
	"slices"

	"github.com/fabricd/fabricd/collectors"
)

// unanswered says that a part was not told, and why.
func (r *row) unanswered(part, what string) collectors.Verdict {
	switch {
	case r.unknown != "":
		return collectors.Verdictf(collectors.Unknown, "%s", r.unknown)
	case slices.Contains(r.leftOut, part):
		if why := r.leftOutWhy[part]; why != "" {
			return collectors.Verdictf(collectors.Unknown, "%s: not asked for a while, since it went wrong twice: %s", what, why)
		}
		return collectors.Verdictf(collectors.Unknown, "%s: not asked, since the driver did not answer in time", what)
	case slices.Contains(r.Failed, part):
		return collectors.Verdictf(collectors.Unknown, "%s: the driver answers with an error", what)
	}
	return collectors.Verdictf(collectors.Unknown, "the driver tells no %s", what)
}

func bar1Check() collectors.Check[row] {
	return collectors.Check[row]{
		Name:    "gpu_bar1",
		Help:    "Info when the window through which NICs and other GPUs reach the GPU's memory (BAR1) is smaller than that memory.",
		Subject: []collectors.Label[row]{{Name: "gpu", Get: func(r *row) string { return r.Address }}},
		Eval:    func(r *row, _ *collectors.Env[row]) collectors.Verdict { return evalBAR1(r) },
	}
}

func evalBAR1(r *row) collectors.Verdict {
	switch {
	case r.unknown != "" || r.BAR1 == nil || r.BAR1.Total == 0:
		return r.unanswered("bar1", "size of BAR1")
	case r.MemoryTotal == nil || *r.MemoryTotal == 0:
		return r.unanswered("memory", "size of memory")
	}
	window, memory := bytesText(r.BAR1.Total), bytesText(*r.MemoryTotal)
	if window == memory && r.BAR1.Total != *r.MemoryTotal { // by less than what is written
		window, memory = fmt.Sprint(r.BAR1.Total, " bytes"), fmt.Sprint(*r.MemoryTotal, " bytes")
	}
	sizes := fmt.Sprintf("BAR1 has %s, the GPU's memory %s", window, memory)
	if r.BAR1.Total >= *r.MemoryTotal {
		return collectors.Verdictf(collectors.OK, "%s", sizes)
	}
	return collectors.Verdictf(collectors.Info, "%s: others reach only a part of it at once", sizes).
		Remedyf("resizable BAR and above-4G decoding in the firmware setup; NVIDIA's displaymodeselector on workstation cards").
		With("BAR1 total", r.BAR1.Total).With("memory total", *r.MemoryTotal)
}

// bytesText writes a size: "256 MiB", "79.6 GiB".
func bytesText(n uint64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.4g GiB", float64(n)/(1<<30))
}
