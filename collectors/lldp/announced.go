// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/dcb"
	"github.com/fabricd/fabricd/probes/lldp"
)

// An announcement is what a neighbour says of flow control: by the standard, by
// what came before it (CEE), or to the NIC's firmware.
type announcement struct {
	source string
	pfc    probes.Value[uint8] // bit n: priority n
	ets    []classes           // as it is, and as it is recommended
	apps   []app               // the first of an application alone
	doubt  string              // where the neighbour says two things
}

// classes are traffic classes, in the words of package dcb.
type classes struct {
	class, bandwidth [dcb.Priorities]int
	algorithm        [dcb.Priorities]string
}

// An app is an application's priority.
type app struct {
	selector string // in the words of package dcb
	protocol uint16
	priority int
}

const (
	weighted = "ets" // an algorithm that shares by percent
	anyPort  = "any" // a selector: ports of any protocol
)

var selectors = [8]string{lldp.SelectEtherType: "ethertype", lldp.SelectTCP: "tcp", lldp.SelectUDP: "udp", lldp.SelectPort: anyPort, lldp.SelectDSCP: "dscp"}

func (a *announcement) empty() bool { return !a.pfc.OK && len(a.ets) == 0 && len(a.apps) == 0 }

// describe sums up what is announced.
func (a *announcement) describe() string {
	var parts []string
	if a.pfc.OK {
		parts = append(parts, "priority flow control on "+priorities(a.pfc.V))
	}
	if len(a.ets) > 0 {
		parts = append(parts, "traffic classes")
	}
	if n := len(a.apps); n > 0 {
		parts = append(parts, fmt.Sprintf("%d applications", n))
	}
	return strings.Join(parts, ", ")
}

func (a *announcement) add(selector string, protocol uint16, priority int) {
	if selector != "" && !slices.ContainsFunc(a.apps, func(p app) bool { return p.selector == selector && p.protocol == protocol }) {
		a.apps = append(a.apps, app{selector, protocol, priority})
	}
}

// announced reads a frame.
func announced(f *lldp.Frame) announcement {
	a := announcement{source: "LLDP DCBX"}
	for i := range f.Apps.Len() {
		p := f.Apps.At(i)
		a.add(selectors[p.Selector], p.Protocol, int(p.Priority))
	}
	for _, e := range []*lldp.ETS{&f.ETS, &f.Recommended} {
		if e.Present {
			a.ets = append(a.ets, classesOf(e))
		}
	}
	if f.PFC.Present {
		a.pfc = probes.Some(f.PFC.Enabled)
	}
	switch c := f.CEE(); {
	case a.empty() && c.Present:
		a.source = "LLDP DCBX (CEE)"
		a.readCEE(&c)
	case !a.pfc.OK && c.PFC.Present:
		a.source, a.pfc = "LLDP DCBX (PFC by CEE)", probes.Some(c.PFC.On())
	case c.PFC.Present && c.PFC.On() != a.pfc.V:
		a.doubt = fmt.Sprintf("the switch contradicts itself: by CEE it has priority flow control on %s", priorities(c.PFC.On()))
	}
	return a
}

// readCEE reads the older form. A feature may be switched off as a whole.
func (a *announcement) readCEE(c *lldp.CEE) {
	if c.PFC.Present {
		a.pfc = probes.Some(c.PFC.On())
	}
	for i := range c.Apps.Len() {
		if p := c.Apps.At(i); p.Priorities != 0 && c.Apps.Enabled {
			a.add([4]string{"ethertype", anyPort}[p.Selector], p.Protocol, bits.TrailingZeros8(p.Priorities))
		}
	}
}

func classesOf(e *lldp.ETS) classes {
	var c classes
	for i := range dcb.Priorities {
		c.class[i], c.bandwidth[i] = int(e.PriorityTC[i]), int(e.Bandwidth[i])
		switch e.Algorithm[i] {
		case lldp.TSAStrict:
			c.algorithm[i] = "strict"
		case lldp.TSACredit:
			c.algorithm[i] = "cbs"
		case lldp.TSAETS:
			c.algorithm[i] = weighted
		default:
			c.algorithm[i] = "vendor"
		}
	}
	return c
}

// ofPeer reads what a driver says that its firmware was told.
func ofPeer(p *dcb.Peer) announcement {
	a := announcement{source: "dcbnl peer"}
	if p.PFC != nil {
		a.pfc = probes.Some(maskOf(p.PFC.Enabled))
	}
	if p.ETS != nil {
		a.ets = []classes{{p.ETS.Class, p.ETS.Bandwidth, p.ETS.Algorithm}}
	}
	for _, app := range p.App {
		a.add(app.Selector, uint16(app.Protocol), app.Priority)
	}
	return a
}
