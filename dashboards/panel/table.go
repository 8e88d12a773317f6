// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"
)

// A Label is a label of the first column's series that the table shows.
type Label struct {
	Name  string // as in the series
	Title string // as in the table
	Link  *Link
}

// A Column is one query of a table: a number for each row. Rows of different
// columns belong together when their common labels agree, so every expression
// must keep just the labels that name a row.
type Column struct {
	Title   string // empty: the number itself is not shown
	Expr    string
	Unit    string
	Values  []Value // words and background colours
	Steps   []Step  // text colours, from Base on
	Base    string
	Decimal int
}

// A Sort is the column a table starts sorted by.
type Sort struct {
	Title string
	Desc  bool
}

// Table shows labels, then columns.
func Table(f Frame, labels []Label, columns []Column, sort Sort) Panel {
	var queries []Query
	for _, c := range columns {
		queries = append(queries, Query{Expr: c.Expr})
	}
	p := queried(bareTable(f), queries, nowAsTable).
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
		WithTransformation(organize(labels, columns)).
		SortBy([]cog.Builder[common.TableSortByFieldState]{
			common.NewTableSortByFieldStateBuilder().DisplayName(sort.Title).Desc(sort.Desc),
		})
	for _, l := range labels {
		if l.Link != nil {
			p = p.OverrideByName(l.Title, []dashboard.DynamicConfigValue{l.Link.property()})
		}
	}
	for _, c := range columns {
		if props := c.properties(); c.Title != "" && len(props) > 0 {
			p = p.OverrideByName(c.Title, props)
		}
	}
	return footless{p}
}

// Cells are the cells of a matrix: a row for each value of label Row, a column
// for each value of label Column, coloured by values, by steps from Base on, or
// from nothing to the highest.
type Cells struct {
	Row, Column string
	Unit        string
	Values      []Value
	Base        string
	Steps       []Step
	Gradient    string
	Link        *Link
}

// Matrix shows one query as a table of its own.
func Matrix(f Frame, c Cells, expr string) Panel {
	return footless{queried(bareTable(f), []Query{{Expr: expr}}, nowAsTable).
		WithTransformation(dashboard.DataTransformerConfig{Id: "groupingToMatrix", Options: map[string]any{
			"rowField": c.Row, "columnField": c.Column, "valueField": "Value",
		}}).
		OverrideByFieldType("number", c.properties())}
}

func (c Cells) properties() []dashboard.DynamicConfigValue {
	props := []dashboard.DynamicConfigValue{background()}
	add := func(id string, value any) { props = append(props, dashboard.DynamicConfigValue{Id: id, Value: value}) }
	if c.Unit != "" {
		add("unit", c.Unit)
	}
	if len(c.Values) > 0 {
		add("mappings", Mapping(c.Values))
	}
	if len(c.Steps) > 0 {
		props = append(props, thresholdsOf(Thresholds(c.Base, c.Steps...)))
	}
	if c.Gradient != "" {
		add("color", map[string]any{"mode": c.Gradient})
		add("min", 0)
	}
	if c.Link != nil {
		props = append(props, c.Link.property())
	}
	return props
}

// bareTable is a table without queries. What stands where there is no data would
// stand in each empty cell, too.
func bareTable(f Frame) *table.PanelBuilder {
	return framed(table.NewPanelBuilder(), f).
		Thresholds(Thresholds(None)).
		ColorScheme(colorBy(dashboard.FieldColorModeIdThresholds)).
		CellHeight(common.TableCellHeightSm).
		CellOptions(common.TableCellOptions{TableAutoCellOptions: common.NewTableAutoCellOptions()}).
		Filterable(true).
		OverrideByRegexp(".*", []dashboard.DynamicConfigValue{{Id: "noValue", Value: "–"}})
}

// footless is a table without a footer of its own: the SDK writes one, which
// the newest Grafana does not know and older ones leave out by themselves.
type footless struct{ *table.PanelBuilder }

func (f footless) Build() (dashboard.Panel, error) {
	p, err := f.PanelBuilder.Build()
	if options, ok := p.Options.(*table.Options); ok {
		options.Footer = nil
	}
	return p, err
}

// organize names and orders the merged fields and drops all others we know of.
func organize(labels []Label, columns []Column) dashboard.DataTransformerConfig {
	exclude := map[string]any{"Time": true}
	rename := map[string]any{}
	index := map[string]any{}
	for i, l := range labels {
		rename[l.Name] = l.Title
		index[l.Name] = i
	}
	for i, c := range columns {
		field := "Value #" + refID(i)
		if len(columns) == 1 {
			field = "Value"
		}
		if c.Title == "" {
			exclude[field] = true
			continue
		}
		rename[field] = c.Title
		index[field] = len(labels) + i
	}
	return dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"excludeByName": exclude, "renameByName": rename, "indexByName": index, "includeByName": map[string]any{},
	}}
}

func (c Column) properties() []dashboard.DynamicConfigValue {
	var props []dashboard.DynamicConfigValue
	if c.Unit != "" {
		props = append(props, dashboard.DynamicConfigValue{Id: "unit", Value: c.Unit})
	}
	if c.Decimal > 0 {
		props = append(props, dashboard.DynamicConfigValue{Id: "decimals", Value: c.Decimal})
	}
	if len(c.Values) > 0 {
		props = append(props, background(), dashboard.DynamicConfigValue{Id: "mappings", Value: Mapping(c.Values)})
	}
	if len(c.Steps) > 0 {
		props = append(props, cell(common.TableCellDisplayModeColorText), thresholdsOf(Thresholds(c.Base, c.Steps...)))
	}
	return props
}

func background() dashboard.DynamicConfigValue {
	return cell(common.TableCellDisplayModeColorBackground)
}

func cell(mode common.TableCellDisplayMode) dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: "custom.cellOptions", Value: map[string]any{"type": mode}}
}

func thresholdsOf(b cog.Builder[dashboard.ThresholdsConfig]) dashboard.DynamicConfigValue {
	config, err := b.Build()
	if err != nil { // the thresholds are literals of this module
		panic(err)
	}
	return dashboard.DynamicConfigValue{Id: "thresholds", Value: config}
}
