// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A Doc is a collector's part of the manuals.
type Doc struct {
	Name, Help string
	Every      time.Duration
	Samples    time.Duration // between readings; zero: none
	Metrics    []MetricDoc
	Checks     []CheckDoc

	tables [][]MetricDoc
}

// A MetricDoc is what the manual says of a metric.
type MetricDoc struct {
	Name, Help, Source string
	Kind               Kind
	Labels             []string
}

// A CheckDoc is what the manual says of a check.
type CheckDoc struct {
	Name, Help, Silent string
	Subject            []string
	Over, For          time.Duration
	Thresholds         []Threshold
	Uses               []string
}

func metricDocs[S any](c Columns[S]) []MetricDoc {
	var list []MetricDoc
	for _, m := range c.Metrics {
		labels := m.Labels
		if labels == nil {
			labels = c.Labels
		}
		list = append(list, MetricDoc{m.Name, m.Help, m.Source, m.Kind, labelNames(labels)})
	}
	return list
}

func checkDocs[S any](c Columns[S]) []CheckDoc {
	var list []CheckDoc
	for _, k := range c.Checks {
		subject := k.Subject
		if subject == nil {
			subject = c.Labels
		}
		list = append(list, CheckDoc{k.Name, k.Help, k.Silent, labelNames(subject), k.Over, k.For, k.Thresholds, k.Uses})
	}
	return list
}

// Doc implements Collector.
func (s spec[R]) Doc() Doc { return s.Spec.Doc() }

// Doc gives the collector's part of the manuals.
func (s *Spec[R]) Doc() Doc {
	d := Doc{Name: s.Name, Help: s.Help, Every: s.Every, Samples: s.Samples}
	for _, t := range s.Tables {
		d.tables = append(d.tables, t.metrics)
		d.Metrics = append(d.Metrics, t.metrics...)
		d.Checks = append(d.Checks, t.checks...)
	}
	return d
}

// Thresholds lists every check and its thresholds, with their units.
func Thresholds(list []Collector) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, c := range list {
		for _, check := range c.Doc().Checks {
			units := map[string]string{}
			for _, t := range check.Thresholds {
				units[t.Name] = t.Unit
			}
			all[check.Name] = units
		}
	}
	return all
}

// Interval is what the setting of this name sets: between two samples, where
// there are some, or else between two readings.
func (d Doc) Interval() time.Duration { return cmp.Or(d.Samples, d.Every) }

func (d Doc) sampled() string {
	if d.Samples == 0 {
		return " by default"
	}
	return fmt.Sprintf("; sampled every %s by default", d.Samples)
}

const generated = "<!-- Generated from the tables in collectors/ by `fabricd manual`; do not edit. -->\n\n"

// WriteMetrics writes the manual of all metrics in Markdown.
func WriteMetrics(w io.Writer, list []Collector) {
	fmt.Fprintf(w, "# Metrics\n\n%s", generated)
	fmt.Fprint(w, "Every metric that fabricd exports, by collector. A value that could not be read is an absent series, never 0 or −1.\nUnits are base units; `_total` marks counters. The label `address` is a PCI address in the kernel's form (`0000:8d:00.0`).\n\n")
	for _, c := range list {
		d := c.Doc()
		fmt.Fprintf(w, "## %s\n\n%s Read every %s%s.\n\n", d.Name, d.Help, d.Every, d.sampled())
		writeMetricTable(w, d.Metrics)
	}
	fmt.Fprint(w, "## fabricd itself\n\nVerdicts, and the state of the collectors.\n\n")
	writeMetricTable(w, selfDocs())
}

func writeMetricTable(w io.Writer, metrics []MetricDoc) {
	fmt.Fprint(w, "| metric | type | labels | meaning | source |\n|---|---|---|---|---|\n")
	last := ""
	for _, m := range metrics {
		line := fmt.Sprintf("| `%s%s` | %s | %s | %s | %s |\n", Prefix, m.Name, m.Kind, code(m.Labels), m.Help, m.Source)
		if line != last { // a family of several rows, which differ in a label's value
			fmt.Fprint(w, line)
		}
		last = line
	}
	fmt.Fprintln(w)
}

// WriteChecks writes the manual of all checks in Markdown.
func WriteChecks(w io.Writer, list []Collector) {
	fmt.Fprintf(w, "# Checks\n\n%s", generated)
	fmt.Fprint(w, `A check judges one subject and says one of: **unknown** (could not be read, or needs a history that is not there; never shown as healthy),
**ok**, **info** (worth knowing, no alarm), **warn**, **fail**. Thresholds are set in the configuration file under
`+"`thresholds: {CHECK: {NAME: VALUE}}`"+`. How far back a check looks is said with it; `+"`fabricd check --window`"+` sets another span, and a recording is judged over its whole length.

`)
	for _, c := range list {
		for _, k := range c.Doc().Checks {
			writeCheck(w, c.Doc().Name, k)
		}
	}
}

func writeCheck(w io.Writer, collector string, k CheckDoc) {
	fmt.Fprintf(w, "## %s\n\n%s\n\n", k.Name, k.Help)
	if k.Silent != "" {
		fmt.Fprintf(w, "No alarm: %s\n\n", k.Silent)
	}
	fmt.Fprintf(w, "Collector `%s`; subject %s", collector, code(k.Subject))
	if len(k.Subject) == 0 {
		fmt.Fprint(w, "the host")
	}
	if k.Over > 0 {
		fmt.Fprintf(w, "; looks back %s", k.Over)
	}
	if k.For > 0 {
		fmt.Fprintf(w, "; the daemon alarms after %s", k.For)
	}
	if len(k.Uses) > 0 {
		fmt.Fprintf(w, "; looks at readings of %s", code(k.Uses))
	}
	fmt.Fprint(w, ".\n\n")
	if len(k.Thresholds) == 0 {
		return
	}
	fmt.Fprint(w, "| threshold | default | unit | meaning |\n|---|---|---|---|\n")
	for _, t := range k.Thresholds {
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", t.Name, strconv.FormatFloat(t.Default, 'g', -1, 64), t.Unit, t.Help)
	}
	fmt.Fprintln(w)
}

func code(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
