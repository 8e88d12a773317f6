// SPDX-License-Identifier: Apache-2.0

// Package heatmap shows a fleet as a matrix of nodes and ports, from what a
// Prometheus has scraped off fabricd, and says which node, port or leaf stands
// out. It knows PromQL and how to draw; the verdicts on a node are fabricd's.
package heatmap

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// A Metric is one thing that a port is looked at for.
type Metric struct {
	Name  string
	Title string // with the unit
	// expr is the query; %[1]s are matchers, %[2]s is the time looked back.
	expr string
	// low says that less is worse; of the others more is.
	low bool
	// least is the smallest difference that can stand out.
	least float64
	// bad is what is bad wherever it is, however usual; 0: nothing is.
	bad float64
	// checks are those whose warnings say so too: their limits are the nodes' own, and no
	// number of errors is one, for some losses are usual on a network that drops.
	checks string
	// most is the end of the scale, 0 for the largest value.
	most float64
}

// Metrics lists them; the first is the default.
func Metrics() []Metric {
	return []Metric{
		{Name: "bandwidth", Title: "RDMA traffic, Gb/s sent and received", low: true, least: 1,
			expr: `8e-9 * (sum by (cluster, job, instance, device, port) (rate(fabricd_rdma_transmitted_bytes_total{%[1]s}[%[2]s])) + sum by (cluster, job, instance, device, port) (rate(fabricd_rdma_received_bytes_total{%[1]s}[%[2]s])))`},
		{Name: "pause", Title: "time stopped by priority pause, percent; the worst priority and direction", least: 1, bad: 50, checks: "roce_pause", most: 100,
			expr: `100 * max by (cluster, job, instance, netdev) (rate(fabricd_roce_pfc_pause_seconds_total{%[1]s}[%[2]s]))`},
		{Name: "ecn", Title: "packets received with a congestion mark, a second", least: 10,
			expr: `sum by (cluster, job, instance, device, port) (rate(fabricd_roce_ecn_marked_packets_total{%[1]s}[%[2]s]))`},
		{Name: "errors", Title: "errors, drops and retransmissions of the port", least: 1, checks: "rdma_errors|rdma_loss",
			expr: `sum by (cluster, job, instance, device, port) (increase({__name__=~"fabricd_rdma_(port_errors|loss_events)_total",%[1]s}[%[2]s]))`},
		{Name: "status", Title: "worst verdict on the port: 0 ok, 1 info, 2 warn, 3 fail", least: 1.5, bad: 2, most: 3,
			expr: `max by (cluster, job, instance, subject) (fabricd_check_status{%[1]s})`},
	}
}

func (m *Metric) query(match string, window time.Duration) string {
	if m.Name == "status" {
		return fmt.Sprintf(m.expr, match)
	}
	return fmt.Sprintf(m.expr, match, model.Duration(window))
}

// worse says by how much a is worse than b.
func (m *Metric) worse(a, b float64) float64 {
	if m.low {
		return b - a
	}
	return a - b
}

// always says whether a value is bad even if all have it.
func (m *Metric) always(v float64) bool { return m.bad > 0 && v >= m.bad }

// expects says whether a port that is there should have a value.
func (m *Metric) expects(p *port) bool {
	switch m.Name {
	case "status":
		return true
	case "bandwidth", "errors":
		return p.number > 0
	}
	return false
}

// short writes a value in at most three characters.
func short(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return "inf"
	case a < 0.05:
		return "0"
	case a < 0.95:
		return strconv.FormatFloat(a, 'f', 1, 64)[1:]
	}
	for _, unit := range []string{"", "k", "M", "G", "T"} {
		if limit := 999.5; unit == "" && math.Abs(v) < limit || unit != "" && math.Abs(v) < 99.5 {
			return strconv.FormatFloat(v, 'f', 0, 64) + unit
		}
		if v /= 1000; math.Abs(v) < 0.95 {
			return strconv.FormatFloat(v, 'f', 1, 64)[1:] + map[string]string{"": "k", "k": "M", "M": "G", "G": "T"}[unit]
		}
	}
	return "big"
}
