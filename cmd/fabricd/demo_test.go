// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"golang.org/x/tools/txtar"
)

// Each fault of the demonstration is found while it lasts, and nothing after it.
func TestDemo(t *testing.T) {
	faults, err := filepath.Glob("../../deploy/demo/*.txtar")
	if err != nil || len(faults) < 4 {
		t.Fatalf("%d faults, %v", len(faults), err)
	}
	for _, name := range faults {
		t.Run(nodeName(name), func(t *testing.T) {
			fault, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			said := map[string][]string{}
			for _, m := range regexp.MustCompile(`(?m)^(\w+): (.*)$`).FindAllStringSubmatch(string(fault.Comment), -1) {
				said[m[1]] = append(said[m[1]], m[2])
			}
			base, err := txtar.ParseFile(hosts + said["base"][0] + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			until, err := time.ParseDuration(said["until"][0])
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, x := range said["expect"] {
				want = append(want, strings.Join(strings.Fields(x)[:2], " "))
			}
			during := slices.DeleteFunc(slices.Clone(fault.Files), func(f txtar.File) bool {
				mark, _, _ := strings.Cut(strings.TrimPrefix(f.Name, "at/"), "/")
				at, err := time.ParseDuration(mark)
				return err == nil && at >= until
			})
			if got := bad(t, base, during); !slices.Equal(got, want) {
				t.Errorf("while it lasts: %q, want %q", got, want)
			}
			if got := bad(t, base, fault.Files); len(got) > 0 && said["stays"] == nil {
				t.Errorf("after it: %q", got)
			}
		})
	}
}

// bad lists what a film is warned of at its end.
func bad(t *testing.T, base *txtar.Archive, more []txtar.File) []string {
	t.Helper()
	film := txtar.Format(&txtar.Archive{Files: append(slices.Clone(base.Files), more...)})
	_, stdout, stderr := fabricd("check", "--format", "json", "--host", file(t, "film.txtar", string(film)))
	var r collectors.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err, stderr)
	}
	var list []string
	for _, f := range r.Findings {
		if f.Status.Bad() {
			list = append(list, f.Status.String()+" "+f.Check)
		}
	}
	return list
}
