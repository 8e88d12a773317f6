// SPDX-License-Identifier: Apache-2.0

package collectors_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// Films of the lab's machines show in their course what was done to these, and are well again where the machine was: their
// comments speak of their ends only.
func TestFilmsOfTheLab(t *testing.T) {
	for _, test := range []struct {
		name string
		seen []string // in this order
	}{
		{"lab-retrain", []string{"fail pcie_width 0001:03:00.0", "ok pcie_width 0001:03:00.0"}},
		{"lab-lost", []string{"ok pcie_lost 0001:03:00.0", "fail pcie_lost 0001:03:00.0", "ok pcie_lost 0001:03:00.0", "fail pcie_lost 0001:04:00.0",
			"ok pcie_lost 0001:04:00.0", "info pcie_lost 0001:06:00.0"}},
		{"lab-aer-tree", []string{"ok pcie_aer 0001:05:00.0", "warn pcie_aer 0001:05:00.0", "fail pcie_aer 0001:00:00.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(hosts, test.name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			film, missing := txtar.Parse(text), test.seen
			for _, mark := range marks(film) {
				verdicts := verdictsAt(t, film, mark)
				for len(missing) > 0 && slices.Contains(verdicts, missing[0]) {
					missing = missing[1:]
				}
			}
			if len(missing) > 0 {
				t.Errorf("not seen, or not in this order: %q", missing)
			}
		})
	}
}

// markOf gives the moment of a recording's entry.
func markOf(name string) time.Duration {
	if f := strings.SplitN(name, "/", 3); f[0] == "at" && len(f) == 3 {
		if d, err := time.ParseDuration(f[1]); err == nil {
			return d
		}
	}
	return 0
}

func marks(film *txtar.Archive) []time.Duration {
	var list []time.Duration
	for _, f := range film.Files {
		list = append(list, markOf(f.Name))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// verdictsAt gives what is said of a film that ends at a mark.
func verdictsAt(t *testing.T, film *txtar.Archive, end time.Duration) []string {
	t.Helper()
	part := txtar.Archive{Files: slices.DeleteFunc(slices.Clone(film.Files), func(f txtar.File) bool { return markOf(f.Name) > end })}
	var list []string
	for _, f := range play(t, txtar.Format(&part)) {
		if len(f.Subject) > 0 {
			list = append(list, f.Status.String()+" "+f.Check+" "+f.Subject[0].Value)
		}
	}
	return list
}
