// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/lldp"
	"github.com/fabricd/fabricd/probes/topo"
)

// A Speaker says what a machine announces of itself.
type Speaker struct {
	lldp.Announcement
	tree *topo.Tree
}

// Times of announcements: as others have them.
const (
	Interval = 30 * time.Second
	lifetime = 4 * Interval
)

// NewSpeaker makes a machine's Speaker. Its chassis id is its lowest Ethernet
// address, the same on all ports.
func NewSpeaker(inv *probes.Inventory, self probes.Self) Speaker {
	s := Speaker{tree: topo.New(inv, config.Plan{})}
	s.Host, s.TTL = self.Host, uint16(lifetime.Seconds())
	s.System = fmt.Sprintf("fabricd %s, Linux %s", self.Version, inv.Facts.Kernel)
	lowest := ""
	for _, n := range lldp.Ports(inv) {
		if mac := strings.ToLower(n.MAC); lowest == "" || mac < lowest {
			lowest = mac
		}
	}
	if mac, err := net.ParseMAC(lowest); err == nil && len(mac) == len(s.Chassis) {
		s.Chassis = lldp.MAC(mac)
	}
	return s
}

// Frame makes the frame for a port; its role stands in the port's description.
func (s Speaker) Frame(n *probes.Netdev) (*lldp.Frame, error) {
	f, err := s.Announcement.Frame(n)
	if role := s.tree.Role(n.Function); err == nil && role != "" {
		f.PortDescription = fmt.Sprintf("%s (%s)", n.Name, role)
	}
	return f, err
}

// A mouth announces the machine on one port, for the daemon.
type mouth struct {
	h      *probes.Host
	n      *probes.Netdev
	self   probes.Self
	sender *lldp.Sender
	frame  *lldp.Frame // that was sent last
	next   time.Duration
}

// newMouth gives nil where nothing is to be announced.
func newMouth(h *probes.Host, n *probes.Netdev) *mouth {
	if h.Announces() == nil {
		return nil
	}
	return &mouth{h: h, n: n, self: *h.Announces()}
}

// speak sends the frame if it is time and there is link.
func (m *mouth) speak(at time.Duration, link bool) error {
	if m == nil || !m.due(at, link) {
		return nil
	}
	inv := m.h.Inventory()
	if n := find(inv, m.n.Name); n != nil { // its MTU may be another
		m.n = n
	}
	f, err := NewSpeaker(inv, m.self).Frame(m.n)
	if err != nil {
		return err
	}
	if m.sender == nil {
		if m.sender, err = lldp.NewSender(m.h, m.n); err != nil {
			return err
		}
	}
	if err := m.sender.Send(f); err != nil {
		return err
	}
	m.frame = f
	return nil
}

// due says whether it is time: at once when the link is back, for with it the
// neighbour forgot us.
func (m *mouth) due(at time.Duration, link bool) bool {
	if !link {
		m.next = 0
	}
	if !link || at < m.next {
		return false
	}
	m.next = at + Interval
	return true
}

// close takes back what was said.
func (m *mouth) close() {
	if m == nil || m.sender == nil {
		return
	}
	if m.frame != nil {
		_ = m.sender.Send(m.frame.Shutdown()) // the neighbour forgets us by itself as well
	}
	m.sender.Close()
}
