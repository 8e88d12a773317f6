// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/nodegraph"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/statushistory"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Stat shows the newest number of each query, worded and coloured by values.
func Stat(f Frame, values []Value, queries ...Query) Panel {
	p := queried(framed(stat.NewPanelBuilder(), f), queries, now).
		Thresholds(Thresholds(Quiet)).
		ColorScheme(colorBy(dashboard.FieldColorModeIdThresholds)).
		GraphMode(common.BigValueGraphModeNone).
		ColorMode(common.BigValueColorModeBackground).
		Orientation(common.VizOrientationAuto).
		TextMode(common.BigValueTextModeValue).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	if len(values) > 0 {
		p = p.Mappings(Mapping(values))
	}
	return p
}

// A Count is one number of a panel of counts; Color is its colour above zero.
type Count struct {
	Name  string
	Expr  string
	Color string
}

// Counts shows several counts side by side, each in its own colour.
func Counts(f Frame, counts ...Count) Panel {
	var queries []Query
	for _, c := range counts {
		queries = append(queries, Query{Expr: c.Expr, Legend: c.Name})
	}
	p := queried(framed(stat.NewPanelBuilder(), f), queries, now).
		Thresholds(Thresholds(Quiet)).
		ColorScheme(colorBy(dashboard.FieldColorModeIdThresholds)).
		GraphMode(common.BigValueGraphModeNone).
		ColorMode(common.BigValueColorModeValue).
		Orientation(common.VizOrientationAuto).
		TextMode(common.BigValueTextModeValueAndName).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	for _, c := range counts {
		p = p.OverrideByName(c.Name, []dashboard.DynamicConfigValue{
			thresholdsOf(Thresholds(Quiet, Step{1, c.Color})),
		})
	}
	return p
}

// Graph draws lines over time, with a table of newest and highest values. A
// dashed line stands at each step, if there are any.
func Graph(f Frame, steps []Step, queries ...Query) Panel {
	p := queried(framed(timeseries.NewPanelBuilder(), f), queries, overTime).
		Thresholds(Thresholds(Good, steps...)).
		ColorScheme(colorBy(dashboard.FieldColorModeIdPaletteClassic)).
		Min(0).
		FillOpacity(5).
		ShowPoints(common.VisibilityModeNever).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
			DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).
			Calcs([]string{"lastNotNull", "max"}))
	if len(steps) > 0 {
		p = p.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	return p
}

// Timeline draws one bar over time for each series, worded and coloured by
// values.
func Timeline(f Frame, values []Value, query Query) Panel {
	return queried(framed(statetimeline.NewPanelBuilder(), f), []Query{query}, overTime).
		Thresholds(Thresholds(Quiet)).
		ColorScheme(colorBy(dashboard.FieldColorModeIdThresholds)).
		Mappings(Mapping(values)).
		ShowValue(common.VisibilityModeNever).
		MergeValues(true).
		RowHeight(0.8).
		FillOpacity(80).
		LineWidth(0).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeSingle).Sort(common.SortOrderNone)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
			DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom))
}

// History draws a cell for each series and moment, worded and coloured by values.
func History(f Frame, values []Value, link *Link, query Query) Panel {
	return linked(queried(framed(statushistory.NewPanelBuilder(), f), []Query{query}, overTime).
		Thresholds(Thresholds(Quiet)).
		ColorScheme(colorBy(dashboard.FieldColorModeIdThresholds)).
		Mappings(Mapping(values)).
		MaxDataPoints(120).
		ShowValue(common.VisibilityModeNever).
		RowHeight(0.9).
		FillOpacity(80).
		LineWidth(0).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeSingle).Sort(common.SortOrderNone)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
			DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)), link)
}

// NodeGraph draws nodes and the edges between them. The series of nodes have
// the labels id, title and subtitle, those of edges id, source and target; a node's
// number is its verdict.
func NodeGraph(f Frame, nodes, edges string) Panel {
	p := framed(nodegraph.NewPanelBuilder(), f)
	for _, q := range []struct{ name, expr string }{{"nodes", nodes}, {"edges", edges}} {
		target := prometheus.NewDataqueryBuilder().RefId(q.name).Datasource(Datasource()).Expr(q.expr)
		nowAsTable(target)
		p = p.WithTarget(target)
	}
	return p.
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
			"excludeByName": map[string]any{"Time": true, "Value #edges": true},
			"renameByName":  map[string]any{"Value #nodes": "color"},
			"indexByName":   map[string]any{}, "includeByName": map[string]any{},
		}}).
		Thresholds(Thresholds(Hidden, Step{OK, Good}, Step{Info, Note}, Step{Warn, Warning}, Step{Fail, Bad})).
		ColorScheme(colorBy(dashboard.FieldColorModeIdThresholds)).
		ZoomMode(nodegraph.ZoomModeCooperative)
}

// Heatmap draws how a classic histogram's buckets fill over time; f.Unit is the
// unit of the bucket limits.
func Heatmap(f Frame, query Query) Panel { return heat(f, query, bucketsOverTime) }

// NativeHeatmap does so with a native histogram: a Prometheus that stores these
// has, unless told otherwise, no classic buckets.
func NativeHeatmap(f Frame, query Query) Panel { return heat(f, query, overTime) }

// The tooltip is set because the SDK's default for its mode is not valid.
func heat(f Frame, query Query, shape func(*prometheus.DataqueryBuilder)) Panel {
	unit := f.Unit
	f.Unit = ""
	return queried(framed(heatmap.NewPanelBuilder(), f), []Query{query}, shape).
		Calculate(false).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(unit).AxisPlacement(common.AxisPlacementLeft)).
		CellValues(heatmap.NewCellValuesBuilder().Unit("ops")).
		Color(heatmap.NewHeatmapColorOptionsBuilder().
			Mode(heatmap.HeatmapColorModeScheme).Scheme("Blues").Steps(64).
			Scale(heatmap.HeatmapColorScaleExponential).Exponent(0.5).Fill("dark-orange").Reverse(false)).
		Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle).YHistogram(false).ShowColorScale(false)).
		ShowLegend()
}
