// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fabricd/fabricd/cmd/internal/report"
	"github.com/fabricd/fabricd/collectors"
	"golang.org/x/term"
)

// colours by status; the empty string is no colour.
var statusColours = map[collectors.Status]string{
	collectors.Fail: "\x1b[1;31m", collectors.Warn: "\x1b[33m", collectors.Unknown: "\x1b[35m", collectors.Info: "\x1b[36m", collectors.OK: "\x1b[32m",
}

// colour says whether a writer is a terminal that wants colours (no-color.org).
func colour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// writeReport prints findings for a person, worst first. What could not be
// judged is folded to a line a check and reason, unless all is set.
func writeReport(w io.Writer, r *collectors.Report, all, colour bool) error {
	p := &printer{w: w, colour: colour}
	counts := map[collectors.Status]int{}
	muted := 0
	for _, f := range r.Findings {
		counts[f.Status]++
		if f.Muted != nil {
			muted++
		}
	}
	p.printf("%s: %s", r.Host, p.paint(r.Status, r.Status.String()))
	for _, s := range []collectors.Status{collectors.Fail, collectors.Warn, collectors.Unknown, collectors.Info, collectors.OK} {
		if counts[s] > 0 {
			p.printf(", %d %s", counts[s], s)
		}
	}
	if muted > 0 {
		p.printf(" (%d muted)", muted)
	}
	p.printf("\n")
	folded := report.NewFolds()
	for _, f := range r.Findings {
		switch {
		case all || f.Status.Bad() || f.Muted != nil:
			p.finding(f)
		case f.Status != collectors.OK:
			folded.Add(f)
		}
	}
	p.folds(folded.List())
	if len(r.Troubles) > 0 {
		p.printf("\n")
	}
	for _, line := range r.Troubles {
		p.printf("%s %s\n", p.paint(collectors.Unknown, "not read"), line)
	}
	return p.err
}

// A printer keeps the first error of its writes.
type printer struct {
	w      io.Writer
	colour bool
	err    error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) paint(s collectors.Status, text string) string {
	if !p.colour {
		return text
	}
	return statusColours[s] + text + "\x1b[0m"
}

// label pads the status to one width before it is painted.
func (p *printer) label(s collectors.Status) string {
	return p.paint(s, fmt.Sprintf("%-7s", s))
}

func (p *printer) finding(f collectors.Finding) {
	p.printf("\n%s %s  %s\n", p.label(f.Status), f.Check, subjectText(f.Subject))
	p.printf("        %s\n", f.Reason)
	if f.Muted != nil {
		until := ""
		if f.Muted.Until != "" {
			until = " until " + f.Muted.Until
		}
		p.printf("        muted%s (%s): %s\n", until, f.Muted.Status, f.Muted.Reason)
	}
	if f.Remedy != "" && f.Status != collectors.OK {
		p.printf("        → %s\n", f.Remedy)
	}
}

// subjectText writes a subject's values, leaving out what repeats.
func subjectText(s collectors.Subject) string {
	var parts []string
	seen := map[string]bool{}
	for _, pair := range s {
		if !seen[pair.Value] {
			seen[pair.Value] = true
			parts = append(parts, pair.Name+"="+pair.Value)
		}
	}
	return strings.Join(parts, " ")
}

// maxSubjects bounds the subjects named on a folded line.
const maxSubjects = 4

func (p *printer) folds(list []*report.Fold) {
	if len(list) > 0 {
		p.printf("\n")
	}
	for _, f := range list {
		where := f.Where(maxSubjects)
		if where != "" {
			where += ": "
		}
		p.printf("%s %s  %s%s\n", p.label(f.First.Status), f.First.Check, where, f.First.Reason)
	}
}
