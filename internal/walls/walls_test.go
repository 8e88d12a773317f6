// SPDX-License-Identifier: Apache-2.0

package walls

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The repository itself crosses no wall.
func TestRepository(t *testing.T) {
	root := os.DirFS("../..")
	found, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, crossing := range found {
		t.Error(crossing)
	}
	gomod, err := os.ReadFile("../../go.mod")
	if err != nil || !strings.Contains(string(gomod), "module "+module+"\n") {
		t.Errorf("the module is not %s (%v): the walls between its folders would not be seen", module, err)
	}
}

// Every wall stops somebody: the file beside the wanted words must be reported, on that line and for nothing else.
func TestCrossings(t *testing.T) {
	const spdx = "// SPDX-License-Identifier: Apache-2.0\n"
	tests := []struct {
		name string
		file string
		text string
		want string // "" for no crossing
	}{
		{"cmd may use collectors", "cmd/fabricd/a.go", spdx + "package main\nimport _ \"embed\"\nimport \"github.com/fabricd/fabricd/collectors/pcie\"", ""},
		{"folder uses itself", "probes/a.go", spdx + "package a\nimport \"github.com/fabricd/fabricd/probes/topo\"", ""},
		{"anybody may use config", "probes/a.go", spdx + "package a\nimport \"github.com/fabricd/fabricd/config\"", ""},
		{"probes use collectors", "probes/rdma/a.go", spdx + "package a\nimport \"github.com/fabricd/fabricd/collectors\"",
			"probes/rdma/a.go:3: probes must not import github.com/fabricd/fabricd/collectors"},
		{"tests of probes use collectors", "probes/a_test.go", spdx + "package a\nimport \"github.com/fabricd/fabricd/collectors\"",
			"probes/a_test.go:3: probes must not import github.com/fabricd/fabricd/collectors"},
		{"files of other platforms", "collectors/a_windows.go", spdx + "//go:build windows\n\npackage a\nimport \"github.com/fabricd/fabricd/cmd/x\"",
			"collectors/a_windows.go:5: collectors must not import github.com/fabricd/fabricd/cmd/x"},
		{"collectors use bpf", "collectors/a.go", spdx + "package a\nimport \"github.com/fabricd/fabricd/bpf\"",
			"collectors/a.go:3: collectors must not import github.com/fabricd/fabricd/bpf"},
		{"bpf uses config", "bpf/a.go", spdx + "package a\nimport \"github.com/fabricd/fabricd/config\"",
			"bpf/a.go:3: bpf must not import github.com/fabricd/fabricd/config"},
		{"config uses internal", "config/a.go", spdx + "package a\nimport \"github.com/fabricd/fabricd/internal/x\"",
			"config/a.go:3: config must not import github.com/fabricd/fabricd/internal/x"},
		{"new folder", "pkg/a.go", spdx + "package a", "pkg/a.go:2: this folder has no place"},
		{"no folder", "a.go", spdx + "package a", "a.go:2: this folder has no place"},
		{"the lab starts programs", "lab/internal/qemu/a.go", spdx + "package a\nimport \"os/exec\"", ""},
		{"the lab's kernel code", "lab/modules/a.c", "// SPDX-License-Identifier: GPL-2.0-only\n", ""},
		{"the lab's kernel code as ours", "lab/modules/a.c", spdx, "lab/modules/a.c:1: no line 'SPDX-License-Identifier: GPL-2.0-only'"},

		{"client_golang in collectors", "collectors/pcie/a.go", spdx + "package a\nimport \"github.com/prometheus/client_golang/prometheus\"", ""},
		{"client_golang in probes", "probes/a.go", spdx + "package a\nimport \"github.com/prometheus/client_golang/prometheus\"",
			"probes/a.go:3: github.com/prometheus/client_golang/prometheus may be imported only in collectors, cmd"},
		{"unix in collectors", "collectors/a.go", spdx + "package a\nimport \"golang.org/x/sys/unix\"",
			"collectors/a.go:3: golang.org/x/sys/unix may be imported only in probes, bpf"},
		{"unix in tests of collectors", "collectors/a_test.go", spdx + "package a\nimport \"golang.org/x/sys/unix\"", ""},
		{"netlink in cmd", "cmd/a.go", spdx + "package a\nimport \"github.com/mdlayher/netlink/nlenc\"",
			"cmd/a.go:3: github.com/mdlayher/netlink/nlenc may be imported only in probes, bpf"},
		{"ebpf in cmd", "cmd/a.go", spdx + "package a\nimport \"github.com/cilium/ebpf\"",
			"cmd/a.go:3: github.com/cilium/ebpf may be imported only in probes, bpf"},
		{"namesake of ebpf", "cmd/a.go", spdx + "package a\nimport \"github.com/cilium/ebpfx\"", ""},
		{"exec in cmd", "cmd/fabricd/a.go", spdx + "package a\nimport \"os/exec\"",
			"cmd/fabricd/a.go:3: os/exec may be imported only in probes/gpu"},
		{"exec in probes/gpu", "probes/gpu/a.go", spdx + "package a\nimport \"os/exec\"", ""},
		{"exec in tests", "cmd/fabricd/a_test.go", spdx + "package a\nimport \"os/exec\"", ""},
		{"cgo in probes", "probes/a.go", spdx + "package a\nimport \"C\"", "probes/a.go:3: C may be imported only in cmd/fabricd-nvml"},
		{"side effects", "cmd/a.go", spdx + "package a\nimport _ \"net/http/pprof\"",
			"cmd/a.go:3: net/http/pprof is imported for its side effects only"},

		{"init", "cmd/a.go", spdx + "package a\nfunc init() {}", "cmd/a.go:3: func init"},
		{"init of a type", "cmd/a.go", spdx + "package a\ntype t int\nfunc (t) init() {}", ""},
		{"allowed variables", "cmd/a.go", spdx + "package main\nimport \"errors\"\nvar version = \"dev\"\nvar errX = errors.New(\"x\")\n" +
			"var table = map[string]int{\"a\": 1}\nvar magic = []byte(\"ab\")\nvar _ error = &t{}\n//go:embed a.html\nvar page string\n" +
			"var (\n\t// Text is.\n\t//go:embed b.html\n\ttext []byte\n)", ""},
		{"string outside main", "probes/a.go", spdx + "package a\nvar version = \"dev\"", "probes/a.go:3: package-level variable version: only"},
		{"counter", "probes/a.go", spdx + "package a\nvar n int", "probes/a.go:3: package-level variable n: only"},
		{"two at once", "probes/a.go", spdx + "package a\nvar a, b = []int{1}, make([]int, 1)", "probes/a.go:3: package-level variable a: only"},
		{"mutex", "probes/a.go", spdx + "package a\nvar mu = sync.Mutex{}", "probes/a.go:3: package-level variable mu: only"},
		{"pointer", "probes/a.go", spdx + "package a\nvar p = &t{}", "probes/a.go:3: package-level variable p: only"},
		{"regexp", "probes/a.go", spdx + "package a\nvar re = regexp.MustCompile(`a`)", "probes/a.go:3: package-level variable re: only"},
		{"seam", "probes/a.go", spdx + "package a\nvar now = time.Now", "probes/a.go:3: package-level variable now: only"},
		{"generated", "bpf/a.go", spdx + "// Code generated by bpf2go; DO NOT EDIT.\n\npackage a\nvar n int", ""},

		{"changed table", "probes/a.go", spdx + "package a\nvar table = []int{1}\nfunc f() { table[0] = 2 }", "probes/a.go:4: package-level variable table is changed"},
		{"counted up", "probes/a.go", spdx + "package a\nvar table = t{}\nfunc f() { table.n++ }", "probes/a.go:4: package-level variable table is changed"},
		{"replaced", "probes/a.go", spdx + "package a\nvar table = []int{1}\nfunc f() { table = nil }", "probes/a.go:4: package-level variable table is changed"},
		{"deleted", "probes/a.go", spdx + "package a\nvar table = map[int]int{}\nfunc f() { delete(table, 1) }", "probes/a.go:4: package-level variable table is changed"},
		{"shadowed", "probes/a.go", spdx + "package a\nvar table = []int{1}\nfunc f() { table := []int{1}; table[0] = 2 }\nfunc g(table []int) { table[0] = 2 }", ""},

		{"no licence in Go", "cmd/a.go", "package a", "cmd/a.go:1: no line"},
		{"no licence in a nested module", "tools/x/a.go", "package a", "tools/x/a.go:1: no line"},
		{"anything else in a nested module", "tools/x/a.go", spdx + "package a\nimport \"os/exec\"\nvar n int", ""},
		{"no licence in YAML", "deploy/a.yml", "groups: []\n", "deploy/a.yml:1: no line"},
		{"no licence in a script", "scripts/a", "#!/bin/sh\n", "scripts/a:1: no line"},
		{"no licence in CI", ".ci/run", "#!/bin/sh\n", ".ci/run:1: no line"},
		{"licence too late", "scripts/a", "#!/bin/sh\n\n\n\n\n# SPDX-License-Identifier: Apache-2.0\n", "scripts/a:1: no line"},
		{"licence", "deploy/a.service", "# SPDX-License-Identifier: Apache-2.0\n", ""},
		{"data", "collectors/testdata/a.yml", "groups: []\n", ""},
		{"program", "fabricd", "\x7fELF", ""},
		{"hidden", ".cache/a.sh", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			repository := fstest.MapFS{
				"go.mod":       {Data: []byte("module " + module)},
				"tools/go.mod": {Data: []byte("module " + module + "/tools")},
				test.file:      {Data: []byte(test.text)},
			}
			found, err := Check(repository)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if !slices.EqualFunc(found, want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", found, want)
			}
		})
	}
}

// A variable declared in one file and changed in another is changed all the same.
func TestChangedElsewhere(t *testing.T) {
	const head = "// SPDX-License-Identifier: Apache-2.0\npackage a\n"
	found, err := Check(fstest.MapFS{
		"probes/b.go":      {Data: []byte(head + "var table = []int{1}\n")},
		"probes/a_test.go": {Data: []byte(head + "func f() { table = nil }\n")},
		"probes/x/a.go":    {Data: []byte(head + "func f(table *int) { *table = 1 }\n")},
	})
	want := []string{"probes/a_test.go:3: package-level variable table is changed"}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("got %q, %v; want %q", found, err, want)
	}
}

// A file that does not parse must not pass for one without crossings.
func TestBroken(t *testing.T) {
	if _, err := Check(fstest.MapFS{"cmd/a.go": {Data: []byte("// SPDX-License-Identifier: Apache-2.0\npackage")}}); err == nil {
		t.Error("no error")
	}
}
