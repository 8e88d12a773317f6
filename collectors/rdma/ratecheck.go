// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"
	"strconv"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/rdma"
)

// fullLanes is the width of an InfiniBand port of an adapter.
const fullLanes = 4

func rateCheck() portCheck {
	return portCheck{
		Name:    "rdma_rate",
		Help:    "Fails for an InfiniBand port that trained with fewer lanes than its sisters or than it has; warns for one that is slower than the plan says or than most of its sisters are.",
		Silent:  "ports that are not active: their rate file means nothing. Two lanes on all ports are split cables: info. On Ethernet the number of lanes is made up, and the speed is nic_speed's where that check finds the interface slow; of devices that software makes it is made up.",
		Subject: portSubject(false),
		Eval:    evalRate,
	}
}

func evalRate(r *portRow, e *portEnv) verdict {
	switch {
	case r.software():
		return verdict{} // whose rate is made up
	case r.State == 0:
		return collectors.Verdictf(collectors.Unknown, "whether the port is ACTIVE is not known; see rdma_port")
	case r.State != rdma.Active:
		return collectors.Verdictf(collectors.Info, "%s: the rate of a port that is not ACTIVE means nothing; see rdma_port", r.State)
	case r.Rate.Gbps == 0:
		return collectors.Verdictf(collectors.Unknown, "ports/%d/rate cannot be read, or tells none", r.Number)
	}
	if r.Protocol == InfiniBand {
		if v := r.judgeLanes(e); v.Status != collectors.None {
			return v
		}
	}
	slow := r.slower(e)
	switch {
	case slow == "":
		return collectors.Verdictf(collectors.OK, "%s", r.rateText())
	case r.speedWarns(e):
		return collectors.Verdictf(collectors.Info, "%s, %s: see nic_speed for %s", r.rateText(), slow, r.ethernet.Name)
	}
	if r.Rate.Speed == "SDR" {
		slow += " (SDR is also what the kernel prints for a speed that it does not know)"
	}
	return collectors.Verdictf(collectors.Warn, "%s, %s", r.rateText(), slow).
		Remedyf("compare the speeds enabled on both ends (mlxlink -d %s, the switch's port configuration), the cable's and the transceiver's class", r.Address).
		With("ports/"+strconv.Itoa(r.Number)+"/rate", r.Rate)
}

// rateText leaves the lanes out where they are made up.
func (r *portRow) rateText() string {
	if r.Protocol == InfiniBand {
		return r.Rate.String()
	}
	return rdma.Rate{Gbps: r.Rate.Gbps}.String()
}

// judgeLanes finds a port that lost lanes. All adapters have four: one lane
// alone is never meant, two are, where a cable is split.
func (r *portRow) judgeLanes(e *portEnv) verdict {
	lanes := r.Rate.Lanes
	if lanes == 0 || lanes >= fullLanes {
		return verdict{}
	}
	others, full := 0, 0
	for _, o := range sistersOf(r, e) {
		if o.Port != r.Port && o.State == rdma.Active && o.Rate.Lanes > 0 {
			others++
			if o.Rate.Lanes >= fullLanes {
				full++
			}
		}
	}
	if 2*full > others || lanes == 1 && others == 0 {
		why := fmt.Sprintf("%d of %d other ports of its kind have %dX", full, others, fullLanes)
		if others == 0 {
			why = fmt.Sprintf("adapters have %dX", fullLanes)
		}
		return collectors.Verdictf(collectors.Fail, "%s: only %dX, %s: lanes are lost", r.Rate, lanes, why).
			Remedyf("clean and reseat the cable at both ends, exchange it; mlxlink -d %s -c shows which lane fails", r.Address).
			With("ports/"+strconv.Itoa(r.Number)+"/rate", r.Rate)
	}
	if r.slower(e) != "" {
		return verdict{}
	}
	return collectors.Verdictf(collectors.Info, "%s: %dX, as on a split cable", r.Rate, lanes)
}

// slower says what a port is slower than; "" if nothing.
func (r *portRow) slower(e *portEnv) string {
	const slack = 0.99
	if plan := e.View.Plan().Ports.RateGbps; plan > 0 && r.compute(e.View) && r.Rate.Gbps < plan*slack {
		return fmt.Sprintf("the plan says %g Gb/s", plan)
	}
	var rates []float64
	for _, o := range sistersOf(r, e) {
		if o.State == rdma.Active && o.Rate.Gbps > 0 && o.Protocol == r.Protocol {
			rates = append(rates, o.Rate.Gbps)
		}
	}
	usual, n, _ := collectors.Majority(rates, func(a, b float64) bool { return a == b })
	if !collectors.Most(n, len(rates)) || r.Rate.Gbps >= usual*slack {
		return ""
	}
	return fmt.Sprintf("%d of %d ports of its kind have %g Gb/s", n, len(rates), usual)
}

// speedWarns says whether nic_speed finds the port's interface too slow: it
// judges the ports of physical functions that have link, by the same measures,
// but by what the interfaces say.
func (r *portRow) speedWarns(e *portEnv) bool {
	const ethernet, unit = 1, 1000 // ARPHRD; Mb/s
	judged := func(n *probes.Netdev) bool {
		return n.Port && n.Type == ethernet && !n.Function.Virtual() && n.SpeedMbps.OK && (n.Carrier.V || !n.Carrier.OK)
	}
	if r.ethernet == nil || !judged(r.ethernet) {
		return false
	}
	mine := r.ethernet.SpeedMbps.V
	if plan := e.View.Plan().Ports.RateGbps; plan > 0 && r.compute(e.View) && float64(mine) < plan*unit {
		return true
	}
	var all []int
	for _, n := range e.View.Inventory.Netdevs {
		if judged(n) && e.View.Topology.Sisters(n.Function) == r.sisters {
			all = append(all, n.SpeedMbps.V)
		}
	}
	usual, n, _ := collectors.Majority(all, func(a, b int) bool { return a == b })
	return collectors.Most(n, len(all)) && mine < usual
}

func layerCheck() portCheck {
	return portCheck{
		Name:    "rdma_layer",
		Help:    "Warns when a port speaks another link layer than all others of the same model and role, of which there are at least two: its firmware is set to another protocol (LINK_TYPE).",
		Silent:  "ports of another role: storage on Ethernet beside compute on InfiniBand is common.",
		Subject: portSubject(false),
		Eval:    evalLayer,
	}
}

// fewSisters that agree show which link layer is meant; one other port does not.
const fewSisters = 2

func evalLayer(r *portRow, e *portEnv) verdict {
	known := func(o *portRow) bool { return o.LinkLayer == "InfiniBand" || o.LinkLayer == "Ethernet" }
	if r.virtual || r.Protocol == EFA || r.Protocol == IWARP {
		return verdict{}
	}
	if !known(r) {
		return collectors.Verdictf(collectors.Unknown, "ports/%d/link_layer tells none", r.Number)
	}
	others, differ := 0, 0
	for _, o := range sistersOf(r, e) {
		if o.Port != r.Port && known(o) {
			others++
			if o.LinkLayer != r.LinkLayer {
				differ++
			}
		}
	}
	if others >= fewSisters && differ == others {
		return collectors.Verdictf(collectors.Warn, "%s, while all %d other ports of its kind (%04x:%04x) are another: the card is set to the wrong protocol", r.LinkLayer, others, r.f.Vendor, r.f.Device).
			Remedyf("mlxconfig -d %s query LINK_TYPE_P1; set it as on the others and reset the card", r.Address).With("ports/"+strconv.Itoa(r.Number)+"/link_layer", r.LinkLayer)
	}
	return collectors.Verdictf(collectors.OK, "%s", r.LinkLayer)
}
