// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/rdma"
	"github.com/fabricd/fabricd/probes/dcqcn"
)

func dcqcnCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:   "roce_dcqcn",
		Help:   "Warns when congestion control's notification or reaction point is off on a priority that has PFC; info where its parameters differ from the sisters'.",
		Silent: "files that read empty, and folders that this process may not read (debugfs needs root and no lockdown): unknown.",
		Uses:   []string{rdma.Name},
		Subject: []collectors.Label[port]{
			netdevLabel(func(p *port) *port { return p }),
			{Name: "device", Get: (*port).device},
		},
		Eval: evalDCQCN,
	}
}

func evalDCQCN(p *port, e *env) verdict {
	if !p.roce() {
		return p.notRoCE()
	}
	s := p.DCQCN
	switch {
	case p.Err == errStale:
		return collectors.Verdictf(collectors.Unknown, "%s", errStale)
	case s == nil && p.Driver != "mlx5_core" && p.Driver != "bnxt_en":
		return verdict{} // no driver that shows any
	case s == nil && errors.Is(p.DCQCNErr, fs.ErrPermission):
		return collectors.Verdictf(collectors.Unknown, "%s: debugfs needs root, and a kernel that is not locked down", p.DCQCNErr)
	case s == nil:
		return collectors.Verdictf(collectors.Unknown, "driver %s shows no parameters of congestion control (debugfs %s)", p.Driver, debugfs(p.Driver))
	}
	on, told := p.pfc()
	if off := switchedOff(s, on); off != "" {
		return collectors.Verdictf(collectors.Warn, "%s, which has PFC: senders are not slowed down before they are paused (%s)", off, s.Source).
			Remedyf("switch both points on for the lossless priority at all ports, or off with PFC; fabricd read roce shows all parameters").
			With(s.Source, off)
	}
	switch {
	case s.Err != nil:
		return collectors.Verdictf(collectors.Unknown, "%s", s.Err)
	case !told:
		return collectors.Verdictf(collectors.Unknown, "%s", p.untold())
	}
	if diff := differing(p, e); diff != "" {
		return collectors.Verdictf(collectors.Info, "other ports of its kind have other parameters: %s (%s)", diff, s.Source)
	}
	if !s.All.OK && !tells(s, on) {
		return collectors.Verdictf(collectors.Unknown, "%d parameters read (%s), which do not tell whether congestion control is on for %s", len(s.Parameters), s.Source, list(on))
	}
	return collectors.Verdictf(collectors.OK, "on for %s, %d parameters as the sisters' (%s)", list(on), len(s.Parameters), s.Source)
}

func debugfs(driver string) string {
	if driver == "bnxt_en" {
		return "bnxt_re/ADDRESS/cc_config, in newer kernels"
	}
	return "mlx5/ADDRESS/cc_params, of mlx5_ib"
}

// switchedOff words which side is off on which lossless priority.
func switchedOff(s *dcqcn.Settings, lossless []int) string {
	if s.All.OK && !s.All.V && len(lossless) > 0 {
		return "congestion control is off altogether, also on " + list(lossless)
	}
	var text []string
	for _, side := range []struct {
		name     string
		switches dcqcn.Switches
	}{{"notification point", s.Notification}, {"reaction point", s.Reaction}} {
		var off []int
		for _, n := range lossless {
			if v := side.switches[n]; v.OK && !v.V {
				off = append(off, n)
			}
		}
		if len(off) > 0 {
			text = append(text, fmt.Sprintf("the %s is off on %s", side.name, list(off)))
		}
	}
	return strings.Join(text, " and ")
}

// tells says whether both sides' switches are known for all lossless priorities.
func tells(s *dcqcn.Settings, lossless []int) bool {
	for _, n := range lossless {
		if !s.Notification[n].OK || !s.Reaction[n].OK {
			return false
		}
	}
	return s.Notification.Told() && s.Reaction.Told()
}

// differing names the parameters in which a port differs from the majority of
// its sisters or, where there is none, from any.
func differing(p *port, e *env) string {
	var all []*port
	for i := range e.Rows {
		if o := &e.Rows[i]; o.sisters == p.sisters && o.DCQCN != nil && o.roce() {
			all = append(all, o)
		}
	}
	usual, _, ok := collectors.Majority(all, func(a, b *port) bool { return slices.Equal(a.DCQCN.Parameters, b.DCQCN.Parameters) })
	for _, o := range all {
		if ok && o != usual || slices.Equal(o.DCQCN.Parameters, p.DCQCN.Parameters) {
			continue
		}
		return compare(p.DCQCN.Parameters, o.DCQCN.Parameters, o.Netdev)
	}
	return ""
}

func compare(mine, theirs []dcqcn.Parameter, whose string) string {
	var text []string
	for _, m := range mine {
		i := slices.IndexFunc(theirs, func(t dcqcn.Parameter) bool { return t.File == m.File })
		if i >= 0 && theirs[i].Value != m.Value {
			text = append(text, fmt.Sprintf("%s %g, at %s %g", m.File, m.Value, whose, theirs[i].Value))
		}
	}
	if len(text) == 0 {
		return "some are known of one only, of " + whose
	}
	return strings.Join(text, "; ")
}
