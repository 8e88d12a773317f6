// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"testing"
	"time"

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

const guid = "946d:ae03:0000:0001"

// oneNIC has a ConnectX-7 at 200 Gb/s in a Gen5 slot.
func oneNIC(tb testing.TB) *host {
	h := hosttest.New(tb)
	h.Port("0000:15:01.0", "", "32x16")
	h.NIC("0000:16:00.0", "0000:15:01.0", "32x16").RDMA("mlx5_0", 200, guid)
	return h
}

// oneGPU has an H100 in a Gen5 slot, and no source that tells its load.
func oneGPU(tb testing.TB) *host {
	h := hosttest.New(tb)
	h.Port("0000:15:01.0", "", "32x16")
	h.GPU("0000:16:00.0", "0000:15:01.0", "32x16")
	return h
}

// oneSwitch has a GPU and a NIC below one switch.
func oneSwitch(tb testing.TB) *host {
	h := hosttest.New(tb)
	h.Port("0000:15:01.0", "", "32x16")
	h.Switch("0000:16:00.0", "0000:15:01.0", "32x16", "0000:17:00.0", "0000:17:01.0")
	h.GPU("0000:18:00.0", "0000:17:00.0", "32x16")
	h.NIC("0000:19:00.0", "0000:17:01.0", "32x16").RDMA("mlx5_0", 200, guid)
	return h
}

// cardWithSwitch has a GPU card with a switch of its own, all of one maker.
func cardWithSwitch(tb testing.TB) *host {
	h := hosttest.New(tb)
	h.Port("0000:15:01.0", "", "16x16")
	h.Port("0000:16:00.0", "0000:15:01.0", "16x16").ID("8086:4fa0")
	h.Port("0000:17:01.0", "0000:16:00.0", "2.5x1").ID("8086:4fa4")
	h.Add("0000:18:00.0", "0000:17:01.0", "030000", "8086:56a0", "2.5x1").Driver("i915")
	return h
}

// fourNICs are four equal cards, each in a slot of its own.
func fourNICs(tb testing.TB) *host {
	h := hosttest.New(tb)
	for i, c := range []string{"a", "b", "c", "d"} {
		h.Port("0000:"+c+"0:01.0", "", "32x16")
		h.NIC("0000:"+c+"1:00.0", "0000:"+c+"0:01.0", "32x16").RDMA("mlx5_"+string(rune('0'+i)), 200, guid[:18]+c)
	}
	return h
}

// fourGPUs are four equal cards.
func fourGPUs(tb testing.TB) *host {
	h := hosttest.New(tb)
	for _, c := range []string{"a", "b", "c", "d"} {
		h.Port("0000:"+c+"0:01.0", "", "32x16")
		h.GPU("0000:"+c+"1:00.0", "0000:"+c+"0:01.0", "32x16")
	}
	return h
}

// every makes a film of several equal marks: they are only there to be read.
func every(h *host, marks ...string) {
	for _, m := range marks {
		h.At(m).Set("proc/uptime", m)
	}
}

func recorded(name string) func(testing.TB) *host {
	return func(tb testing.TB) *host { return hosttest.Load(tb, "../testdata/hosts/cases/"+name+".txtar") }
}

// loads makes a film of a GPU's utilisation, one reading each step; -1 is a
// reading that tells none.
func loads(h *host, address string, step time.Duration, percents ...int) {
	for i, p := range percents {
		d := hosttest.Busy(address, p)
		if p < 0 {
			d.Utilization = nil
		}
		h.At(mark(step, i)).NVML(d)
	}
}

func mark(step time.Duration, i int) string {
	if i == 0 {
		return ""
	}
	return (time.Duration(i) * step).String()
}
