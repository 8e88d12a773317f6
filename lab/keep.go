// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// keep writes a recording with what a correct program says of it, as collectors/testdata/hosts has them.
func (r *run) keep(dir, recording string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "source: lab scenario %s, step %s, kernel %s\nsymptom: %s\n", r.scenario.Name, r.Name, r.Release(), r.scenario.About)
	for _, w := range r.Want {
		statuses, check, subject := w.fields()
		switch {
		case slices.Contains(hindsight, check) || slices.Contains(statuses, ended):
		case slices.Contains(statuses, nothing):
			fmt.Fprintf(&b, "never: ok|info|warn|fail|unknown %s %s\n", check, subject)
		case subject != "*" && strings.Contains(subject, "*"):
			for _, each := range r.subjects(w) {
				Want{strings.Join(statuses, "|") + " " + check + " " + each, w.says}.expect(&b)
			}
		default:
			w.expect(&b)
		}
	}
	b.WriteString("only: yes\n" + recording)
	name := "lab-" + r.scenario.Name + "-" + strings.ReplaceAll(r.Name, " ", "-") + ".txtar"
	return os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644)
}

func (w Want) expect(b *strings.Builder) {
	fmt.Fprintf(b, "expect: %s\n", w.what)
	for _, words := range w.says {
		fmt.Fprintf(b, "says: %s\n", words)
	}
}

// subjects lists what a want with a glob was met by.
func (r *run) subjects(w Want) []string {
	_, _, glob := w.fields()
	var all []string
	for i := range r.report.Findings {
		if !w.matches(&r.report.Findings[i]) {
			continue
		}
		for _, p := range r.report.Findings[i].Subject {
			if ok, _ := path.Match(glob, p.Value); ok {
				all = append(all, p.Value)
				break
			}
		}
	}
	return all
}
