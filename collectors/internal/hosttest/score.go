// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
)

// A Case is what a recording's comment says that a correct program must say
// of the host.
type Case struct {
	Expect []Expectation
	Never  []Expectation
	Only   bool // no warn or fail but those expected
}

// An Expectation is one line expect or never.
type Expectation struct {
	Statuses       []string
	Check, Subject string   // "*" is any
	Says           []string // words of the reason or the remedy, in lower case
}

// String gives the expectation as it is written.
func (x Expectation) String() string {
	return strings.Join(x.Statuses, "|") + " " + x.Check + " " + x.Subject
}

// ParseCase reads a recording's comment. Lines with other keys, and prose, say
// nothing; a status that does not exist is an error.
func ParseCase(comment string) (Case, error) {
	var c Case
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "expect":
			c.Expect = append(c.Expect, expectation(value))
		case "never":
			c.Never = append(c.Never, expectation(value))
		case "says":
			if len(c.Expect) == 0 {
				return c, fmt.Errorf("says: %s: there is no expect: above it", value)
			}
			last := &c.Expect[len(c.Expect)-1]
			last.Says = append(last.Says, strings.ToLower(value))
		case "only":
			c.Only = strings.EqualFold(value, "yes")
		}
	}
	for _, x := range slices.Concat(c.Expect, c.Never) {
		for _, s := range x.Statuses {
			if err := new(collectors.Status).UnmarshalText([]byte(s)); err != nil {
				return c, fmt.Errorf("%s: %w", x, err)
			}
		}
	}
	return c, nil
}

// expectation reads "STATUS CHECK SUBJECT"; what is left out is any.
func expectation(s string) Expectation {
	part := [3]string{"", "*", "*"}
	for i := range part {
		s = strings.TrimSpace(s)
		if s == "" {
			break
		}
		end := strings.IndexAny(s, " \t")
		if i == 2 || end < 0 {
			end = len(s)
		}
		part[i], s = s[:end], s[end:]
	}
	return Expectation{Statuses: strings.Split(part[0], "|"), Check: part[1], Subject: part[2]}
}

// Limit leaves only the expectations of checks that exist, and those of any check.
func (c Case) Limit(exists func(check string) bool) Case {
	other := func(x Expectation) bool { return x.Check != "*" && !exists(x.Check) }
	c.Expect = slices.DeleteFunc(slices.Clone(c.Expect), other)
	c.Never = slices.DeleteFunc(slices.Clone(c.Never), other)
	return c
}

func (x Expectation) matches(f *collectors.Finding) bool {
	return slices.Contains(x.Statuses, f.Status.String()) && (x.Check == "*" || x.Check == f.Check) && x.about(f)
}

func (x Expectation) about(f *collectors.Finding) bool {
	return x.Subject == "*" || slices.ContainsFunc(f.Subject, func(p collectors.Pair) bool { return p.Value == x.Subject })
}

// Judge says what of the case does not hold; nothing if it holds.
func (c Case) Judge(findings []collectors.Finding) []string {
	var wrong []string
	used := make([]bool, len(findings))
	for _, x := range c.Expect {
		wrong = append(wrong, x.judge(findings, used)...)
	}
	for _, x := range c.Never {
		if i := slices.IndexFunc(findings, func(f collectors.Finding) bool { return x.matches(&f) }); i >= 0 {
			wrong = append(wrong, "false "+describe(&findings[i]))
		}
	}
	for i := range findings {
		if c.Only && findings[i].Status.Bad() && !used[i] {
			wrong = append(wrong, "unexpected "+describe(&findings[i]))
		}
	}
	return wrong
}

// judge looks for what is expected and marks the findings that it is met by.
func (x Expectation) judge(findings []collectors.Finding, used []bool) []string {
	var hits []*collectors.Finding
	near := ""
	for i := range findings {
		f := &findings[i]
		switch {
		case x.matches(f):
			hits, used[i] = append(hits, f), true
		case near == "" && f.Check == x.Check && x.about(f):
			near = "; it says: " + describe(f)
		}
	}
	if len(hits) == 0 {
		return []string{"no " + x.String() + near}
	}
	var wrong []string
	for _, words := range x.Says {
		says := func(f *collectors.Finding) bool {
			return strings.Contains(strings.ToLower(f.Reason+" "+f.Remedy), words)
		}
		if !slices.ContainsFunc(hits, says) {
			wrong = append(wrong, fmt.Sprintf("%s does not say %q: %s", x, words, describe(hits[0])))
		}
	}
	return wrong
}

func describe(f *collectors.Finding) string {
	return fmt.Sprintf("%s %s %s: %s", f.Status, f.Check, f.Subject, f.Reason)
}
