// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// recorded makes a recording of eth0: a mark to what its queues have in
// flight, with a limit of 10000 bytes.
func recorded(t testing.TB, marks ...map[string][]int) *probes.Host {
	t.Helper()
	var b strings.Builder
	b.WriteString("-- sys/devices/pci0000:00/0000:00:01.0/vendor --\n0x15b3\n-- sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:01.0/net/eth0 --\n")
	for _, mark := range marks {
		for at, queues := range mark {
			for i, n := range queues {
				fmt.Fprintf(&b, "-- %ssys/devices/pci0000:00/0000:00:01.0/net/eth0/queues/tx-%d/byte_queue_limits/inflight --\n%d\n", at, i, n)
				fmt.Fprintf(&b, "-- %ssys/devices/pci0000:00/0000:00:01.0/net/eth0/queues/tx-%d/byte_queue_limits/limit --\n10000\n", at, i)
			}
		}
	}
	h, err := probes.Recorded([]byte(b.String()), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// play plays a recording to its end and gives all that was seen.
func play(t *testing.T, h *probes.Host) *Snapshot {
	t.Helper()
	s, err := Open(h, Options{Burst: 6000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, mark := range h.Marks() {
		if err := h.Seek(i); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Look(mark); err != nil {
			t.Fatal(err)
		}
	}
	return s.Snapshot()
}

func TestFilm(t *testing.T) {
	v := play(t, recorded(t,
		map[string][]int{"": {0, 3000}}, map[string][]int{"at/5s/": {9000, 3000}}, map[string][]int{"at/65s/": {12000, 3000}},
		map[string][]int{"at/70s/": {0, 3000, 500}}, map[string][]int{"at/75s/": {100, 3000, 500}}))
	n := &v.Netdevs[0]
	if v.Ticks != 5 || n.Queues != 3 || !n.Limits.OK || n.Err != nil || len(n.Active) != 3 {
		t.Fatalf("%d ticks, %+v", v.Ticks, n)
	}
	first, second := n.Active[0], n.Active[1]
	if want := (Peaks{Second: 100, Ten: 100, Minute: 12000}); first.Peaks != want {
		t.Errorf("%+v, not %+v", first.Peaks, want)
	}
	if want := (Counts{Samples: 3, Busy: 2, Full: 1, Tight: 1}); first.Window != want { // the last minute
		t.Errorf("%+v, not %+v", first.Window, want)
	}
	if want := (Counts{Samples: 5, Busy: 3, Full: 1, Tight: 1}); first.Total != want {
		t.Errorf("%+v, not %+v", first.Total, want)
	}
	if first.Standing != 0 || second.Standing != 75*time.Second {
		t.Errorf("they stand for %s and %s", first.Standing, second.Standing)
	}
	// 12000 and 15000 bytes at 5 s and 65 s are one burst, which ends at 70 s.
	if n.Bursts != 1 || n.BurstTime != 65*time.Second || n.Longest != n.BurstTime || n.Depth != 3600 {
		t.Errorf("%+v", n)
	}
	if n.Inflight.Counts[0] != 2 || n.Inflight.Counts[bucket(9000)] != 2 || n.Inflight.Sum != 9000+12000+100+5*3000+2*500 {
		t.Errorf("%+v", n.Inflight)
	}
}

// What is said of a queue goes on when others come.
func TestQueuesAdded(t *testing.T) {
	v := play(t, recorded(t, map[string][]int{"": {7000}}, map[string][]int{"at/10s/": {7000, 1}}))
	if q := v.Netdevs[0].Active[0]; q.Standing != 10*time.Second || q.Total.Samples != 2 {
		t.Errorf("%+v", q)
	}
}

// A machine that stood still, as a virtual one may, makes no queue stand still
// and no burst long.
func TestGap(t *testing.T) {
	m := newMemory(1, 1)
	m.control.Gap = uint64(2 * time.Second)
	s, d := &m.slots[0], &m.devices[0]
	for _, at := range []time.Duration{time.Second, 2 * time.Second, time.Hour, time.Hour + time.Second} {
		d.Depth = 0
		m.addSample(s, d, 500, 1000, at)
		m.addDevice(d, at)
		m.addTick(at, at, at)
	}
	if s.Changed != uint64(time.Hour) || d.Since != uint64(time.Hour) || d.BurstNs != 0 || d.Bursts != 2 {
		t.Errorf("%+v %+v", s, d)
	}
}

func TestTooMany(t *testing.T) {
	var b strings.Builder
	b.WriteString("-- sys/devices/pci0000:00/0000:00:01.0/vendor --\n0x15b3\n")
	for _, name := range []string{"a", "b"} {
		fmt.Fprintf(&b, "-- sys/class/net/%s -> ../../devices/pci0000:00/0000:00:01.0/net/%s --\n", name, name)
		fmt.Fprintf(&b, "-- sys/devices/pci0000:00/0000:00:01.0/net/%s/queues/tx-9999/tx_timeout --\n0\n", name)
	}
	h, err := probes.Recorded([]byte(b.String()), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := play(t, h); v.Queues != maxQueues || v.LeftOut != 20000-maxQueues || v.Netdevs[1].Queues != maxQueues-10000 {
		t.Errorf("%d queues, %d left out", v.Queues, v.LeftOut)
	}
	err = Watch(t.Context(), h, Options{}, func(s *Sweep) error {
		if len(s.Unread) != 1 || s.Unread[0].Error() != "b: 3616 of 10000 queues: there are more than 16384 in all" {
			t.Errorf("%v", s.Unread)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// What cannot be read is told while it is watched.
func TestWatchUnread(t *testing.T) {
	h, err := probes.Recorded([]byte("-- sys/devices/pci0000:00/0000:00:01.0/vendor --\n0x15b3\n"+
		"-- sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:01.0/net/eth0 --\n"+
		"-- sys/devices/pci0000:00/0000:00:01.0/net/eth0/queues/tx-0/byte_queue_limits/inflight.err --\nEIO\n"), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = Watch(t.Context(), h, Options{}, func(s *Sweep) error {
		if len(s.Unread) != 1 || len(s.Queues) != 0 || !strings.Contains(s.Unread[0].Error(), "eth0: queues/tx-0") {
			t.Errorf("%+v", s)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRefusal(t *testing.T) {
	for _, test := range []struct {
		err     error
		missing []string
		want    string
		locked  bool
	}{
		{syscall.EPERM, []string{"CAP_BPF", "CAP_PERFMON"}, "CAP_BPF and CAP_PERFMON", false},
		{fmt.Errorf("the kernel's verifier refuses the program: %w", syscall.EACCES), []string{"CAP_PERFMON"}, "without CAP_PERFMON", false},
		{fmt.Errorf("the kernel's verifier refuses the program: %w", syscall.EINVAL), []string{"CAP_PERFMON"}, "without CAP_PERFMON", false},
		{fmt.Errorf("the kernel's verifier refuses the program: %w", syscall.EINVAL), nil, "verifier refuses the program: invalid argument", false},
		{syscall.EPERM, nil, "lockdown", false},
		{fmt.Errorf("load BTF: %w", syscall.ENOSYS), nil, "CONFIG_BPF_SYSCALL", false},
		{fmt.Errorf("load BTF: %w", syscall.ENOMEM), nil, "load BTF: cannot allocate memory", false},
		{errors.New("load kernel spec: no BTF found for kernel version 6.1: not supported"), nil, "tells no types", false},
		{fmt.Errorf("the kernel's verifier refuses the program: %w", syscall.EINVAL), nil, "locked down for confidentiality", true},
		{fmt.Errorf("load BTF: %w", syscall.ENOMEM), nil, "load BTF: cannot allocate memory", true},
	} {
		got := refusal(test.err, test.missing, test.locked).Error()
		if !strings.Contains(got, test.want) || strings.Contains(got, "types") != strings.Contains(test.want, "types") {
			t.Errorf("%v: %s", test.err, got)
		}
	}
}

// A burst is what the link sends in a time, but never less than is asked for.
func TestBurstOfALink(t *testing.T) {
	o := Options{Burst: 64 << 10, BurstTime: 100 * time.Microsecond}
	for rate, want := range map[int]uint64{0: 65536, 1000: 65536, 100_000: 1_250_000, 400_000: 5_000_000} {
		if got := (place{rate: rate}).burst(o); got != want {
			t.Errorf("%d Mb/s: %d bytes", rate, got)
		}
	}
}

func TestNextTick(t *testing.T) {
	for _, test := range []struct {
		now, next time.Duration
		missed    uint64
	}{{10, 20, 0}, {19, 20, 0}, {20, 30, 1}, {45, 50, 3}} {
		if next, missed := nextTick(10, 10, test.now); next != test.next || missed != test.missed {
			t.Errorf("at %d: %d, and %d missed", test.now, next, missed)
		}
	}
}

// Counts that were set back between the readings of two of them are no depth.
func TestSetBack(t *testing.T) {
	m := newMemory(1, 1)
	m.addSample(&m.slots[0], &m.devices[0], math.MaxUint32-1000, 0, time.Second)
	if s := &m.slots[0]; s.Inflight != 0 || s.Busy != 0 || s.Peak[0] != 0 || s.Sum != 0 || s.Samples != 1 {
		t.Errorf("%+v", s)
	}
}

func TestRing(t *testing.T) {
	var r ring
	r.add(1000, 5)
	r.add(1000, 3)
	if p := r.show(); p != (Peaks{5, 5, 5}) {
		t.Errorf("%+v", p)
	}
	r.add(1009, 1)
	if p := r.show(); p != (Peaks{1, 5, 5}) {
		t.Errorf("%+v", p)
	}
	r.add(1010, 0)
	if p := r.show(); p != (Peaks{0, 1, 5}) {
		t.Errorf("%+v", p)
	}
	r.add(1060, 2)
	if p := r.show(); p != (Peaks{2, 2, 2}) {
		t.Errorf("%+v", p)
	}
	r.add(5000, 0)
	if p := r.show(); p != (Peaks{}) {
		t.Errorf("%+v", p)
	}
}

// A bucket's bound holds what is counted there, and the one before does not.
func TestBucket(t *testing.T) {
	for _, v := range []uint32{0, 1, 2, 3, 4, 5, 64, 65, 1 << 20, 1<<20 + 1, 1 << 31, math.MaxUint32} {
		i := bucket(v)
		bound := math.Ldexp(1, i-1)
		if i == buckets-1 {
			bound = math.Inf(1) // the last one
		}
		if i > 0 && (float64(v) > bound || v > 1 && float64(v) <= math.Ldexp(1, i-2)) || (i == 0) != (v == 0) || i >= buckets {
			t.Errorf("%d is in bucket %d", v, i)
		}
	}
}

// A look at files that are kept open allocates nothing.
func TestAllocations(t *testing.T) {
	h := recorded(t, map[string][]int{"": {5000, 0, 20000}})
	places, _, err := find(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLayout(h, Options{Burst: 1}, places, 0, 0)
	defer l.close()
	if n := testing.AllocsPerRun(100, func() { l.sample(0, 1, monotonic) }); n != 0 { //nolint:errcheck // no files fail
		t.Errorf("%g allocations", n)
	}
}

func FuzzDigits(f *testing.F) {
	for _, s := range []string{"0", "4294967295", "4294967296", "", "-1", "+1", "1 ", "00000000001"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, ok := digits(b)
		want, err := strconv.ParseUint(string(b), 10, 32)
		if ok && (err != nil || uint64(n) != want) || !ok && err == nil && len(b) <= 10 {
			t.Errorf("%q: %d %t, not %d %v", b, n, ok, want, err)
		}
	})
}
