// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// answers are those of a Prometheus, by how the question begins.
type answers struct {
	v1.API
	vectors map[string]model.Vector
}

func (a answers) Query(_ context.Context, expr string, _ time.Time, _ ...v1.Option) (model.Value, v1.Warnings, v1.Infos, error) {
	for begin, vector := range a.vectors {
		if strings.HasPrefix(expr, begin) {
			return vector, nil, nil, nil
		}
	}
	return model.Vector{}, nil, nil, nil
}

// Errors are no fault by their number alone, which all ports may have, nor are
// pauses below half of the time: they are where the nodes' own checks warn of them.
func TestWarnedOf(t *testing.T) {
	const but, paused = ", as is usual here, but rdma_errors or rdma_loss warns", ", as is usual here, but roce_pause warns"
	for _, test := range []struct {
		name       string
		metric, by string
		value      float64
		warned     func(node, port int) bool
		want       []string
	}{
		{"a few losses everywhere", "errors", "port", 3, func(int, int) bool { return false }, nil},
		{"errors everywhere", "errors", "port", 3, func(int, int) bool { return true }, []string{"the whole fleet: 32 of 32 ports at 3 on average" + but}},
		{"a port of all nodes", "errors", "rail", 3, func(_, p int) bool { return p == 2 }, []string{"port of rail 2: 8 of 8 nodes at 3 on average" + but}},
		{"a counter that is stuck", "errors", "port", 0, func(n, p int) bool { return n == 2 && p == 1 }, []string{"n2, port mlx5_1: 0" + but}},
		{"pauses everywhere", "pause", "port", 20, func(int, int) bool { return true }, []string{"the whole fleet: 32 of 32 ports at 20 on average" + paused}},
	} {
		var nics, values, warned model.Vector
		for n := range 8 {
			for p := range 4 {
				labels := func(more ...string) model.Metric {
					l := model.Metric{"instance": model.LabelValue(fmt.Sprintf("n%d:9794", n))}
					for i := 0; i < len(more); i += 2 {
						l[model.LabelName(more[i])] = model.LabelValue(more[i+1])
					}
					return l
				}
				device := fmt.Sprintf("mlx5_%d", p)
				nics = append(nics, &model.Sample{Metric: labels("rdma", device, "role", "compute", "address", device), Value: 1})
				values = append(values, &model.Sample{Metric: labels("device", device, "port", "1"), Value: model.SampleValue(test.value)})
				if test.warned(n, p) {
					warned = append(warned, &model.Sample{Metric: labels("subject", device+"/1", "check", "any"), Value: 2})
				}
			}
		}
		q := Query{By: test.by, At: time.Unix(1e9, 0), Window: time.Minute}
		q.Metric = Metrics()[slices.IndexFunc(Metrics(), func(m Metric) bool { return m.Name == test.metric })]
		m, err := Fetch(t.Context(), answers{vectors: map[string]model.Vector{
			"fabricd_device_info{": nics, q.Metric.query("", q.Window): values, `fabricd_check_status{check=~"` + q.Metric.checks + `",} >= 2`: warned,
		}}, q)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(m.StandOuts, test.want) || math.IsNaN(m.Typical) {
			t.Errorf("%s: got %q, want %q", test.name, m.StandOuts, test.want)
		}
	}
}
