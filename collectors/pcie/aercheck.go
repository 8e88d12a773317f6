// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"fmt"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/pci"
)

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

// growth sums the rises of a counter over the window. A fall is a reset;
// readings without counters are passed over.
func growth(past []collectors.Sample[function], get func(*function) uint64) uint64 {
	var sum uint64
	var last *function
	for i := range past {
		f := &past[i].Row
		if f.counts() == nil {
			continue
		}
		if last != nil && get(f) > get(last) {
			sum += get(f) - get(last)
		}
		last = f
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
	old := a.sinceBoot()
	if len(e.Past) < 2 {
		if a.unread() != "" {
			return collectors.Verdictf(collectors.Unknown, "%s", a.unread())
		}
		if old != "" {
			return collectors.Verdictf(collectors.Unknown, "since boot: %s; one reading does not tell whether they grow", old)
		}
		return collectors.Verdictf(collectors.OK, "no errors since boot")
	}
	for s := Fatal; s >= NonFatal; s-- {
		if n := growth(e.Past, func(f *function) uint64 { return f.sum(s) }); n > 0 {
			return f.grew(e, collectors.Fail, s, n)
		}
	}
	n := growth(e.Past, func(f *function) uint64 { return f.sum(Correctable) })
	if f.tooMany(e, n) {
		return f.grew(e, collectors.Warn, Correctable, n)
	}
	if v := f.unknownSource(e); v.Status != collectors.None {
		return v
	}
	switch {
	case a.unread() != "":
		return collectors.Verdictf(collectors.Unknown, "%s; the rest does not grow", a.unread())
	case n > 0:
		return collectors.Verdictf(collectors.Info, "%d correctable errors in %s: no more than a link at %s may have; since boot: %s", n, e.Span().Round(time.Second), f.speed, old)
	case old != "":
		return collectors.Verdictf(collectors.Info, "since boot: %s; not growing", old)
	}
	return collectors.Verdictf(collectors.OK, "no errors since boot")
}

// unread says which counters could not be read, and why.
func (a *AER) unread() string {
	var list []string
	for _, why := range a.Unread {
		if why != "" {
			list = append(list, why)
		}
	}
	return strings.Join(list, ", ")
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
	return float64(n)/minutes > e.Threshold("per_minute")*f.speed.GigaTransfers()
}

func (f *function) grew(e *functionEnv, status collectors.Status, s Severity, n uint64) verdict {
	v := collectors.Verdictf(status, "%d %s errors in %s (%s) counted at %s", n, s, e.Span().Round(time.Second), f.risen(e, s), named(f.Function))
	if partner := f.partner(); partner != "" {
		v.Reason += "; the other end of the link is " + partner
	}
	for _, c := range f.counts().Errors[s] {
		if c.N > 0 {
			v = v.With(f.Address+" "+s.String()+" "+c.Name, c.N)
		}
	}
	return v.Remedyf("the fault is often at the other end: look at both with lspci -vv and in the kernel log (dmesg | grep -i aer); reseat card, riser or cable; check retimers and firmware")
}

// risen lists the errors of a severity that rose over the window.
func (f *function) risen(e *functionEnv, s Severity) string {
	var parts []string
	for _, c := range f.counts().Errors[s] {
		n := growth(e.Past, func(f *function) uint64 { return f.counts().Find(s, c.Name) })
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", c.Name, n))
		}
	}
	if len(parts) == 0 {
		return "names not told"
	}
	return strings.Join(parts, ", ")
}

// sinceBoot lists everything that was ever counted: "" for nothing.
func (a *AER) sinceBoot() string {
	var parts []string
	for s := range Fatal + 1 {
		named := uint64(0)
		for _, c := range a.Errors[s] {
			if named += c.N; c.N > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", c.Name, c.N))
			}
		}
		if total := a.Sum(s); total > 0 && named == 0 {
			parts = append(parts, fmt.Sprintf("%d %s errors without a name", total, s))
		}
		if a.Root[s].V > a.Sum(s) {
			parts = append(parts, fmt.Sprintf("%d %s messages from here and below", a.Root[s].V, s))
		}
	}
	return strings.Join(parts, ", ")
}

// partner names the other end of the function's link.
func (f *function) partner() string {
	switch {
	case f.link != nil:
		return addressOf(f.link.Upper)
	case f.down != nil:
		return named(f.down.Lower)
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
		return collectors.Verdictf(status, "root port %s received %d %s error messages in %s; source unknown: no function below it counted any", f.Address, n, s, e.Span().Round(time.Second)).
			Remedyf("look for the source in the kernel log: dmesg | grep -i aer").With(rootFiles[s], f.root(s))
	}
	return verdict{}
}
