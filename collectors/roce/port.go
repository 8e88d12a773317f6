// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/rdma"
	"github.com/fabricd/fabricd/probes"
	probe "github.com/fabricd/fabricd/probes/rdma"
	"github.com/fabricd/fabricd/probes/topo"
)

// A port is one interface, with what its RDMA device counts if it has one.
type port struct {
	*Reading
	net     *probes.Netdev
	role    topo.Role
	sisters string // what it is compared with
	rdma    *rdma.Port
	shared  bool // rdma is the port of a bond, and counts its other legs too
	unread  bool // there is an RDMA device that was not read
}

type (
	env     = collectors.Env[port]
	verdict = collectors.Verdict
	sample  = collectors.Sample[port]
)

// errStale stands for a reading that is not there: the driver does not answer.
var errStale = errors.New("no fresh reading of the interface's driver")

// ports joins readings with the inventory and the RDMA ports. An interface
// whose driver does not answer is one of them: of it nothing is known.
func ports(v *collectors.View, units []collectors.Unit[Reading]) []port {
	readings := make(map[string]*Reading, len(units))
	for _, u := range units {
		readings[u.Name] = u.Reading
	}
	partners, read := partners(v)
	list := make([]port, 0, len(units))
	seen := map[string]bool{}
	for _, n := range v.Inventory.Netdevs {
		if !judged(n) || seen[n.Name] {
			continue
		}
		seen[n.Name] = true
		r := readings[n.Name]
		if r == nil {
			r = &Reading{Netdev: n.Name, Driver: n.Function.Driver, Err: errStale, Settings: &Settings{DCBErr: errStale, DCQCNErr: errStale}}
		}
		p := port{Reading: r, net: n, role: v.Topology.Role(n.Function), sisters: v.Topology.Sisters(n.Function)}
		if p.rdma = partners[n.Name]; p.rdma == nil {
			p.rdma, p.shared = partners[n.Master], n.Master != ""
		}
		if p.rdma == nil {
			p.rdma, p.shared = own(partners, n), false
		}
		p.unread = p.rdma == nil && slices.ContainsFunc(n.Function.RDMA, func(d *probes.RDMADevice) bool { return !read[d.Name] })
		list = append(list, p)
	}
	return list
}

// partners finds the RDMA port of each interface, which may be a bond, and
// which devices were read. Those that software makes of an interface ask
// nothing of it: nobody makes a network lossless for them.
func partners(v *collectors.View) (all map[string]*rdma.Port, read map[string]bool) {
	all, read = map[string]*rdma.Port{}, map[string]bool{}
	for _, u := range collectors.Readings[rdma.Reading](v, rdma.Name) {
		if u.Reading.Software {
			continue
		}
		read[u.Reading.Device] = true
		for i := range u.Reading.Ports {
			if p := &u.Reading.Ports[i]; p.Netdev.Name != "" {
				all[p.Netdev.Name] = p
			}
		}
	}
	return all, read
}

// own finds the RDMA port of the interface's function where its addresses are
// those of another interface above it, such as a VLAN.
func own(partners map[string]*rdma.Port, n *probes.Netdev) *rdma.Port {
	for _, p := range partners {
		if p.Address == n.Function.Address && p.Number == n.DevPort+1 && !slices.Contains(n.Function.NetdevNames, p.Netdev.Name) {
			return p
		}
	}
	return nil
}

// lately has a check look at its last minute in a film too, whose history is
// else the whole of it: what was long ago says nothing of now.
func lately[S any](eval func(*S, *collectors.Env[S]) verdict) func(*S, *collectors.Env[S]) verdict {
	return func(s *S, e *collectors.Env[S]) verdict {
		if !e.View.Recorded {
			return eval(s, e) // the window is what the operator says
		}
		now := *e
		now.Past = e.Within(time.Minute)
		return eval(s, &now)
	}
}

// bytesPerSecond is the port's rate as its interface says or, where that does
// not, its RDMA port; 0 if neither does.
func (p *port) bytesPerSecond() float64 {
	switch {
	case p.net.SpeedMbps.OK:
		return float64(p.net.SpeedMbps.V) * 1e6 / 8
	case p.rdma != nil && !p.shared && p.rdma.State == probe.Active:
		return p.rdma.Rate.Gbps * 1e9 / 8
	}
	return 0
}

// roce says whether the port carries RoCE.
func (p *port) roce() bool { return p.rdma != nil && p.rdma.Protocol == rdma.RoCE }

// notRoCE is the verdict on a port that carries no RoCE, as far as is known.
func (p *port) notRoCE() verdict {
	if p.unread {
		return collectors.Verdictf(collectors.Unknown, "no fresh reading of rdma: whether this is a RoCE port is not known")
	}
	return verdict{}
}

// device is the RDMA device's name; "" without one.
func (p *port) device() string {
	if p.rdma == nil {
		return ""
	}
	return p.rdma.Device
}

// pfc gives the priorities that are lossless as far as the driver tells.
func (p *port) pfc() (on []int, told bool) {
	if p.DCB == nil || p.DCB.PFC == nil {
		return nil, false
	}
	return p.DCB.PFC.Enabled, true
}

// lossless says whether a priority is known to have PFC on: by dcbnl, or
// because the driver counts pause only where it is on.
func (p *port) lossless(priority int) bool {
	if p.DCB != nil && p.DCB.PFC != nil && p.DCB.PFC.On(priority) {
		return true
	}
	return p.namesPause(priority)
}

// namesPause says whether a driver that names pause only of priorities that
// have PFC on does so.
func (p *port) namesPause(priority int) bool {
	return p.Counters != nil && p.Counters.plan.relabels && p.Counters.name(pfcFrames, rx, priority)+p.Counters.name(pfcFrames, tx, priority) != ""
}

// covers is the time between the first and the last reading of the counters
// over samples; zero if there was one only.
func covers(past []sample) time.Duration {
	var first, last *Counters
	for i := range past {
		if c := past[i].Row.Counters; c != nil {
			if first == nil {
				first = c
			}
			last = c
		}
	}
	if first == nil {
		return 0
	}
	return last.at - first.at
}

// counted gives a counter's rises over samples, and whether it is there at all.
func counted(past []sample, k kind, d direction, priority int) (rise uint64, ok bool) {
	if len(past) == 0 {
		return 0, false
	}
	get := func(p *port) (uint64, bool) { return p.Counters.get(k, d, priority) }
	if _, ok = get(&past[len(past)-1].Row); !ok {
		return 0, false
	}
	return collectors.Growth(past, get), true
}

// A grown is a counter that rose.
type grown struct {
	name string
	by   uint64
}

// risen lists the counters of a kind that rose; d is their direction.
func risen(past []sample, k kind, d direction) []grown {
	var list []grown
	if len(past) == 0 || past[len(past)-1].Row.Counters == nil {
		return nil
	}
	plan := past[len(past)-1].Row.Counters.plan
	for i := range plan.slots {
		s := &plan.slots[i]
		if s.kind != k || s.dir != d {
			continue
		}
		by := collectors.Growth(past, func(p *port) (uint64, bool) { return p.Counters.like(plan, i) })
		if by > 0 {
			list = append(list, grown{s.name, by})
		}
	}
	return list
}

// like gives the value of the counter that is slot i of a plan, which may be
// another one than this reading's.
func (c *Counters) like(p *plan, i int) (uint64, bool) {
	switch {
	case c == nil:
		return 0, false
	case c.plan != p:
		if i = slices.IndexFunc(c.plan.slots, func(s slot) bool { return s.name == p.slots[i].name }); i < 0 {
			return 0, false
		}
	}
	return c.values[i], c.values[i] != allOnes
}

// names joins counters and what they rose by.
func names(list []grown) string {
	var text []string
	for _, g := range list {
		text = append(text, g.name+" +"+decimal(g.by))
	}
	return strings.Join(text, ", ")
}

// unasked says why there are no counters; "" if there are.
func (p *port) unasked() string {
	switch {
	case p.Counters != nil && p.Counters.plan.unmatched:
		return "driver " + p.Driver + " counts by none of the names that are known of it"
	case p.Counters != nil:
		return ""
	case p.Err != nil && !errors.Is(p.Err, errors.ErrUnsupported):
		return p.Err.Error()
	}
	return "driver " + p.Driver + " tells no statistics"
}
