// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes/queue"
)

func TestHeat(t *testing.T) {
	begin := time.UnixMilli(1796043600500)
	n := queue.Netdev{Name: "eth0", Heat: make([]queue.Column, 3)}
	for i := range n.Heat {
		n.Heat[i].Time, n.Heat[i].Took = begin.Add(time.Duration(i)*time.Second), time.Duration(i)*time.Second+999*time.Microsecond
		n.Heat[i].Counts[0], n.Heat[i].Counts[i] = 100, 7
	}
	r := Reading{Netdevs: []Netdev{{Netdev: &n}, {Netdev: &queue.Netdev{Name: "eth1"}}}}
	h := r.Heat(begin, "")
	if len(h.Bounds) != len(n.Heat[0].Counts)-1 || h.Bounds[1] != 1 || h.Bounds[11] != 1024 {
		t.Errorf("bounds %v", h.Bounds)
	}
	got, err := json.Marshal(h.Netdevs)
	const want = `[{"netdev":"eth0","columns":[{"time":1796043601.5,"seconds":1,"counts":[100,7]},{"time":1796043602.5,"seconds":2,"counts":[100,0,7]}]}]`
	if err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	if h := r.Heat(begin, "eth1"); len(h.Netdevs) != 0 {
		t.Errorf("%+v", h)
	}
}

func TestDistribution(t *testing.T) {
	h := queue.Histogram{Sum: 12}
	for i := range h.Counts {
		h.Counts[i] = 1
	}
	d := inBytes(&h)
	// Up to 32 bytes are 0, 1, 2 … 32; the buckets end with 64 … 16 MiB.
	if d.Low != 6 || d.Small != 7 || len(d.Buckets) != 19 || d.Large != uint64(len(h.Counts)-7-19) || d.Count() != uint64(len(h.Counts)) || d.Sum != 12 {
		t.Errorf("%+v", d)
	}
	if d := inSeconds(&h); d.Low != -16 || d.Count() != uint64(len(h.Counts)) {
		t.Errorf("%+v", d)
	}
}
