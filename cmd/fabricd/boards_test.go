// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// An ask is one query of a board.
type ask struct{ board, panel, expr string }

func (a ask) String() string { return a.board + ": " + a.panel }

// expected says why the query may give nothing; "" is no reason.
func (a ask) expected(silent map[string]string) string {
	for part, reason := range silent {
		if strings.Contains(a.String()+": "+a.expr, part) {
			return reason
		}
	}
	return ""
}

// asks are the queries of all boards.
func asks(t *testing.T) []ask {
	t.Helper()
	files, _ := filepath.Glob("../../dashboards/fabricd-*.json")
	var list []ask
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			UID    string
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range board.Panels {
			for _, q := range p.Targets {
				list = append(list, ask{board.UID, p.Title, q.Expr})
			}
		}
	}
	if len(list) < 100 {
		t.Fatalf("%d queries in %d boards", len(list), len(files))
	}
	return list
}

// silent are queries that rightly give nothing of this fleet, by a part of their
// board, panel and expression, and why.
func silent() map[string]string {
	list := map[string]string{
		"fabricd:node_property:odd":                  "the recordings are of all kinds of machines: no four are of one kind",
		"fabricd:kind_property":                      "the same",
		"Cables that something":                      "recordings of wrong cables are films, which this fleet has none of with faults",
		"that miss readings":                         "all collectors read: else FabricdCollectorDown fires",
		"Errors by reason":                           "none fails",
		"fabricd_pcie_aer_rootport":                  "the recordings that have root ports of their own with AER are of faults",
		"fabricd_roce_priority_marked_packets_total": "no recorded NIC marks packets itself",
	}
	if nativeFirst() {
		list["_bucket"] = "native histograms are stored instead"
	}
	return list
}

// filled is an expression as Grafana asks it: of one node or of all.
func filled(expr, instance string) string {
	return strings.NewReplacer(
		`"$instance"`, `"`+instance+`"`, "$cluster", ".*", "$rail", ".*",
		"$__rate_interval", "1m", "$__interval", "5s", "$__range", "10m",
	).Replace(expr)
}

// answers counts the series that a query gives.
func (s server) answers(expr string) (int, error) {
	var r struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := s.get("/api/v1/query?query="+url.QueryEscape(expr), &r); err != nil {
		return 0, err
	}
	if r.Status != "success" {
		return 0, fmt.Errorf("%s: %s", r.Error, expr)
	}
	return len(r.Data.Result), nil
}

// everyPanelAnswers asks all that the boards ask, and those panels that draw
// native histograms of the Prometheus that keeps them. What is about one node is asked
// of each until one has it: no node has everything.
func everyPanelAnswers(t *testing.T, prometheus, native server) {
	t.Helper()
	var nodes []string
	for _, labels := range prometheus.series(`up{job="fabricd"} == 1`) {
		nodes = append(nodes, labels["instance"])
	}
	reasons, begin := silent(), time.Now()
	var slowest time.Duration
	for i, a := range asks(t) {
		of := []string{".*"}
		if strings.Contains(a.expr, `instance="$instance"`) {
			of = slices.Concat(nodes[i%len(nodes):], nodes[:i%len(nodes)]) // not always the same ones
		}
		prometheus := prometheus
		if strings.Contains(a.String(), "native histogram") {
			prometheus = native
		}
		found, reason := prometheus.found(t, a, of, &slowest), a.expected(reasons)
		for !found && reason == "" && time.Since(begin) < time.Minute { // rates need scrapes
			time.Sleep(time.Second)
			found = prometheus.found(t, a, of, &slowest)
		}
		if !found && reason == "" {
			t.Errorf("%s: nothing: %s", a, filled(a.expr, of[0]))
		}
	}
	t.Logf("the queries of the boards took %v, the slowest one %v", time.Since(begin), slowest)
}

// found says whether the query gives something of one of the nodes.
func (s server) found(t *testing.T, a ask, nodes []string, slowest *time.Duration) bool {
	t.Helper()
	for _, node := range nodes {
		start := time.Now()
		n, err := s.answers(filled(a.expr, node))
		if *slowest = max(*slowest, time.Since(start)); err != nil {
			t.Errorf("%s: %v", a, err)
		}
		if n > 0 {
			return true
		}
	}
	return false
}
