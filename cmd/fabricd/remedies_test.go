// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// own finds this program's commands in a remedy; a second word may be a
// command's own one, or its first argument.
var own = regexp.MustCompile(`\bfabricd ([a-z]+)(?: ([a-z]+))?`)

// A remedy names no command of this program that does not exist.
func TestRemediesNameCommands(t *testing.T) {
	files, err := filepath.Glob("../../collectors/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, text := range remedies(t, file) {
			for _, m := range own.FindAllStringSubmatch(text, -1) {
				if m[1] == "in" || m[1] == "on" {
					continue // "run fabricd on the host" names no command
				}
				seen++
				if a := newApp(io.Discard, io.Discard); !exists(a, m[1], m[2]) {
					t.Errorf("%s: %q: there is no command %q", filepath.Base(file), text, m[0])
				}
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d commands in all remedies: they are not found any more", seen)
	}
	for command, want := range map[string]bool{"numa show": true, "read roce": true, "topo": true, "dcqcn show": false, "numa zap": false} {
		first, second, _ := strings.Cut(command, " ")
		if got := exists(newApp(io.Discard, io.Discard), first, second); got != want {
			t.Errorf("%s exists: %v", command, got)
		}
	}
}

// exists says whether there is a command; of one that has commands of its own,
// whether there is that one.
func exists(a *app, first, second string) bool {
	c := a.GetCommand(first)
	if c == nil {
		return false
	}
	return second == "" || len(c.Model().Commands) == 0 || c.GetCommand(second) != nil
}

// remedies are the texts that a file hands to Remedyf, or keeps under such a name.
func remedies(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	texts := func(of ast.Node) {
		ast.Inspect(of, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					list = append(list, text)
				}
			}
			return true
		})
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Remedyf" {
				for _, arg := range n.Args {
					texts(arg)
				}
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if id, ok := to.(*ast.Ident); ok && strings.Contains(strings.ToLower(id.Name), "remed") {
					for _, v := range n.Rhs {
						texts(v)
					}
				}
			}
		}
		return true
	})
	return list
}
