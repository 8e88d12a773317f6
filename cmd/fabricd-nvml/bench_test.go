// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"encoding/json"
	"testing"

	"github.com/fabricd/fabricd/probes/gpu"
)

// BenchmarkRead is the daemon's part of a reading of 8 GPUs with 18 links each:
// of most readings, and of the one every 10 s that has the links.
func BenchmarkRead(b *testing.B) {
	got := child(b, library(b), nil, gpu.Request{Kind: gpu.AskSnapshot}, gpu.Request{Kind: gpu.AskSnapshot})
	for name, answer := range map[string]gpu.Answer{"links": got.answers[1], "most": got.answers[2]} {
		b.Run(name, func(b *testing.B) {
			text, err := json.Marshal(answer)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := json.Unmarshal(text, &gpu.Answer{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
