// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Whatever is wrong with Prometheus or what it says: one line, and the exit
// status tells whose fault it is.
func TestHeatmapBadInput(t *testing.T) {
	vector := func(result string) string {
		return `{"status":"success","data":{"resultType":"vector","result":[` + result + `]}}`
	}
	answers := map[string]struct {
		code int
		body string
	}{
		"/empty":        {200, vector("")},
		"/nan":          {200, vector(`{"metric":{"instance":"n1","device":"mlx5_0","port":"1"},"value":[1,"NaN"]}`)},
		"/one":          {200, vector(`{"metric":{"instance":"n1\u001b[31m","device":"mlx5_0","port":"1"},"value":[1,"380"]}`)},
		"/scalar":       {200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`},
		"/unauthorized": {401, "Unauthorized\n"},
		"/html":         {200, "<html>Grafana</html>"},
		"/missing":      {404, "404 page not found"},
		"/bad":          {400, `{"status":"error","errorType":"bad_data","error":"1:8: parse error: unexpected identifier"}`},
		"/forbidden":    {403, "no"},
		"/heavy":        {422, `{"status":"error","errorType":"execution","error":"would load more than 401403 samples"}`},
		"/slow":         {503, `{"status":"error","errorType":"timeout","error":"query timed out in expression evaluation"}`},
		"/escape":       {503, `{"status":"error","errorType":"timeout","error":"\u001b]0;owned\u0007 timed out"}`},
		"/cut":          {200, vector(`{"metric":{"instance":"n1"`)},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for prefix, a := range answers {
			if strings.HasPrefix(r.URL.Path, prefix+"/") {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(a.code)
				fmt.Fprint(w, a.body)
			}
		}
	}))
	defer s.Close()
	login := strings.Replace(s.URL, "//", "//u:secret@", 1)
	for _, test := range []struct {
		url, more string
		code      int
		says      string
	}{
		{s.URL + "/one", "", exitOK, "380"},
		{s.URL + "/nan", "", exitUnknown, "none of 1 ports has a value"},
		{s.URL + "/empty", "", exitUnknown, "does this Prometheus scrape fabricd"},
		{s.URL + "/scalar", "", exitUnknown, "not a vector"},
		{s.URL + "/unauthorized", "", exitUnknown, "--http.config.file"},
		{s.URL + "/html", "", exitUnknown, "does not answer as Prometheus does"},
		{s.URL + "/missing", "", exitUnknown, "does not answer as Prometheus does"},
		{s.URL + "/cut", "", exitUnknown, "does not answer as Prometheus does"},
		{s.URL + "/slow", "", exitUnknown, "503: query timed out in expression evaluation"},
		{s.URL + "/forbidden", "", exitUnknown, "--http.config.file"},
		{s.URL + "/escape", "", exitUnknown, "timed out"},
		{s.URL + "/one/graph?g0.expr=up#x", "", exitOK, "380"},
		{s.URL + "/one/query", "", exitOK, "380"},
		{s.URL + "/one/", "", exitOK, "380"},
		{login + "/unauthorized", "", exitUnknown, "u:xxxxx@"},
		{login + "/html", "", exitUnknown, "u:xxxxx@"},
		{"http://u:secret@127.0.0.1:1", "", exitUnknown, "connection refused"},
		{"u:secret@localhost:9090", "", exitUsage, "not an address"},
		{"http://u:secret@[::1", "", exitUsage, "not an address"},
		{"ftp://u:secret@localhost", "", exitUsage, "not an address"},
		{s.URL + "/heavy", "", exitUnknown, "--prometheus: execution: would load more than 401403 samples"},
		{s.URL + "/one", "--window=1d", exitOK, "Gb/s sent and received\n1d to"},
		{s.URL + "/one", "--at=30d", exitOK, "380"},
		{s.URL + "/one", "--at=1w2d", exitOK, "380"},
		{s.URL, "--window=1d1", exitUsage, "--window"},
		{s.URL, "--window=400d", exitUsage, "--window"},
		{s.URL + "/bad", "--match=nonsense", exitUsage, "--match nonsense"},
		{"http://127.0.0.1:1", "", exitUnknown, "connection refused"},
		{"localhost:9090", "", exitUsage, "not an address"},
		{"", "", exitUsage, "not an address"},
		{s.URL, "--at=yesterday", exitUsage, "--at yesterday"},
		{s.URL, "--at=-1h", exitUsage, "--at -1h"},
		{s.URL, "--metric=speed", exitUsage, "bandwidth, pause"},
		{s.URL, "--by=leaf", exitUsage, "port, rail, lid"},
		{s.URL, "--window=0s", exitUsage, "--window"},
		{s.URL, "--format=png", exitUsage, "text, csv, svg"},
		{s.URL, "--http.config.file=/nowhere.yml", exitUsage, "/nowhere.yml"},
	} {
		args := []string{"heatmap", "--prometheus=" + test.url}
		if test.more != "" {
			args = append(args, test.more)
		}
		code, stdout, stderr := fabricd(args...)
		if code != test.code || !strings.Contains(stdout+stderr, test.says) || code != exitOK && (stdout != "" || strings.Count(stderr, "\n") != 1) || strings.ContainsAny(stdout+stderr, "\x1b\a") || strings.Contains(stderr, "secret") {
			t.Errorf("%s: exit status %d, standard output %q, standard error %q", args, code, stdout, stderr)
		}
	}
}

// fleetOf writes what a Prometheus would have scraped in six minutes off
// nodes of sixteen ports: one node is slow, one port everywhere, one
// port is paused and marked, one has errors and a finding.
func fleetOf(t *testing.T, nodes int) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "fleet.om")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	each := func(series string, value func(node, port int) float64, grows bool) {
		for n := range nodes {
			for p := range 16 {
				for minute := range 6 {
					v := value(n, p)
					if grows {
						v *= float64(60 * minute)
					}
					if v >= 0 {
						name := strings.NewReplacer("@N", fmt.Sprintf("node-%04d:9794", n), "@P", fmt.Sprint(p), "@A", fmt.Sprintf("0000:%02x:00.0", 16+p)).Replace(series)
						fmt.Fprintf(w, "%s %g %d\n", name, v, 1e9+60*minute)
					}
				}
			}
		}
	}
	fixed := func(v float64) func(int, int) float64 { return func(int, int) float64 { return v } }
	only := func(v, otherwise float64) func(int, int) float64 {
		return func(n, p int) float64 {
			if n == 7 && p == 4 {
				return v
			}
			return otherwise
		}
	}
	fmt.Fprintln(w, "# TYPE fabricd_device_info gauge")
	each(`fabricd_device_info{instance="@N",class="nic",role="compute",address="@A",rdma="mlx5_@P",netdev="rdma@P"}`, fixed(1), false)
	fmt.Fprintln(w, "# TYPE fabricd_lldp_neighbor_info gauge")
	each(`fabricd_lldp_neighbor_info{instance="@N",netdev="rdma@P",system_name="leaf-@P"}`, fixed(1), false)
	fmt.Fprintln(w, "# TYPE fabricd_rdma_transmitted_bytes counter")
	each(`fabricd_rdma_transmitted_bytes_total{instance="@N",address="@A",device="mlx5_@P",port="1"}`, func(n, p int) float64 {
		if n == 3 || p == 9 {
			return 1e9
		}
		return 23e9
	}, true)
	fmt.Fprintln(w, "# TYPE fabricd_rdma_received_bytes counter")
	each(`fabricd_rdma_received_bytes_total{instance="@N",address="@A",device="mlx5_@P",port="1"}`, fixed(1e9), true)
	fmt.Fprintln(w, "# TYPE fabricd_roce_pfc_pause_seconds counter")
	each(`fabricd_roce_pfc_pause_seconds_total{instance="@N",netdev="rdma@P",priority="3",direction="rx"}`, only(0.62, 0), true)
	fmt.Fprintln(w, "# TYPE fabricd_roce_ecn_marked_packets counter")
	each(`fabricd_roce_ecn_marked_packets_total{instance="@N",address="@A",device="mlx5_@P",port="1"}`, only(5e4, 10), true)
	fmt.Fprintln(w, "# TYPE fabricd_rdma_port_errors counter")
	each(`fabricd_rdma_port_errors_total{instance="@N",address="@A",device="mlx5_@P",port="1",error="symbol_error"}`, only(3, 0), true)
	fmt.Fprintln(w, "# TYPE fabricd_check_status gauge")
	each(`fabricd_check_status{instance="@N",check="rdma_errors",subject="mlx5_@P/1"}`, func(n, p int) float64 {
		if n == 2 && p == 15 {
			return -1 // is unknown: there is no series
		}
		return only(2, 0)(n, p)
	}, false)
	fmt.Fprintln(w, "# EOF")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return file
}

// A real Prometheus with the data of a fleet is asked.
func TestHeatmap(t *testing.T) {
	promtool, prometheus := need(t, "PROMTOOL", "promtool"), need(t, "PROMETHEUS", "prometheus")
	const nodes = 100
	dir, address := t.TempDir(), freePort(t)
	if out, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", fleetOf(t, nodes), dir+"/data").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(dir+"/prometheus.yml", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	background(t, prometheus, "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+"/data", "--storage.tsdb.retention.time=100y", "--web.listen-address="+address, "--log.level=error")
	eventually(t, 30*time.Second, "Prometheus", func() bool {
		resp, err := http.Get("http://" + address + "/-/ready")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	for _, test := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"node-0003  !16 !16 !16", fmt.Sprintf("port mlx5_9 (all at leaf-9): %d of %d nodes at 16 on average, where 192 is usual", nodes, nodes), "node node-0003: 16 of 16 ports at 16"}},
		{[]string{"--by=rail"}, []string{"port of rail 9 (all at leaf-9)"}},
		{[]string{"--metric=pause"}, []string{"node-0007, port mlx5_4: 62, where 0 is usual"}},
		{[]string{"--metric=ecn"}, []string{"node-0007, port mlx5_4: 50k, where 10 is usual"}},
		{[]string{"--metric=errors", "--format=csv"}, []string{"\nnode-0007,0,0,0,0,900,0,"}},
		{[]string{"--metric=status"}, []string{"node-0007, port mlx5_4: 2, where 0 is usual", fmt.Sprintf("1 of %d ports have no value", 16*nodes)}},
		{[]string{"--match=instance=~\"node-000.:9794\"", "--format=svg"}, []string{">node-0009</text>"}},
	} {
		begin := time.Now()
		code, stdout, stderr := fabricd(append([]string{"heatmap", "--prometheus=http://" + address, "--at=1000000300"}, test.args...)...)
		t.Logf("%s: %d bytes in %s", test.args, len(stdout), time.Since(begin).Round(time.Millisecond))
		for _, want := range test.says {
			if code != exitOK || !strings.Contains(strings.ReplaceAll(stdout, "\n  ", " "), want) {
				t.Errorf("%s: exit status %d %s, no %q in:\n%.3000s", test.args, code, stderr, want, stdout)
			}
		}
		for line := range strings.Lines(stdout) {
			if n := utf8.RuneCountInString(line); n > 81 && len(test.args) < 2 {
				t.Errorf("%s: %d columns: %s", test.args, n, line)
			}
		}
	}
}
