// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// sample makes one of a node, of labels as Prometheus writes them.
func sample(instance string, v float64, labels ...string) *model.Sample {
	l := model.Metric{"instance": model.LabelValue(instance), "job": "fabricd"}
	for i := 0; i < len(labels); i += 2 {
		l[model.LabelName(labels[i])] = model.LabelValue(labels[i+1])
	}
	return &model.Sample{Metric: l, Value: model.SampleValue(v)}
}

func metric(name string) Metric {
	return Metrics()[slices.IndexFunc(Metrics(), func(m Metric) bool { return m.Name == name })]
}

func text(t *testing.T, m *Matrix) string {
	t.Helper()
	var b strings.Builder
	if err := m.Text(&b, 80, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// twoPorts is what four nodes say of an HCA of two ports, of which the second may be
// bonded: then its interface is the bond's, and its members are interfaces of their own.
func twoPorts(bonded bool) map[string]model.Vector {
	all := map[string]model.Vector{}
	for n := range 4 {
		node := fmt.Sprintf("n%d", n)
		add := func(name string, v float64, labels ...string) {
			all[name] = append(all[name], sample(node, v, append(labels, "address", "0000:16:00.0")...))
		}
		if bonded {
			add("fabricd_rdma_port_info{", 1, "device", "mlx5_bond_0", "port", "1", "netdev", "bond0")
		} else {
			add("fabricd_rdma_port_info{", 1, "device", "mlx4_0", "port", "1", "netdev", "ib0")
			add("fabricd_rdma_port_info{", 1, "device", "mlx4_0", "port", "2", "netdev", "ib1")
		}
		device, netdevs := "mlx4_0", []string{"ib0", "ib1"}
		if bonded {
			device, netdevs = "mlx5_bond_0", []string{"eth0", "eth1"}
		}
		for i, netdev := range netdevs {
			add("fabricd_device_info{", 1, "rdma", device, "netdev", netdev, "role", "compute")
			add("fabricd_lldp_neighbor_info{", 1, "netdev", netdev, "system_name", fmt.Sprintf("leaf-%d", i))
			add("100 * max", float64(10*i), "netdev", netdev)
			if !bonded {
				add("fabricd_rdma_port_lid{", float64(5+i+16*n), "device", device, "port", fmt.Sprint(1+i))
				add("8e-9", float64(100*(1+i)), "device", device, "port", fmt.Sprint(1+i))
				add("max by", float64(3*i), "subject", fmt.Sprintf("%s/%d/%s", device, 1+i, netdev))
				add("sum by", float64(i), "device", device, "port", fmt.Sprint(1+i))
				add("max by", 0, "subject", "0000:16:00.0/"+device+"/ib0,ib1")
			}
		}
		if bonded {
			add("8e-9", 100, "device", device, "port", "1")
			add("max by", 2, "subject", "eth1")
		}
		if n == 2 {
			add(`fabricd_check_status{check=~"rdma_errors`, 2, "subject", device+"/2")
		}
	}
	return all
}

// Each port of a device has its own cells, whichever of its names a series has.
func TestPortsOfOneDevice(t *testing.T) {
	for _, test := range []struct {
		bonded     bool
		metric, by string
		cols       string
		first      []float64 // of the first row
	}{
		{false, "bandwidth", "port", "[mlx4_0 mlx4_0/2]", []float64{100, 200}},
		{false, "bandwidth", "rail", "[0 1]", []float64{100, 200}},
		{false, "status", "port", "[mlx4_0 mlx4_0/2]", []float64{0, 3}},
		{false, "status", "rail", "[0 1]", []float64{0, 3}},
		{false, "pause", "port", "[mlx4_0 mlx4_0/2]", []float64{0, 10}},
		{false, "errors", "port", "[mlx4_0 mlx4_0/2]", []float64{0, 1}},
		{true, "bandwidth", "port", "[mlx5_bond_0]", []float64{100}},
		{true, "pause", "port", "[eth0 eth1]", []float64{0, 10}},
		{true, "pause", "rail", "[0]", []float64{10}},
		{true, "status", "port", "[eth0 eth1 mlx5_bond_0]", []float64{math.NaN(), 2, math.NaN()}},
	} {
		q := Query{Metric: metric(test.metric), By: test.by, At: time.Unix(1e9, 0), Window: time.Minute}
		m, err := Fetch(t.Context(), answers{vectors: twoPorts(test.bonded)}, q)
		if err != nil {
			t.Errorf("%v: %v", test, err)
			continue
		}
		if fmt.Sprint(m.Cols) != test.cols || fmt.Sprint(m.Cells[0]) != fmt.Sprint(test.first) || len(m.Rows) != 4 {
			t.Errorf("%v: rows %s, columns %s, cells %v", test, m.Rows, m.Cols, m.Cells)
		}
	}
}

// By LID each port is at its own, one value a line; and what a check warns of is the
// port that it judged.
func TestSecondPort(t *testing.T) {
	q := Query{Metric: metric("errors"), By: "lid", At: time.Unix(1e9, 0), Window: time.Minute}
	m, err := Fetch(t.Context(), answers{vectors: twoPorts(false)}, q)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, m); len(m.Rows) != 8 || m.Rows[1] != "0x0006 n0 mlx4_0/2" || !strings.Contains(got, " val\n0x0005 n0 mlx4_0      0\n") || !strings.Contains(got, "0x0026 n2 mlx4_0/2   !1\n") || strings.Contains(got, "avg") {
		t.Errorf("rows %q:\n%s", m.Rows, got)
	}
	q.By = "port"
	if m, err = Fetch(t.Context(), answers{vectors: twoPorts(false)}, q); err != nil || len(m.StandOuts) == 0 || !strings.HasPrefix(m.StandOuts[0], "port mlx4_0/2 (all at leaf-1): ") && !strings.HasPrefix(m.StandOuts[0], "n2, port mlx4_0/2: 1") {
		t.Errorf("%v, %q", err, m.StandOuts)
	}
}

// An older fabricd names no ports: what its series name is still kept apart.
func TestPortsOfOlder(t *testing.T) {
	all := twoPorts(false)
	delete(all, "fabricd_rdma_port_info{")
	delete(all, "fabricd_rdma_port_lid{")
	for name, want := range map[string]string{"bandwidth": "[mlx4_0 mlx4_0/2]", "pause": "[ib0 ib1]", "status": "[ib0 ib1]"} {
		m, err := Fetch(t.Context(), answers{vectors: all}, Query{Metric: metric(name), By: "port", At: time.Unix(1e9, 0), Window: time.Minute})
		if err != nil || fmt.Sprint(m.Cols) != want {
			t.Errorf("%s: %v, %v", name, err, m)
		}
	}
}

// A port that is warned of stands out though nothing counts there.
func TestWarnedWithoutValue(t *testing.T) {
	all := twoPorts(false)
	all["sum by"] = nil
	m, err := Fetch(t.Context(), answers{vectors: all}, Query{Metric: metric("errors"), By: "port", At: time.Unix(1e9, 0), Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, m); !strings.Contains(got, "n2        !-   -\n") || !strings.Contains(got, "n2, port mlx4_0/2: no value, but rdma_errors or rdma_loss warns\n") {
		t.Error(got)
	}
}

// Who does not answer is told of, and has a row, though nothing is known of it.
func TestUnanswered(t *testing.T) {
	all := twoPorts(false)
	for n := range 7 {
		all["(up{"] = append(all["(up{"], sample(fmt.Sprintf("dark-%d", n+4), 0))
	}
	q := Query{Metric: metric("bandwidth"), By: "port", At: time.Unix(1e9, 0), Window: time.Minute}
	m, err := Fetch(t.Context(), answers{vectors: all}, q)
	if err != nil {
		t.Fatal(err)
	}
	got := text(t, m)
	for _, want := range []string{"11 nodes, 8 ports;", "\ndark-10    -   -   -\n", "\n7 of 11 nodes do not answer: dark-4, dark-5, dark-6, dark-7, dark-8 and 2 more\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	all["(up{"] = all["(up{"][:1]
	if m, err = Fetch(t.Context(), answers{vectors: all}, q); err != nil || !strings.Contains(text(t, m), "\n1 of 5 nodes does not answer: dark-4\n") {
		t.Errorf("%v: %v", err, m)
	}
	if _, err := Fetch(t.Context(), answers{vectors: map[string]model.Vector{"(up{": all["(up{"]}}, q); err == nil || !strings.HasSuffix(err.Error(), "; 1 of 1 nodes does not answer: dark-4") {
		t.Error(err)
	}
	delete(all, "fabricd_rdma_port_lid{")
	q.By = "lid"
	if _, err = Fetch(t.Context(), answers{vectors: all}, q); err == nil || !strings.Contains(err.Error(), "none of 8 series is of a port with a LID (InfiniBand has); 1 of 5 nodes does not answer: dark-4: try --by port") {
		t.Error(err)
	}
}

// Nodes of the same name are kept apart by what the rules keep them apart by.
func TestNodesOfOneName(t *testing.T) {
	nodes := func(list ...target) map[target]bool {
		all := map[target]bool{}
		for _, t := range list {
			all[t] = true
		}
		return all
	}
	for _, test := range []struct {
		nodes map[target]bool
		want  string
	}{
		{nodes(target{"", "fabricd", "n1"}, target{"", "fabricd", "n2"}), "[n1 n2]"},
		{nodes(target{"a", "fabricd", "n1"}, target{"a", "other", "n2"}), "[n1 n2]"},
		{nodes(target{"a", "fabricd", "n1"}, target{"b", "fabricd", "n1"}), "[a/n1 b/n1]"},
		{nodes(target{"a", "x", "n1"}, target{"a", "y", "n1"}), "[x/n1 y/n1]"},
		{nodes(target{"a", "x", "n1"}, target{"b", "x", "n1"}, target{"b", "y", "n1"}), "[a/x/n1 b/x/n1 b/y/n1]"},
	} {
		if got := fmt.Sprint(slices.Sorted(maps.Values(names(test.nodes)))); got != test.want {
			t.Errorf("%v: %s, want %s", test.nodes, got, test.want)
		}
	}
	all := twoPorts(false)
	for name, vector := range twoPorts(false) {
		for _, s := range vector {
			s.Metric["cluster"] = "b"
			if strings.HasPrefix(name, "8e-9") {
				s.Value = 7
			}
		}
		all[name] = append(all[name], vector...)
	}
	m, err := Fetch(t.Context(), answers{vectors: all}, Query{Metric: metric("bandwidth"), By: "port", At: time.Unix(1e9, 0), Window: time.Minute})
	if err != nil || len(m.Rows) != 8 || m.Rows[0] != "b/n0" || m.Cells[0][0] != 7 || m.Rows[4] != "n0" || m.Cells[4][0] != 100 {
		t.Errorf("%v: %v", err, m)
	}
	for _, metric := range Metrics() {
		if q := metric.query("", time.Minute); strings.Contains(q, "by (") && strings.Count(q, "by (") != strings.Count(q, "by (cluster, job, instance, ") {
			t.Errorf("%s adds up nodes of the same name", q)
		}
	}
}

// The time that is looked back is written as Prometheus reads it.
func TestWhen(t *testing.T) {
	for window, want := range map[time.Duration]string{10 * time.Second: "10s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", time.Hour: "1h", 100 * time.Minute: "1h40m", 1500 * time.Millisecond: "1s500ms", 30 * 24 * time.Hour: "30d"} {
		m := newMatrix(Query{Metric: metric("pause"), Window: window, At: time.Unix(1e9, 0)})
		if got := m.when(); got != want+" to 2001-09-09T01:46:40Z" || !strings.Contains(m.Metric.query("", window), "["+want+"]") {
			t.Errorf("%s: %q, %s", window, got, m.Metric.query("", window))
		}
	}
}
