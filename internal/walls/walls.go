// SPDX-License-Identifier: Apache-2.0

// Package walls keeps the project's packages apart. It reads every source file of the repository and says where one
// crosses a wall: a folder imports what it should not know, a library is used outside the folder it was let into,
// a func init, state at package level, a file without its licence line.
//
// Files are parsed one by one, no package is loaded: files of every platform and build tag are seen.
package walls

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/fabricd/fabricd"

// layers says what a folder may import of this module, besides itself. A folder that is not listed has no place yet.
var layers = map[string][]string{
	"cmd":        {"collectors", "probes", "config", "internal"},
	"collectors": {"probes", "config", "internal"},
	"probes":     {"bpf", "config", "internal"},
	"bpf":        {},
	"config":     {},
	"internal":   {},
	"lab":        {"collectors"}, // fabricd's findings, as JSON; nothing imports the lab
}

// reserved lists the packages (and all below them) that only some folders may import; with tests, test files
// everywhere may as well.
var reserved = []struct {
	pkg     string
	folders []string
	tests   bool
}{
	{"github.com/prometheus/client_golang", []string{"collectors", "cmd"}, false},
	{"github.com/prometheus/procfs", []string{"probes"}, true},
	{"github.com/mdlayher", []string{"probes", "bpf"}, true},
	{"github.com/cilium/ebpf", []string{"probes", "bpf"}, true},
	{"golang.org/x/sys/unix", []string{"probes", "bpf", "internal/nettest"}, true},
	{"os/exec", []string{"probes/gpu", "lab", "internal/nettest"}, true},
	{"github.com/NVIDIA/go-nvml", []string{"cmd/fabricd-nvml"}, false},
	{"C", []string{"cmd/fabricd-nvml"}, false},
}

// A crossing is one place where a wall is crossed.
type crossing struct {
	file string
	line int
	text string
}

// Check reads the sources below the root of the repository and returns the crossings as "file:line: what", in order.
func Check(repository fs.FS) ([]string, error) {
	var found []crossing
	packages := map[string][]source{}
	err := eachFile(repository, func(name string, ours bool) error {
		head, err := readHead(repository, name)
		if err != nil {
			return err
		}
		if line := licenceLine(name); needsLicence(name, head) && !strings.Contains(head, line) {
			found = append(found, crossing{name, 1, "no line '" + line + "' at its head"})
		}
		if path.Ext(name) != ".go" || !ours {
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		packages[path.Dir(name)] = append(packages[path.Dir(name)], source{name, positions, file})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, sources := range packages {
		vars := map[string]bool{}
		for _, s := range sources {
			found = append(found, s.imports()...)
			found = append(found, s.declarations(vars)...)
		}
		for _, s := range sources {
			found = append(found, s.changes(vars)...)
		}
	}
	slices.SortFunc(found, func(a, b crossing) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.line, b.line), strings.Compare(a.text, b.text))
	})
	lines := make([]string, len(found))
	for i, c := range found {
		lines[i] = fmt.Sprintf("%s:%d: %s", c.file, c.line, c.text)
	}
	return lines, nil
}

// eachFile visits the regular files. Those of nested modules, which are tools, are not ours: only their licence counts.
func eachFile(repository fs.FS, visit func(name string, ours bool) error) error {
	var nested []string
	return fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipped(name):
			return fs.SkipDir
		case entry.IsDir():
			if _, err := fs.Stat(repository, path.Join(name, "go.mod")); err == nil && name != "." {
				nested = append(nested, name)
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		return visit(name, !slices.ContainsFunc(nested, func(dir string) bool { return within(name, dir) }))
	})
}

func skipped(dir string) bool {
	switch base := path.Base(dir); base {
	case "testdata", "node_modules", "dist":
		return true
	case ".", ".ci", ".github":
		return false
	default:
		return strings.HasPrefix(base, ".")
	}
}

// A source is one parsed Go file.
type source struct {
	name      string
	positions *token.FileSet
	file      *ast.File
}

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

func (s source) crossing(at ast.Node, format string, values ...any) crossing {
	return crossing{s.name, s.positions.Position(at.Pos()).Line, fmt.Sprintf(format, values...)}
}

// imports holds a file's imports against layers and reserved.
func (s source) imports() []crossing {
	var found []crossing
	folder, _, inFolder := strings.Cut(s.name, "/")
	allowed, known := layers[folder]
	if !inFolder || !known {
		return []crossing{s.crossing(s.file, "this folder has no place among the layers of internal/walls")}
	}
	for _, spec := range s.file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has complained
		}
		if within(imported, module) {
			target, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(imported, module), "/"), "/")
			if target != folder && !slices.Contains(allowed, target) {
				found = append(found, s.crossing(spec, "%s must not import %s", folder, imported))
			}
		}
		for _, r := range reserved {
			mayUse := slices.ContainsFunc(r.folders, func(dir string) bool { return within(s.name, dir) })
			if within(imported, r.pkg) && !mayUse && !(r.tests && s.test()) {
				found = append(found, s.crossing(spec, "%s may be imported only in %s", imported, strings.Join(r.folders, ", ")))
			}
		}
		if spec.Name != nil && spec.Name.Name == "_" && imported != "embed" && !s.test() {
			found = append(found, s.crossing(spec, "%s is imported for its side effects only", imported))
		}
	}
	return found
}

// within tells whether a slash-separated name is dir or lies below it.
func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}
