// SPDX-License-Identifier: Apache-2.0

// Package dcb asks how Data Centre Bridging is set on a network interface:
// priority flow control, transmission selection, the map of priorities, buffers,
// who speaks DCBX, and what the peer said where firmware does. It knows the
// kernel's messages (dcbnl) and the form that recordings have; whether a driver
// tells the truth it does not know.
package dcb

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"

	"github.com/fabricd/fabricd/probes"
)

// Priorities is how many priorities and traffic classes there are.
const Priorities = 8

// A Config is all that a driver answered; parts that it did not are nil.
type Config struct {
	// DCBX says who speaks the protocol: host, lld-managed, cee, ieee, static.
	DCBX    []string `json:"dcbx,omitempty"`
	PFC     *PFC     `json:"pfc,omitempty"`
	ETS     *ETS     `json:"ets,omitempty"`
	App     []App    `json:"app,omitzero"`
	Trust   []string `json:"trust,omitempty"` // what sets a packet's priority, by preference
	Buffer  *Buffer  `json:"buffer,omitempty"`
	MaxRate []uint64 `json:"maxrate_kbps,omitempty"`
	Peer    *Peer    `json:"peer,omitempty"`
}

// PFC is priority flow control. Requests and indications are frames sent and
// received, which some drivers refresh only when statistics are read.
type PFC struct {
	Cap         int                `json:"cap"`
	Enabled     []int              `json:"enabled"`
	MBC         bool               `json:"mbc"`
	Delay       int                `json:"delay"`
	Requests    [Priorities]uint64 `json:"requests"`
	Indications [Priorities]uint64 `json:"indications"`
}

// On says whether a priority is lossless.
func (p *PFC) On(priority int) bool {
	for _, e := range p.Enabled {
		if e == priority {
			return true
		}
	}
	return false
}

// ETS is how traffic classes share the link.
type ETS struct {
	Cap       int                `json:"cap"`
	Willing   bool               `json:"willing"`
	Bandwidth [Priorities]int    `json:"tc_bandwidth"` // percent
	Algorithm [Priorities]string `json:"tc_algorithm"` // strict, cbs, ets, vendor
	Class     [Priorities]int    `json:"priority_tc"`
}

// An App maps what a packet carries to a priority.
type App struct {
	Selector string `json:"selector"` // ethertype, tcp, udp, any, dscp, pcp
	Protocol int    `json:"protocol"`
	Priority int    `json:"priority"`
}

// Buffer is how the receive buffer is shared.
type Buffer struct {
	Priority [Priorities]int    `json:"priority_buffer"`
	Size     [Priorities]uint32 `json:"size_bytes"`
	Total    uint32             `json:"total_bytes"`
}

// Peer is what the other end of the cable said.
type Peer struct {
	PFC *PeerPFC `json:"pfc,omitempty"`
	ETS *ETS     `json:"ets,omitempty"`
	App []App    `json:"app,omitzero"`
}

// PeerPFC is the peer's priority flow control.
type PeerPFC struct {
	Cap     int   `json:"cap"`
	Enabled []int `json:"enabled"`
}

// TrustsDSCP says whether packets are sorted by DSCP. Where the driver does not
// tell what it trusts, a map of DSCPs is what switches it on.
func (c *Config) TrustsDSCP() bool {
	if len(c.Trust) > 0 {
		return c.Trust[0] == "dscp"
	}
	for _, a := range c.App {
		if a.Selector == "dscp" {
			return true
		}
	}
	return false
}

// Get asks for an interface's settings. A driver without dcbnl gives an error
// that is errors.ErrUnsupported.
func Get(h *probes.Host, netdev string) (*Config, error) {
	var c *Config
	var err error
	if h.Recorded() {
		c, err = recorded(h, netdev)
	} else {
		c, err = ask(netdev)
	}
	if err != nil {
		return nil, fmt.Errorf("dcbnl: %w", err)
	}
	return c, nil
}

func recorded(h *probes.Host, netdev string) (*Config, error) {
	b, err := h.ReadFile(path.Join("dcb", netdev+".json"))
	switch why := h.NotAsked("dcb"); {
	case err == nil:
		return Parse(b)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case why != "":
		return nil, fmt.Errorf("%w: the recording says: %s", fs.ErrPermission, why)
	}
	return nil, syscall.EOPNOTSUPP
}

// Parse reads the form that recordings have. What no driver could say is refused;
// text is made printable.
func Parse(b []byte) (*Config, error) {
	c := &Config{}
	if err := probes.ParseJSON(b, c); err != nil {
		return nil, err
	}
	return c, c.check()
}

var errRange = errors.New("a priority or class is out of range (0 to 7)")

func (c *Config) check() error {
	var lists [][]int
	apps := c.App
	if c.PFC != nil {
		lists = append(lists, c.PFC.Enabled)
	}
	if c.ETS != nil {
		lists = append(lists, c.ETS.Class[:])
	}
	if c.Peer != nil {
		apps = append(apps[:len(apps):len(apps)], c.Peer.App...)
		if c.Peer.PFC != nil {
			lists = append(lists, c.Peer.PFC.Enabled)
		}
	}
	for _, list := range lists {
		for _, n := range list {
			if n < 0 || n >= Priorities {
				return errRange
			}
		}
	}
	for _, a := range apps {
		if a.Priority < 0 || a.Priority >= Priorities {
			return errRange
		}
	}
	return nil
}
