// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/queue"
)

// Counters are there before their first event, of a bounded number of queues.
func TestCounted(t *testing.T) {
	n := Netdev{Netdev: &queue.Netdev{Name: "eth0"}, Timeouts: make([]Timeouts, 200), Qdiscs: &Qdiscs{ByQueue: map[int]Counts{7: {Drops: 3}}}}
	for i := range n.Timeouts {
		n.Timeouts[i].Count = probes.Some(uint64(0))
	}
	n.Timeouts[150].Count = probes.Some(uint64(2))
	list := countedQueues(&Reading{Netdevs: []Netdev{n}})
	if len(list) != maxCounted {
		t.Fatalf("%d queues", len(list))
	}
	metrics := countedColumns().Metrics
	for i := range list {
		if v, ok := metrics[0].Get(&list[i]); v != 0 || !ok {
			t.Errorf("queue %d: %g timeouts, %t", i, v, ok)
		}
	}
	if v, ok := metrics[1].Get(&list[7]); v != 3 || !ok {
		t.Errorf("%g drops, %t", v, ok)
	}
	if _, ok := metrics[1].Get(&list[8]); ok {
		t.Error("drops of a queue that tells none")
	}
	for _, test := range []struct {
		err error
		ok  bool
	}{{nil, true}, {fs.ErrNotExist, true}, {syscall.EIO, false}} {
		if test.err != nil {
			n.Timeouts[3].Count = probes.None[uint64](test.err)
		}
		if sum, ok := timeoutsOf(&n); ok != test.ok || ok && sum != 2 {
			t.Errorf("%v: %g timeouts, %t", test.err, sum, ok)
		}
	}
}
