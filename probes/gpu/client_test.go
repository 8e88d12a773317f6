// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// quick is a pace for tests. The race detector's start of a program takes a while.
func quick() pace {
	return pace{
		period: 10 * time.Millisecond, share: 1, answer: 300 * time.Millisecond, ready: 5 * time.Second, end: 100 * time.Millisecond,
		retry: 10 * time.Millisecond, retryMax: 20 * time.Millisecond, absent: 50 * time.Millisecond, renew: 50 * time.Millisecond,
		forgive: time.Hour, pardon: 24 * time.Hour,
	}
}

func client(t *testing.T, mode string, p pace) (*Client, string) {
	t.Helper()
	program, dir := fake(t, mode)
	c := newClient(program, p)
	t.Cleanup(c.Close)
	return c, dir
}

// until asks until what comes pleases.
func until(t *testing.T, c *Client, what string, pleases func(*Snapshot, error) bool) {
	t.Helper()
	var s *Snapshot
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if s, err = c.Snapshot(nil); pleases(s, err) {
			return
		}
	}
	t.Fatalf("never %s; last: %+v, %v", what, s, err)
}

func says(text string) func(*Snapshot, error) bool {
	return func(_ *Snapshot, err error) bool { return err != nil && strings.Contains(err.Error(), text) }
}

func well(s *Snapshot, err error) bool {
	return err == nil && len(s.Devices) == 2 && s.Devices[0].Address == "0000:18:00.0"
}

func TestClient(t *testing.T) {
	t.Parallel()
	c, dir := client(t, "good", quick())
	if noted(dir, "lives") != 0 {
		t.Error("started before it was asked")
	}
	if _, err := c.Snapshot([]string{"note"}); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("at the start: %v", err)
	}
	c.Await(context.Background(), []string{"note"})
	s, err := c.Snapshot([]string{"note"})
	if !well(s, err) {
		t.Fatalf("%+v, %v", s, err)
	}
	until(t, c, "a newer answer", func(n *Snapshot, err error) bool { return err == nil && n != s && *n.Devices[0].Utilization > 5 })
	if lives := noted(dir, "lives"); lives != 1 || noted(dir, "excluded") == 0 {
		t.Errorf("%d children, %d questions with exclusions", lives, noted(dir, "excluded"))
	}
}

// NVLinks that are as they were are not told again.
func TestClientSameLinks(t *testing.T) {
	t.Parallel()
	c, _ := client(t, "same", quick())
	until(t, c, "a later answer", func(s *Snapshot, err error) bool {
		return err == nil && *s.Devices[0].Utilization > 2 && len(s.Devices[0].NVLinks) == 1 && s.Devices[0].NVLinks[0].Link == 3
	})
	s := &Snapshot{Devices: []Device{{Address: "a"}, {Address: "b", Lost: true}, {Address: "c"}}}
	links := []NVLink{{Link: 1}}
	s.takeLinks(&Snapshot{Devices: []Device{{Address: "a", NVLinks: links}, {Address: "b", NVLinks: links}}})
	if s.Devices[0].NVLinks == nil || s.Devices[1].NVLinks != nil || s.Devices[2].NVLinks != nil {
		t.Errorf("%+v", s)
	}
	s.takeLinks(nil)
}

// A child that behaves badly is an error with a reason, and is started anew.
func TestClientBad(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"hangs":           "no answer within 300ms (the driver hangs in pcie)",
		"starts-never":    "no answer within 1s",
		"dies-always":     "exit status 1 in pcie",
		"symbol-at-start": "exit status 127: child: symbol lookup error: undefined symbol: nvmlInit_v2",
		"ends":            "ended by itself",
		"garbage":         "answers no JSON",
		"half":            "answers no JSON",
		"long":            "answers more than 4 MiB in one line",
		"flood":           "begins more than 4096 parts in one answer",
		"other-version":   "another version",
		"talks":           "answers what was not asked",
		"wrong-id":        "answers what was not asked",
		"wrong-shape":     "answers nonsense: device 0",
		"no-snapshot":     "answers what was not asked",
		"deep":            "answers no JSON",
		"refuses":         "no such question: ?[31m",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := quick()
			if mode == "starts-never" {
				p.ready = time.Second
			}
			c, dir := client(t, mode, p)
			until(t, c, want, says(want))
			until(t, c, "started anew", func(*Snapshot, error) bool { return noted(dir, "lives") > 1 })
			if _, err := c.Snapshot(nil); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("absent: %v", err)
			}
		})
	}
}

func TestClientAbsent(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"absent": "there is no driver", "cannot": "exit status 64"} {
		c, dir := client(t, mode, quick())
		until(t, c, want, says(want))
		if _, err := c.Snapshot(nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", mode, err)
		}
		until(t, c, "looked again", func(*Snapshot, error) bool { return noted(dir, "lives") > 1 })
	}
	for _, path := range []string{"/nonexistent/fabricd-nvml", ""} { // no such program; none beside the test nor in PATH
		c := newClient(path, quick())
		c.Await(context.Background(), nil)
		if s, err := c.Snapshot(nil); s != nil || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", path, err)
		}
		c.Close()
	}
}

// One answer that took long delays nothing, the first one no more than others;
// a driver that is slow again and again is asked less often.
func TestClientSlowOnce(t *testing.T) {
	t.Parallel()
	p := quick()
	p.share = 10000
	c, _ := client(t, "slow-first", p)
	until(t, c, "well", well)
	until(t, c, "a newer answer", func(s *Snapshot, err error) bool { return err == nil && *s.Devices[0].Utilization > 0 })

	var s spent
	for i, ms := range []time.Duration{400, 2, 400, 2, 3, 2, 400, 400} {
		if got, want := s.usual(ms), []time.Duration{0, 2, 400, 2, 3, 2, 3, 400}[i]; got != want {
			t.Errorf("answer %d: charged %d, want %d", i, got, want)
		}
	}
}

// A part that killed the child twice is asked no third time.
func TestClientStrikes(t *testing.T) {
	t.Parallel()
	for mode, part := range map[string]string{"dies-in-part": "nvlinks", "hangs-in-part": "fabric"} {
		c, dir := client(t, mode, quick())
		until(t, c, "well", well)
		if lives, with := noted(dir, "lives"), noted(dir, "asked-"); lives != 3 || with != 2 || noted(dir, "asked-"+part) == 0 {
			t.Errorf("%s: %d children, %d questions for all, %d without %s", mode, lives, with, noted(dir, "asked-"+part), part)
		}
	}
	c := newClient("", quick())
	now := time.Now()
	for range 2 {
		c.blame(errHung{doing: "a"})
		c.blame(errDied{code: 1, status: "exit status 1", doing: "b", words: "symbol lookup error"})
		c.blame(errDied{})
	}
	c.blame(errDied{doing: "c", status: "signal: segmentation fault", signal: syscall.SIGSEGV})
	if got := fmt.Sprint(c.avoided(now), c.avoided(now.Add(2*time.Hour))); got != "[a b] [b]" {
		t.Error(got)
	}
	s := &Snapshot{LeftOut: []string{"b", "c"}, LeftOutWhy: map[string]string{"c": "says the child"}}
	if c.explain(s); len(s.LeftOutWhy) != 1 || s.LeftOutWhy["b"] != "fabricd-nvml: exit status 1 in b: symbol lookup error" {
		t.Errorf("%q", s.LeftOutWhy)
	}
	// A day later all is forgiven, a single strike too.
	if got := c.avoided(now.Add(25 * time.Hour)); len(got) != 0 || len(c.without) != 0 {
		t.Errorf("%q, %d strikes", got, len(c.without))
	}
}

// A child that somebody else kills is no part's fault, however often.
func TestClientShot(t *testing.T) {
	t.Parallel()
	c, dir := client(t, "shot-in-part", quick())
	until(t, c, "why", says("fabricd-nvml: signal: killed in nvlinks; not by fabricd"))
	until(t, c, "started often", func(*Snapshot, error) bool { return noted(dir, "lives") > maxStrikes+1 })
	if n := noted(dir, "asked-nvlinks"); n != 0 {
		t.Errorf("left out in %d questions", n)
	}
}

// While a new child starts, the old one's answer is good for a while.
func TestClientHang(t *testing.T) {
	t.Parallel()
	p := quick()
	p.period = 100 * time.Millisecond
	c, dir := client(t, "hangs-once", p)
	until(t, c, "well", well)
	for noted(dir, "asked-") < 2 {
		time.Sleep(time.Millisecond)
	}
	if s, err := c.Snapshot(nil); !well(s, err) {
		t.Errorf("while it hangs: %v", err)
	}
	until(t, c, "stale", says("no answer within"))
	until(t, c, "well again", well)
	if lives := noted(dir, "lives"); lives != 2 {
		t.Errorf("%d children", lives)
	}
}

func TestClientLoses(t *testing.T) {
	t.Parallel()
	p := quick()
	p.period = 200 * time.Millisecond // so that the last answer is good while the next child starts
	c, dir := client(t, "loses", p)
	until(t, c, "lost", func(s *Snapshot, err error) bool { return err == nil && s.Devices[1].Lost })
	until(t, c, "there again", func(s *Snapshot, err error) bool {
		return err == nil && !s.Devices[1].Lost && noted(dir, "lives") == 2
	})
}

// Killed again and again, it is there again and again.
func TestClientKilled(t *testing.T) {
	t.Parallel()
	c, dir := client(t, "good", quick())
	for i := range 3 {
		until(t, c, "well", func(s *Snapshot, err error) bool { return well(s, err) && noted(dir, "lives") == i+1 })
		if err := syscall.Kill(pidOf(t, dir), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		until(t, c, "noticed", func(*Snapshot, error) bool { return noted(dir, "lives") == i+2 })
	}
	until(t, c, "well", well)
}

// Close ends the child, whatever it does, and leaves nothing behind.
// A daemon that is killed leaves no child behind, not even one that hears no
// end of its input.
func TestDaemonKilled(t *testing.T) {
	t.Parallel()
	program, dir := fake(t, "deaf")
	daemon := exec.Command(os.Args[0])
	daemon.Env = append(os.Environ(), "FAKE_CHILD=daemon", "FAKE_DIR="+t.TempDir(), "FAKE_PROGRAM="+program)
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("%q, %v", line, err)
	}
	pid := pidOf(t, dir)
	daemon.Process.Kill() //nolint:errcheck // it sleeps
	daemon.Wait()         //nolint:errcheck // killed
	if pid == 0 {
		t.Fatal("it had no child")
	}
	for end := time.Now().Add(10 * time.Second); pidOf(t, dir) != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // of the test's own
			t.Fatal("the child lives on")
		}
	}
}

func TestClientClose(t *testing.T) {
	for _, mode := range []string{"good", "deaf", "hangs", "starts-never", "flood", "long", "absent"} {
		before, files := runtime.NumGoroutine(), descriptors(t)
		program, dir := fake(t, mode)
		c := newClient(program, quick())
		c.Snapshot(nil) //nolint:errcheck // that it starts
		for noted(dir, "lives") == 0 || mode == "good" && noted(dir, "asked-") == 0 {
			time.Sleep(time.Millisecond)
		}
		begin := time.Now()
		c.Close()
		c.Close()
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("%s: closing took %s", mode, took)
		}
		c.Await(context.Background(), nil)
		end := time.Now().Add(5 * time.Second)
		for runtime.NumGoroutine() > before && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
		if n, f, pid := runtime.NumGoroutine(), descriptors(t), pidOf(t, dir); n > before || f > files || pid != 0 {
			t.Errorf("%s: %d goroutines of %d, %d files of %d, process %d", mode, n, before, f, files, pid)
		}
	}
	c := NewClient("")
	c.Close()
	if _, err := c.Snapshot(nil); err == nil {
		t.Error("an answer after the end")
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

// Who asks never waits, whatever the child does.
func TestClientNeverWaits(t *testing.T) {
	t.Parallel()
	p := quick()
	p.answer = time.Minute
	c, dir := client(t, "hangs", p)
	until(t, c, "asked", func(*Snapshot, error) bool { return noted(dir, "asked-") > 0 })
	var worst time.Duration
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		begin := time.Now()
		c.Snapshot(nil) //nolint:errcheck // only how long it takes
		worst = max(worst, time.Since(begin))
	}
	if worst > 2*time.Second {
		t.Errorf("a question took %s", worst)
	}
}

func TestCheckProgram(t *testing.T) {
	t.Parallel()
	if err := errors.Join(CheckProgram(""), CheckProgram("sh"), CheckProgram("/bin/sh")); err != nil {
		t.Error(err)
	}
	if err := CheckProgram("/nonexistent"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := CheckProgram("no-such-program-anywhere"); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
}
