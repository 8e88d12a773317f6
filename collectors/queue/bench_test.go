// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/collectors/queue"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/internal/nettest"
	"github.com/fabricd/fabricd/probes"
	probe "github.com/fabricd/fabricd/probes/queue"
)

// What the whole daemon takes of a processor in half a minute with two scrapes,
// sampling 256 queues in each way, and without the queues. The kernel's timer
// works in interrupts, which no process is charged for: its samples' own time is
// added.
func BenchmarkDaemon(b *testing.B) {
	if !nettest.Apart(b) {
		return
	}
	const queues, netdev = 256, "qa"
	nettest.Command(b, fmt.Sprintf("ip link add %s numtxqueues %d numrxqueues %d type veth peer name qb numtxqueues %d numrxqueues %d", netdev, queues, queues, queues, queues))
	nettest.Command(b, "ip link set "+netdev+" up")
	nettest.Command(b, "ip link set qb up")
	b.Run("none", func(b *testing.B) { daemon(b, 0, nil) })
	for _, every := range []time.Duration{10 * time.Millisecond, time.Millisecond} {
		for _, way := range []probe.Way{probe.Timer, probe.Kernel, probe.Files} {
			b.Run(fmt.Sprintf("%s/%s", way, every), func(b *testing.B) { daemon(b, every, queue.Of(way, netdev)) })
		}
	}
}

func daemon(b *testing.B, every time.Duration, queues collectors.Collector) {
	list := slices.DeleteFunc(all.List(), func(c collectors.Collector) bool { return c.Doc().Name == "queue" })
	c := &config.Config{}
	if queues != nil {
		list = append(list, queues)
		c.Collectors = map[string]config.Collector{"queue": {Interval: every}}
	}
	h, err := probes.Live("/", probes.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: list, Config: c})
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { e.Run(ctx); close(ended) }()
	<-e.Ready()
	time.Sleep(3 * time.Second) // everything is open, and what costs too much is stretched
	sampled := func() (used time.Duration, ticks uint64) {
		if r := collectors.Reading[queue.Reading](e.State().View, "queue"); r != nil {
			return r.Cost, r.Ticks
		}
		return 0, 0
	}
	var text []byte
	cost, ticks := sampled()
	from, begin := processor(b), time.Now()
	for b.Loop() {
		for range 2 {
			time.Sleep(15 * time.Second)
			text = e.AppendText(text[:0], collectors.Exposition{OpenMetrics: true})
		}
	}
	used, took := processor(b)-from, time.Since(begin)
	costNow, ticksNow := sampled()
	if strings.Contains(string(text), `way="timer"`) {
		used += costNow - cost
	}
	b.ReportMetric(100*used.Seconds()/took.Seconds(), "%cpu")
	b.ReportMetric(float64(ticksNow-ticks)/took.Seconds(), "samples/s")
	b.ReportMetric(float64((costNow-cost).Microseconds())/float64(max(ticksNow-ticks, 1)), "µs/sample")
	stop()
	<-ended
}

func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
