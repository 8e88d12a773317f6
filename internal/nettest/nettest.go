// SPDX-License-Identifier: Apache-2.0

// Package nettest gives tests network namespaces of their own, in which they
// make the interfaces that they want of a real kernel. It knows nothing of what
// is tested. Where a test may not have a namespace it is skipped, with the
// reason.
package nettest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// need skips a test that has no root, or not the programs that it needs.
func need(tb testing.TB, programs ...string) {
	tb.Helper()
	if os.Getuid() != 0 {
		tb.Skip("needs root: network namespaces")
	}
	for _, p := range append(programs, "ip") {
		if _, err := exec.LookPath(p); err != nil {
			tb.Skipf("needs %s (make deps)", p)
		}
	}
}

// Enter moves the test's thread into a new network namespace, and new ones of
// other kinds (flags of unshare(2)). The thread ends with the test.
func Enter(tb testing.TB, flags int, programs ...string) {
	tb.Helper()
	need(tb, programs...)
	runtime.LockOSThread() // never unlocked, so that nobody else gets the thread
	if err := unix.Unshare(unix.CLONE_NEWNET | flags); err != nil {
		tb.Skipf("no network namespace: %v", err)
	}
}

// Elsewhere starts a process in another new network namespace, and gives its
// number. Both last as long as the test.
func Elsewhere(tb testing.TB) int {
	tb.Helper()
	c := exec.Command("sleep", "infinity")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c.Process.Pid
}

// Apart runs the test or benchmark once more, in a process whose network
// namespace is new and whose /sys shows that: for what has threads. It is true
// in that process; else the test has nothing more to do.
func Apart(tb testing.TB) bool {
	tb.Helper()
	const mark = "FABRICD_TEST_APART"
	if os.Getenv(mark) == tb.Name() {
		settle(tb)
		return true
	}
	need(tb)
	_, bench := tb.(*testing.B)
	args := []string{"-test.run=^" + tb.Name() + "$", "-test.v", "-test.timeout=5m"}
	if bench {
		args = []string{"-test.run=^$", "-test.bench=^" + tb.Name() + "$", "-test.benchmem", "-test.timeout=30m"}
	}
	c := exec.Command("/proc/self/exe", args...)
	c.Env = append(os.Environ(), mark+"="+tb.Name())
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	switch {
	case errors.Is(err, os.ErrPermission):
		tb.Skip("may not make namespaces")
	case err != nil:
		tb.Fatalf("%v\n%s", err, out)
	case bench:
		os.Stdout.Write(out) //nolint:errcheck // as the benchmarks' own lines are
		tb.SkipNow()
	case strings.Contains(string(out), "--- SKIP"):
		tb.Skipf("%s", out)
	}
	tb.Logf("%s", out)
	return false
}

// settle has /sys show the new namespace's interfaces.
func settle(tb testing.TB) {
	tb.Helper()
	err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err = errors.Join(err, unix.Mount("sysfs", "/sys", "sysfs", 0, "")); err != nil {
		tb.Fatal(err)
	}
	Command(tb, "ip link set lo up")
}

// Command runs a command and gives what it says. The test is skipped where the
// kernel lacks what is asked for, and fails with the command otherwise.
func Command(tb testing.TB, line string) string {
	tb.Helper()
	words := strings.Fields(line)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	text := string(out)
	if err == nil {
		return text
	}
	for _, lack := range []string{"Specified qdisc", "Unknown device type", "not supported"} {
		if strings.Contains(text, lack) {
			tb.Skipf("%s: %s", line, text)
		}
	}
	tb.Fatalf("%s: %v: %s", line, err, text)
	return ""
}
