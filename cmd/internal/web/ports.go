// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/lldp"
	"github.com/fabricd/fabricd/collectors/rdma"
	"github.com/fabricd/fabricd/probes"
	probe "github.com/fabricd/fabricd/probes/rdma"
)

// maxPorts bounds the page: a node has sixteen ports at most, one that hands
// out virtual functions a thousand.
const maxPorts = 32

// A portView is one port: what it is, who is at the other end of its cable, and
// what it did in the last minutes.
type portView struct {
	Name, Netdev string
	State, Rate  string
	Down         bool     // it is not active
	Far          []string // neighbours
	Silent       string   // why there are none
	Planned      string   // what the plan says of it
	Wrong        bool     // and another neighbour is there
	Curves       []spark
}

// A portsView is all ports, or the first of them.
type portsView struct {
	Rows  []portView
	More  int
	Heads []string
	Span  time.Duration // of the curves
}

// ports lists RDMA ports, then Ethernet ports that are none.
func (t *trend) ports(v *collectors.View) portsView {
	list, seen := rdmaPorts(v)
	for _, n := range v.Inventory.Netdevs {
		if n.Type == ethernet && n.Port && !n.Function.Virtual() && !seen[n.Name] {
			list = append(list, ethernetPort(n))
		}
	}
	view := portsView{Rows: list[:min(len(list), maxPorts)], More: max(0, len(list)-maxPorts), Span: t.span()}
	links := map[string]lldp.Link{}
	for _, l := range lldp.Links(v) {
		links[l.Netdev.Name] = l
	}
	for _, c := range columns() {
		view.Heads = append(view.Heads, c.head)
	}
	for i := range view.Rows {
		p := &view.Rows[i]
		p.meet(links[p.Netdev])
		for _, c := range columns() {
			p.Curves = append(p.Curves, t.spark(c, p))
		}
	}
	return view
}

const ethernet = 1 // ARPHRD_ETHER

// rdmaPorts lists the ports of RDMA devices but those of virtual functions, and
// which interfaces they have.
func rdmaPorts(v *collectors.View) (list []portView, seen map[string]bool) {
	seen = map[string]bool{}
	own := map[string]bool{}
	for _, d := range v.Inventory.RDMA {
		own[d.Name] = d.Port && !d.Function.Virtual()
	}
	for _, u := range collectors.Readings[rdma.Reading](v, rdma.Name) {
		for i := range u.Reading.Ports {
			p := &u.Reading.Ports[i]
			if !own[p.Device] {
				continue
			}
			seen[p.Netdev.Name] = true
			list = append(list, rdmaPort(p))
		}
	}
	slices.SortStableFunc(list, func(a, b portView) int { return natural(a.Name, b.Name) })
	return list, seen
}

// natural compares names so that mlx5_10 comes after mlx5_9.
func natural(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func rdmaPort(p *rdma.Port) portView {
	view := portView{Name: p.Device + "/" + strconv.Itoa(p.Number), Netdev: p.Netdev.Name, State: p.State.String()}
	switch {
	case p.State == 0:
		view.State = "not known"
	case p.State == probe.Active || p.State == probe.ActiveDefer:
		if p.Rate.Gbps > 0 {
			view.Rate = p.Rate.String()
		}
	default:
		view.Down = true
	}
	return view
}

func ethernetPort(n *probes.Netdev) portView {
	p := portView{Netdev: n.Name, State: cmp.Or(n.OperState, "not known"), Down: n.Carrier.OK && !n.Carrier.V}
	if n.SpeedMbps.OK && n.SpeedMbps.V > 0 && !p.Down {
		p.Rate = fmt.Sprintf("%g Gb/s", float64(n.SpeedMbps.V)/1e3)
	}
	return p
}

// meet says who is at the other end of the cable.
func (p *portView) meet(l lldp.Link) {
	if l.Netdev == nil {
		return
	}
	if p.Wrong = l.Agrees == collectors.Fail; l.Planned != "" {
		p.Planned = map[collectors.Status]string{collectors.OK: "as planned", collectors.Fail: "the plan says " + l.Planned}[l.Agrees]
		p.Planned = cmp.Or(p.Planned, "planned: "+l.Planned)
	}
	for i := range l.Neighbours {
		n := &l.Neighbours[i]
		p.Far = append(p.Far, lldp.SystemName(n)+" "+lldp.PortName(n))
	}
	switch {
	case len(p.Far) > 0:
	case l.Err != nil:
		p.Silent = "not listened for" // why not is lldp_silent's reason
	case l.Carrier.OK && !l.Carrier.V:
		p.Silent = "no link"
	default:
		p.Silent = "none heard"
	}
}
