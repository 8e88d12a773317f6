// SPDX-License-Identifier: Apache-2.0

package collectors_test

import (
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/probes"
)

// node is the recorded host that costs are measured on.
const node = "testdata/hosts/hgx-h100-8gpu.txtar"

func engine(tb testing.TB, name string) *collectors.Engine {
	tb.Helper()
	h, err := probes.OpenRecording(name, probes.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: all.List()})
	if err := e.Play(); err != nil {
		tb.Fatal(err)
	}
	return e
}

// One full reading of the node once everything is open.
func BenchmarkReadNode(b *testing.B) {
	e := engine(b, node)
	b.ReportAllocs()
	at := time.Duration(0)
	for b.Loop() {
		at += time.Second
		e.ReadNow(at)
	}
}

// One judgement of the node, as each second in the daemon.
func BenchmarkJudgeNode(b *testing.B) {
	e := engine(b, node)
	b.ReportAllocs()
	at := time.Duration(0)
	for b.Loop() {
		at += time.Second
		e.JudgeNow(at)
	}
}
