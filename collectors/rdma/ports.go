// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"cmp"
	"path"
	"time"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/rdma"
)

// readStates reads what tells whether ports work. The physical state of an
// active port is not asked: it is up.
func (r *reader) readStates() (changed bool) {
	for i := range r.ports {
		p := &r.ports[i]
		changed = p.readState(r.h.Recorded()) || changed
		changed = p.netdev.read() || changed
		was := p.now.WasActive
		p.now.WasActive = r.seen.note(portKey{p.now.Address, p.now.Device, p.now.Number}, p.netdev.now.Name, p.now.State == rdma.Active)
		changed = changed || p.now.WasActive != was
		if len(p.extra) > 0 {
			p.readOptionals()
			changed = true
		}
	}
	return changed
}

func (p *port) readState(recorded bool) (changed bool) {
	state, err := p.State()
	phys := rdma.LinkUp
	if err == nil && (state != rdma.Active || recorded) {
		phys, _ = p.PhysState()
	}
	if err != nil {
		phys = 0
	}
	changed = state != p.now.State || phys != p.now.Phys || (err == nil) != (p.now.Err == nil)
	if state != p.now.State {
		p.now.Rate = rdma.Rate{} // of another time
	}
	p.now.State, p.now.Phys, p.now.Err = state, phys, err
	return changed
}

// lateSettings says whether a port came up whose rate is not known yet.
func (r *reader) lateSettings() bool {
	for i := range r.ports {
		if p := &r.ports[i]; p.now.State == rdma.Active && p.now.Rate == (rdma.Rate{}) && !p.rateless {
			return true
		}
	}
	return false
}

// readSettings reads what changes rarely.
func (r *reader) readSettings(inv *probes.Inventory) {
	d := findDevice(inv, r.now.Device)
	if d == nil {
		return
	}
	for i := range r.ports {
		p := &r.ports[i]
		p.now.LinkLayer, _ = p.LinkLayer()
		p.now.Protocol = protocolOf(d, p.now.LinkLayer)
		p.now.LID, p.now.SM = p.LIDs()
		rate, err := p.Port.Rate()
		p.now.Rate, p.rateless = rate, err != nil
		p.readGIDs()
		p.readOptionals()
		p.readNetdev(d, len(r.ports), inv.Generation)
		if ms, ok := p.HW.Lifespan(); ok {
			p.now.Lifespan = time.Duration(min(ms, 1<<31)) * time.Millisecond
		}
		r.now.Protocol = p.now.Protocol
	}
}

func (p *port) readGIDs() {
	gids, unread, err := p.Port.GIDs()
	sum := GIDs{Read: err == nil && p.HasGIDs(), Used: len(gids), Unread: unread}
	for _, g := range gids {
		switch {
		case g.Type == rdma.RoCEv2:
			sum.V2++
		case g.Type == rdma.UnknownType && g.Reach() > rdma.LinkLocal:
			sum.Untyped++
		}
		if sum.Netdev == "" {
			sum.Netdev = g.Netdev
		}
	}
	sum.Best, sum.HasV2 = rdma.BestRoCEv2(gids)
	p.now.GIDs = sum
}

// readOptionals asks for counters that netlink alone tells. Where none is
// enabled that is asked as rarely as settings are: it is a firmware command.
func (p *port) readOptionals() {
	if list, err := p.Optionals(p.extra); err == nil {
		p.extra = list
	} else {
		p.extra = nil
	}
}

// optionalCounts gives optional counters the form of the others.
func optionalCounts(list []rdma.Optional) Counts {
	if len(list) == 0 {
		return Counts{}
	}
	c := Counts{Names: make([]string, len(list)), Families: make([]Family, len(list)), Values: make([]Count, len(list))}
	for i, o := range list {
		c.Names[i], c.Families[i], c.Values[i] = o.Name, optionalFamily(o.Name), Count{o.V, true}
	}
	return c
}

// readNetdev finds the port's interface: the one that netlink or its GIDs name,
// which may be a bond over it, or that software makes it of, or else the
// function's interface of that port.
func (p *port) readNetdev(d *probes.RDMADevice, ports int, generation uint64) {
	name, dir := cmp.Or(p.Port.Netdev(), p.now.GIDs.Netdev, d.Lower), ""
	if name != "" {
		dir = path.Join(classNet, name)
	}
	var own []*probes.Netdev
	if !d.Software() {
		own = d.Function.Netdevs
	}
	for _, n := range own {
		if n.Name == name {
			dir = n.Path
			break
		}
		if name == "" && d.Port && n.Port && (n.DevPort == p.Number-1 || ports == 1 && len(d.Function.NetdevNames) == 1) {
			name, dir = n.Name, n.Path
			break
		}
	}
	p.netdev.follow(name, dir, generation)
	p.netdev.read()
}
