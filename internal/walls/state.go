// SPDX-License-Identifier: Apache-2.0

package walls

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// constructors return values that nobody can change later.
var constructors = []string{"errors.New", "fmt.Errorf", "strings.NewReplacer", "netip.MustParseAddr", "netip.MustParsePrefix"}

const constantsOnly = "package-level variable %s: only tables, errors, embedded files and main's version may be one; make it a field or a function"

// declarations reports every func init and every package-level variable that is not a constant in all but name.
// It adds the names of the variables to vars.
func (s source) declarations(vars map[string]bool) []crossing {
	var found []crossing
	for _, decl := range s.file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil && decl.Name.Name == "init" {
				found = append(found, s.crossing(decl, "func init: what it does belongs into a function that main calls"))
			}
		case *ast.GenDecl:
			if decl.Tok != token.VAR {
				continue
			}
			for _, spec := range decl.Specs {
				spec := spec.(*ast.ValueSpec)
				for _, name := range spec.Names {
					vars[name.Name] = name.Name != "_"
				}
				constant := embedded(spec, decl) || s.constant(spec)
				if !constant && !s.test() && !ast.IsGenerated(s.file) {
					found = append(found, s.crossing(spec, constantsOnly, spec.Names[0].Name))
				}
			}
		}
	}
	return found
}

func embedded(spec *ast.ValueSpec, decl *ast.GenDecl) bool {
	isDirective := func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }
	return spec.Doc != nil && slices.ContainsFunc(spec.Doc.List, isDirective) ||
		decl.Doc != nil && slices.ContainsFunc(decl.Doc.List, isDirective)
}

func (s source) constant(spec *ast.ValueSpec) bool {
	blank := func(name *ast.Ident) bool { return name.Name == "_" }
	if !slices.ContainsFunc(spec.Names, func(name *ast.Ident) bool { return !blank(name) }) {
		return true // var _ Interface = Type{}: asked of the compiler, not kept
	}
	isConstant := func(value ast.Expr) bool {
		switch value := value.(type) {
		case *ast.BasicLit: // what -ldflags -X sets
			return s.file.Name.Name == "main" && value.Kind == token.STRING
		case *ast.CompositeLit:
			owner, _, _ := strings.Cut(dotted(value.Type), ".")
			return owner != "sync" && owner != "atomic"
		case *ast.CallExpr:
			_, conversion := value.Fun.(*ast.ArrayType) // []byte("…")
			return conversion || slices.Contains(constructors, dotted(value.Fun))
		}
		return false
	}
	return len(spec.Values) > 0 && !slices.ContainsFunc(spec.Values, func(v ast.Expr) bool { return !isConstant(v) })
}

func dotted(expr ast.Expr) string {
	if selector, ok := expr.(*ast.SelectorExpr); ok {
		if owner, ok := selector.X.(*ast.Ident); ok {
			return owner.Name + "." + selector.Sel.Name
		}
	}
	return ""
}

// changes reports assignments to the package-level variables of a package, to their fields and to their elements.
// A name that a function declares itself counts as the function's own throughout it.
func (s source) changes(vars map[string]bool) []crossing {
	var found []crossing
	for _, decl := range s.file.Decls {
		own := declared(decl)
		changed := func(target ast.Expr) {
			if name := root(target); name != nil && vars[name.Name] && !own[name.Name] {
				found = append(found, s.crossing(target, "package-level variable %s is changed", name.Name))
			}
		}
		ast.Inspect(decl, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.AssignStmt:
				if node.Tok != token.DEFINE {
					for _, target := range node.Lhs {
						changed(target)
					}
				}
			case *ast.IncDecStmt:
				changed(node.X)
			case *ast.CallExpr:
				called, _ := node.Fun.(*ast.Ident)
				if called != nil && slices.Contains([]string{"delete", "clear", "copy"}, called.Name) && len(node.Args) > 0 {
					changed(node.Args[0])
				}
			}
			return true
		})
	}
	return found
}

// declared collects the names that a function declares: parameters, results and variables.
func declared(decl ast.Decl) map[string]bool {
	own := map[string]bool{}
	function, ok := decl.(*ast.FuncDecl)
	if !ok {
		return own
	}
	ast.Inspect(function, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Field:
			for _, name := range node.Names {
				own[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range node.Names {
				own[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, target := range node.Lhs {
				if name, ok := target.(*ast.Ident); ok && node.Tok == token.DEFINE {
					own[name.Name] = true
				}
			}
		case *ast.RangeStmt:
			for _, target := range []ast.Expr{node.Key, node.Value} {
				if name, ok := target.(*ast.Ident); ok && node.Tok == token.DEFINE {
					own[name.Name] = true
				}
			}
		}
		return true
	})
	return own
}

// root returns x of x, x.f, x[i], *x and (x).
func root(expr ast.Expr) *ast.Ident {
	for {
		switch e := expr.(type) {
		case *ast.Ident:
			return e
		case *ast.SelectorExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		default:
			return nil
		}
	}
}
