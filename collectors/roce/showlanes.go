// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes/dcb"
)

// lanes writes what there is of each priority.
func (p *port) lanes(w io.Writer) {
	row := func(name string, cell func(n int) string) {
		cells, some := make([]string, priorityCount), false
		for n := range cells {
			cells[n] = cell(n)
			some = some || cells[n] != none && cells[n] != "0" && cells[n] != "0s"
		}
		if some || name == "priority" {
			fmt.Fprintf(w, "  %s\t%s\t\n", name, strings.Join(cells, "\t"))
		}
	}
	row("priority", strconv.Itoa)
	if c := p.DCB; c != nil {
		switch {
		case c.PFC != nil && len(c.PFC.Enabled) == 0:
			fmt.Fprintf(w, "  PFC\tnone\t\n")
		case c.PFC != nil:
			row("PFC", func(n int) string { return onOff(c.PFC.On(n)) })
		}
		if c.Peer != nil && c.Peer.PFC != nil {
			peer := dcb.PFC{Enabled: c.Peer.PFC.Enabled}
			row("the peer's PFC", func(n int) string { return onOff(peer.On(n)) })
		}
		if c.ETS != nil {
			row("traffic class", func(n int) string { return strconv.Itoa(c.ETS.Class[n]) })
			row("served", func(n int) string { return served(c.ETS, c.ETS.Class[n]) })
		}
		row("DSCP", func(n int) string { return p.dscps(n) })
	}
	if b := p.buffer(); b != nil {
		row("buffer", func(n int) string { return strconv.Itoa(b.Priority[n]) })
	}
	for _, r := range []struct {
		name string
		k    kind
		d    direction
		text func(uint64) string
	}{
		{"received", prioBytes, rx, amount}, {"sent", prioBytes, tx, amount},
		{"packets received", prioPackets, rx, decimal}, {"packets sent", prioPackets, tx, decimal},
		{"pause received", pfcFrames, rx, decimal}, {"pause received for", pfcTime, rx, seconds},
		{"pause sent", pfcFrames, tx, decimal}, {"pause sent for", pfcTime, tx, seconds},
		{"discarded", prioDiscards, rx, decimal},
	} {
		row(r.name, func(n int) string {
			if v, ok := p.Counters.get(r.k, r.d, n); ok {
				return r.text(v)
			}
			return none
		})
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return none
}

func served(e *dcb.ETS, class int) string {
	if e.Algorithm[class] == "ets" {
		return fmt.Sprintf("%d %%", e.Bandwidth[class])
	}
	return e.Algorithm[class]
}

func (p *port) dscps(priority int) string {
	var list []int
	for _, a := range p.DCB.App {
		if a.Selector == "dscp" && a.Priority == priority {
			list = append(list, a.Protocol)
		}
	}
	if len(list) == 0 {
		return none
	}
	return ranges(list)
}

// seconds writes a time that is counted in µs.
func seconds(micros uint64) string {
	return (time.Duration(min(micros, 1<<50)) * time.Microsecond).Round(time.Millisecond).String()
}
