// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeOf  = regexp.MustCompile("(?s)```[a-z]*\\n(.*?)```|`([^`\\n]+)`")
	comment = regexp.MustCompile(`(?m)(^|\s)#.*$`)
	words   = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
)

// callsOf gives the arguments of every call of fabricd in the code of a page: in blocks and
// in sentences, alone or behind ssh HOST.
func callsOf(page string) [][]string {
	var calls [][]string
	for _, code := range codeOf.FindAllStringSubmatch(page, -1) {
		for line := range strings.FieldsFuncSeq(comment.ReplaceAllString(code[1]+code[2], ""), func(r rune) bool { return strings.ContainsRune("\n;|&", r) }) {
			line, _, _ = strings.Cut(line, " > ")
			args := words.FindAllString(line, -1)
			if len(args) > 2 && args[0] == "ssh" {
				args = args[2:]
			}
			if len(args) < 2 || args[0] != "fabricd" {
				continue
			}
			for i, arg := range args {
				args[i] = strings.Trim(arg, `'"`)
			}
			calls = append(calls, args[1:])
		}
	}
	return calls
}

// What the reader is to fill in.
var blanks = map[string]string{"COLLECTOR": "pcie", "CHECK": "pcie_width", "N": "0", "URL": "http://localhost:9090"}

// What a runbook tells to run is a command with all that it wants, and the checks that it
// names exist.
func TestRunbooksNameCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d runbooks, %v", len(pages), err)
	}
	names, n := slices.Sorted(maps.Keys(known().Thresholds)), 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range callsOf(string(text)) {
			n++
			for i, arg := range args {
				if blank, ok := blanks[arg]; ok {
					args[i] = blank
				}
			}
			if _, err := newApp(io.Discard, io.Discard).parse(args); err != nil {
				t.Errorf("%s: fabricd %s: %v", filepath.Base(page), strings.Join(args, " "), err)
			}
			if i := slices.Index(args, "--only"); i > 0 {
				for glob := range strings.SplitSeq(args[i+1], ",") {
					if !slices.ContainsFunc(names, func(name string) bool { ok, _ := path.Match(glob, name); return ok }) {
						t.Errorf("%s: there is no check %s", filepath.Base(page), glob)
					}
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("%d calls were found", n)
	}
}
