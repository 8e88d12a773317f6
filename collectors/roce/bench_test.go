// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/rdma"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// mlx5Statistics writes 700 statistics as mlx5 counts them with 16 queues.
func mlx5Statistics(b *strings.Builder) {
	n := 0
	add := func(format string, args ...any) {
		fmt.Fprintf(b, "     "+format+": %d\n", append(args, 1_000_000_000+n)...)
		n++
	}
	for _, c := range find("mlx5_core").counters {
		for p := range 8 {
			if strings.Contains(c.name, "#") {
				if name := strings.Replace(c.name, "#", fmt.Sprint(p), 1); p == 3 || !strings.Contains(name, "pause") {
					add("%s", name)
				}
			} else if p == 0 {
				add("%s", c.name)
			}
		}
	}
	for i := 0; n < 700; i++ {
		add("rx%d_%s_of_a_queue", i%16, [...]string{"csum_complete", "cache_reuse", "mpwqe_filler", "xdp_drop", "packets", "bytes"}[i/16%6]+fmt.Sprint(i/96))
	}
}

// node is a recording of a node with so many ports of an mlx5 card.
func node(tb testing.TB, ports int) *probes.Host {
	tb.Helper()
	var b strings.Builder
	b.WriteString("-- proc/cpuinfo --\nprocessor\t: 0\nflags\t\t: fpu\n")
	for i := range ports {
		address, dir := fmt.Sprintf("0000:%02x:00.0", i+1), fmt.Sprintf("sys/devices/pci0000:00/0000:%02x:00.0", i+1)
		fmt.Fprintf(&b, "-- sys/bus/pci/devices/%s -> ../../../devices/pci0000:00/%s --\n", address, address)
		fmt.Fprintf(&b, "-- sys/class/net/eth%d -> ../../devices/pci0000:00/%s/net/eth%d --\n-- %s/net/eth%d/device -> ../../../%s --\n", i, address, i, dir, i, address)
		for name, content := range map[string]string{
			"class": "0x020000", "vendor": "0x15b3", "device": "0x1021", "numa_node": "0", "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16", "current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16",
			fmt.Sprintf("net/eth%d/type", i): "1", fmt.Sprintf("net/eth%d/mtu", i): "9000", fmt.Sprintf("net/eth%d/speed", i): "400000", fmt.Sprintf("net/eth%d/carrier", i): "1", fmt.Sprintf("net/eth%d/duplex", i): "full",
		} {
			fmt.Fprintf(&b, "-- %s/%s --\n%s\n", dir, name, content)
		}
		fmt.Fprintf(&b, "-- ethtool/eth%d/driver --\ndriver: mlx5_core\n-- ethtool/eth%d/stats --\nNIC statistics:\n", i, i)
		mlx5Statistics(&b)
		fmt.Fprintf(&b, "-- dcb/eth%d.json --\n%s\n", i, `{"dcbx": ["host", "ieee"], "pfc": {"cap": 8, "enabled": [3]}, "ets": {"cap": 8, "tc_algorithm": ["strict","strict","strict","strict","strict","strict","strict","strict"], "priority_tc": [0,1,2,3,4,5,6,7]}, "app": [{"selector": "dscp", "protocol": 26, "priority": 3}], "buffer": {"priority_buffer": [0,0,0,1,0,0,0,0], "size_bytes": [262016,262016,0,0,0,0,0,0], "total_bytes": 524032}}`)
	}
	h, err := probes.Recorded([]byte(b.String()), probes.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func readers(tb testing.TB, h *probes.Host, ports int) []collectors.Reader[Reading] {
	tb.Helper()
	var list []collectors.Reader[Reading]
	for i := range ports {
		r, err := open(context.Background(), h, fmt.Sprintf("eth%d", i))
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// A reading of ten ports: what the issue bounds at 1.5 ms. Settings are read
// each time here, as at each mark of a recording.
func BenchmarkRead(b *testing.B) {
	const ports = 10
	list := readers(b, node(b, ports), ports)
	b.ReportAllocs()
	at := time.Duration(0)
	for b.Loop() {
		at += time.Second
		for _, r := range list {
			if reading, err := r.Read(at); err != nil || reading.Counters == nil {
				b.Fatal(reading, err)
			}
		}
	}
}

// Of a reading whose names are known, only the values kept are allocated.
func TestCountAllocates(t *testing.T) {
	r, ok := readers(t, node(t, 1), 1)[0].(*reader)
	if !ok {
		t.Fatal("not a reader")
	}
	if _, err := r.Read(0); err != nil {
		t.Fatal(err)
	}
	now := *r.last
	if n := testing.AllocsPerRun(50, func() {
		if err := r.count(&now, time.Second, true); err != nil || now.Counters == nil {
			t.Fatal(err)
		}
	}); n > 2 {
		t.Errorf("%v allocations, want those of the kept values alone (2)", n)
	}
}

// A driver that does not answer costs what is known of its interface, not the
// verdicts: they say so.
func TestStale(t *testing.T) {
	inv := node(t, 2).Refresh()
	view := &collectors.View{Inventory: inv, Topology: topo.New(inv, config.Plan{})}
	list := ports(view, []collectors.Unit[Reading]{{Name: "eth1", Reading: &Reading{Netdev: "eth1", Settings: &Settings{}}}})
	if len(list) != 2 || list[0].Err != errStale || list[1].Err != nil {
		t.Fatalf("%+v", list)
	}
	p := &list[0]
	p.Driver, p.rdma = "mlx5_core", &rdma.Port{Protocol: rdma.RoCE, Device: "mlx5_0"}
	past := []sample{{At: 0, Row: *p}, {At: time.Second, Row: *p}}
	for name, eval := range map[string]func(*port, *env) verdict{
		"pfc": evalPFC, "priority": evalPlace, "global pause": evalGlobalPause, "dcqcn": evalDCQCN, "discards": evalDiscards, "stall": evalStall, "fec": evalFEC,
	} {
		if v := eval(p, &env{View: view, Past: past, Rows: list}); v.Status != collectors.Unknown || !strings.Contains(v.Reason, "no fresh reading") {
			t.Errorf("%s: %v %s", name, v.Status, v.Reason)
		}
	}
}
