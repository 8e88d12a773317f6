// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"math/bits"
	"slices"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/lldp"
)

// An announcement is what a neighbour says of flow control, by the standard or
// by what came before it (CEE).
type announcement struct {
	pfc  probes.Value[uint8] // bit n: priority n
	apps []app               // the first of an application alone
}

// An app is an application's priority.
type app struct {
	selector string // as dcb/IF.json has it
	protocol uint16
	priority int
}

var selectors = [8]string{lldp.SelectEtherType: "ethertype", lldp.SelectTCP: "tcp", lldp.SelectUDP: "udp", lldp.SelectPort: "port", lldp.SelectDSCP: "dscp"}

func announced(f *lldp.Frame) announcement {
	var a announcement
	add := func(selector string, protocol uint16, priority int) {
		if selector == "" || slices.ContainsFunc(a.apps, func(p app) bool { return p.selector == selector && p.protocol == protocol }) {
			return
		}
		a.apps = append(a.apps, app{selector, protocol, priority})
	}
	for i := range f.Apps.Len() {
		p := f.Apps.At(i)
		add(selectors[p.Selector], p.Protocol, int(p.Priority))
	}
	switch {
	case f.PFC.Present:
		a.pfc = probes.Some(f.PFC.Enabled)
	case f.CEE.Present && f.CEE.PFC.Present:
		a.pfc = probes.Some(uint8(0))
		if f.CEE.PFC.Enabled { // the feature itself may be off
			a.pfc.V = f.CEE.PFC.Priorities
		}
	}
	for i := range f.CEE.Apps.Len() {
		p := f.CEE.Apps.At(i)
		if p.Priorities != 0 && f.CEE.Apps.Enabled {
			add([4]string{"ethertype", "port"}[p.Selector], p.Protocol, bits.TrailingZeros8(p.Priorities))
		}
	}
	return a
}
