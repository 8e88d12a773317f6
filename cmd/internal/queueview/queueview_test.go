// SPDX-License-Identifier: Apache-2.0

package queueview

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fabricd/fabricd/probes/queue"
	"github.com/google/go-cmp/cmp"
)

// watched is a second of an interface with two queues and one without limits:
// every tenth look finds a queue full.
func watched(l Look) *View {
	v := New(l)
	for i := range 1000 {
		s := queue.Sweep{At: time.Duration(i) * time.Millisecond, Late: 50 * time.Microsecond, Way: queue.Kernel, Queues: []queue.Sample{
			{Netdev: "eth0", Index: 0, Limits: true, Limit: 60000}, {Netdev: "eth0", Index: 1, Limits: true, Limit: 100}, {Netdev: "veth0"},
		}}
		if i%10 == 0 && i < 500 {
			s.Queues[0].Inflight = 60000
		}
		v.Add(&s)
	}
	return v
}

func TestDraw(t *testing.T) {
	for _, test := range []struct {
		look  Look
		strip string
	}{{Look{Width: 80, Height: 24}, " @@@@@     "}, {Look{Width: 80, Height: 24, Unicode: true}, " █████     "}} {
		v := watched(test.look)
		got := v.lines()
		want := []string{
			"1s: 1000 looks, 0 missed, 99 % at most 66µs late, by a BPF program",
			"interface         tx last 1.1s         now       p99      peak     limit   full",
			"eth0               0 " + test.strip + "       0 B    58 KiB    58 KiB    58 KiB   5.0%",
			"1 queue with nothing in any sample",
			"blind to 1 queue: the driver was not seen to use byte queue limits: veth0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		var b bytes.Buffer
		v.Draw(&b) //nolint:errcheck // into memory
		v.Draw(&b) //nolint:errcheck
		if n := strings.Count(b.String(), "\x1b[5A"); n != 1 {
			t.Errorf("it goes up %d times by five lines, not once", n)
		}
	}
}

// No line is as long as the terminal is wide, and the picture leaves a row for
// the cursor: else it scrolls at each redraw.
func TestFits(t *testing.T) {
	for _, look := range []Look{{Width: 80, Height: 10}, {Width: 60, Height: 8}, {Width: 200, Height: 50}} {
		v := New(look)
		s := queue.Sweep{Way: queue.Files, At: time.Hour}
		for i := range 100 {
			s.Queues = append(s.Queues, queue.Sample{Netdev: "enp226s0f1np1v12", Index: i + 9000, Limits: true, Limit: 1 << 31, Inflight: 1 << 31 * uint32(i%2)})
		}
		v.Add(&s)
		lines := v.lines()
		for _, text := range lines {
			if n := utf8.RuneCountInString(text); n >= look.Width {
				t.Errorf("%+v: %d columns: %q", look, n, text)
			}
		}
		if len(lines) >= look.Height {
			t.Errorf("%+v: %d lines", look, len(lines))
		}
	}
}

// What is not known is no 0: the limit of a driver that uses none, and one that
// cannot be read.
func TestNotKnown(t *testing.T) {
	v := New(Look{Width: 80, Height: 24})
	for range 2 {
		v.Add(&queue.Sweep{Queues: []queue.Sample{
			{Netdev: "veth0", Waits: true, Backlog: 5000}, {Netdev: "veth0", Index: 1, Waits: true}, {Netdev: "eth0", Limits: true, Inflight: 3000, NoLimit: true},
		}})
	}
	lines := v.lines()
	for _, text := range lines[2:4] {
		if !strings.HasSuffix(text, "         -      -") {
			t.Errorf("%q", text)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%q", lines)
	}
	var b bytes.Buffer
	v.Summary(&b) //nolint:errcheck // into memory
	if got := b.String(); !strings.Contains(got, "peak 3000 B; its limit is not known\n") || !strings.Contains(got, "1 queue with nothing in any sample; only what waits above the queue is seen of veth0\n") || strings.Contains(got, "blind") {
		t.Error(got)
	}
}

func TestUnread(t *testing.T) {
	v := New(Look{})
	for range 3 {
		v.Add(&queue.Sweep{Unread: []error{errors.New("eth0: queues/tx-1/byte_queue_limits: EIO")}})
	}
	var b bytes.Buffer
	v.Summary(&b) //nolint:errcheck // into memory
	if got := b.String(); strings.Count(got, "could not be read: eth0: queues/tx-1") != 1 || strings.Contains(got, "no queue tells") {
		t.Error(got)
	}
}

func TestPlain(t *testing.T) {
	v := watched(Look{})
	var b bytes.Buffer
	for range 2 { // nothing new the second time
		v.Lines(&b) //nolint:errcheck // into memory
	}
	v.Summary(&b) //nolint:errcheck
	const want = `    1.0s  eth0 tx 0: peak 58 KiB, limit 58 KiB, occupied in 5.0 % of 1000 samples
1s: 1000 looks, 0 missed, 99 % at most 66µs late, by a BPF program
eth0 tx 0: half of the samples at most 0 B, 99 % at most 58 KiB, peak 58 KiB; at its limit (58 KiB now) in 5.0 %
1 queue with nothing in any sample
blind to 1 queue: the driver was not seen to use byte queue limits: veth0
RDMA traffic never enters these queues.
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	c := NewCSV(&b)
	s := queue.Sweep{At: 1500 * time.Microsecond, Queues: []queue.Sample{
		{Netdev: `a,"b`, Index: 3, Limits: true, Inflight: 1, Limit: 2}, {Netdev: "veth0", Waits: true, Backlog: 4}, {Netdev: "eth0", Limits: true, Inflight: 5, NoLimit: true},
	}}
	if err := c.Add(&s); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { c.Add(&queue.Sweep{Queues: s.Queues[:0]}) }); n != 0 { //nolint:errcheck
		t.Errorf("%g allocations", n)
	}
	c.Flush() //nolint:errcheck // into memory
	if want := "seconds,netdev,queue,inflight_bytes,limit_bytes,backlog_bytes\n0.001500,\"a,\"\"b\",3,1,2,\n0.001500,veth0,0,,,4\n0.001500,eth0,0,5,,\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
}
