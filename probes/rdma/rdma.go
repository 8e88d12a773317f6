// SPDX-License-Identifier: Apache-2.0

// Package rdma asks RDMA devices: the state of their ports, their GIDs, and
// every counter that they have. It knows the forms in which the kernel answers
// (drivers/infiniband/core/sysfs.c) and which files are wide, narrow, or no
// counters at all. What a counter means, or whether an answer is good, it does
// not know.
package rdma

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
)

// maxPorts bounds the ports of a device; no hardware has more than two.
const maxPorts = 32

// A Device is one device of /sys/class/infiniband whose files are kept open.
type Device struct {
	Ports []*Port
	// Counters are those of the device as a whole; nil if it has none.
	Counters *Counters

	source source // nil: there is none
}

// A Port is one port of a Device.
type Port struct {
	Number int
	// PMA are the port's counters/: those of the performance management agent.
	// HW are its hw_counters/. Both are nil where there is no such directory.
	PMA, HW *Counters
	// Unread is why a directory of counters that is there cannot be listed.
	Unread error

	device   *Device
	optional []string // names of optional counters, as last told

	dir                               *probes.Dir
	state, phys, rate, layer, lid, sm *probes.Attr
	gids, types, ndevs                *probes.Dir
}

// Open opens a device by its name and its directory in sysfs, its ports and
// its counters.
func Open(h *probes.Host, name, dir string) (*Device, error) {
	names, err := h.ReadDir(path.Join(dir, "ports"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	d := &Device{source: openSource(h, name)}
	for _, number := range names {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || len(d.Ports) == maxPorts {
			continue
		}
		p, err := openPort(h, path.Join(dir, "ports", number), n)
		if err != nil {
			d.Close()
			return nil, err
		}
		p.device = d
		d.Ports = append(d.Ports, p)
	}
	slices.SortFunc(d.Ports, func(a, b *Port) int { return a.Number - b.Number })
	if d.Counters, err = openCounters(h, path.Join(dir, "hw_counters")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close gives all files back.
func (d *Device) Close() {
	for _, p := range d.Ports {
		p.close()
	}
	d.Counters.close()
	if d.source != nil {
		d.source.close()
	}
}

func openPort(h *probes.Host, dir string, number int) (*Port, error) {
	d, err := h.Dir(dir)
	if err != nil {
		return nil, err
	}
	p := &Port{Number: number, dir: d}
	p.state, p.phys, p.rate = d.Attr("state", 64), d.Attr("phys_state", 64), d.Attr("rate", 64)
	p.layer, p.lid, p.sm = d.Attr("link_layer", 32), d.Attr("lid", 32), d.Attr("sm_lid", 32)
	var errPMA, errHW error
	p.PMA, errPMA = openCounters(h, path.Join(dir, "counters"))
	p.HW, errHW = openCounters(h, path.Join(dir, "hw_counters"))
	for _, err := range []error{errPMA, errHW} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.Unread = err
		}
	}
	p.gids, _ = h.Dir(path.Join(dir, "gids"))
	p.types, _ = h.Dir(path.Join(dir, "gid_attrs/types"))
	p.ndevs, _ = h.Dir(path.Join(dir, "gid_attrs/ndevs"))
	return p, nil
}

func (p *Port) close() {
	for _, a := range []*probes.Attr{p.state, p.phys, p.rate, p.layer, p.lid, p.sm} {
		a.Close()
	}
	p.PMA.close()
	p.HW.close()
	for _, d := range []*probes.Dir{p.dir, p.gids, p.types, p.ndevs} {
		if d != nil {
			d.Close()
		}
	}
}

// State reads the state. On mlx5 each of State, PhysState, Rate and LID is a
// command to the firmware.
func (p *Port) State() (State, error) {
	b, err := p.state.Read()
	if err != nil {
		return 0, err
	}
	return ParseState(b), nil
}

// PhysState reads the physical state.
func (p *Port) PhysState() (PhysState, error) {
	b, err := p.phys.Read()
	if err != nil {
		return 0, err
	}
	return ParsePhysState(b), nil
}

// Rate reads the rate. It means nothing unless the port is active.
func (p *Port) Rate() (Rate, error) {
	b, err := p.rate.Read()
	if err != nil {
		return Rate{}, err
	}
	r, ok := ParseRate(string(b))
	if !ok {
		return Rate{}, errNoRate
	}
	return r, nil
}

var errNoRate = errors.New("rate has another form than 400 Gb/sec (4X NDR)")

// LinkLayer reads the link layer: Ethernet, InfiniBand or Unknown.
func (p *Port) LinkLayer() (string, error) {
	b, err := p.layer.Read()
	return probes.Printable(string(b)), err
}

// LIDs reads the port's local identifier and that of its subnet manager; zero
// is none.
func (p *Port) LIDs() (lid, manager uint16) { return readLID(p.lid), readLID(p.sm) }

func readLID(a *probes.Attr) uint16 {
	b, err := a.Read()
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(string(b), "0x"), 16, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}
