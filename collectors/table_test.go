// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"testing"
	"time"
)

// A row that is missing for a moment, as one whose read came late, keeps its
// history; one that is gone for long, or at a recording's mark, does not.
func TestRowHistory(t *testing.T) {
	for _, test := range []struct {
		name     string
		missing  time.Duration
		recorded bool
		want     int // samples
	}{
		{"late", 20 * time.Second, false, 2},
		{"gone", 2 * keepRow, false, 1},
		{"gone at a mark", 20 * time.Second, true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var rows []string
			seen := 0
			table := Derive(func(*View, []Unit[int]) []string { return rows }, Columns[string]{
				Labels: []Label[string]{{"name", func(s *string) string { return *s }}},
				Checks: []Check[string]{{Name: "x", Over: time.Hour, Eval: func(_ *string, e *Env[string]) Verdict {
					seen = len(e.Past)
					return Verdict{}
				}}},
			})
			judge := table.start()
			step := func(at time.Duration, list ...string) {
				rows = list
				judge.step(nil, &View{At: at}, func(string) bool { return true }, over{all: test.recorded})
			}
			step(0, "a")
			for at := time.Second; at < test.missing; at += time.Second {
				step(at)
			}
			step(test.missing, "a")
			if seen != test.want {
				t.Errorf("%d samples, want %d", seen, test.want)
			}
		})
	}
}
