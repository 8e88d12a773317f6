// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"fmt"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes/lldp"
)

func cablingCheck() collectors.Check[cabled] {
	return collectors.Check[cabled]{
		Name:   "lldp_cabling",
		Help:   "Fails when the neighbour of a port is another than the plan's; warns when the plan names a port and it has no link, nothing was heard for two minutes, however long the last neighbour is to be remembered, or the machine has no such port. Names of systems may lack their domains or the ends of these; without a name, a chassis id is another system's only if it is of the plan's form; names of ports by their id and their description, numbers with numbers of the same form only.",
		Silent: "ports that the plan does not name, and those without LLDP (InfiniBand, virtual functions, bonds); several neighbours on one port; the first 30 s after a neighbour changed. What cannot be compared is unknown: a port id that is a MAC address without a description, Ethernet12 against etp4. So is a port of which the plan says two things.",
		Thresholds: []collectors.Threshold{silence,
			{Name: "hold_seconds", Default: 30, Unit: "seconds", Help: "a neighbour that came in another's place is judged after so long"}},
		Eval: cabling,
	}
}

func cabling(p *cabled, e *collectors.Env[cabled]) collectors.Verdict {
	switch {
	case p.absent != nil:
		return p.gone()
	case p.plan == nil || !p.plan.Leads():
		return collectors.Verdict{}
	case p.other != nil:
		return collectors.Verdictf(collectors.Unknown, "the plan contradicts itself: %s at %s, and %s at %s, which is the same port", target(p.plan), p.plan.Port+p.plan.Address, target(p.other), p.other.Port+p.other.Address).
			Remedyf("leave one of the two in the plan")
	case !p.hears(seconds(e.Threshold(silence.Name))):
		return p.missing(seconds(e.Threshold(silence.Name)))
	case len(p.present) > 1:
		return collectors.Verdictf(collectors.Unknown, "the plan says %s, and %d neighbours are heard (%s): see lldp_many", target(p.plan), len(p.present), list(p.present))
	}
	v := Compare(p.plan, p.neighbour())
	if age, ok := p.changed(); ok && v.Status.Bad() && age < seconds(e.Threshold("hold_seconds")) {
		v.Status = collectors.Info
		v.Reason = fmt.Sprintf("%s (since %s; judged after %g s)", v.Reason, ago(age), e.Threshold("hold_seconds"))
	}
	return v
}

// missing is the verdict where the plan names a neighbour and there is none.
func (p *port) missing(patience time.Duration) collectors.Verdict {
	switch {
	case p.Err != nil:
		return p.deaf()
	case p.Carrier.OK && !p.Carrier.V:
		return collectors.Verdictf(collectors.Warn, "the plan says %s, and the port has no link", target(p.plan)).
			Remedyf("see that the cable is plugged in at both ends and the switch's port is on")
	case p.quiet() < patience:
		return collectors.Verdictf(collectors.Unknown, "the plan says %s; nothing heard for %s", target(p.plan), ago(p.quiet()))
	}
	return collectors.Verdictf(collectors.Warn, "the plan says %s, and nothing was heard for %s%s", target(p.plan), ago(p.quiet()), p.heardInstead()).
		Remedyf("%s", p.whoKeepsThem())
}

// Compare holds a neighbour to the plan.
func Compare(plan *config.Cable, n *lldp.Neighbour) collectors.Verdict {
	byName, byPort := same, same
	if plan.Switch != "" {
		byName = sameSystem(plan.Switch, n)
	}
	if plan.SwitchPort != "" {
		byPort = samePort(plan.SwitchPort, n)
	}
	found := spell(n)
	var v collectors.Verdict
	switch worse(byName, byPort) {
	case same:
		v = collectors.Verdictf(collectors.OK, "%s, as planned", found)
	case different:
		v = collectors.Verdictf(collectors.Fail, "the plan says %s, the cable leads to %s", target(plan), found).
			Remedyf("move the cable to %s, or correct the plan", target(plan))
	default:
		v = collectors.Verdictf(collectors.Unknown, "the plan says %s, the neighbour calls itself %s: %s cannot be compared", target(plan), found, incomparable(byName, byPort)).
			Remedyf("write the plan in the form in which the switch names itself, or let the switch send its names (port description, system name)")
	}
	return v.With("plan", target(plan)).With("LLDP", found)
}

func incomparable(byName, byPort match) string {
	switch {
	case byName != unknown:
		return "the ports' names"
	case byPort != unknown:
		return "the systems' names"
	}
	return "the names"
}

// spell names a neighbour with all that may be compared.
func spell(n *lldp.Neighbour) string {
	s := fmt.Sprintf("%s port %s", system(n), n.Port)
	if d := lldp.Text(n.PortDescription); d != "" && d != n.Port.String() {
		s += " (" + d + ")"
	}
	return s
}

// target names what the plan says.
func target(c *config.Cable) string {
	switch {
	case c.SwitchPort == "":
		return c.Switch
	case c.Switch == "":
		return "port " + c.SwitchPort
	}
	return c.Switch + " port " + c.SwitchPort
}
