// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUpdate(t *testing.T) {
	const before = "# T\n<!-- output: cat in; exit 2 -->\n```text\nold\n```\n```\nother\n```\n<!-- output: true -->\n```\nold\n```\nend\n"
	const after = "# T\n<!-- output: cat in; exit 2 -->\n```text\na\n\nb\n```\n```\nother\n```\n<!-- output: true -->\n```\n\n```\nend\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "README.md")
	write(t, filepath.Join(dir, "in"), "a\n\nb\n\n")
	write(t, file, before)
	for range 2 { // the second time nothing is left to change
		if err := update(file); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != after {
			t.Fatalf("got %q, %v; want %q", got, err, after)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"<!-- output: true -->\n":                           "no fenced block",
		"<!-- output: true -->":                             "no fenced block",
		"<!-- output: true -->\n```\nold\n":                 "does not end",
		"<!-- output: echo no >&2; exit 64 -->\n```\n```\n": "exit status 64: no",
		"<!-- output: echo '```' -->\n```\n```\n":           "would end its block",
	} {
		file := filepath.Join(t.TempDir(), "README.md")
		write(t, file, text)
		if err := update(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%q: the file became %q, %v", text, got, err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
