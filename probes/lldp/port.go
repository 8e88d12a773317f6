// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// A Port listens on one interface, of the machine or of a recording. It is not
// safe for concurrent use.
type Port struct {
	name    string // as the kernel has it
	source  source
	table   *Table
	dir     *probes.Dir
	carrier *probes.Attr
	changes *probes.Attr
	changed []byte // how often the carrier did, when it was last read

	on    bool          // somebody listens, and there is link
	since time.Duration // that it is so; negative: from before the start
}

const ethernet = 1 // ARPHRD_ETHER

// Ports lists the interfaces on which a neighbour may be heard: the Ethernet
// ports of physical functions. What is above them, or made of them, hears none.
func Ports(inv *probes.Inventory) []*probes.Netdev {
	var list []*probes.Netdev
	for _, n := range inv.Netdevs {
		if n.Port && n.Type == ethernet && !n.Function.Virtual() {
			list = append(list, n)
		}
	}
	return list
}

// A source is where a port's frames come from.
type source interface {
	// receive hands over the frames that were heard since the last call, and
	// gives how many were lost. An error says that nobody listens.
	receive(take func(frame []byte)) (lost uint64, err error)
	close()
}

// A State is what a port has heard up to a moment. It is never changed.
type State struct {
	Counts     Counts
	Neighbours []Neighbour // the longest known first
	// Since is when listening with link began; it may lie before the start.
	Since time.Duration
	Moments
	Carrier probes.Value[bool]
	// Err is why nobody listens.
	Err error
}

// Stale says whether a neighbour was heard before the link was lost: since then
// the cable may lead elsewhere, however long the neighbour is to be remembered.
func (s *State) Stale(n *Neighbour) bool {
	return n.Last < s.Since || s.Carrier.OK && !s.Carrier.V
}

// Open prepares to listen on an interface. Where that is not allowed, it is the
// State that says so. The error is fs.ErrNotExist where there is no such interface.
func Open(h *probes.Host, n *probes.Netdev) (*Port, error) {
	dir, err := h.Dir(n.Path)
	if err != nil {
		return nil, err
	}
	p := &Port{name: path.Base(n.Path), table: NewTable(), dir: dir, carrier: dir.Attr("carrier", 8), changes: dir.Attr("carrier_changes", 16)}
	if h.Recorded() {
		p.source = &recorded{host: h, name: "lldp/" + p.name + ".hex", next: -1}
		return p, nil
	}
	p.source = newLive(h, n, dir)
	return p, nil
}

// Close ends listening.
func (p *Port) Close() {
	p.source.close()
	p.carrier.Close()
	p.changes.Close()
	p.dir.Close()
}

// Read takes what was heard since the last Read.
func (p *Port) Read(at time.Duration) (*State, error) {
	up, err := p.link()
	if err != nil {
		return nil, err
	}
	flapped := p.flapped()
	if flapped || up.OK && !up.V {
		p.table.LinkLost(at)
	}
	lost, err := p.source.receive(func(frame []byte) { p.table.Receive(frame, at) })
	p.table.Counts[Lost] += lost
	p.listen(at, (up.V || !up.OK) && err == nil, flapped)
	return &State{
		Counts: p.table.Counts, Neighbours: p.table.Neighbours(at),
		Since: p.since, Moments: p.table.Moments, Carrier: up, Err: err,
	}, nil
}

// listen notes since when somebody listens on a port with link.
func (p *Port) listen(at time.Duration, on, flapped bool) {
	if on && p.on && !flapped {
		return
	}
	p.on, p.since = on, at
	if r, ok := p.source.(*recorded); ok && on && at == 0 {
		p.since -= r.listened()
	}
}

// flapped says whether the link was lost since the last time, however shortly.
func (p *Port) flapped() bool {
	b, err := p.changes.Read()
	if err != nil || bytes.Equal(b, p.changed) {
		return false
	}
	first := p.changed == nil
	p.changed = append(p.changed[:0], b...)
	return !first
}

// link tells whether the port has link. An interface that is switched off does
// not tell: it has none. An error says that the interface is gone.
func (p *Port) link() (probes.Value[bool], error) {
	b, err := p.carrier.Read()
	switch {
	case err == nil:
		return probes.Some(string(b) == "1"), nil
	case probes.Gone(err):
		return probes.Value[bool]{}, err
	case errors.Is(err, syscall.EINVAL):
		return probes.Some(false), nil
	}
	return probes.None[bool](err), nil
}

// recorded plays the frames of a recording: each is heard once, at its mark.
type recorded struct {
	host *probes.Host
	name string
	next int // mark that was not heard yet; -1: only the present one counts
}

func (r *recorded) close() {}

func (r *recorded) receive(take func([]byte)) (uint64, error) {
	now := r.host.Mark()
	if r.next < 0 {
		r.next = now
	}
	for ; r.next <= now; r.next++ {
		for _, e := range r.host.Extras(r.next) {
			if e.Name == r.name && !e.Removed {
				for _, frame := range Frames(e.Data) {
					take(frame)
				}
			}
		}
	}
	return 0, r.refused()
}

const said = "lldp" // the source's name in a manifest

// refused says why a recording holds no frames.
func (r *recorded) refused() error {
	m := r.host.Manifest()
	if m == nil || m.Sources == nil {
		return nil
	}
	if text := m.Sources[said]; text != "" && !strings.HasPrefix(text, "listened") {
		return fmt.Errorf("when the recording was made, LLDP was %s", probes.Printable(text))
	}
	return nil
}

// listened gives how long was listened before the recording's first moment.
func (r *recorded) listened() time.Duration {
	m := r.host.Manifest()
	if m == nil {
		return 0
	}
	d, err := time.ParseDuration(strings.TrimSpace(strings.TrimPrefix(m.Sources[said], "listened")))
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// swallowed says whether what is above an interface takes the frames before
// those who ask for LLDP alone see them: Open vSwitch, or a bridge that
// forwards them, from all its ports or from this one (net/bridge/br_input.c).
func swallowed(h *probes.Host, netdev string, dir *probes.Dir) bool {
	master, err := dir.Readlink("master")
	if err != nil || path.Base(master) == "ovs-system" {
		return err == nil
	}
	return slices.ContainsFunc([]string{"master/bridge/group_fwd_mask", "brport/group_fwd_mask"}, func(file string) bool {
		const nearestBridge = 1 << 0x0e
		b, err := h.ReadFile(path.Join(netdev, file))
		if err != nil {
			return false
		}
		mask, err := strconv.ParseUint(strings.TrimSpace(string(b)), 0, 32)
		return err == nil && mask&nearestBridge != 0
	})
}
