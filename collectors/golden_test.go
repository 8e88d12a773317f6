// SPDX-License-Identifier: Apache-2.0

package collectors_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden are hosts of different kinds whose whole exposition is kept.
var golden = []struct {
	host     string
	families []string // of a host whose whole exposition is too large; nil is all
}{
	{"dgx-gb10", nil},
	{"h200-vm-loaded", nil},
	{"aws-p4d", nil},
	{"oci-h100", []string{"fabricd_pcie_link_", "fabricd_pcie_acs_", "fabricd_pcie_max_", "fabricd_numa_", "fabricd_check_"}},
	{"hgx-h100-8gpu", []string{
		"fabricd_device_info", "fabricd_gpu_", "fabricd_numa_distance", "fabricd_pcie_aer_", "fabricd_pcie_aspm_enabled",
		"fabricd_pcie_link_width", "fabricd_collector_", "fabricd_check_unknown",
	}},
	{"mi-8gpu-4nic", []string{"fabricd_gpu_nic_distance", "fabricd_device_info", "fabricd_numa_", "fabricd_check_"}},
	{"many-nic-drivers", []string{"fabricd_roce_", "fabricd_nic_", "fabricd_check_"}},
	{"gpu-memory-nodes", nil},
	{"cases/025a-correctable-burst-on-both-ends", nil},
}

// timed are the families that depend on how long reads take, or when.
var timed = []string{"fabricd_collector_read_seconds", "fabricd_collector_last_read_timestamp_seconds"}

// What a host exports is what it exported before: no series comes, goes or
// changes its value without a change of the golden file. It is consistent,
// which the pedantic registry checks, and keeps to the conventions for names,
// units and help.
func TestGolden(t *testing.T) {
	for _, g := range golden {
		t.Run(filepath.Base(g.host), func(t *testing.T) {
			t.Parallel()
			families := gather(t, g.host)
			lint(t, families)
			got := expose(t, families, func(name string) bool {
				begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
				return !slices.Contains(timed, name) && (g.families == nil || slices.ContainsFunc(g.families, begins))
			})
			name := filepath.Join("testdata/golden", filepath.Base(g.host)+".prom")
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%v (make golden writes it)", err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
				t.Errorf("the exposition differs from %s (- golden, + now); make golden if that is meant:\n%s", name, diff)
			}
		})
	}
}

func gather(t *testing.T, host string) []*dto.MetricFamily {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(hosts, host+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := hosttest.Play(text)
	if err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewPedanticRegistry()
	if err := e.Register(r); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func lint(t *testing.T, families []*dto.MetricFamily) {
	t.Helper()
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Metric == "fabricd_rdma_hw_counter_total" && strings.Contains(p.Text, "'counter'") {
			continue // not its type, but what the kernel calls the files
		}
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func expose(t *testing.T, families []*dto.MetricFamily, want func(name string) bool) []byte {
	t.Helper()
	var b bytes.Buffer
	e := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if !want(f.GetName()) {
			continue
		}
		if err := e.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
