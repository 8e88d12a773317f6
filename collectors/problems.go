// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A problem is why a unit is not well.
type problem struct{ collector, unit, text string }

func (p problem) String() string {
	return strings.TrimSpace(p.collector+" "+p.unit) + ": " + p.text
}

// Troubles says which sources could not be read, a line for each collector and
// reason.
func (s *State) Troubles() []string {
	var list []problem
	for _, c := range s.stats {
		list = append(list, c.problems...)
	}
	return summarise(list)
}

// logProblems logs what came and went since the last judgement.
func (e *Engine) logProblems(all []stats) {
	if e.options.Log == nil {
		return
	}
	now := map[problem]bool{}
	var came, went []problem
	for _, s := range all {
		for _, p := range s.problems {
			now[p] = true
			if !e.problems[p] {
				came = append(came, p)
			}
		}
	}
	for p := range e.problems {
		if !now[p] {
			went = append(went, p)
		}
	}
	e.problems = now
	for _, line := range summarise(came) {
		e.options.Log(line, false)
	}
	for _, line := range summarise(went) {
		e.options.Log(line, true)
	}
}

// maxNamed is the most units that a line of the log names.
const maxNamed = 3

// summarise writes a line for each collector and text: what befalls a bus
// befalls all its devices at once, and is one event to whoever reads the log.
func summarise(list []problem) []string {
	slices.SortFunc(list, func(a, b problem) int {
		return cmp.Or(strings.Compare(a.collector, b.collector), strings.Compare(a.general(), b.general()), strings.Compare(a.unit, b.unit))
	})
	var lines []string
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].collector == list[0].collector && list[n].general() == list[0].general() {
			n++
		}
		lines = append(lines, together(list[:n]))
		list = list[n:]
	}
	return lines
}

// general is the text without the unit's own name.
func (p problem) general() string {
	if p.unit == "" {
		return p.text
	}
	return strings.ReplaceAll(p.text, p.unit, "…")
}

func together(list []problem) string {
	if len(list) == 1 {
		return list[0].String()
	}
	var names []string
	for _, p := range list[:min(maxNamed, len(list))] {
		names = append(names, p.unit)
	}
	more := ""
	if n := len(list) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s, %d units (%s%s): %s", list[0].collector, len(list), strings.Join(names, ", "), more, list[0].general())
}
