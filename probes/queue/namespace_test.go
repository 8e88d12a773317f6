// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/bpf/bpftest"
	"github.com/fabricd/fabricd/internal/nettest"
	"github.com/fabricd/fabricd/probes"
)

func ip(t testing.TB, args string) { t.Helper(); nettest.Command(t, "ip "+args) }
func tc(t testing.TB, args string) { t.Helper(); nettest.Command(t, "tc "+args) }

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
