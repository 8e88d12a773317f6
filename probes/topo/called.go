// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"maps"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

// Plan gives the plan of the tree, in which interfaces are called as they are
// on this machine.
func (t *Tree) Plan() config.Plan { return t.plan }

// called puts this machine's names of interfaces in the place of a plan's,
// where just one can be meant.
func called(plan config.Plan, inv *probes.Inventory) config.Plan {
	plan.Cabling = slices.Clone(plan.Cabling)
	for i := range plan.Cabling {
		c := &plan.Cabling[i]
		c.Port = nameHere(inv, c.Port)
	}
	roles := maps.Clone(plan.Roles)
	for name, role := range plan.Roles {
		if here := nameHere(inv, name); roles[here] == "" {
			roles[here] = role
		}
	}
	plan.Roles = roles
	return plan
}

func nameHere(inv *probes.Inventory, name string) string {
	if list := Alike(inv, name); len(list) == 1 {
		return list[0]
	}
	return name
}

// Alike lists the interfaces that a name of another system's may mean, where
// none has this very name. By systemd.net-naming-scheme(7) a predictable name
// ends in n and what the driver calls the port, as in enp1s0f0np0; older systems
// and drivers leave that out: enp1s0f0. Which port is meant must be known.
func Alike(inv *probes.Inventory, name string) []string {
	place, port := predictable(name)
	var list []string
	for _, n := range inv.Netdevs {
		if n.Name == name {
			return nil
		}
		otherPlace, otherPort := predictable(n.Name)
		switch {
		case otherPlace != place || n.DevPort != 0:
		case port == "" || otherPort == "" && n.PhysPortName == port:
			list = append(list, n.Name)
		}
	}
	return list
}

// predictable splits the port off a predictable name of Ethernet that has one.
func predictable(name string) (place, port string) {
	i := strings.LastIndex(name, "np")
	if i < len("eno") || !strings.HasPrefix(name, "en") || !digits(name[i-1:i]) || !digits(name[i+2:]) {
		return name, ""
	}
	return name[:i], name[i+1:]
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
