// SPDX-License-Identifier: Apache-2.0

// Package ethtool asks the driver of a network interface: what it counts
// (ethtool -S), and how pause, rings, private flags and forward error
// correction are set. It knows the interface's forms and traps: that names may
// fill all of their bytes, that the number of statistics changes between two
// calls, and that some drivers give a position another name while they run. It
// does not know what any name means.
package ethtool

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// A Driver is what the driver says of itself.
type Driver struct {
	Name, Version, Firmware, Bus string
}

// Statistics are what a driver counts. Names are not changed after; Values, at
// the same places, are good until the next read.
type Statistics struct {
	Names  []string
	Values []uint64
	// Generation changes when Names are other ones than before.
	Generation int
}

// Pause is how 802.3x flow control is set, which says nothing of PFC.
type Pause struct{ Autonegotiate, RX, TX bool }

// Rings are the descriptors of each ring. What the driver does not say is 0.
type Rings struct{ RX, RXMax, TX, TXMax int }

// A Flag is one of the driver's private flags.
type Flag struct {
	Name string
	On   bool
}

// Prevention is for how long a NIC whose host takes no packets may pause its
// peer before it drops them instead (pfc-prevention-tout).
type Prevention struct {
	After time.Duration // zero is never
	Auto  bool          // the driver chooses, and does not say what
}

// FEC is forward error correction in force, and the blocks that it worked on.
type FEC struct {
	Active                   string // RS, BaseR, Off, …; "" if not told
	Corrected, Uncorrectable probes.Value[uint64]
}

// source is one way of asking: the kernel, or a recording.
type source interface {
	driver() (Driver, error)
	// statistics reads into s, whose names are those of the read before.
	statistics(s *Statistics) error
	pause() (Pause, error)
	rings() (Rings, error)
	flags() ([]Flag, error)
	fec() (FEC, error)
	prevention() (Prevention, error)
	close()
}

// A Port is an interface whose driver is asked. One goroutine uses it. What
// the driver does not answer is an error that is errors.ErrUnsupported.
type Port struct {
	source
	s Statistics
}

// maxStatistics bounds what one interface may count: a driver of 256 queues
// has some ten thousand.
const maxStatistics = 1 << 15

// Open opens the interface of that name. Relabels says that its driver names
// positions anew while it runs, so that names have to be read each time.
func Open(h *probes.Host, netdev string, relabels bool) (*Port, error) {
	if h.Recorded() {
		return &Port{source: openRecorded(h, netdev)}, nil
	}
	shown, unseen := h.ReadFile(path.Join("sys/class/net", netdev, "ifindex"))
	l, err := openLive(netdev, relabels)
	if errors.Is(err, syscall.ENODEV) && unseen == nil {
		return nil, ErrElsewhere
	}
	if err != nil {
		return nil, fmt.Errorf("ethtool: %w", err)
	}
	if unseen == nil && strings.TrimSpace(string(shown)) != strconv.Itoa(int(l.index)) {
		l.close()
		return nil, ErrElsewhere
	}
	return &Port{source: l}, nil
}

// ErrElsewhere says that sysfs is of another network namespace than we are.
var ErrElsewhere = fmt.Errorf("%w: the interface of this name in /sys is not one of this network namespace; run fabricd in the host's network namespace", fs.ErrPermission)

// Driver asks who the driver is.
func (p *Port) Driver() (Driver, error) {
	d, err := p.driver()
	return d, wrap("-i", err)
}

// Statistics reads all that the driver counts.
func (p *Port) Statistics() (*Statistics, error) {
	if err := p.statistics(&p.s); err != nil {
		return nil, wrap("-S", err)
	}
	return &p.s, nil
}

// Pause asks how 802.3x flow control is set.
func (p *Port) Pause() (Pause, error) {
	v, err := p.pause()
	return v, wrap("-a", err)
}

// Rings asks for the sizes of the rings.
func (p *Port) Rings() (Rings, error) {
	v, err := p.rings()
	return v, wrap("-g", err)
}

// Flags asks for the private flags.
func (p *Port) Flags() ([]Flag, error) {
	v, err := p.flags()
	return v, wrap("--show-priv-flags", err)
}

// FEC asks for forward error correction.
func (p *Port) FEC() (FEC, error) {
	v, err := p.fec()
	return v, wrap("--show-fec -I", err)
}

// Prevention asks when a NIC stops pausing its peer.
func (p *Port) Prevention() (Prevention, error) {
	v, err := p.prevention()
	return v, wrap("--get-tunable pfc-prevention-tout", err)
}

// Close gives back what Open took.
func (p *Port) Close() { p.close() }

// wrap says what was asked; of which interface, the caller knows.
func wrap(option string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ethtool %s: %w", option, err)
}

// ErrReplaced says that another interface has the name now.
var ErrReplaced = errors.New("another interface has this name now")

// errUnsupported is what a driver without the call answers.
const errUnsupported = syscall.EOPNOTSUPP
