// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/roce"
	"github.com/fabricd/fabricd/probes/dcb"
	"github.com/fabricd/fabricd/probes/topo"
)

func pfcCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:       "lldp_pfc",
		Help:       "Fails when the switch announces (DCBX, of the standard or CEE) priority flow control on other priorities than the host has it on; warns when traffic classes or the priorities of applications and DSCPs differ. Where firmware speaks DCBX, what the driver says of the peer stands in for the frames.",
		Silent:     "ports without link or neighbour; management ports without flow control of their own (info); classes that no priority uses; algorithms that the driver does not tell; applications that only one side names. Neighbours that announce nothing or have fallen silent, and drivers that do not answer, are unknown.",
		Thresholds: []collectors.Threshold{silence},
		Uses:       []string{roce.Name},
		Eval:       pfc,
	}
}

func pfc(p *port, e *collectors.Env[port]) collectors.Verdict {
	if p.Carrier.OK && !p.Carrier.V {
		return collectors.Verdict{}
	}
	own, err := hostDCB(e.View, p.n.Name)
	a := p.announcement(own, seconds(e.Threshold(silence.Name)))
	if a.empty() {
		return p.nothingAnnounced(seconds(e.Threshold(silence.Name)))
	}
	if own == nil {
		return collectors.Verdictf(collectors.Unknown, "the switch announces %s; how the host is set cannot be read: %v", a.describe(), err)
	}
	v := p.comparePFC(&a, own)
	if a.doubt != "" {
		v.Reason += "; " + a.doubt
	}
	return v
}

func (p *port) comparePFC(a *announcement, own *dcb.Config) collectors.Verdict {
	var mask uint8
	if own.PFC != nil {
		mask = maskOf(own.PFC.Enabled)
	}
	bad, worse := collectors.Warn, collectors.Fail
	if mask == 0 && p.role == topo.Management { // nothing there wants a lossless network
		bad, worse = collectors.Info, collectors.Info
	}
	if a.pfc.OK && own.PFC != nil && a.pfc.V != mask {
		return collectors.Verdictf(worse, "priority flow control is on for %s at the switch and for %s at the host: %s", priorities(a.pfc.V), priorities(mask), lopsided(a.pfc.V, mask)).
			Remedyf("set both to the same: at the host dcb pfc set dev %s prio-pfc …, or mlnx_qos -i %s --pfc …; or the switch's port", p.n.Name, p.n.Name).
			With(a.source+" PFC", priorities(a.pfc.V)).With("dcbnl PFC", priorities(mask))
	}
	wrong := append(a.otherClasses(own.ETS), a.otherApps(own.App)...)
	switch {
	case len(wrong) > 0:
		return collectors.Verdictf(bad, "%s", strings.Join(wrong, "; ")).
			Remedyf("set host and switch to the same map: dcb app show dev %s, dcb ets show dev %s", p.n.Name, p.n.Name).With("announced by", a.source)
	case !a.pfc.OK:
		return collectors.Verdictf(collectors.Unknown, "the switch announces %s, but not its priority flow control", a.describe())
	case own.PFC == nil:
		return collectors.Verdictf(collectors.Unknown, "the switch announces %s; the driver does not tell the host's", a.describe())
	}
	return collectors.Verdictf(collectors.OK, "the switch announces %s, as the host has it", a.describe()).With("announced by", a.source)
}

// hostDCB gives how the host is set, as the roce collector reads it.
func hostDCB(v *collectors.View, netdev string) (*dcb.Config, error) {
	for _, u := range collectors.Readings[roce.Reading](v, roce.Name) {
		if u.Name != netdev || u.Reading.Settings == nil {
			continue
		}
		if u.Reading.DCB != nil {
			return u.Reading.DCB, nil
		}
		return nil, u.Reading.DCBErr
	}
	return nil, errors.New("the " + roce.Name + " collector has no reading")
}

// announcement gives what the one neighbour announces, if it was heard of late,
// or, where no frame says it, what the driver says of the peer.
func (p *port) announcement(own *dcb.Config, patience time.Duration) announcement {
	if n := p.neighbour(); n != nil && p.hears(patience) {
		if a := announced(n.Frame); !a.empty() {
			return a
		}
	}
	if own != nil && own.Peer != nil {
		return ofPeer(own.Peer)
	}
	return announcement{}
}

func (p *port) nothingAnnounced(patience time.Duration) collectors.Verdict {
	switch {
	case len(p.Neighbours) == 0:
		return collectors.Verdict{}
	case !p.hears(patience):
		n, since := &p.Neighbours[len(p.Neighbours)-1], ""
		if p.Stale(n) {
			since = ", before the link was lost"
		}
		return collectors.Verdictf(collectors.Unknown, "%s was last heard %s ago%s: what it announced says nothing of now", describe(n), ago(p.at-n.Last), since)
	case len(p.present) > 1:
		return collectors.Verdictf(collectors.Unknown, "several neighbours on one port: see lldp_many")
	}
	return collectors.Verdictf(collectors.Unknown, "%s announces no DCBX", describe(p.neighbour())).
		Remedyf("switch DCBX on at the switch's port, if it has it, so that both ends can be compared")
}

func maskOf(list []int) (mask uint8) {
	for _, i := range list {
		mask |= 1 << i
	}
	return mask
}

// priorities writes a mask: "3,4" or "none".
func priorities(mask uint8) string {
	var list []string
	for i := range dcb.Priorities {
		if mask>>i&1 != 0 {
			list = append(list, strconv.Itoa(i))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ",")
}

// lopsided says for which priorities only one side has flow control.
func lopsided(there, here uint8) string {
	var parts []string
	if only := there &^ here; only != 0 {
		parts = append(parts, "the host ignores the switch's pauses on "+priorities(only))
	}
	if only := here &^ there; only != 0 {
		parts = append(parts, "the switch ignores the host's pauses on "+priorities(only))
	}
	return strings.Join(parts, ", ")
}

// otherClasses says how the host's traffic classes differ. A host that follows
// the switch's recommendation is set as it should be.
func (a *announcement) otherClasses(own *dcb.ETS) []string {
	if own == nil || len(a.ets) == 0 {
		return nil
	}
	var wrong []string
	for i := range a.ets {
		if wrong = a.ets[i].differs(own); len(wrong) == 0 {
			return nil
		}
	}
	return wrong
}

func (e *classes) differs(own *dcb.ETS) []string {
	var wrong []string
	used := [dcb.Priorities]bool{}
	for i := range e.class {
		if e.class[i] != own.Class[i] {
			wrong = append(wrong, fmt.Sprintf("priority %d is in traffic class %d at the switch and in %d at the host", i, e.class[i], own.Class[i]))
		}
		used[own.Class[i]] = true
	}
	if len(wrong) > 0 {
		return wrong
	}
	for c := range used {
		switch {
		case !used[c] || own.Algorithm[c] == "": // the driver does not tell
		case e.algorithm[c] != own.Algorithm[c]:
			wrong = append(wrong, fmt.Sprintf("traffic class %d is %s at the switch and %s at the host", c, e.algorithm[c], own.Algorithm[c]))
		case e.algorithm[c] == weighted && e.bandwidth[c] != own.Bandwidth[c]:
			wrong = append(wrong, fmt.Sprintf("traffic class %d has %d %% at the switch and %d %% at the host", c, e.bandwidth[c], own.Bandwidth[c]))
		}
	}
	return wrong
}

// otherApps says which applications have another priority at the host.
func (a *announcement) otherApps(own []dcb.App) []string {
	var wrong []string
	for _, app := range a.apps {
		var mapped []int
		for _, o := range own {
			if o.Protocol == int(app.protocol) && sameSelector(o.Selector, app.selector) {
				mapped = append(mapped, o.Priority)
			}
		}
		if len(mapped) > 0 && !slices.Contains(mapped, app.priority) {
			wrong = append(wrong, fmt.Sprintf("%s %d has priority %d at the switch and %d at the host", app.selector, app.protocol, app.priority, mapped[0]))
		}
	}
	return wrong
}

// sameSelector says whether two selectors mean the same packets; a port of any
// protocol is also one of TCP or UDP.
func sameSelector(a, b string) bool {
	transport := func(s string) bool { return s == "tcp" || s == "udp" }
	return a == b || a == anyPort && transport(b) || b == anyPort && transport(a)
}
