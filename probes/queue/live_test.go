// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/bpf"
	"github.com/fabricd/fabricd/internal/nettest"
	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
)

// What waits above the queues is what the kernel tells of the queueing
// discipline, and an interface without byte queue limits is said to be one.
func TestBacklog(t *testing.T) {
	if !nettest.Apart(t) {
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
	if err := json.Unmarshal([]byte(nettest.Command(t, "tc -j -s qdisc show dev qa")), &told); err != nil {
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
	if !nettest.Apart(t) {
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
	ours := m.devices[0].Ifindex
	await(t, s, "a burst", func(*Snapshot) bool { return atomic.LoadUint64(&m.devices[0].Since) > 0 })
	atomic.StoreUint32(&m.devices[0].Ifindex, 9999) // it went
	await(t, s, "no burst", func(*Snapshot) bool { return atomic.LoadUint64(&m.devices[0].Since) == 0 })
	atomic.StoreUint32(&m.devices[0].Ifindex, ours)
	tc(t, "qdisc replace dev qa root pfifo_fast")
	await(t, s, "no backlog", func(v *Snapshot) bool { return atomic.LoadUint32(&m.slots[0].Backlog) == 0 && v.Netdevs[0].Depth == 0 })
}

// A snapshot covers a second at every interval, and a look that comes late
// says by how much.
func TestPace(t *testing.T) {
	if !nettest.Apart(t) {
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
	if !nettest.Apart(t) {
		return
	}
	for _, way := range []Way{Best, Timer, Files} {
		s := sampler(t, Options{Every: time.Millisecond, Netdevs: []string{"qa", "qz"}, Way: way})
		empty := func(v *Snapshot) bool { return v.Err == nil && len(v.Netdevs) == 0 && (v.Way == None) == (way == Best) }
		if v := s.Snapshot(); !empty(v) {
			t.Fatalf("%+v", v)
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
		await(t, s, "none", empty)
		if v := s.Snapshot(); v.Ticks == 0 {
			t.Errorf("%s: no ticks", way)
		}
		s.Close()
	}
}

// Twelve thousand queues are sampled, with memory and descriptors in
// proportion.
func TestThousands(t *testing.T) {
	if !nettest.Apart(t) {
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
	if !nettest.Apart(t) {
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
	if !nettest.Apart(t) {
		return
	}
	c := pair(t, "1")
	const rate = 100e6 / 8
	tc(t, "qdisc add dev qa root tbf rate 100mbit burst 3000 limit 2000000")
	for _, length := range []time.Duration{20 * time.Millisecond, 5 * time.Millisecond, 2 * time.Millisecond} {
		const n = 10
		s := sampler(t, Options{Every: time.Millisecond, Burst: 2000, Netdevs: []string{"qa"}, Way: Timer})
		await(t, s, "ticks", func(v *Snapshot) bool { return v.Ticks > 10 })
		prompt := time.Hour // the sender may be held up: of the promptest burst the length is known
		for range n {
			begin := monotonic()
			burst(t, c, int(length.Seconds()*rate))
			prompt = min(prompt, monotonic()-begin)
			time.Sleep(length + 30*time.Millisecond)
		}
		over := monotonic()
		v := await(t, s, "the end", func(v *Snapshot) bool { return v.At > over })
		s.Close()
		d := &v.Netdevs[0]
		mean := d.BurstTime / time.Duration(max(d.Bursts, 1))
		t.Logf("%s: %d of %d seen, mean %s, longest %s; %d of %d ticks missed", length, d.Bursts, n, mean, d.Longest, v.Missed, v.Ticks)
		if length < 5*time.Millisecond {
			continue
		}
		// A sender that is held up makes one burst two. Ticks that are missed may hide as many bursts as they last.
		missed := time.Duration(v.Missed) * time.Millisecond
		if hidden := uint64(missed / (length - time.Millisecond)); d.Bursts+hidden < n {
			t.Errorf("%s: %d of %d bursts, %d ticks missed", length, d.Bursts, n, v.Missed)
		}
		if prompt < time.Millisecond && d.Longest < length-3*time.Millisecond-missed {
			t.Errorf("%s: the longest burst is %s", length, d.Longest)
		}
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
