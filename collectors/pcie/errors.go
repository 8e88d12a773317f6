// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"fmt"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/pci"
)

// An errorRow is one counter of one function.
type errorRow struct {
	address, severity, name string
	metric                  errorMetric
	n                       uint64
}

type errorMetric uint8

const (
	byName errorMetric = iota
	messages
	rootMessages
)

// errorRows lists counters. Those by name are left out while they are zero: a
// host has thousands of them.
func errorRows(_ *collectors.View, list []collectors.Unit[Reading]) []errorRow {
	var rows []errorRow
	for _, u := range list {
		a := u.Reading.AER
		if a == nil {
			continue
		}
		for s := range Fatal + 1 {
			add := func(m errorMetric, name string, n uint64) {
				rows = append(rows, errorRow{u.Name, s.String(), name, m, n})
			}
			if a.Total[s].OK || len(a.Errors[s]) > 0 {
				add(messages, "", a.Sum(s))
			}
			if a.Root[s].OK {
				add(rootMessages, "", a.Root[s].V)
			}
			for _, c := range a.Errors[s] {
				if c.N > 0 {
					add(byName, c.Name, c.N)
				}
			}
		}
	}
	return rows
}

func errorColumns() collectors.Columns[errorRow] {
	address := collectors.Label[errorRow]{Name: "address", Get: func(r *errorRow) string { return r.address }}
	severity := collectors.Label[errorRow]{Name: "severity", Get: func(r *errorRow) string { return r.severity }}
	name := collectors.Label[errorRow]{Name: "error", Get: func(r *errorRow) string { return r.name }}
	get := func(m errorMetric) func(*errorRow) (float64, bool) {
		return func(r *errorRow) (float64, bool) { return float64(r.n), r.metric == m }
	}
	return collectors.Columns[errorRow]{
		Labels: []collectors.Label[errorRow]{address, severity, name},
		Metrics: []collectors.Metric[errorRow]{
			{Name: "pcie_aer_errors_total", Kind: collectors.Counter, Source: "sysfs aer_dev_correctable, aer_dev_nonfatal, aer_dev_fatal",
				Help: "Errors that the function detected, by severity (correctable, nonfatal, fatal) and the kernel's name. A name has a series once it was counted.", Get: get(byName)},
			{Name: "pcie_aer_messages_total", Kind: collectors.Counter, Source: "sysfs aer_dev_*, line TOTAL_ERR_*",
				Help: "Error messages that the function sent, by severity; one may name several errors.", Labels: []collectors.Label[errorRow]{address, severity}, Get: get(messages)},
			{Name: "pcie_aer_rootport_errors_total", Kind: collectors.Counter, Source: "sysfs aer_rootport_total_err_*",
				Help: "Error messages that a root port received from itself and from all below it, by severity.", Labels: []collectors.Label[errorRow]{address, severity}, Get: get(rootMessages)},
		},
	}
}

type (
	functionCheck = collectors.Check[function]
	functionEnv   = collectors.Env[function]
)

func functionSubject() []collectors.Label[function] {
	return []collectors.Label[function]{
		{Name: "address", Get: func(f *function) string { return f.Address }},
		{Name: "device", Get: func(f *function) string { return joined(only(f.Function), true) }},
		{Name: "netdev", Get: func(f *function) string { return joined(only(f.Function), false) }},
	}
}

func aerCheck() functionCheck {
	return functionCheck{
		Name:    "pcie_aer",
		Help:    "Correctable errors warn from 3 in the window on when they are more than the link's GT/s divided by 8 a minute; non-fatal and fatal ones fail on any increase. Errors are counted at the end that saw them, often the partner of the faulty one: both ends are named. A root port that counts messages which no function below it counted warns or fails as well, source unknown.",
		Silent:  "counts since boot that stand still are info; a counter that fell was reset.",
		Over:    time.Minute,
		Subject: functionSubject(),
		Thresholds: []collectors.Threshold{
			{Name: "least", Default: 3, Unit: "errors", Help: "fewer correctable errors in the window never warn"},
			{Name: "per_minute", Default: 0.125, Unit: "errors a minute for each GT/s", Help: "more correctable errors warn"},
		},
		Eval: evalAER,
	}
}

// growth sums the rises of a counter over the window. A fall is a reset.
func growth(past []collectors.Sample[function], get func(*function) uint64) uint64 {
	var sum uint64
	for i := 1; i < len(past); i++ {
		a, b := get(&past[i-1].Row), get(&past[i].Row)
		if b > a && past[i-1].Row.counts() != nil && past[i].Row.counts() != nil {
			sum += b - a
		}
	}
	return sum
}

func (f *function) counts() *AER {
	if f.at == nil {
		return nil
	}
	return f.at.AER
}

func (f *function) sum(s Severity) uint64 {
	if a := f.counts(); a != nil {
		return a.Sum(s)
	}
	return 0
}

func (f *function) root(s Severity) uint64 {
	if a := f.counts(); a != nil {
		return a.Root[s].V
	}
	return 0
}

func evalAER(f *function, e *functionEnv) verdict {
	a := f.counts()
	if a == nil {
		return f.noAER()
	}
	total := uint64(0)
	for s := range Fatal + 1 {
		total += a.Sum(s)
	}
	if len(e.Past) < 2 {
		if total > 0 {
			return collectors.Verdictf(collectors.Unknown, "%d errors since boot (%s); one reading does not tell whether they grow", total, f.errorNames(nil))
		}
		return collectors.Verdictf(collectors.OK, "no errors since boot")
	}
	for s := Fatal; s >= NonFatal; s-- {
		if n := growth(e.Past, func(f *function) uint64 { return f.sum(s) }); n > 0 {
			return f.grew(e, collectors.Fail, s, n)
		}
	}
	if n := growth(e.Past, func(f *function) uint64 { return f.sum(Correctable) }); f.tooMany(e, n) {
		return f.grew(e, collectors.Warn, Correctable, n)
	}
	if v := f.unknownSource(e); v.Status != collectors.None {
		return v
	}
	if total > 0 {
		return collectors.Verdictf(collectors.Info, "%d errors since boot (%s), not growing", total, f.errorNames(nil))
	}
	return collectors.Verdictf(collectors.OK, "no errors since boot")
}

// noAER says of functions without counters that they cannot be judged, where
// that matters.
func (f *function) noAER() verdict {
	if f.kind != pci.GPU && f.kind != pci.NIC && f.kind != pci.NVSwitch {
		return verdict{}
	}
	switch {
	case f.at == nil:
		return collectors.Verdictf(collectors.Unknown, "no fresh reading of %s", f.Address)
	case f.guest:
		return collectors.Verdictf(collectors.Unknown, "virtual machine: the host's error counters are not visible").Remedyf("ask on the host")
	}
	return collectors.Verdictf(collectors.Unknown, "the kernel shows no error counters (aer_dev_*) for it: no AER capability, or the firmware keeps AER to itself")
}

// tooMany says whether correctable errors grew faster than the link's speed excuses.
func (f *function) tooMany(e *functionEnv, n uint64) bool {
	minutes := e.Span().Minutes()
	if float64(n) < e.Threshold("least") || n == 0 || minutes == 0 {
		return false
	}
	return float64(n)/minutes > e.Threshold("per_minute")*f.gigaTransfers()
}

// gigaTransfers gives the speed of the function's link, or the least there is.
func (f *function) gigaTransfers() float64 {
	for _, l := range []pci.Link{f.state(), f.most(), f.Max} {
		if l.Speed > 0 {
			return l.Speed.GigaTransfers()
		}
	}
	return pci.Gen1.GigaTransfers()
}

func (f *function) grew(e *functionEnv, status collectors.Status, s Severity, n uint64) verdict {
	first := e.Past[0].Row.counts()
	v := collectors.Verdictf(status, "%d %s errors in %s (%s) counted at %s", n, s, e.Span().Round(time.Second), f.errorNames(first), named(f.Function))
	if partner := f.partner(e); partner != "" {
		v.Reason += "; the other end of the link is " + partner
	}
	for _, c := range f.counts().Errors[s] {
		if c.N > 0 {
			v = v.With(f.Address+" "+s.String()+" "+c.Name, c.N)
		}
	}
	return v.Remedyf("the fault is often at the other end: look at both with lspci -vv and in the kernel log (dmesg | grep -i aer); reseat card, riser or cable; check retimers and firmware")
}

// errorNames lists what grew since first, or everything that was ever counted.
func (f *function) errorNames(first *AER) string {
	var parts []string
	a := f.counts()
	for s := range Fatal + 1 {
		for _, c := range a.Errors[s] {
			n := c.N
			if first != nil {
				n -= min(n, first.Find(s, c.Name))
			}
			if n > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", c.Name, n))
			}
		}
	}
	if len(parts) == 0 {
		return "names not told"
	}
	return strings.Join(parts, ", ")
}

// partner names the other end of the function's link.
func (f *function) partner(e *functionEnv) string {
	if f.link != nil {
		return addressOf(f.link.Upper)
	}
	for i := range e.Rows {
		if l := e.Rows[i].link; l != nil && l.Upper == f.Function && l.Lower == e.Rows[i].Function {
			return named(l.Lower)
		}
	}
	return ""
}

// unknownSource finds messages at a root port that no function below it counted.
func (f *function) unknownSource(e *functionEnv) verdict {
	if !f.belowKnown {
		return verdict{}
	}
	for s := Fatal + 1; s > 0; {
		s--
		below := growth(e.Past, func(f *function) uint64 { return f.below[s] })
		n := growth(e.Past, func(f *function) uint64 { return f.root(s) })
		if n == 0 || below > 0 || s == Correctable && !f.tooMany(e, n) {
			continue
		}
		status := collectors.Fail
		if s == Correctable {
			status = collectors.Warn
		}
		return collectors.Verdictf(status, "the root port %s received %d %s error messages in %s; source unknown: no function below it counted any", f.Address, n, s, e.Span().Round(time.Second)).
			Remedyf("look for the source in the kernel log: dmesg | grep -i aer").With(rootFiles[s], f.root(s))
	}
	return verdict{}
}
