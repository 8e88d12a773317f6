// SPDX-License-Identifier: Apache-2.0

// Package lint finds the faults of boards and of alert rules that Grafana and
// Prometheus would show only to their users, as empty panels and rules that
// never fire. It catches what the SDK's strict reading lets pass: overlaps,
// ids, datasources, expressions, and metrics that fabricd does not export.
package lint

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
)

// Board reads a board as Grafana would and reports all its faults; known are
// the metrics that exist.
func Board(raw []byte, known Metrics) error {
	if err := strict(raw); err != nil {
		return err
	}
	var d dashboard.Dashboard
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	return errors.Join(
		kinds(d),
		grid(d),
		ids(d),
		texts(d),
		datasources(d),
		variables(raw, d),
		enums(raw),
		expressions(d, known),
	)
}

// panels lists the panels of a board, those inside of collapsed rows too.
func panels(d dashboard.Dashboard) []dashboard.Panel {
	var all []dashboard.Panel
	for _, p := range d.Panels {
		if p.Panel != nil {
			all = append(all, *p.Panel)
		}
		if p.RowPanel != nil {
			all = append(all, p.RowPanel.Panels...)
		}
	}
	return all
}

func title(p dashboard.Panel) string {
	if deref(p.Title) == "" {
		return "untitled " + p.Type
	}
	return *p.Title
}

func rowTitle(r dashboard.RowPanel) string {
	return "row " + deref(r.Title)
}

// ids reports panels and rows without an id of their own.
func ids(d dashboard.Dashboard) error {
	var faults []error
	seen := map[uint32]string{}
	see := func(id uint32, name string) {
		other, taken := seen[id]
		switch {
		case id == 0:
			faults = append(faults, fmt.Errorf("%s: no id", name))
		case taken:
			faults = append(faults, fmt.Errorf("%s: id %d is that of %s", name, id, other))
		}
		seen[id] = name
	}
	for _, p := range d.Panels {
		if p.RowPanel != nil {
			see(p.RowPanel.Id, rowTitle(*p.RowPanel))
		}
	}
	for _, p := range panels(d) {
		see(deref(p.Id), title(p))
	}
	return errors.Join(faults...)
}

// deref is what p points at, or zero.
func deref[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// texts reports panels that do not say what they are, in which unit, or what it
// means that they are empty.
func texts(d dashboard.Dashboard) error {
	var faults []error
	for _, p := range panels(d) {
		if deref(p.Title) == "" {
			faults = append(faults, fmt.Errorf("%s: no title", title(p)))
		}
		if deref(p.Description) == "" {
			faults = append(faults, fmt.Errorf("%s: no description", title(p)))
		}
		if p.FieldConfig == nil || deref(p.FieldConfig.Defaults.NoValue) == "" {
			faults = append(faults, fmt.Errorf("%s: no text for no data", title(p)))
		}
		// Tables have units by column, heatmaps by axis, graphs of nodes none.
		needsUnit := p.Type != "table" && p.Type != "heatmap" && p.Type != "nodeGraph"
		if needsUnit && (p.FieldConfig == nil || p.FieldConfig.Defaults.Unit == nil) {
			faults = append(faults, fmt.Errorf("%s: no unit", title(p)))
		}
	}
	return errors.Join(faults...)
}

// queries lists a panel's Prometheus queries.
func queries(p dashboard.Panel) ([]prometheus.Dataquery, error) {
	var list []prometheus.Dataquery
	for i, t := range p.Targets {
		switch q := t.(type) {
		case prometheus.Dataquery:
			list = append(list, q)
		case *prometheus.Dataquery:
			list = append(list, *q)
		default:
			return nil, fmt.Errorf("%s: target %d is no Prometheus query but %T", title(p), i, t)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no query", title(p))
	}
	return list, nil
}

// target names a query in a report.
func target(p dashboard.Panel, q prometheus.Dataquery) string {
	return title(p) + ", target " + deref(q.RefId)
}
