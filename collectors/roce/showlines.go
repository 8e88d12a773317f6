// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"strings"

	"github.com/fabricd/fabricd/collectors/rdma"
	"github.com/fabricd/fabricd/probes/dcqcn"
	"github.com/fabricd/fabricd/probes/ethtool"
)

// lines are what there is of the whole port.
func (p *port) lines() []string {
	list := []string{p.bridgingLine(), p.pauseLine(), p.preventionLine(), p.ringLine(), p.fecLine(), p.discardLine()}
	if p.rdma != nil {
		list = append(list, p.trafficLine(), p.markLine(), p.lossLine())
	}
	if p.DCQCN != nil {
		list = append(list, points(p.DCQCN), parameters(p.DCQCN))
	}
	list = append(list, p.unasked())
	if p.rdma != nil {
		list = append(list, p.gidLine()) // the table of them follows
	}
	return list
}

// points says on which priorities congestion control is on.
func points(s *dcqcn.Settings) string {
	if s.All.OK {
		return "DCQCN: " + yes(s.All.V)
	}
	if !s.Notification.Told() && !s.Reaction.Told() {
		return ""
	}
	on := func(s dcqcn.Switches) string {
		var list []int
		for n, v := range s {
			if v.OK && v.V {
				list = append(list, n)
			}
		}
		if len(list) == 0 {
			return none
		}
		return ranges(list)
	}
	return fmt.Sprintf("DCQCN on priorities: notification %s, reaction %s", on(s.Notification), on(s.Reaction))
}

func parameters(s *dcqcn.Settings) string {
	var text []string
	for _, x := range s.Parameters {
		text = append(text, fmt.Sprintf("%s %g", x.File, x.Value))
	}
	return fmt.Sprintf("DCQCN (%s, in base units): %s", s.Source, strings.Join(text, ", "))
}

func (p *port) bridgingLine() string {
	switch {
	case p.DCB == nil && p.DCBErr != nil && p.DCBErr == p.Err:
		return "" // said once, of all that the driver is asked
	case p.DCB == nil:
		return "dcbnl: " + p.untold()
	}
	text := "DCBX: " + strings.Join(p.DCB.DCBX, ", ") + "; trust: " + p.trust()
	if p.DCB.PFC != nil {
		text += fmt.Sprintf("; PFC on at most %d priorities", p.DCB.PFC.Cap)
	}
	if p.stale() {
		text += "; STALE: pause is counted though PFC is said to be off"
	}
	return text
}

func (p *port) pauseLine() string {
	if p.Pause == nil {
		return ""
	}
	text := fmt.Sprintf("802.3x pause: rx %s, tx %s", yes(p.Pause.RX), yes(p.Pause.TX))
	for d := range direction(directions) {
		if v, ok := p.Counters.get(pauseFrames, d, anyPriority); ok {
			text += fmt.Sprintf("; %s %d", p.Counters.name(pauseFrames, d, anyPriority), v)
		}
	}
	return text
}

func (p *port) preventionLine() string {
	const text = "PFC storm prevention: "
	switch s := p.Prevention; {
	case s == nil:
		return ""
	case s.Auto:
		return text + "auto"
	case s.After == 0:
		return text + "off"
	default:
		return text + "after " + s.After.String()
	}
}

func yes(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (p *port) ringLine() string {
	if p.Rings == nil {
		return ""
	}
	var text []string
	if p.Rings.RXMax > 0 {
		text = append(text, fmt.Sprintf("rx %d of %d", p.Rings.RX, p.Rings.RXMax))
	}
	if p.Rings.TXMax > 0 {
		text = append(text, fmt.Sprintf("tx %d of %d", p.Rings.TX, p.Rings.TXMax))
	}
	if len(text) == 0 {
		return ""
	}
	return "rings: " + strings.Join(text, ", ")
}

func (p *port) fecLine() string {
	f := p.FEC
	if f == nil {
		f = &ethtool.FEC{}
	}
	text := ""
	if f.Active != "" {
		text = "FEC " + f.Active
	}
	if n, ok := p.corrected(); ok {
		text += fmt.Sprintf(", corrected %d", n)
	}
	if n, ok := p.uncorrectable(); ok {
		text += fmt.Sprintf(", uncorrectable %d", n)
	}
	return strings.TrimPrefix(text, ", ")
}

func (p *port) discardLine() string {
	var text []string
	for _, k := range []kind{discards, stormEvents, stallRead, stallWrite, outOfBuffer} {
		p.Counters.each(k, func(s *slot, v uint64) {
			if v > 0 || k == discards && !s.class {
				text = append(text, fmt.Sprintf("%s %d", s.name, v))
			}
		})
	}
	return strings.Join(text, ", ")
}

func (p *port) gidLine() string {
	g := p.rdma.GIDs
	if !g.Read {
		return ""
	}
	if !g.HasV2 {
		return fmt.Sprintf("GIDs: %d, none of RoCE v2 that routes", g.Used)
	}
	return fmt.Sprintf("GID %d (RoCE v2) %s; %d of %d GIDs are of v2", g.Best.Index, g.Best.Address.Unmap(), g.V2, g.Used)
}

func (p *port) trafficLine() string {
	return p.families("RDMA", amount, named{rdma.ReceivedBytes, "received"}, named{rdma.TransmittedBytes, "sent"})
}

func (p *port) markLine() string {
	return p.families("congestion", decimal, named{rdma.ECNMarked, "marked packets received"}, named{rdma.CNPSent, "CNPs sent"},
		named{rdma.CNPHandled, "CNPs handled"}, named{rdma.CNPIgnored, "CNPs ignored"})
}

func (p *port) lossLine() string {
	return p.families("trouble", decimal, named{rdma.AckTimeout, "acknowledge timeouts"}, named{rdma.SequenceNAK, "sequence errors"},
		named{rdma.OutOfSequence, "out of sequence"}, named{rdma.Adaptive, "adaptive retransmissions"}, named{rdma.OutOfBuffer, "out of buffer"},
		named{rdma.RetriesExceeded, "retries exceeded"})
}

// A named is a family in words.
type named struct {
	family rdma.Family
	text   string
}

func (p *port) families(title string, text func(uint64) string, list ...named) string {
	var parts []string
	for _, n := range list {
		if c := p.rdma.Get(n.family); c.OK {
			parts = append(parts, n.text+" "+text(c.V))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return title + ": " + strings.Join(parts, ", ")
}
