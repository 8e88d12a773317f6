// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"fmt"
	"slices"
	"testing"
)

// What befalls many units at once is one line, as is its end.
func TestProblemsAreSummarised(t *testing.T) {
	var lines []string
	e := NewEngine(Options{Host: emptyHost(t), Log: func(problem string, gone bool) { lines = append(lines, fmt.Sprint(gone, " ", problem)) }})
	var s stats
	for i := range 5 {
		s.problems = append(s.problems, problem{"pcie", fmt.Sprintf("0000:%02x:00.0", i), "stale: the read is stuck"})
	}
	s.problems = append(s.problems,
		problem{"aer", "0000:01:00.0", "failed: open 0000:01:00.0/x: EIO"}, problem{"aer", "0000:02:00.0", "failed: open 0000:02:00.0/x: EIO"}, problem{"gpu", "", "failed: no driver"})
	e.logProblems([]stats{s})
	e.logProblems([]stats{s})
	e.logProblems(nil)
	want := []string{
		"false aer, 2 units (0000:01:00.0, 0000:02:00.0): failed: open …/x: EIO",
		"false gpu: failed: no driver",
		"false pcie, 5 units (0000:00:00.0, 0000:01:00.0, 0000:02:00.0 and 2 more): stale: the read is stuck",
		"true aer, 2 units (0000:01:00.0, 0000:02:00.0): failed: open …/x: EIO",
		"true gpu: failed: no driver",
		"true pcie, 5 units (0000:00:00.0, 0000:01:00.0, 0000:02:00.0 and 2 more): stale: the read is stuck",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q", lines)
	}
}
