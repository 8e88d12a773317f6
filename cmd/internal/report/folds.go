// SPDX-License-Identifier: Apache-2.0

// Package report shortens findings for people: what is said of several
// subjects alike becomes one line. It knows nothing of terminals and pages.
package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
)

// A Fold is findings of one check and status whose reasons differ by
// addresses alone.
type Fold struct {
	First    collectors.Finding
	Count    int
	Subjects []string // the first value of each subject, once
	reason   string   // without addresses
}

// Reason is what all of them say; the address of the first would mislead
// where there are others.
func (f *Fold) Reason() string {
	if f.Count == 1 {
		return f.First.Reason
	}
	return f.reason
}

// Where names the subjects, at most so many; the rest are counted.
func (f *Fold) Where(most int) string {
	if len(f.Subjects) <= most {
		return strings.Join(f.Subjects, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(f.Subjects[:most], " "), len(f.Subjects)-most)
}

// Folds gathers findings. The zero value is of no use: see NewFolds.
type Folds struct {
	address *regexp.Regexp // what may differ
	list    []*Fold
	by      map[string]*Fold
}

// NewFolds makes an empty collection.
func NewFolds() *Folds {
	return &Folds{address: regexp.MustCompile(`[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]`), by: map[string]*Fold{}}
}

// Add folds a finding into those that say the same.
func (f *Folds) Add(x collectors.Finding) {
	reason := f.address.ReplaceAllString(x.Reason, "…")
	key := x.Status.String() + "\x00" + x.Check + "\x00" + reason
	fold := f.by[key]
	if fold == nil {
		fold = &Fold{First: x, reason: reason}
		f.by[key] = fold
		f.list = append(f.list, fold)
	}
	fold.Count++
	if len(x.Subject) > 0 && x.Subject[0].Value != "" && !slices.Contains(fold.Subjects, x.Subject[0].Value) {
		fold.Subjects = append(fold.Subjects, x.Subject[0].Value)
	}
}

// List gives the folds in the order in which their first findings came.
func (f *Folds) List() []*Fold { return f.list }
