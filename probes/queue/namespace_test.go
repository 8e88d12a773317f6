// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/bpf/bpftest"
	"github.com/fabricd/fabricd/probes"
	"golang.org/x/sys/unix"
)

// apart runs a test or benchmark in a process of its own, in network and mount namespaces
// of its own: whatever it makes is gone with it. In that process it returns
// true; the test is skipped where that is not permitted.
func apart(t testing.TB) bool {
	t.Helper()
	const mark = "FABRICD_TEST_APART"
	if os.Getenv(mark) == t.Name() {
		for _, err := range []error{
			unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("sysfs", "/sys", "sysfs", 0, ""),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		ip(t, "link set lo up")
		return true
	}
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs ip and tc (Debian: iproute2)")
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	if _, ok := t.(*testing.B); ok {
		args = []string{"-test.run=^$", "-test.bench=^" + t.Name() + "$", "-test.benchmem"}
	}
	c := exec.Command("/proc/self/exe", append(args, "-test.timeout=5m")...)
	c.Env = append(os.Environ(), mark+"="+t.Name())
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	if _, ok := t.(*testing.B); ok {
		os.Stdout.Write(out) //nolint:errcheck // as the benchmarks' own lines are
		t.SkipNow()
	}
	t.Logf("%s", out)
	switch {
	case err != nil && strings.Contains(err.Error(), "operation not permitted"):
		t.Skip("may not make namespaces")
	case err != nil:
		t.Fatal(err)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip("see above")
	}
	return false
}

func ip(t testing.TB, args string) { t.Helper(); command(t, "ip "+args) }
func tc(t testing.TB, args string) { t.Helper(); command(t, "tc "+args) }

func command(t testing.TB, line string) string {
	t.Helper()
	words := strings.Fields(line)
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		if strings.Contains(string(out), "Specified qdisc") || strings.Contains(string(out), "Unknown device type") || strings.Contains(string(out), "not supported") {
			t.Skipf("%s: %s", line, out)
		}
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	return string(out)
}

// pair makes a pair of interfaces of so many queues and gives a socket whose
// datagrams go out of the first; nobody answers.
func pair(t testing.TB, queues string, more ...string) net.Conn {
	t.Helper()
	ip(t, "link add qa "+strings.Join(more, " ")+" numtxqueues "+queues+" numrxqueues "+queues+" type veth peer name qb numtxqueues "+queues+" numrxqueues "+queues)
	ip(t, "link set qa up")
	ip(t, "link set qb up")
	ip(t, "addr add 192.0.2.1/24 dev qa")
	ip(t, "neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev qa")
	c, err := net.Dial("udp", "192.0.2.2:9")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func sampler(t testing.TB, o Options) *Sampler {
	t.Helper()
	return samplerAt(t, "/", o)
}

func samplerAt(t testing.TB, root string, o Options) *Sampler {
	t.Helper()
	h, err := probes.Live(root, probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(h, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if got := s.Snapshot(); o.Way != Best && got.Way != o.Way {
		bpftest.Skip(t, fmt.Sprintf("samples by %s: %s", got.Way, got.Why))
	}
	return s
}

// await looks until something is seen.
func await(t *testing.T, s *Sampler, what string, seen func(*Snapshot) bool) *Snapshot {
	t.Helper()
	for until := time.Now().Add(15 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		s.listed = time.Time{}
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
		if v := s.Snapshot(); seen(v) {
			return v
		}
	}
	t.Fatalf("never seen: %s; but %+v", what, s.Snapshot())
	return nil
}
