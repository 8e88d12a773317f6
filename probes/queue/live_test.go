// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/bpf/bpftest"
	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
)

// What waits above the queues is what the kernel tells of the queueing
// discipline, and an interface without byte queue limits is said to be one.
func TestBacklog(t *testing.T) {
	if !apart(t) {
		return
	}
	c := pair(t, "4")
	tc(t, "qdisc add dev qa root tbf rate 8kbit burst 2000 limit 1000000")
	s := sampler(t, Options{Every: time.Millisecond, Burst: 5000, Netdevs: []string{"qa"}, Way: Timer})
	for range 50 { // more do not fit into the socket
		if _, err := c.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	sent := monotonic()
	v := await(t, s, "a backlog", func(v *Snapshot) bool { return v.At > sent && v.Netdevs[0].Depth > 0 })
	var told []struct {
		Dev     string
		Backlog uint64
	}
	if err := json.Unmarshal([]byte(command(t, "tc -j -s qdisc show dev qa")), &told); err != nil {
		t.Fatal(err)
	}
	n := &v.Netdevs[0]
	// A packet of 1042 bytes leaves every 1.042 s.
	if d := int64(n.Depth) - int64(told[0].Backlog); d < 0 || d > 20*1042 || n.Depth > 50*1042 {
		t.Errorf("%d bytes wait, tc says %d", n.Depth, told[0].Backlog)
	}
	if n.Limits.OK || n.HasFiles || n.Backlog == nil || n.Queues != 4 {
		t.Errorf("%+v", n)
	}
	v = await(t, s, "a minute's peak", func(v *Snapshot) bool { return v.Netdevs[0].Peaks.Minute > 45*1042 })
	if v.Netdevs[0].Bursts != 1 || v.Netdevs[0].Backlog.Counts[bucket(50*1042)] == 0 {
		t.Errorf("%+v", v.Netdevs[0])
	}
}

// What waited is not told any more when the queueing discipline becomes one
// that counts elsewhere, nor what was in a queue that there is no longer.
func TestNothingStays(t *testing.T) {
	if !apart(t) {
		return
	}
	c := pair(t, "2")
	tc(t, "qdisc add dev qa root tbf rate 8kbit burst 2000 limit 1000000")
	s := sampler(t, Options{Every: time.Millisecond, Netdevs: []string{"qa"}, Way: Kernel})
	for range 20 {
		c.Write(make([]byte, 1000)) //nolint:errcheck // whatever
	}
	m := s.layout.mem()
	await(t, s, "a backlog", func(*Snapshot) bool { return atomic.LoadUint32(&m.slots[0].Backlog) > 0 })
	m.slots[1].Inflight, m.slots[1].Limit, m.slots[1].Backlog = 1, 2, 3
	m.slots[1].Queue = 2 // beyond those of the interface
	await(t, s, "an empty queue", func(*Snapshot) bool {
		return m.slots[1].Inflight == 0 && m.slots[1].Limit == 0 && m.slots[1].Backlog == 0
	})
	tc(t, "qdisc replace dev qa root pfifo_fast")
	await(t, s, "no backlog", func(v *Snapshot) bool { return atomic.LoadUint32(&m.slots[0].Backlog) == 0 && v.Netdevs[0].Depth == 0 })
}

// A snapshot covers a second at every interval, and a look that comes late
// says by how much.
func TestPace(t *testing.T) {
	if !apart(t) {
		return
	}
	pair(t, "2")
	s := sampler(t, Options{Every: time.Second, Netdevs: []string{"qa"}, Way: Timer})
	last := time.Duration(0)
	await(t, s, "a second", func(v *Snapshot) bool {
		took := v.At - last
		last = v.At
		return v.Ticks > 0 && took > 900*time.Millisecond && took < 1500*time.Millisecond
	})
	h, err := probes.Live("/", probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const pause = 50 * time.Millisecond
	enough, looks := errors.New("enough"), 0
	var missed uint64
	err = Watch(t.Context(), h, Options{Every: time.Millisecond, Netdevs: []string{"qa"}, Way: Kernel}, func(v *Sweep) error {
		if looks++; looks == 2 {
			time.Sleep(pause) // in a look: the ticks meanwhile are missed, and the next one is in time
			missed = v.Missed
		}
		if looks > 2 {
			if v.Missed < missed+uint64(pause/time.Millisecond)-1 {
				t.Errorf("%d ticks missed, after %d", v.Missed, missed)
			}
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}

// Interfaces come, get other names and other numbers of queues, and go, while
// they are sampled.
func TestComeAndGo(t *testing.T) {
	if !apart(t) {
		return
	}
	for _, way := range []Way{Timer, Files} {
		s := sampler(t, Options{Every: time.Millisecond, Netdevs: []string{"qa", "qz"}, Way: way})
		if n := len(s.Snapshot().Netdevs); n != 0 {
			t.Fatal(n)
		}
		is := func(name string, queues int) func(*Snapshot) bool {
			return func(v *Snapshot) bool {
				return v.Err == nil && len(v.Netdevs) == 1 && v.Netdevs[0].Name == name && v.Netdevs[0].Queues == queues && v.Netdevs[0].Present
			}
		}
		c := pair(t, "8")
		await(t, s, "a new interface", is("qa", 8))
		tc(t, "qdisc add dev qa root tbf rate 1mbit burst 2000 limit 100000")
		c.Write(make([]byte, 1000)) //nolint:errcheck // whatever
		ip(t, "link set qa down")
		ip(t, "link set qa name qz")
		await(t, s, "another name", is("qz", 8))
		ip(t, "link del qz")
		await(t, s, "none", func(v *Snapshot) bool { return v.Err == nil && len(v.Netdevs) == 0 })
		if v := s.Snapshot(); v.Ticks == 0 {
			t.Errorf("%s: no ticks", way)
		}
		s.Close()
	}
}

// Twelve thousand queues are sampled, with memory and descriptors in
// proportion.
func TestThousands(t *testing.T) {
	if !apart(t) {
		return
	}
	const netdevs, each = 3, 4096 // the most that the kernel allows
	names := []string{"qa", "qb", "qc"}
	for _, name := range names {
		ip(t, fmt.Sprintf("link add %s numtxqueues %d numrxqueues 1 type ifb", name, each))
		ip(t, "link set "+name+" up")
	}
	for _, way := range []Way{Kernel, Files} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		files := descriptors(t)
		s := sampler(t, Options{Every: 10 * time.Millisecond, Netdevs: names, Way: way})
		v := await(t, s, "samples", func(v *Snapshot) bool { return v.Ticks > 1 })
		files = descriptors(t) - files
		runtime.GC()
		runtime.ReadMemStats(&after)
		heap := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		t.Logf("%s: %d queues, %d KiB of heap and %d descriptors; %s a sample, one every %s", way, v.Queues, heap>>10, files, v.Cost/time.Duration(v.Ticks), v.Every)
		if v.Queues != netdevs*each || v.LeftOut != 0 || v.Err != nil || heap > 2048*netdevs*each || files > 1<<14+100 {
			t.Errorf("%+v", v)
		}
		s.Close()
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// The kernel's program looks at the interfaces that sysfs shows, though one of
// ours has the same name and index.
func TestOtherNamespace(t *testing.T) {
	if !apart(t) {
		return
	}
	pair(t, "2", "index 77")
	root := t.TempDir()
	inNamespace(t, func() {
		pair(t, "4", "index 77")
		for _, name := range []string{"proc", "sys"} {
			if err := os.Mkdir(root+"/"+name, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mount("sysfs", root+"/sys", "sysfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	})
	defer syscall.Unmount(root+"/sys", 0) //nolint:errcheck // it goes with the process
	for root, queues := range map[string]uint32{"/": 2, root: 4} {
		for _, way := range []Way{Kernel, Timer} {
			s := samplerAt(t, root, Options{Every: time.Millisecond, Netdevs: []string{"qa"}, Way: way})
			v := await(t, s, "a sample", func(v *Snapshot) bool { return v.Ticks > 0 && v.Netdevs[0].Present })
			if d := s.layout.mem().devices[0]; d.Ifindex != 77 || d.Queues != queues || v.Queues != int(queues) {
				t.Errorf("%s, %s: %d queues listed, sampled is %+v", root, way, v.Queues, d)
			}
			s.Close()
		}
	}
	// What is no sysfs shows nobody's.
	f, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if q, err := bpf.OpenQueues(1, 1, f, false); err == nil {
		q.Close()
		t.Error("a directory elsewhere has a network namespace")
	}
}

// inNamespace calls f in a new network namespace, which lives as long as
// something holds it.
func inNamespace(t *testing.T, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	f()
	if err := unix.Setns(int(ours.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
}

// Bursts over a shaped link are each seen, with about the length that they
// had.
func TestBursts(t *testing.T) {
	if !apart(t) {
		return
	}
	c := pair(t, "1")
	const rate = 100e6 / 8
	tc(t, "qdisc add dev qa root tbf rate 100mbit burst 3000 limit 2000000")
	for _, length := range []time.Duration{20 * time.Millisecond, 5 * time.Millisecond, 2 * time.Millisecond} {
		const n = 10
		s := sampler(t, Options{Every: time.Millisecond, Burst: 2000, Netdevs: []string{"qa"}, Way: Timer})
		for range n {
			burst(t, c, int(length.Seconds()*rate))
			time.Sleep(length + 30*time.Millisecond)
		}
		time.Sleep(1100 * time.Millisecond)
		v := s.Snapshot()
		d := &v.Netdevs[0]
		mean := d.BurstTime / time.Duration(max(d.Bursts, 1))
		t.Logf("%s: %d of %d seen, mean %s, longest %s; %d of %d ticks missed", length, d.Bursts, n, mean, d.Longest, v.Missed, v.Ticks)
		// A sender that is held up makes one burst two; a tick that is missed may hide a short one.
		if length >= 5*time.Millisecond && (d.Bursts < n || d.Longest < length-3*time.Millisecond) {
			t.Errorf("%s: %d of %d bursts, the longest %s", length, d.Bursts, n, d.Longest)
		}
		s.Close()
	}
}

// burst sends so many bytes at once.
func burst(t testing.TB, c net.Conn, bytes int) {
	t.Helper()
	b := make([]byte, 1400)
	for sent := 0; sent < bytes; sent += len(b) + 42 {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
}

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

// Watching tells once of an interface that goes or gets
// another name, and ends when none is left.
func TestWatchGone(t *testing.T) {
	if !apart(t) {
		return
	}
	for _, way := range []Way{Kernel, Files} {
		for _, how := range []string{"link del qa", "link set qa name qz"} {
			pair(t, "2")
			h, err := probes.Live("/", probes.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var gone []string
			looks := 0
			o := Options{Every: 10 * time.Millisecond, Netdevs: []string{"qa"}, Way: way, Gone: func(name string) { gone = append(gone, name) }}
			err = Watch(t.Context(), h, o, func(*Sweep) error {
				if looks++; looks == 5 {
					ip(t, "link set qa down")
					ip(t, how)
				}
				return nil
			})
			if err != nil || len(gone) != 1 || gone[0] != "qa" || looks < 5 {
				t.Errorf("%s, %s: %v after %d looks, gone: %q", way, how, err, looks, gone)
			}
		}
		ip(t, "link del qz")
	}
}

// Interfaces that come while they are watched are looked at.
func TestWatchAdded(t *testing.T) {
	if !apart(t) {
		return
	}
	for _, way := range []Way{Kernel, Files} {
		ip(t, "link add qa type ifb")
		ip(t, "link set qa up")
		h, err := probes.Live("/", probes.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found, looks := errors.New("found"), 0
		err = Watch(t.Context(), h, Options{Every: 10 * time.Millisecond, Netdevs: []string{"qa", "qb"}, Way: way}, func(s *Sweep) error {
			if looks++; looks == 5 {
				ip(t, "link add qb type ifb")
				ip(t, "link set qb up")
			}
			if looks > 3000 || slices.ContainsFunc(s.Queues, func(q Sample) bool { return q.Netdev == "qb" }) {
				return found
			}
			return nil
		})
		if err != found || looks > 3000 { //nolint:errorlint // it is the same one
			t.Errorf("%s: %v after %d looks", way, err, looks)
		}
		ip(t, "link del qa")
		ip(t, "link del qb")
	}
}
