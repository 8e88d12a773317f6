// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"path"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/ethtool"
)

// flagsEvery is how often the driver is asked for its flags: an operator sets them.
const flagsEvery = 30 * time.Second

// An agent is what the NIC's firmware may have that keeps LLDP to itself.
type agent struct {
	port *ethtool.Port // nil: the driver cannot be asked
	next time.Duration
	on   string // the flag that says so
}

func openAgent(h *probes.Host, n *probes.Netdev) agent {
	p, err := ethtool.Open(h, path.Base(n.Path), false)
	if err != nil {
		return agent{}
	}
	return agent{port: p}
}

// flag gives the private flag that says that firmware keeps the frames, as
// ethtool shows it: drivers/net/ethernet/intel, ice/ice_ethtool.c and
// i40e/i40e_ethtool.c.
func (a *agent) flag(at time.Duration, always bool) string {
	if a.port == nil || !always && at < a.next {
		return a.on
	}
	a.next, a.on = at+flagsEvery, ""
	flags, err := a.port.Flags()
	if err != nil {
		return ""
	}
	for _, f := range flags {
		switch {
		case f.Name == "fw-lldp-agent" && f.On:
			a.on = f.Name + ": on"
		case f.Name == "disable-fw-lldp" && !f.On:
			a.on = f.Name + ": off"
		}
	}
	return a.on
}

func (a *agent) close() {
	if a.port != nil {
		a.port.Close()
	}
}
