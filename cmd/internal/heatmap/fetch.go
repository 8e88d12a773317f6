// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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

// answerless asks which targets that are fabricd's did not answer the newest scrape.
const answerless = `(up{%[1]s} == 0 and on (cluster, job, instance) last_over_time(fabricd_build_info{%[1]s}[1h])) or up{job="fabricd",%[1]s} == 0`

// An asked is all that Prometheus was asked for one matrix.
type asked struct {
	known                  ports
	values, warned, silent model.Vector
}

// Fetch asks Prometheus.
func Fetch(ctx context.Context, api v1.API, q Query) (*Matrix, error) {
	got := asked{known: ports{}}
	if err := got.known.fetch(ctx, api, q); err != nil {
		return nil, err
	}
	questions := map[string]*model.Vector{
		q.Metric.query(q.Match, q.Window): &got.values,
		fmt.Sprintf(answerless, q.Match):  &got.silent,
	}
	if q.Metric.checks != "" {
		questions[fmt.Sprintf(`fabricd_check_status{check=~"%s",%s} >= 2`, q.Metric.checks, q.Match)] = &got.warned
	}
	for expr, answer := range questions {
		var err error
		if *answer, err = ask(ctx, api, q, expr); err != nil {
			return nil, err
		}
	}
	m := got.matrix(q)
	switch {
	case m.Ports == 0 && len(got.values) > 0 && q.By != "port":
		return nil, fmt.Errorf("%w: none of %d series is of a port with a %s%s: try --by port", ErrEmpty, len(got.values), map[string]string{"rail": "rail (compute NICs have one)", "lid": "LID (InfiniBand has)"}[q.By], m.butSilent())
	case m.Ports == 0:
		return nil, fmt.Errorf("%w: no series at %s for %s (does this Prometheus scrape fabricd, and have its nodes such ports?)%s", ErrEmpty, q.At.UTC().Format(time.RFC3339), q.Metric.query(q.Match, q.Window), m.butSilent())
	case m.Absent == m.Ports && len(m.StandOuts) == 0:
		return nil, fmt.Errorf("%w: none of %d ports has a value at %s: what the nodes cannot read, or do not judge, is no zero%s", ErrEmpty, m.Ports, q.At.UTC().Format(time.RFC3339), m.butSilent())
	}
	return m, nil
}

// butSilent says beside an error which nodes do not answer.
func (m *Matrix) butSilent() string {
	if s := m.silence(); s != "" {
		return "; " + s
	}
	return ""
}

// matrix puts the answers together.
func (got *asked) matrix(q Query) *Matrix {
	all := map[target]bool{}
	for t := range got.known {
		all[t] = true
	}
	for _, s := range slices.Concat(got.values, got.warned, got.silent) {
		all[targetOf(s.Metric)] = true
	}
	name := names(all)
	m := newMatrix(q)
	m.targets = len(all)
	for t, n := range got.known {
		for _, p := range n.list() {
			if len(got.values) > 0 && q.Metric.expects(p) {
				m.add(name[t], p, math.NaN())
			}
		}
	}
	for _, s := range got.values {
		for _, p := range got.known.named(s.Metric) {
			m.add(name[targetOf(s.Metric)], p, float64(s.Value))
		}
	}
	for _, s := range got.warned {
		for _, p := range got.known.named(s.Metric) {
			m.warn(name[targetOf(s.Metric)], p)
		}
	}
	for _, s := range got.silent {
		m.silent(name[targetOf(s.Metric)])
	}
	m.finish()
	return m
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

// fetch asks for the NICs, their ports and LIDs, and the switches at their other
// ends. An older fabricd has not all of these: then there are no ports of that kind.
func (all ports) fetch(ctx context.Context, api v1.API, q Query) error {
	var nics []model.Metric
	for _, part := range []struct {
		expr string
		take func(model.Metric, float64)
	}{
		{`fabricd_rdma_port_info{%s}`, all.addRDMA},
		{`fabricd_device_info{class="nic",%s}`, func(l model.Metric, _ float64) { nics = append(nics, l) }},
		{`fabricd_rdma_port_lid{%s}`, func(l model.Metric, v float64) {
			for _, p := range all.named(l) {
				p.lid = v
			}
		}},
		{`fabricd_lldp_neighbor_info{system_name!="",%s}`, func(l model.Metric, _ float64) {
			if p := all.node(l).netdevs[string(l["netdev"])]; p != nil {
				p.leaf = string(l["system_name"])
			}
		}},
	} {
		samples, err := ask(ctx, api, q, fmt.Sprintf(part.expr, q.Match))
		if err != nil {
			return err
		}
		for _, s := range samples {
			part.take(s.Metric, float64(s.Value))
		}
		if len(nics) > 0 {
			all.addNICs(nics)
			nics = nil
		}
	}
	all.number()
	return nil
}
