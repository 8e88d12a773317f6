// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/bpf/bpftest"
	"github.com/fabricd/fabricd/probes"
)

// Both ways say the same of the same queues, while bytes are in flight: the
// program's sample is held against the files read before and after it.
func TestWaysAgree(t *testing.T) {
	h, places := limited(t)
	k, err := openKernel(h, Options{}, places, false)
	if err != nil {
		bpftest.Skip(t, err)
	}
	defer k.close()
	before, after := newFiles(h, places), newFiles(h, places)
	defer before.close()
	defer after.close()
	for _, w := range []sweeper{k, before, after} {
		(&layout{sweeper: w, places: places}).arrange(Options{Burst: 3000}, monotonic())
	}
	before.always, after.always = true, true
	stop := traffic(t, places[0])
	defer stop()
	seen, busy, differ := 0, 0, 0
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		a, b := before.slots[0], k.Slots[0]
		now := monotonic()
		for _, w := range []sweeper{before, k, after} {
			if err := w.sample(now, now, monotonic); err != nil {
				t.Fatal(err)
			}
		}
		file, program := since(a, before.slots[0]), since(b, k.Slots[0])
		if before.slots[0].Inflight != after.slots[0].Inflight || before.slots[0].Limit != after.slots[0].Limit {
			continue // it moved in between
		}
		seen++
		if file.Inflight > 0 {
			busy++
		}
		if file != program {
			differ++
		}
	}
	t.Logf("%d samples of a queue that stood still, %d with bytes in flight; %d differ", seen, busy, differ)
	if seen == 0 || differ*100 > seen || busy > 100 && differ*20 > busy {
		t.Errorf("%d of %d samples differ", differ, seen)
	}
}

// since is what one sample added to a slot.
func since(before, after bpf.QueueSlot) bpf.QueueSlot {
	s := bpf.QueueSlot{Inflight: after.Inflight, Limit: after.Limit, Sum: after.Sum - before.Sum}
	s.Samples, s.Busy = after.Samples-before.Samples, after.Busy-before.Busy
	s.Full, s.Tight = after.Full-before.Full, after.Tight-before.Tight
	for b := range s.Depth {
		s.Depth[b] = after.Depth[b] - before.Depth[b]
	}
	return s
}

// limited finds the interface here whose driver uses byte queue limits.
func limited(t testing.TB) (*probes.Host, []place) {
	t.Helper()
	h, err := probes.Live("/", probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	places, _, err := find(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		b, _ := h.ReadFile(p.path + "/queues/tx-0/byte_queue_limits/limit")
		if s := strings.TrimSpace(string(b)); s != "" && s != "0" {
			return h, []place{p}
		}
	}
	t.Skip("no interface here uses byte queue limits")
	return nil, nil
}

// traffic sends datagrams to the gateway of an interface, which discards them.
func traffic(t testing.TB, p place) (stop func()) {
	t.Helper()
	gateway := gatewayOf(p.name)
	if gateway == "" {
		t.Skip("the interface has no gateway to send to")
	}
	c, err := net.Dial("udp", net.JoinHostPort(gateway, "9"))
	if err != nil {
		t.Skip(err)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer c.Close()
		b := make([]byte, 1300)
		for {
			select {
			case <-done:
				return
			default:
			}
			for range 8 {
				c.Write(b) //nolint:errcheck // refused by the gateway
			}
			time.Sleep(200 * time.Microsecond)
		}
	}()
	return func() { close(done); <-ended }
}

// gatewayOf reads the default route of an interface.
func gatewayOf(netdev string) string {
	b, _ := os.ReadFile("/proc/net/route")
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 2 && f[0] == netdev && f[1] == "00000000" {
			var n [4]byte
			for i := range n {
				for _, c := range strings.ToLower(f[2][6-2*i : 8-2*i]) {
					n[i] = n[i]<<4 | byte(strings.IndexRune("0123456789abcdef", c))
				}
			}
			return net.IP(n[:]).String()
		}
	}
	return ""
}
