// SPDX-License-Identifier: Apache-2.0

package record

import (
	"path"
	"strings"
)

// A branch is a plan as a tree, so that each directory is opened once.
type branch struct {
	leaves []leaf
	subs   []sub
}

// A leaf is a file or link that is asked.
type leaf struct {
	glob string
	ask  *ask
}

// A sub is a directory on the way to leaves.
type sub struct {
	glob   string
	branch *branch
}

// newBranch makes a tree of a plan's rows.
func newBranch(rows []ask) *branch {
	root := &branch{}
	for i := range rows {
		for name := range strings.FieldsSeq(rows[i].names) {
			at := root
			dir, base := path.Split(name)
			for part := range strings.FieldsFuncSeq(dir, func(r rune) bool { return r == '/' }) {
				at = at.sub(part)
			}
			at.leaves = append(at.leaves, leaf{base, &rows[i]})
		}
	}
	return root
}

func (b *branch) sub(glob string) *branch {
	for _, s := range b.subs {
		if s.glob == glob {
			return s.branch
		}
	}
	next := &branch{}
	b.subs = append(b.subs, sub{glob, next})
	return next
}

// lists says whether the names of the directory have to be known.
func (b *branch) lists() bool {
	for _, l := range b.leaves {
		if isGlob(l.glob) || l.ask.wakes {
			return true
		}
	}
	for _, s := range b.subs {
		if isGlob(s.glob) {
			return true
		}
	}
	return false
}

func isGlob(s string) bool { return strings.ContainsAny(s, "*?[") }

// matching gives those of names that a glob means; a plain name means itself,
// whether or not it is among them.
func matching(glob string, names []string) []string {
	if !isGlob(glob) {
		return []string{glob}
	}
	var list []string
	for _, name := range names {
		if ok, _ := path.Match(glob, name); ok {
			list = append(list, name)
		}
	}
	return list
}
