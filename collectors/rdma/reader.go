// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/rdma"
)

// How often what costs is read on a live host. On mlx5 each file of state,
// rate, LID and counters/ is a command to the firmware of its own; those of
// hw_counters share one.
const (
	stateEvery   = time.Second // state, interface, traffic
	errorsEvery  = 5 * time.Second
	settingEvery = 30 * time.Second // rate, LID, GIDs, lifespan
	settingRest  = 10 * time.Second // between two reads for the sake of events
)

// A reader reads one RDMA device.
type reader struct {
	h          *probes.Host
	device     *rdma.Device
	id         uint64 // of the device's directory when it was opened
	seen       *memory
	generation uint64 // of the inventory that was looked at
	event      bool   // it changed since the settings were read

	now      Reading
	ports    []port
	counters counters // of the device as a whole
	last     *Reading

	stateAt, errorsAt, settingAt time.Duration
}

// A port is the reader's side of a Port.
type port struct {
	*rdma.Port
	pma, hw  counters
	traffic  []int // the PMA counters that are read with the state
	errors   []int // and those that are read less often
	netdev   netdev
	extra    []rdma.Optional // optional counters that are enabled
	refresh  refresh
	rateless bool // its rate cannot be read
	now      Port
}

func openDevice(h *probes.Host, name string, seen *memory) (collectors.Reader[Reading], error) {
	inv := h.Inventory()
	d := findDevice(inv, name)
	if d == nil {
		return nil, notExist(name)
	}
	id, err := identity(h, d.Path)
	if err != nil {
		return nil, err
	}
	device, err := rdma.Open(h, d.Name, d.Path)
	if err != nil {
		return nil, err
	}
	r := &reader{h: h, device: device, id: id, seen: seen, generation: inv.Generation}
	r.counters = newCounters(device.Counters, wraps)
	r.now = Reading{Device: name, Address: d.Address(), Software: d.Software(), Hidden: device.Counters == nil}
	for _, p := range device.Ports {
		r.ports = append(r.ports, r.newPort(p, inv.Generation))
		r.now.Hidden = r.now.Hidden && p.PMA == nil && p.HW == nil && p.Unread == nil
	}
	return r, nil
}

func (r *reader) newPort(p *rdma.Port, epoch uint64) port {
	n := port{Port: p, netdev: netdev{h: r.h}}
	n.pma = newCounters(p.PMA, func(string) bool { return false })
	n.hw = newCounters(p.HW, wraps)
	for i, name := range n.pma.names() {
		switch {
		case isTraffic(name):
			n.traffic = append(n.traffic, i)
		case slices.Contains(errorNames(), name):
			n.errors = append(n.errors, i)
		}
	}
	n.now = Port{Device: r.now.Device, Address: r.now.Address, Number: p.Number, Epoch: epoch}
	if p.Unread != nil {
		n.now.Unread = "its counters cannot be listed: " + probes.Reason(p.Unread)
	}
	return n
}

// identity tells a device from the one that had its name before.
func identity(h *probes.Host, dir string) (uint64, error) {
	d, err := h.Dir(dir)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	return d.Identity()
}

func (r *reader) Close() {
	r.device.Close()
	for i := range r.ports {
		r.ports[i].netdev.close()
	}
}

// Read takes one reading; it is the one before if nothing changed.
func (r *reader) Read(at time.Duration) (*Reading, error) {
	inv := r.h.Inventory()
	if inv.Generation != r.generation {
		r.generation, r.event = inv.Generation, true
		d := findDevice(inv, r.now.Device)
		if d == nil {
			return nil, notExist(path.Join("sys/class/infiniband", r.now.Device))
		}
		if id, err := identity(r.h, d.Path); err != nil || id != r.id {
			return nil, collectors.ErrReopen
		}
	}
	first, recorded := r.last == nil, r.h.Recorded()
	all := first || recorded
	changed := first
	if all || at-r.stateAt >= stateEvery {
		r.stateAt = at
		changed = r.readStates() || changed
	}
	if all || at-r.settingAt >= settingEvery || r.event && at-r.settingAt >= settingRest || r.lateSettings() {
		r.settingAt, r.event = at, false
		r.readSettings(inv)
		changed = true
	}
	withErrors := all || at-r.errorsAt >= errorsEvery
	if withErrors {
		r.errorsAt = at
	}
	changed = r.readCounters(at, withErrors, r.stateAt == at) || changed
	if changed {
		r.publish()
	}
	return r.last, r.failure()
}

// failure joins why states could not be read.
func (r *reader) failure() error {
	var all []error
	for i := range r.ports {
		if err := r.ports[i].now.Err; err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// publish makes a new reading of what is known now.
func (r *reader) publish() {
	n := r.now
	n.Ports = make([]Port, len(r.ports))
	n.Counters = r.counters.counts()
	for i := range r.ports {
		p := &r.ports[i]
		p.now.PMA, p.now.HW = p.pma.counts(), p.hw.counts()
		p.now.Optional = optionalCounts(p.extra)
		p.now.Netdev, p.now.Refresh = p.netdev.now, p.refresh.shortest
		n.Ports[i] = p.now
		n.Ports[i].normalise()
	}
	if len(n.Ports) == 1 {
		n.Ports[0].add(n.Counters)
	}
	for i := range n.Ports {
		n.Ports[i].fill(n.Ports[i].Optional)
	}
	r.last = &n
}

// protocolOf finds out what a device's ports speak.
func protocolOf(d *probes.RDMADevice, layer string) Protocol {
	switch {
	case layer == "InfiniBand":
		return InfiniBand
	case d.Driver() == "efa" || strings.HasPrefix(d.NodeType, "unspecified"):
		return EFA
	case d.NodeType == "RNIC":
		return IWARP
	case layer == "Ethernet" && (d.NodeType == "CA" || d.NodeType == ""):
		return RoCE
	}
	return UnknownProtocol
}
