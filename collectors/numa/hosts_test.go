// SPDX-License-Identifier: Apache-2.0

package numa_test

import (
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

type host = hosttest.Host

// A row is a host, changed, and what is to be said of it, as in a recording's comment.
type row struct {
	name   string
	change func(*host)
	expect string
}

func run(t *testing.T, base func(testing.TB) *host, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			h := base(t)
			if r.change != nil {
				r.change(h)
			}
			h.Expect(r.expect)
		})
	}
}

const guid = "946d:ae03:0000:000"

// twoSockets has a GPU and a NIC below a switch of node 0, and the same of node 1.
func twoSockets(tb testing.TB) *host {
	h := hosttest.New(tb).Sockets("0", "1").Nodes("0-3", "4-7")
	for i, c := range []string{"1", "a"} {
		root, up, down, other := "0000:"+c+"5:01.0", "0000:"+c+"6:00.0", "0000:"+c+"7:00.0", "0000:"+c+"7:01.0"
		h.Port(root, "", "32x16").Node(i)
		h.Switch(up, root, "32x16", down, other)
		h.GPU("0000:"+c+"8:00.0", down, "32x16").Node(i).Set("local_cpulist", []string{"0-3", "4-7"}[i])
		h.NIC("0000:"+c+"9:00.0", other, "32x16").Node(i).RDMA("mlx5_"+string(rune('0'+i)), 200, guid+c)
		for _, b := range []string{up, down, other} {
			h.Dev(b).Node(i)
		}
	}
	return h
}

// apart has one GPU and one NIC, each below a root port of its own, on two
// root buses.
func apart(tb testing.TB) *host {
	h := hosttest.New(tb).Sockets("0", "1").Nodes("0-3", "4-7")
	h.Port("0000:15:01.0", "", "32x16")
	h.GPU("0000:16:00.0", "0000:15:01.0", "32x16")
	h.Port("0000:25:01.0", "", "32x16")
	h.NIC("0000:26:00.0", "0000:25:01.0", "32x16").RDMA("mlx5_0", 200, guid+"1")
	return h
}

func recorded(name string) func(testing.TB) *host {
	return func(tb testing.TB) *host { return hosttest.Load(tb, "../testdata/hosts/cases/"+name+".txtar") }
}
