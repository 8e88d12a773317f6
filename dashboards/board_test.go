// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/fabricd/fabricd/dashboards/lint"
	"github.com/fabricd/fabricd/dashboards/panel"
)

// Where the rest of the repository keeps what boards and rules rely on.
const (
	manual   = "../docs/metrics.md"
	runbooks = "../docs/runbooks"
	rules    = "../deploy/prometheus"
)

// metrics are those that fabricd exports and those that the rules record.
func metrics(t *testing.T) lint.Metrics {
	t.Helper()
	known, err := lint.ReadMetrics(manual)
	if err != nil {
		t.Fatalf("the manual of metrics: %v", err)
	}
	if known, err = known.WithRules(rules); err != nil {
		t.Fatalf("recording rules: %v", err)
	}
	return known
}

func limits(t *testing.T) panel.Limits {
	t.Helper()
	l, err := panel.ReadLimits(reference)
	if err != nil {
		t.Fatalf("the reference configuration: %v", err)
	}
	return l
}

func TestCommittedBoardsAreFresh(t *testing.T) {
	for _, b := range boards() {
		want, err := b.encode(limits(t))
		if err != nil {
			t.Fatal(err)
		}
		again, err := b.encode(limits(t))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, again) {
			t.Errorf("%s: two builds differ", b.file)
		}
		got, err := os.ReadFile(b.file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the code says; run go run . -o .", b.file)
		}
	}
}

func TestBoards(t *testing.T) {
	known := metrics(t)
	for _, b := range boards() {
		raw, err := b.encode(limits(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := lint.Board(raw, known); err != nil {
			t.Errorf("%s:\n%v", b.file, err)
		}
	}
}

func TestRules(t *testing.T) {
	if err := lint.Rules(rules, runbooks, metrics(t)); err != nil {
		t.Error(err)
	}
}
