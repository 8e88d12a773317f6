// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"
	"slices"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/rdma"
)

func stateCheck() portCheck {
	return portCheck{
		Name:    "rdma_port",
		Help:    "Fails for an InfiniBand port that no subnet manager configures (INIT, ARMED), and for one without a partner where one is expected: by the plan, because it was up since fabricd started, or because most of its sisters are up. On Ethernet a port without carrier is one without a partner, and so is a leg of a bond that carries RDMA. Warns when the machine has fewer compute ports than the plan counts.",
		Silent:  "ports that nobody expects to be up, switched off (Disabled on InfiniBand, the interface administratively down), of virtual functions, or made by software (soft-RoCE, soft-iWARP) are info.",
		Subject: portSubject(true),
		Eval:    evalState,
	}
}

func evalState(r *portRow, e *portEnv) verdict {
	state := fmt.Sprintf("%s, %s", r.State, r.Phys)
	switch {
	case r.lacks > 0:
		return r.evalLacking(e)
	case r.leg != nil:
		return r.evalLeg(e)
	case r.Err == errGone:
		return r.evalGone(e)
	case r.Err == errStale:
		return collectors.Verdictf(collectors.Unknown, "no fresh reading of %s", r.Device)
	case r.Err != nil:
		return collectors.Verdictf(collectors.Unknown, "ports/%d/state answers %s", r.Number, probes.Reason(r.Err))
	case r.State == rdma.Active:
		return collectors.Verdictf(collectors.OK, "%s", state)
	case r.State == 0:
		return collectors.Verdictf(collectors.Unknown, "ports/%d/state tells no state", r.Number)
	case r.State == rdma.ActiveDefer:
		return collectors.Verdictf(collectors.Info, "%s: the link is being recovered", state)
	case r.virtual:
		return collectors.Verdictf(collectors.Info, "%s; %s", state, r.whose())
	case r.Protocol != InfiniBand:
		return r.noCarrier(state, e)
	case r.State == rdma.Armed:
		return collectors.Verdictf(collectors.Fail, "%s: the subnet manager has configured the port but not activated it", state).
			Remedyf("look at the subnet manager's log: it cannot reach the port, or is stuck in a sweep")
	case r.State == rdma.Init && (r.Phys == rdma.LinkUp || r.Phys == 0):
		return collectors.Verdictf(collectors.Fail, "%s: the link is up, but no subnet manager has configured the port", state).
			Remedyf("start a subnet manager in this fabric (OpenSM, UFM, or the switch's own), or find out why it leaves this port out: sminfo, ibstat")
	case r.Phys == rdma.Disabled:
		return collectors.Verdictf(collectors.Info, "%s: the port is switched off", state)
	}
	return r.noPartner(state, "", e)
}

// noCarrier judges a port over Ethernet, whose state follows its interface.
func (r *portRow) noCarrier(state string, e *portEnv) verdict {
	if up := r.Netdev.Up; up.OK && !up.V {
		return collectors.Verdictf(collectors.Info, "%s: %s is administratively down", state, r.Netdev.Name)
	}
	return r.noPartner(state, " (Ethernet without carrier)", e)
}

func (r *portRow) noPartner(state, how string, e *portEnv) verdict {
	why := r.expected(e)
	if why == "" {
		return collectors.Verdictf(collectors.Info, "%s%s: no partner; nothing says that there should be one", state, how)
	}
	return collectors.Verdictf(collectors.Fail, "%s%s: no partner, and %s", state, how, why).
		Remedyf("check cable, transceiver and the switch's port; mlxlink -d %s or ethtool -m tells whether there is light", r.Address)
}

// expected says why a port should be up; "" if nothing says so.
func (r *portRow) expected(e *portEnv) string {
	if r.planned(e) {
		return "the plan names it"
	}
	if r.WasActive {
		return "it was ACTIVE before"
	}
	sisters := sistersOf(r, e)
	up := 0
	for _, o := range sisters {
		if o.State == rdma.Active {
			up++
		}
	}
	if collectors.Most(up, len(sisters)) {
		return fmt.Sprintf("%d of %d ports of its kind are up", up, len(sisters))
	}
	if r.compute(e.View) {
		return r.missing(e)
	}
	return ""
}

// planned says whether the cabling plan has the port.
func (r *portRow) planned(e *portEnv) bool {
	return slices.ContainsFunc(e.View.Plan().Cabling, func(c config.Cable) bool {
		return c.Port != "" && c.Port == r.Netdev.Name || c.Address != "" && c.Address == r.Address
	})
}

// missing says whether the port is one of those that the plan's number of
// compute ports lacks. Where more are down than are lacking, a card without any
// active port comes first, and its first port before its second.
func (r *portRow) missing(e *portEnv) string {
	up, before := 0, 0
	for i := range e.Rows {
		o := &e.Rows[i]
		switch {
		case !o.compute(e.View):
		case o.State == rdma.Active:
			up++
		case o.Port != r.Port && slices.Compare(o.rank(e), r.rank(e)) < 0:
			before++
		}
	}
	count := e.View.Plan().Ports.Count
	if before >= count-up {
		return ""
	}
	return fmt.Sprintf("the plan asks for %d compute ports, of which %d are up", count, up)
}

// rank orders ports that are down by how likely they should be up.
func (r *portRow) rank(e *portEnv) []string {
	card, active := e.View.Topology.CardOf(r.f), "0"
	for i := range e.Rows {
		if o := &e.Rows[i]; card != nil && o.State == rdma.Active && e.View.Topology.CardOf(o.f) == card {
			active = "1"
		}
	}
	return []string{active, fmt.Sprintf("%02d.%03d", r.f.Addr.Function, r.Number), r.Address, r.Device}
}

// compute says whether the plan's word on compute ports is about this one.
func (r *portRow) compute(v *collectors.View) bool { return !r.virtual && v.Topology.Planned(r.f) }
