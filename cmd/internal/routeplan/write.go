// SPDX-License-Identifier: Apache-2.0

package routeplan

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/fabricd/fabricd/probes/route"
)

func joined(list []string) string { return strings.Join(list, ", ") }

// head says in comments how the plan differs from what is in force. Where
// surplus says so it names what is to be deleted: elsewhere there are commands.
func (p *Plan) head(b *strings.Builder, surplus bool) {
	missing, all := p.Missing()
	switch {
	case all == 0:
		b.WriteString("# Nothing is planned")
	case missing == 0:
		fmt.Fprintf(b, "# All %d rules and routes are in force", all)
	default:
		fmt.Fprintf(b, "# %d of %d rules and routes are not in force", missing, all)
	}
	switch others := len(p.Surplus) + len(p.Ahead); others {
	case 0:
		b.WriteString(".\n")
	case 1:
		b.WriteString("; one that is not the plan's stands in the way.\n")
	default:
		fmt.Fprintf(b, "; %d that are not the plan's stand in the way.\n", others)
	}
	for _, r := range p.Ahead {
		fmt.Fprintf(b, "# In the way: the rule '%s'; it comes before the plan's and %s. Its owner has to decide whether that is meant%s.\n", text(&r), effect(&r), p.earlier())
	}
	for _, i := range p.Surplus {
		if surplus {
			fmt.Fprintf(b, "# In the way: take it out of its file, and: %s\n", i.command("del"))
		}
	}
	for _, n := range p.Notes {
		fmt.Fprintf(b, "# Note: %s.\n", n)
	}
}

// WriteIP writes the commands that lead from what is in force to the plan.
// What is there already stands as a comment.
func (p *Plan) WriteIP(w io.Writer) error {
	var b strings.Builder
	p.head(&b, false)
	if len(p.Rails) > 0 {
		b.WriteString("# Names for the tables, as lines of /etc/iproute2/rt_tables.d/rails.conf:\n")
	}
	for _, r := range p.Rails {
		fmt.Fprintf(&b, "#   %d rail%d\n", r.Table, r.Number)
	}
	for _, i := range p.Surplus {
		fmt.Fprintf(&b, "%s\n", i.command("del"))
	}
	for _, r := range p.Rails {
		fmt.Fprintf(&b, "\n# rail %d: %s\n", r.Number, r.Netdev)
		for _, i := range r.Items {
			if i.InForce {
				b.WriteString("# in force: ")
			}
			fmt.Fprintf(&b, "%s\n", i.command("add"))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// command writes the item as a command of iproute2.
func (i Item) command(verb string) string {
	if r := i.Rule; r != nil {
		return fmt.Sprintf("%s rule %s %s", ip(r.From.Addr()), verb, text(r))
	}
	r := i.Route
	if verb == "add" {
		verb = "replace"
	}
	if r.Action != route.Send {
		verb += " " + string(r.Action)
	}
	text := fmt.Sprintf("%s route %s %s", ip(r.To.Addr()), verb, to(r.To))
	if r.Gateway.IsValid() {
		text += " via " + r.Gateway.String()
	}
	if r.Netdev != "" {
		text += " dev " + r.Netdev
	}
	if r.Source.IsValid() && verb != "del" {
		text += " src " + r.Source.String()
	}
	return fmt.Sprintf("%s table %d", text, r.Table)
}

// earlier names the priority by which the plan comes before the rules of others.
func (p *Plan) earlier() string {
	first := route.MainPriority
	for _, r := range p.Ahead {
		first = min(first, r.Priority)
	}
	last := 0
	for _, r := range p.Rails {
		last = max(last, r.Number)
	}
	if first -= last + 1; first < 1 {
		return ""
	}
	return fmt.Sprintf("; with --priority %d the plan's come first", first)
}

// effect says what a rule does to the packets of those behind it.
func effect(r *route.Rule) string {
	does, where := "takes", ""
	switch r.Action {
	case route.Goto:
		where = " past them"
	case route.Blackhole, route.Unreachable, route.Prohibit:
		does = "drops"
	}
	if r.Other {
		does = "has conditions beside the source and may " + strings.TrimSuffix(does, "s")
	}
	return does + " their packets" + where
}

// text writes the rule as iproute2 does.
func text(r *route.Rule) string {
	from, action := "from all", string(r.Action)
	if r.From.Bits() > 0 {
		from = "from " + r.From.String()
	}
	if r.Not {
		from = "not " + from
	}
	switch {
	case r.Where != "":
		from += " " + r.Where
	case r.Other && r.Suppress == "" && (r.Action != route.Lookup || r.Table != 0):
		from += " […]" // of a recording that does not tell
	}
	switch {
	case r.Action == route.Goto:
		action = fmt.Sprintf("goto %d", r.Target)
	case r.Action == route.Lookup && r.Table == 0:
		action = "lookup [l3mdev-table]"
	case r.Action == route.Lookup:
		action = strings.TrimSpace(fmt.Sprintf("lookup %d %s", r.Table, r.Suppress))
	}
	return fmt.Sprintf("%s %s priority %d", from, action, r.Priority)
}

func ip(a netip.Addr) string {
	if a.Is6() {
		return "ip -6"
	}
	return "ip"
}

func to(p netip.Prefix) string {
	if p.Bits() == 0 {
		return "default"
	}
	return p.String()
}

// WriteNetworkd writes a drop-in for each rail's file of systemd-networkd.
func (p *Plan) WriteNetworkd(w io.Writer) error {
	var b strings.Builder
	p.head(&b, true)
	if len(p.Rails) > 0 {
		b.WriteString("# Each part goes beside the file that 'networkctl status NETDEV' names, into a directory FILE.d:\n# for /etc/systemd/network/10-eth0.network that is /etc/systemd/network/10-eth0.network.d/rail.conf.\n# Then: networkctl reload\n")
	}
	for _, r := range p.Rails {
		fmt.Fprintf(&b, "\n# %s: …/NAME.network.d/rail.conf\n", r.Netdev)
		for _, i := range r.Items {
			if rule := i.Rule; rule != nil {
				fmt.Fprintf(&b, "[RoutingPolicyRule]\nFrom=%s\nTable=%d\nPriority=%d\n\n", rule.From, rule.Table, rule.Priority)
				continue
			}
			fmt.Fprintf(&b, "[Route]\nDestination=%s\n%sPreferredSource=%s\nTable=%d\n\n", i.Route.To, networkdGateway(i.Route), i.Route.Source, i.Route.Table)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// networkdGateway writes the next hop; a network on the link has none.
func networkdGateway(r *route.Route) string {
	if !r.Gateway.IsValid() {
		return "Scope=link\n"
	}
	return "Gateway=" + r.Gateway.String() + "\n"
}

// WriteNetplan writes one file for netplan, which merges it with the others.
func (p *Plan) WriteNetplan(w io.Writer) error {
	var b strings.Builder
	p.head(&b, true)
	if len(p.Rails) > 0 {
		b.WriteString("# /etc/netplan/90-rails.yaml; then: netplan try\nnetwork:\n  version: 2\n")
	}
	for _, section := range []struct {
		name string
		bond bool
	}{{"ethernets", false}, {"bonds", true}} {
		first := true
		for _, r := range p.Rails {
			if r.Bond != section.bond {
				continue
			}
			if first {
				fmt.Fprintf(&b, "  %s:\n", section.name)
				first = false
			}
			r.netplan(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Planned) netplan(b *strings.Builder) {
	fmt.Fprintf(b, "    %s:\n      routes:\n", r.Netdev)
	for _, i := range r.Items {
		switch {
		case i.Route == nil:
		case i.Route.Gateway.IsValid():
			fmt.Fprintf(b, "        - {to: %q, via: %q, from: %q, table: %d}\n", i.Route.To, i.Route.Gateway, i.Route.Source, i.Route.Table)
		default:
			fmt.Fprintf(b, "        - {to: %q, scope: link, from: %q, table: %d}\n", i.Route.To, i.Route.Source, i.Route.Table)
		}
	}
	b.WriteString("      routing-policy:\n")
	for _, i := range r.Items {
		if rule := i.Rule; rule != nil {
			fmt.Fprintf(b, "        - {from: %q, table: %d, priority: %d}\n", rule.From, rule.Table, rule.Priority)
		}
	}
}
