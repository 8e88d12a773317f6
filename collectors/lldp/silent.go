// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"fmt"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/lldp"
)

// silence is how long nothing has to be heard: four of the usual intervals.
var silence = collectors.Threshold{Name: "silent_seconds", Default: 120, Unit: "seconds", Help: "without a frame for so long a port is silent"}

func silentCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:       "lldp_silent",
		Help:       "Warns when an Ethernet port has link and no neighbour was heard for two minutes, four of the usual intervals, however long the last one is to be remembered. Names what may keep the frames: the firmware's agent, Open vSwitch, a BlueField's own processors.",
		Silent:     "ports without link; virtual functions, bonds, IPoIB, containers' interfaces; the first two minutes; virtual machines, where nobody passes LLDP on.",
		Thresholds: []collectors.Threshold{silence},
		Eval:       silent,
	}
}

func silent(p *port, e *collectors.Env[port]) collectors.Verdict {
	if p.Carrier.OK && !p.Carrier.V {
		return collectors.Verdict{}
	}
	quiet, limit := p.quiet(), seconds(e.Threshold(silence.Name))
	if p.hears(limit) {
		n := p.present[len(p.present)-1]
		return collectors.Verdictf(collectors.OK, "hears %s, last %s ago", describe(&n), ago(p.at-p.Heard))
	}
	if p.Err != nil {
		return p.deaf()
	}
	switch {
	case !p.Carrier.OK:
		return collectors.Verdictf(collectors.Unknown, "whether there is link cannot be read: %v", p.Carrier.Err)
	case e.View.Still && p.Heard >= 0:
		return collectors.Verdictf(collectors.Unknown, "the recording is a picture: whether more was heard is not in it")
	case quiet < time.Second:
		return collectors.Verdictf(collectors.Unknown, "nothing heard yet; neighbours mostly send every 30 s")
	case quiet < limit:
		return collectors.Verdictf(collectors.Unknown, "nothing heard for %s; neighbours mostly send every 30 s", ago(quiet))
	case p.guest:
		return collectors.Verdictf(collectors.Unknown, "nothing heard for %s, but what is below a virtual machine passes no LLDP on", ago(quiet))
	}
	return collectors.Verdictf(collectors.Warn, "link is up and no LLDP neighbour was heard for %s%s", ago(quiet), p.heardInstead()).
		Remedyf("%s", p.whoKeepsThem()).With("frames accepted", p.Counts[lldp.Accepted]).With("frames malformed", p.Counts[lldp.Malformed])
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// quiet is how long nothing was heard while somebody listened.
func (p *port) quiet() time.Duration {
	if p.Heard < 0 {
		return p.at - p.Since
	}
	return p.at - max(p.Since, p.Heard)
}

// deaf is the verdict where nobody listens.
func (p *port) deaf() collectors.Verdict {
	return collectors.Verdictf(collectors.Unknown, "%v", p.Err).
		Remedyf("give fabricd CAP_NET_RAW in the host's network namespace (deploy/systemd, docs/installation.md)")
}

// heardInstead tells of frames that are no neighbour's.
func (p *port) heardInstead() string {
	var parts []string
	if p.Gone >= 0 && p.Gone >= p.Heard {
		parts = append(parts, fmt.Sprintf("the last one said goodbye %s ago", ago(p.at-p.Gone)))
	}
	if p.crowded() {
		parts = append(parts, fmt.Sprintf("%d frames of other neighbours were refused: %d are remembered already", p.Counts[lldp.Refused], len(p.Neighbours)))
	}
	if n := p.Counts[lldp.Malformed]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d malformed frames came", n))
	}
	if n := p.Counts[lldp.Elsewhere]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d frames went to other addresses than LLDP's", n))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// crowded says whether frames come that were refused, since one was taken.
func (p *port) crowded() bool { return p.Full >= 0 && p.Full >= p.Heard }

// whoKeepsThem says what may keep the frames from the host.
func (p *port) whoKeepsThem() string {
	netdev, driver := p.n.Name, p.n.Function.Driver
	switch {
	case p.crowded():
		return "frames come: see who sends them under so many names: tcpdump -e -i " + netdev + " ether proto 0x88cc"
	case strings.HasPrefix(p.Agent, "fw-lldp-agent"):
		return fmt.Sprintf("the NIC's firmware keeps LLDP to itself (%s): ethtool --set-priv-flags %s fw-lldp-agent off", p.Agent, netdev)
	case p.Agent != "":
		return fmt.Sprintf("the NIC's firmware keeps LLDP to itself (%s): ethtool --set-priv-flags %s disable-fw-lldp on", p.Agent, netdev)
	case p.n.Master == "ovs-system":
		return "the port belongs to Open vSwitch; switch LLDP on at the switch's port, and see that no flow drops it"
	case blueField(p.n.Function.Device) && p.n.Function.Vendor == mellanox:
		return "in DPU mode the BlueField's own processors hear LLDP: ask there, or switch LLDP on at the switch's port"
	case driver == "mlx5_core":
		return fmt.Sprintf("switch LLDP on at the switch's port; if it is, see that the NIC does not keep it: mlxconfig -d %s q LLDP_NB_RX_MODE_P1 (0: frames go to the host)", p.n.Function.Address)
	case driver == "bnxt_en":
		return "switch LLDP on at the switch's port; if it is, see whether the NIC's firmware agent keeps it (bnxtnvm, option lldp_agent)"
	}
	return "switch LLDP on at the switch's port, or see what takes the frames: tcpdump -i " + netdev + " ether proto 0x88cc"
}

const mellanox = 0x15b3

// blueField says whether a device is a BlueField's network controller.
func blueField(device uint16) bool {
	switch device {
	case 0xa2d2, 0xa2d6, 0xa2dc, 0xa2df:
		return true
	}
	return false
}

func manyCheck() collectors.Check[port] {
	return collectors.Check[port]{
		Name:   "lldp_many",
		Help:   "Tells that a port has more than one neighbour: a hub, a switch that passes LLDP on, a port shared with a BMC, or a bond whose kernel hands each leg the other's frames.",
		Silent: "a chassis whose port id changed: both are known until the old one's time is over; only when both are heard beyond that they are two.",
		Eval: func(p *port, _ *collectors.Env[port]) collectors.Verdict {
			switch {
			case len(p.present) == 0:
				return collectors.Verdict{}
			case !p.many:
				return collectors.Verdictf(collectors.OK, "one neighbour: %s", describe(&p.present[len(p.present)-1]))
			}
			return collectors.Verdictf(collectors.Info, "%d neighbours on one port: %s", len(p.present), list(p.present)).
				Remedyf("which of them is at the other end of the cable cannot be told; see who passes LLDP on")
		},
	}
}

// maxListed bounds the neighbours that a reason names.
const maxListed = 4

func list(all []lldp.Neighbour) string {
	var parts []string
	for i := range all[:min(len(all), maxListed)] {
		parts = append(parts, describe(&all[i]))
	}
	if more := len(all) - maxListed; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}
