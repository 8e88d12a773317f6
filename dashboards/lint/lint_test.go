// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/fabricd/fabricd/dashboards/panel"
)

var known = Metrics{"up": true, "fabricd_a": true, "fabricd_b_total": true, "fabricd_c_seconds": true, "fabricd_build_info": true}

const of = `{cluster=~"$cluster",instance="$instance"}`

// sound is a board without fault, with a panel of each kind.
func sound(t *testing.T) string {
	t.Helper()
	frame := func(title string) panel.Frame {
		return panel.Frame{Title: title, Description: "What it is.", Unit: "none", Empty: "Nothing.", Width: 12, Height: 8}
	}
	query := func(expr string) panel.Query { return panel.Query{Expr: expr} }
	b := dashboard.NewDashboardBuilder("sound")
	for _, v := range panel.NodeVariables() {
		b.WithVariable(v)
	}
	panel.AddRows(b, []panel.Row{{Title: "row", Panels: []panel.Panel{
		panel.Stat(frame("stat"), panel.Verdicts(), query("max(up"+of+")")),
		panel.Graph(frame("graph"), []panel.Step{{From: 1, Color: panel.Bad}}, query("rate(fabricd_b_total"+of+"[$__rate_interval])")),
		panel.Timeline(frame("timeline"), panel.Verdicts(), query(`label_replace(fabricd_a`+of+`, "x", "$1", "y", "(.+)")`)),
		panel.Heatmap(frame("heatmap"), query("sum by (le) (rate(fabricd_c_seconds_bucket"+of+"[1m]))")),
		panel.Table(frame("table"), nil, []panel.Column{{Title: "A", Expr: "fabricd_a" + of, Unit: "s"}}, panel.Sort{Title: "A"}),
		panel.Matrix(frame("matrix"), panel.Cells{Row: "a", Column: "b", Gradient: panel.Much, Link: panel.ToNode(panel.FirstField)}, "fabricd_a"+of),
		panel.History(frame("history"), panel.PortStates(), panel.ToNode(panel.SeriesLabel), query("fabricd_a"+of)),
		panel.NativeHeatmap(frame("native"), query("sum(rate(fabricd_c_seconds"+of+"[1m]))")),
		panel.NodeGraph(frame("graph of nodes"), "fabricd_a"+of, "fabricd_a"+of),
	}}})
	d, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSoundBoard(t *testing.T) {
	if err := Board([]byte(sound(t)), known); err != nil {
		t.Error(err)
	}
}

// A fault is one replacement in something sound, and what the report must say.
type fault struct{ old, new, says string }

func boardFaults() map[string]fault {
	datasource := `"datasource":{"type":"prometheus","uid":"${datasource}"}`
	return map[string]fault{
		"unknown panel option":    {`"cellGap"`, `"cellGapp"`, "cellGapp"},
		"unknown field of panel":  {`"repeatDirection"`, `"repetDirection"`, "repetDirection"},
		"unknown field of query":  {`"legendFormat"`, `"legendFormt"`, "legendFormt"},
		"wrong type":              {`"schemaVersion":42`, `"schemaVersion":"42"`, "schemaVersion"},
		"beyond the grid":         {`"w":12,"x":12`, `"w":13,"x":12`, "ends at column 25"},
		"overlap":                 {`"w":12,"x":12,"y":1`, `"w":12,"x":11,"y":1`, "lies over stat"},
		"no size":                 {`"h":8,"w":12,"x":0,"y":1`, `"h":0,"w":12,"x":0,"y":1`, "no size"},
		"id taken":                {`"id":3`, `"id":2`, "id 2"},
		"id of a row taken":       {`"id":3`, `"id":1`, "id 1"},
		"id zero":                 {`"id":3`, `"id":0`, "no id"},
		"no id":                   {`"id":3,`, ``, "no id"},
		"no description":          {`"description":"What it is."`, `"description":""`, "no description"},
		"no text for no data":     {`,"noValue":"Nothing."`, ``, "no text for no data"},
		"no title":                {`"title":"graph"`, `"title":""`, "no title"},
		"no unit":                 {`"unit":"none",`, ``, "no unit"},
		"datasource of a query":   {datasource + `,"expr"`, `"datasource":{"type":"prometheus","uid":"mine"},"expr"`, "target A: datasource"},
		"no datasource at query":  {datasource + `,"expr"`, `"expr"`, "target A: datasource"},
		"datasource of a panel":   {datasource + `,"gridPos"`, `"gridPos"`, "datasource"},
		"datasource of variable":  {datasource + `,"current"`, `"current"`, "variable cluster"},
		"kind of datasource":      {datasource + `,"gridPos"`, `"datasource":{"type":"loki","uid":"${datasource}"},"gridPos"`, "datasource"},
		"no datasource variable":  {`"type":"datasource"`, `"type":"custom"`, "no datasource variable"},
		"variable not defined":    {`$instance`, `$node`, "$node"},
		"empty tooltip mode":      {`"tooltip":{"mode":"single"`, `"tooltip":{"mode":""`, "tooltip.mode"},
		"does not parse":          {`rate(fabricd_b_total`, `rate((fabricd_b_total`, "graph, target A"},
		"no such function":        {`rate(fabricd_b_total`, `rat(fabricd_b_total`, "rat"},
		"no such metric":          {`fabricd_b_total`, `fabricd_b`, `no such metric: "fabricd_b"`},
		"no such foreign metric":  {`max(up`, `max(down`, `no such metric: "down"`},
		"no such histogram":       {`fabricd_c_seconds_bucket`, `fabricd_c_bucket`, "fabricd_c_bucket"},
		"all nodes":               {`,instance=\"$instance\"`, ``, "does not select the instance"},
		"all clusters":            {`cluster=~\"$cluster\",`, ``, "does not select the cluster"},
		"all but the node picked": {`instance=\"$instance\"`, `instance!=\"$instance\"`, "does not select the instance"},
		"variable of no metric":   {`label_values(fabricd_build_info, `, `label_values(fabricd_build, `, "variable cluster: no such metric"},
		"variable that asks else": {`label_values(fabricd_build_info, `, `metrics(fabricd_build_info, `, "variable cluster: not label_values"},
		"variable of a link":      {`${__url_time_range}`, `${__url_time}`, "$__url_time"},
		"nodes without a query":   {`"refId":"nodes"`, `"refId":"nodes","x":1`, "x"},
		"unknown kind of panel":   {`"type":"stat"`, `"type":"stats"`, "no such kind of panel: stats"},
	}
}

// report makes every fault, one at a time, and wants it reported by lint.
func report(t *testing.T, faults map[string]fault, sound string, lint func(*testing.T, string) error) {
	t.Helper()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			faulty := strings.Replace(sound, f.old, f.new, 1)
			if faulty == sound {
				t.Fatalf("%s is not in:\n%s", f.old, sound)
			}
			reported(t, lint(t, faulty), f.says)
		})
	}
}

func reported(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil {
		t.Fatal("not reported")
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("reported as %v, which does not say %s", err, says)
	}
}

func TestFaultyBoards(t *testing.T) {
	report(t, boardFaults(), sound(t), func(_ *testing.T, board string) error {
		return Board([]byte(board), known)
	})
}

func TestReadMetrics(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	m, err := ReadMetrics(write("metrics.md", "| `fabricd_a` | gauge |\n### fabricd_c_seconds\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"fabricd_a": true, "fabricd_c_seconds_bucket": true, "fabricd_c_seconds_sum": true, "up": true,
		"fabricd_b": false, "fabricd_c": false, "fabricd_c_seconds_total": false, "": false,
	} {
		if m.Has(name) != want {
			t.Errorf("Has(%q) = %v", name, !want)
		}
	}
	if _, err := ReadMetrics(write("empty.md", "# Metrics\n")); err == nil {
		t.Error("a manual without metrics is accepted")
	}
	if _, err := ReadMetrics(filepath.Join(dir, "missing.md")); err == nil {
		t.Error("a missing manual is accepted")
	}
}
