// SPDX-License-Identifier: Apache-2.0

package irq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/topo"
)

// A row is one NIC's interrupts by where they were taken.
type row struct {
	*NIC
	f             *probes.Function
	nodes         int
	own           map[int]bool // the processors of its node; nil if not known
	local, remote uint64
	away          []Binding // vectors that go to other nodes alone
}

func rows(v *collectors.View, list []collectors.Unit[Reading]) []row {
	var all []row
	for _, u := range list {
		for i := range u.Reading.NICs {
			n := &u.Reading.NICs[i]
			f := v.Inventory.Function(n.Address)
			if f == nil {
				continue
			}
			r := row{NIC: n, f: f, nodes: len(v.Inventory.Nodes)}
			if n.Why == "" {
				r.place(v.Inventory.Nodes)
			}
			all = append(all, r)
		}
	}
	return all
}

// place tells the interrupts on the NIC's own node from the others.
func (r *row) place(nodes []probes.Node) {
	for _, n := range nodes {
		if !r.f.NUMANode.OK || n.ID != r.f.NUMANode.V {
			continue
		}
		if cpus, err := probes.ParseList(n.CPUList); err == nil && len(cpus) > 0 {
			r.own = map[int]bool{}
			for _, c := range cpus {
				r.own[c] = true
			}
		}
	}
	if r.own == nil {
		return
	}
	for _, b := range r.Bound {
		cpus, err := probes.ParseList(b.CPUs)
		if err == nil && !slices.ContainsFunc(cpus, func(c int) bool { return r.own[c] }) {
			r.away = append(r.away, b)
		}
	}
	for i, n := range r.PerCPU {
		if r.own[r.CPUs[i]] {
			r.local += n
		} else {
			r.remote += n
		}
	}
}

func columns() collectors.Columns[row] {
	address := collectors.Label[row]{Name: "address", Get: func(r *row) string { return r.Address }}
	count := func(locality string, get func(*row) uint64) collectors.Metric[row] {
		return collectors.Metric[row]{
			Name: "nic_interrupts_total", Kind: collectors.Counter, Source: "/proc/interrupts, msi_irqs, numa_node",
			Help:   "Interrupts of a NIC by locality: local on processors of its own NUMA node, remote on others. Absent where its node is not known.",
			Labels: []collectors.Label[row]{address, {Name: "locality", Get: func(*row) string { return locality }}},
			Get:    func(r *row) (float64, bool) { return float64(get(r)), r.own != nil },
		}
	}
	vectors := func(locality string, get func(*row) int) collectors.Metric[row] {
		return collectors.Metric[row]{
			Name: "nic_vectors", Source: "/proc/irq/*/effective_affinity_list, msi_irqs, numa_node",
			Help:   "Interrupt vectors of a NIC by where they are sent: local to processors of its own NUMA node, remote to others.",
			Labels: []collectors.Label[row]{address, {Name: "locality", Get: func(*row) string { return locality }}},
			Get:    func(r *row) (float64, bool) { return float64(get(r)), r.own != nil && len(r.Bound) > 0 },
		}
	}
	return collectors.Columns[row]{
		Labels: []collectors.Label[row]{address},
		Metrics: []collectors.Metric[row]{
			count("local", func(r *row) uint64 { return r.local }),
			count("remote", func(r *row) uint64 { return r.remote }),
			vectors("local", func(r *row) int { return len(r.Bound) - len(r.away) }),
			vectors("remote", func(r *row) int { return len(r.away) }),
		},
		Checks: []collectors.Check[row]{{
			Name:   "nic_irq",
			Help:   "Warns when more than 20 % of a NIC's interrupts in the window were taken on processors of another node; info when one processor took more than half of those of a NIC with several queues.",
			Silent: "totals since boot; one queue, or one processor on the node, has nothing to spread. A NIC without traffic, or whose interrupts cannot be read, is unknown.",
			Over:   time.Minute,
			Subject: []collectors.Label[row]{address,
				{Name: "device", Get: func(r *row) string { rdma, _ := topo.Names(r.f); return strings.Join(rdma, ",") }},
				{Name: "netdev", Get: func(r *row) string { _, n := topo.Names(r.f); return strings.Join(n, ",") }},
			},
			Thresholds: []collectors.Threshold{
				{Name: "remote_percent", Default: 20, Unit: "percent", Help: "more interrupts on another node warn"},
				{Name: "one_cpu_percent", Default: 50, Unit: "percent", Help: "more interrupts on one processor are info"},
				{Name: "least", Default: 100, Unit: "interrupts", Help: "fewer in the window say nothing"},
			},
			Eval: eval,
		}},
	}
}

func eval(r *row, e *collectors.Env[row]) collectors.Verdict {
	switch {
	case r.Why != "":
		return collectors.Verdictf(collectors.Unknown, "%s", r.Why)
	case len(e.Past) < 2:
		return collectors.Verdictf(collectors.Unknown, "one reading only: where interrupts are taken needs a second")
	}
	t := since(e.Past)
	span := e.Span().Round(time.Second)
	switch {
	case t.sum < uint64(e.Threshold("least")):
		return collectors.Verdictf(collectors.Unknown, "%d interrupts in %s: too little traffic to tell", t.sum, span)
	case r.own == nil && r.nodes > 1 && r.f.NUMANode.OK && r.f.NUMANode.V >= 0:
		return collectors.Verdictf(collectors.Unknown, "which processors the NIC's node (%d) has is not known", r.f.NUMANode.V)
	case r.own == nil && r.nodes > 1:
		return collectors.Verdictf(collectors.Unknown, "the NIC's node is not known: see numa_unknown")
	}
	share := func(n uint64) float64 { return 100 * float64(n) / float64(t.sum) }
	remote := r.remoteOf(t)
	if r.nodes > 1 && share(remote) > e.Threshold("remote_percent") {
		return collectors.Verdictf(collectors.Warn, "%.0f %% of %d interrupts in %s were taken on processors of another node than the NIC's (%d)%s", share(remote), t.sum, span, r.f.NUMANode.V, r.awayText()).
			Remedyf("bind the vectors to the node's processors: irqbalance with its hints, the vendor's set_irq_affinity script, or /proc/irq/N/smp_affinity_list").
			With("remote interrupts", remote).With("all interrupts", t.sum)
	}
	if cpu, n := t.busiest(); r.spreads(t) && share(n) > e.Threshold("one_cpu_percent") {
		return collectors.Verdictf(collectors.Info, "CPU %d took %.0f %% of %d interrupts in %s, though they came from %d vectors of the NIC", cpu, share(n), t.sum, span, t.fired).
			Remedyf("spread the vectors over the node's processors (irqbalance, set_irq_affinity)").With("busiest processor", strconv.Itoa(cpu))
	}
	if r.nodes <= 1 {
		return collectors.Verdictf(collectors.OK, "100 %% of %d interrupts in %s were taken on the host's only node", t.sum, span)
	}
	return collectors.Verdictf(collectors.OK, "%.0f %% of %d interrupts in %s were taken on the NIC's node", 100-share(remote), t.sum, span)
}

// awayText says which vectors go elsewhere.
func (r *row) awayText() string {
	if len(r.away) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %d vectors are sent there, such as IRQ %d to CPU %s", len(r.away), len(r.Bound), r.away[0].Vector, r.away[0].CPUs)
}
