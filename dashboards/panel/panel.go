// SPDX-License-Identifier: Apache-2.0

// Package panel builds Grafana panels the way all fabricd boards want them:
// with a description, the board's datasource on every query, and one set of
// colours for verdicts. It is a thin layer over the grafana-foundation-sdk,
// whose panel kinds share methods but no interface.
package panel

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// DatasourceVariable is the name of the variable that picks the datasource.
const DatasourceVariable = "datasource"

// Datasource refers to the datasource that the viewer picked.
func Datasource() common.DataSourceRef {
	return common.DataSourceRef{
		Type: new("prometheus"),
		Uid:  new("${" + DatasourceVariable + "}"),
	}
}

// A Frame is what every panel has, whatever its kind. Width and Height are in
// grid units; the grid is 24 wide. Empty is what stands there without data.
type Frame struct {
	Title       string
	Description string
	Unit        string
	Empty       string
	Width       uint32
	Height      uint32
}

// Unrecorded is what stands where there is no data: what is missing, and why
// that may be. It is never taken for health.
func Unrecorded(what, why string) string {
	return "no " + what + " recorded: " + why + ", or fabricd is older than this board"
}

// A Query is one PromQL expression and how its series are called.
type Query struct {
	Expr   string
	Legend string
}

// builder is what the SDK's panel builders have in common.
type builder[B any] interface {
	cog.Builder[dashboard.Panel]
	Title(string) B
	Description(string) B
	Unit(string) B
	NoValue(string) B
	Span(uint32) B
	Height(uint32) B
	Datasource(common.DataSourceRef) B
	WithTarget(cog.Builder[variants.Dataquery]) B
	Mappings([]dashboard.ValueMapping) B
	Thresholds(cog.Builder[dashboard.ThresholdsConfig]) B
	ColorScheme(cog.Builder[dashboard.FieldColor]) B
}

// framed puts the frame on a panel.
func framed[B builder[B]](b B, f Frame) B {
	b = b.Title(f.Title).Description(f.Description).Span(f.Width).Height(f.Height).Datasource(Datasource())
	if f.Unit != "" {
		b = b.Unit(f.Unit)
	}
	return b.NoValue(f.Empty)
}

// queried adds the queries, shaped by shape, as targets A, B, C …
func queried[B builder[B]](b B, queries []Query, shape func(*prometheus.DataqueryBuilder)) B {
	for i, q := range queries {
		target := prometheus.NewDataqueryBuilder().
			RefId(refID(i)).Datasource(Datasource()).Expr(q.Expr).LegendFormat(q.Legend)
		shape(target)
		b = b.WithTarget(target)
	}
	return b
}

// refID names the i-th target as Grafana does.
func refID(i int) string { return string(rune('A' + i)) }

func overTime(q *prometheus.DataqueryBuilder) {
	q.Range().Format(prometheus.PromQueryFormatTimeSeries)
}

func now(q *prometheus.DataqueryBuilder) {
	q.Instant().Format(prometheus.PromQueryFormatTimeSeries)
}

func nowAsTable(q *prometheus.DataqueryBuilder) {
	q.Instant().Format(prometheus.PromQueryFormatTable)
}

func bucketsOverTime(q *prometheus.DataqueryBuilder) {
	q.Range().Format(prometheus.PromQueryFormatHeatmap)
}
