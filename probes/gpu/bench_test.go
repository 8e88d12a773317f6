// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// BenchmarkClient is what a question and its answer cost the daemon beside the
// reading of the answer: the child is another process.
func BenchmarkClient(b *testing.B) {
	program, _ := fake(b, "good")
	runtime.LockOSThread() // for as long as the child lives
	defer runtime.UnlockOSThread()
	p, err := start(program)
	if err != nil {
		b.Fatal(err)
	}
	defer p.end(time.Second)
	if _, err := p.await(context.Background(), 5*time.Second); err != nil {
		b.Fatal(err)
	}
	var before, after syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &before) //nolint:errcheck // cannot fail
	for b.Loop() {
		if _, err := p.ask(context.Background(), Request{Kind: AskSnapshot}, time.Second); err != nil {
			b.Fatal(err)
		}
	}
	syscall.Getrusage(syscall.RUSAGE_SELF, &after) //nolint:errcheck // cannot fail
	cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
}
