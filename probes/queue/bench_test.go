// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/internal/nettest"
	"github.com/fabricd/fabricd/probes"
)

// device makes an interface of so many queues that has files of byte queue
// limits.
func device(b *testing.B, queues int) (*probes.Host, []place) {
	ip(b, fmt.Sprintf("link add qa numtxqueues %d numrxqueues %d type ifb", queues, queues))
	ip(b, "link set qa up")
	h, err := probes.Live("/", probes.Options{})
	if err != nil {
		b.Fatal(err)
	}
	places, _, err := find(h, []string{"qa"})
	if err != nil || places[0].queues != queues {
		b.Fatal(err, places)
	}
	return h, places
}

// What a look at all queues costs in processor time, which other programs on
// the machine do not distort as much: by the program in the kernel, by files that
// are kept open, and by files that are opened each time.
func BenchmarkSweep(b *testing.B) {
	if !nettest.Apart(b) {
		return
	}
	for _, queues := range []int{1, 256, 1024} {
		h, places := device(b, queues)
		each := func(name string, sweep func()) {
			b.Run(fmt.Sprintf("%s/%d", name, queues), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				sweep() // opens the files
				b.ReportAllocs()
				from := probes.ThreadUse()
				for b.Loop() {
					sweep()
				}
				b.ReportMetric(float64(probes.ThreadUse().Since(from).CPU)/float64(b.N*queues), "cpu-ns/queue")
			})
		}
		for _, way := range []Way{Kernel, Files} {
			l := newLayout(h, Options{Way: way}, places, 0, monotonic())
			if l.way != way {
				b.Skip(l.why)
			}
			each(way.String(), func() {
				now := monotonic()
				if err := l.sample(now, now, monotonic); err != nil {
					b.Fatal(err)
				}
			})
			l.close()
		}
		names, _ := filepath.Glob("/sys/class/net/qa/queues/tx-*/byte_queue_limits/inflight")
		each("ReadFile", func() {
			for _, name := range names {
				text, err := os.ReadFile(name)
				if err == nil {
					_, err = strconv.Atoi(strings.TrimSpace(string(text)))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		ip(b, "link del qa")
	}
}

// What sampling 256 queues takes of a processor, and how late ticks are. The
// kernel's timer works in interrupts, which no process is charged for: its
// samples' own time is added.
func BenchmarkProcessor(b *testing.B) {
	if !nettest.Apart(b) {
		return
	}
	for _, every := range []time.Duration{10 * time.Millisecond, time.Millisecond} {
		for _, way := range []Way{Timer, Kernel, Files} {
			h, _ := device(b, 256)
			b.Run(fmt.Sprintf("%s/%s", way, every), func(b *testing.B) {
				s, err := Open(h, Options{Every: every, Netdevs: []string{"qa"}, Way: way})
				if err != nil || s.Snapshot().Way != way {
					b.Skip(err, s.Snapshot().Why)
				}
				time.Sleep(time.Second)
				from, before, begin := processor(), s.Snapshot(), time.Now()
				for b.Loop() {
					time.Sleep(4 * time.Second)
				}
				used, now := processor()-from, s.Snapshot()
				if way == Timer {
					used += now.Cost - before.Cost
				}
				b.ReportMetric(100*used.Seconds()/time.Since(begin).Seconds(), "%cpu")
				b.ReportMetric(late(now, 0.99), "µs-late-p99")
				b.ReportMetric(100*float64(now.Missed)/float64(now.Missed+now.Ticks), "%missed")
				s.Close()
			})
			ip(b, "link del qa")
		}
	}
}

func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// late gives the bound below which a share of the ticks were late.
func late(v *Snapshot, share float64) float64 {
	sum := uint64(0)
	for i, n := range v.Late.Counts {
		if sum += n; float64(sum) >= share*float64(v.Ticks) {
			return float64(uint64(1)<<max(i-1, 0)) / lateUnits * 1e6
		}
	}
	return 0
}

// How many of a thousand bursts of known length over a shaped link are seen at
// 1 ms, and how many by looking every 15 s. Run it with -benchtime 1x.
func BenchmarkBursts(b *testing.B) {
	if !nettest.Apart(b) {
		return
	}
	c := pair(b, "1")
	const rate, scrape = 100e6 / 8, 15 * time.Second
	tc(b, "qdisc add dev qa root tbf rate 100mbit burst 3000 limit 2000000")
	for _, length := range []time.Duration{5 * time.Millisecond, 2 * time.Millisecond} {
		b.Run(length.String(), func(b *testing.B) {
			s := sampler(b, Options{Every: time.Millisecond, Burst: 2000, Netdevs: []string{"qa"}, Way: Timer})
			d := &s.layout.mem().devices[0]
			time.Sleep(10 * time.Millisecond)
			const n = 1000
			for b.Loop() {
				seen, scraped, next := 0, 0, time.Now().Add(scrape/2)
				for range n {
					before := d.Bursts
					burst(b, c, int(length.Seconds()*rate))
					if time.Now().After(next) {
						next = next.Add(scrape)
						if d.Depth > 2000 {
							scraped++
						}
					}
					time.Sleep(2*length + 5*time.Millisecond)
					if d.Bursts > before {
						seen++
					}
				}
				b.ReportMetric(float64(seen), "seen-of-1000")
				b.ReportMetric(float64(scraped), "seen-by-15s-scrapes")
				b.ReportMetric(1000*time.Duration(d.BurstNs).Seconds()/float64(d.Bursts), "ms-mean")
			}
			s.Close()
		})
	}
}
