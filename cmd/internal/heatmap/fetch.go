// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// A Query says what to show.
type Query struct {
	Metric Metric
	By     string // port, rail or lid
	At     time.Time
	Window time.Duration
	Match  string // label matchers that choose nodes
}

// ErrEmpty says that there is nothing to show.
var ErrEmpty = errors.New("there is nothing to show")

// A port is what is known of a port beside its value.
type port struct {
	address, rdma, netdev, role string
	leaf                        string
	rail                        int // -1: not of a rail
	lid                         float64
}

// ports are those of all nodes, by node and by any of their names.
type ports map[string]map[string]*port

// Fetch asks Prometheus.
func Fetch(ctx context.Context, api v1.API, q Query) (*Matrix, error) {
	known, err := fetchPorts(ctx, api, q)
	if err != nil {
		return nil, err
	}
	samples, err := ask(ctx, api, q, q.Metric.query(q.Match, q.Window))
	if err != nil {
		return nil, err
	}
	m := newMatrix(q)
	if len(samples) > 0 {
		known.each(func(node string, p *port) {
			if q.Metric.expects(p) {
				m.add(node, p, math.NaN())
			}
		})
	}
	for _, s := range samples {
		node := string(s.Metric["instance"])
		for _, p := range known.of(s.Metric) {
			m.add(node, p, float64(s.Value))
		}
	}
	if q.Metric.checks != "" {
		warned, err := ask(ctx, api, q, fmt.Sprintf(`fabricd_check_status{check=~"%s",%s} >= 2`, q.Metric.checks, q.Match))
		if err != nil {
			return nil, err
		}
		for _, s := range warned {
			for _, p := range known.of(s.Metric) {
				m.warn(string(s.Metric["instance"]), p)
			}
		}
	}
	if m.finish(); len(m.Rows) == 0 {
		return nil, fmt.Errorf("%w: no series at %s for %s (does this Prometheus scrape fabricd, and have its nodes such ports?)", ErrEmpty, q.At.UTC().Format(time.RFC3339), q.Metric.query(q.Match, q.Window))
	}
	if m.Absent == m.Ports {
		return nil, fmt.Errorf("%w: none of %d ports has a value at %s: what the nodes cannot read, or do not judge, is no zero", ErrEmpty, m.Ports, q.At.UTC().Format(time.RFC3339))
	}
	return m, nil
}

func ask(ctx context.Context, api v1.API, q Query, expr string) (model.Vector, error) {
	value, _, _, err := api.Query(ctx, expr, q.At)
	if err != nil {
		return nil, err
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("the answer to %s is a %s, not a vector", expr, value.Type())
	}
	return vector, nil
}

// fetchPorts asks for the NICs, their LIDs and the switches at their other ends. An
// older fabricd has not all of these: then there are no ports of that kind.
func fetchPorts(ctx context.Context, api v1.API, q Query) (ports, error) {
	all := ports{}
	for _, part := range []struct {
		expr string
		take func(model.Metric, float64)
	}{
		{`fabricd_device_info{class="nic",%s}`, all.add},
		{`fabricd_rdma_port_lid{%s}`, func(l model.Metric, v float64) {
			for _, p := range all.of(l) {
				p.lid = v
			}
		}},
		{`fabricd_lldp_neighbor_info{system_name!="",%s}`, func(l model.Metric, _ float64) {
			for _, p := range all.of(l) {
				p.leaf = string(l["system_name"])
			}
		}},
	} {
		samples, err := ask(ctx, api, q, fmt.Sprintf(part.expr, q.Match))
		if err != nil {
			return nil, err
		}
		for _, s := range samples {
			part.take(s.Metric, float64(s.Value))
		}
	}
	all.number()
	return all, nil
}

// add notes a port of a NIC under all its names.
func (all ports) add(l model.Metric, _ float64) {
	p := &port{address: string(l["address"]), rdma: string(l["rdma"]), netdev: string(l["netdev"]), role: string(l["role"]), rail: -1, lid: math.NaN()}
	node := string(l["instance"])
	if all[node] == nil {
		all[node] = map[string]*port{}
	}
	for _, name := range []string{p.rdma, p.netdev} {
		if name != "" {
			all[node][name] = p
		}
	}
}

// number gives the compute NICs of each node their rails, in the order of
// their addresses.
func (all ports) number() {
	for _, names := range all {
		var list []*port
		for _, p := range names {
			if p.role == "compute" && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
		slices.SortFunc(list, func(a, b *port) int {
			return cmp.Or(strings.Compare(a.address, b.address), strings.Compare(a.name(), b.name()))
		})
		for i, p := range list {
			p.rail = i
		}
	}
}

func (p *port) name() string { return cmp.Or(p.rdma, p.netdev) }

// each visits every port once.
func (all ports) each(visit func(node string, p *port)) {
	for node, names := range all {
		for name, p := range names {
			if name == p.name() {
				visit(node, p)
			}
		}
	}
}

// of gives the ports that a series is about: the one that its labels name, or
// those that a subject does.
func (all ports) of(l model.Metric) []*port {
	names := all[string(l["instance"])]
	if subject, ok := l["subject"]; ok {
		var list []*port
		for part := range strings.FieldsFuncSeq(string(subject), func(r rune) bool { return r == '/' || r == ',' }) {
			if p := names[part]; p != nil && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
		return list
	}
	name := string(cmp.Or(l["device"], l["netdev"]))
	if name == "" {
		return nil
	}
	p := names[name]
	if p == nil {
		p = &port{rdma: name, rail: -1, lid: math.NaN()}
	}
	if n := l["port"]; n != "" && n != "1" { // a second port of one device
		second := *p
		second.rdma, second.rail = name+"/"+string(n), -1
		p = &second
	}
	return []*port{p}
}
