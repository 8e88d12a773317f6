// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/google/go-cmp/cmp"
)

// counting is a film of RoCE ports on which everything rises: they send 5 GB
// every 10 s, and a second of these 10 is pause.
func counting(ports int) string {
	var b strings.Builder
	b.WriteString("-- proc/cpuinfo --\nflags\t\t: fpu\n")
	for i := range ports {
		address := fmt.Sprintf("0000:%02x:00.0", 16+i)
		pci := "sys/devices/pci0000:00/" + address
		fmt.Fprintf(&b, "-- sys/bus/pci/devices/%s -> ../../../devices/pci0000:00/%s --\n", address, address)
		for name, text := range map[string]string{
			"class": "0x020000", "vendor": "0x15b3", "device": "0x1021",
			fmt.Sprintf("net/eth%d/type", i): "1", fmt.Sprintf("net/eth%d/operstate", i): "up", fmt.Sprintf("net/eth%d/carrier", i): "1",
			fmt.Sprintf("infiniband/mlx5_%d/node_type", i): "1: CA", fmt.Sprintf("infiniband/mlx5_%d/ports/1/state", i): "4: ACTIVE",
			fmt.Sprintf("infiniband/mlx5_%d/ports/1/link_layer", i): "Ethernet", fmt.Sprintf("infiniband/mlx5_%d/ports/1/rate", i): "400 Gb/sec (4X NDR)",
			fmt.Sprintf("infiniband/mlx5_%d/ports/1/gid_attrs/ndevs/0", i): fmt.Sprintf("eth%d", i),
		} {
			fmt.Fprintf(&b, "-- %s/%s --\n%s\n", pci, name, text)
		}
		fmt.Fprintf(&b, "-- sys/class/net/eth%d -> ../../devices/pci0000:00/%s/net/eth%d --\n", i, address, i)
		fmt.Fprintf(&b, "-- sys/class/infiniband/mlx5_%d -> ../../devices/pci0000:00/%s/infiniband/mlx5_%d --\n", i, address, i)
		fmt.Fprintf(&b, "-- ethtool/eth%d/driver --\ndriver: mlx5_core\n", i)
		for at := range 70 {
			mark, n := fmt.Sprintf("at/%ds/", 10*at), at*(1+at%7)
			if at == 0 {
				mark = ""
			}
			for name, v := range map[string]int{"counters/port_xmit_data": 1250000000 * at, "counters/port_rcv_data": 1e9 * n, "hw_counters/np_ecn_marked_roce_packets": 1000 * n, "hw_counters/np_cnp_sent": 10 * n, "hw_counters/rp_cnp_handled": 7 * n} {
				fmt.Fprintf(&b, "-- %s%s/infiniband/mlx5_%d/ports/1/%s --\n%d\n", mark, pci, i, name, v)
			}
			fmt.Fprintf(&b, "-- %sethtool/eth%d/stats --\nrx_prio3_pause_duration: %d\nrx_prio4_pause_duration: %d\ntx_prio3_pause_duration: %d\n", mark, i, 1000000*at, 500000*at, 1000*n)
		}
	}
	return b.String()
}

func played(tb testing.TB, text string) (*Site, http.Handler) {
	tb.Helper()
	h, err := probes.Recorded([]byte(text), probes.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return siteOf(tb, h)
}

// What ports did in the last minutes is on the page, with its unit, and a node
// of sixteen busy ports is still a light page.
func TestPortsOnPage(t *testing.T) {
	s, h := played(t, counting(16))
	text := get(h, "/").Body.String()
	for _, want := range []string{
		"<h2>Ports</h2>", "mlx5_15/1 <span class=\"quiet\">eth15</span>", "ACTIVE, 400 Gb/s",
		"4 Gb/s <span", "10 % <span", `<svg class="spark"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	if n := strings.Count(text, `<svg class="spark"`); n != 16*7 {
		t.Errorf("%d curves", n)
	}
	const most = 150 << 10
	weight := len(text)
	for _, asset := range []string{"style.css", "live.js", "icon.svg"} {
		weight += get(h, "/assets/"+asset).Body.Len()
	}
	if t.Logf("%d bytes", weight); weight > most {
		t.Errorf("the page weighs %d bytes, more than %d", weight, most)
	}
	if got := s.trend.curve(stopped, "eth0"); len(got) != trendPoints || math.Abs(float64(got[0])-0.1) > 1e-6 {
		t.Errorf("paused: %v", got)
	}
}

// Points are taken every five seconds, of counters that did not fall; those of
// ports that went are forgotten.
func TestTrend(t *testing.T) {
	tr := newTrend(nil)
	c := counter{curve: curve{sent, "mlx5_0/1"}}
	for _, v := range []float64{0, 50, 50, 20, 120} {
		now := map[counter]float64{c: v}
		if tr.last != nil {
			tr.add(now, 5)
		}
		tr.last = now
	}
	unknowns := func(list []float32) (n int) {
		for _, v := range list {
			if v != v {
				n++
			}
		}
		return n
	}
	got := tr.curve(sent, "mlx5_0/1")
	if unknowns(got) != 1 || !slices.Equal(slices.DeleteFunc(got, func(v float32) bool { return v != v }), []float32{10, 0, 20}) {
		t.Errorf("points %v", got)
	}
	for range trendPoints {
		tr.add(nil, 5)
	}
	if got := tr.curve(sent, "mlx5_0/1"); got != nil {
		t.Errorf("a port that went has %v", got)
	}
	if d := tr.span(); d != 5*time.Minute {
		t.Errorf("span %s", d)
	}
}

func TestSparkPath(t *testing.T) {
	gap := unknown()
	if d := cmp.Diff("M56 16L57 8M59 0", path([]float32{0, 4, gap, 8}, 8)); d != "" {
		t.Error(d)
	}
	for v, want := range map[float64]string{0: "0 b/s", 999: "999 b/s", 999.6: "1 kb/s", 3.2e11: "320 Gb/s", 5e16: "5e+04 Tb/s"} {
		if got := si(v, " ", "b/s"); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

// BenchmarkBusyPage makes the page of eight ports on which everything moves.
func BenchmarkBusyPage(b *testing.B) {
	s, _ := played(b, counting(8))
	pages, err := template.ParseFS(files, "assets/page.html")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.render(pages); err != nil {
			b.Fatal(err)
		}
	}
}
