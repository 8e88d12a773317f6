// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// metricName matches the name of a metric of fabricd in any text.
var metricName = regexp.MustCompile(`\bfabricd_[a-z0-9_]+`)

// Metrics are the metrics that exist.
type Metrics map[string]bool

// others are series that the manual does not name: Prometheus' own, and those
// of its client library, which fabricd exports as others do.
var others = Metrics{
	"up": true, "scrape_duration_seconds": true, "scrape_samples_scraped": true,
	"process_cpu_seconds_total": true, "process_resident_memory_bytes": true, "process_start_time_seconds": true,
	"fabricd_build_info": true,
}

// ReadMetrics takes every name of a metric out of the manual at path.
func ReadMetrics(path string) (Metrics, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := maps.Clone(others)
	for _, name := range metricName.FindAllString(string(text), -1) {
		m[name] = true
	}
	if len(m) == len(others) {
		return nil, fmt.Errorf("%s names no metric", path)
	}
	return m, nil
}

// Has tells whether a series of that name exists: a metric, or a part of a
// classic histogram.
func (m Metrics) Has(name string) bool {
	if m[name] {
		return true
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, part); ok && m[base] {
			return true
		}
	}
	return false
}

// inText reports the metrics named anywhere in a text that do not exist.
func (m Metrics) inText(text string) error {
	var faults []error
	for _, name := range metricName.FindAllString(text, -1) {
		if !m.Has(name) {
			faults = append(faults, fmt.Errorf("no such metric: %s", name))
		}
	}
	return errors.Join(faults...)
}

// selectors parses an expression and lists its selectors.
func selectors(expr string) ([]*parser.VectorSelector, error) {
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	var list []*parser.VectorSelector
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			list = append(list, s)
		}
		return nil
	})
	return list, nil
}

// exist reports selectors of metrics that do not exist.
func (m Metrics) exist(list []*parser.VectorSelector) error {
	var faults []error
	for _, s := range list {
		if !m.Has(s.Name) {
			faults = append(faults, fmt.Errorf("no such metric: %q in %s", s.Name, s))
		}
	}
	return errors.Join(faults...)
}

// expressions reports the queries of a board, and of its variables, that do not
// parse, name metrics that do not exist, or look at other nodes than those picked.
func expressions(d dashboard.Dashboard, known Metrics) error {
	var faults []error
	picked := pickers(d)
	for _, v := range d.Templating.List {
		if inner := labelValues.FindStringSubmatch(variableQuery(v)); inner != nil {
			if err := expression(inner[1], known, nil); err != nil {
				faults = append(faults, fmt.Errorf("variable %s: %w", v.Name, err))
			}
		} else if v.Type == dashboard.VariableTypeQuery {
			faults = append(faults, fmt.Errorf("variable %s: not label_values(metric, label)", v.Name))
		}
	}
	for _, p := range panels(d) {
		list, _ := queries(p) // datasources reports what is none
		for _, q := range list {
			if err := expression(q.Expr, known, picked); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", target(p, q), err))
			}
		}
	}
	return errors.Join(faults...)
}

// labelValues matches the query of a variable.
var labelValues = regexp.MustCompile(`^label_values\((.+), *[a-z_]+\)$`)

func variableQuery(v dashboard.VariableModel) string {
	if v.Query == nil {
		return ""
	}
	return deref(v.Query.String)
}

// pickers are the labels that every selector of a board has to filter by.
func pickers(d dashboard.Dashboard) []string {
	var list []string
	for _, v := range d.Templating.List {
		if v.Name == "cluster" || v.Name == "instance" {
			list = append(list, v.Name)
		}
	}
	return list
}

// ofFleet matches the names of recorded series that are not of one node.
var ofFleet = regexp.MustCompile(`^fabricd:(?:check|rail|leaf|kind|firmware)_`)

// ranges stand in for the durations that Grafana fills in.
var ranges = strings.NewReplacer("$__rate_interval", "1m", "$__interval", "15s", "$__range", "6h")

func expression(expr string, known Metrics, picked []string) error {
	list, err := selectors(ranges.Replace(expr))
	if err != nil {
		return err
	}
	faults := []error{known.exist(list)}
	for _, s := range list {
		for _, label := range picked {
			if !filters(s, label) && (label != "instance" || !ofFleet.MatchString(s.Name)) {
				faults = append(faults, fmt.Errorf("%s does not select the %s", s, label))
			}
		}
	}
	return errors.Join(faults...)
}

// filters tells whether a selector asks for the label's variable.
func filters(s *parser.VectorSelector, label string) bool {
	for _, m := range s.LabelMatchers {
		if m.Name == label && m.Value == "$"+label {
			return m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp
		}
	}
	return false
}
