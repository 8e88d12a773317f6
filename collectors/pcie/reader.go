// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"io/fs"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// configEvery is how often configuration space is read: it costs a bus
// transaction for every four bytes.
const configEvery = 30 * time.Second

// A Reading is what one function answers.
type Reading struct {
	Address string
	Link    pci.Link // in force; unknown parts are zero
	// Asleep says that the function is suspended and was not asked.
	Asleep bool
	// Lost says that it answers all ones, or that the kernel took it off.
	Lost string
	// Trouble is why the link is not known.
	Trouble string
	down    bool // the link reads width 0

	Transitions uint64        // changes of speed or width seen between reads
	BelowMax    time.Duration // time seen below what both ends can do

	AER       *AER // nil: no counters
	Config    *pci.Config
	ConfigErr error
	L1        probes.Value[bool] // sysfs link/l1_aspm
}

type reader struct {
	host    *probes.Host
	dir     *probes.Dir
	address string
	id      uint64 // the function's identity when it was opened
	max     pci.Link
	port    bool // an upper end: its link is the one below it and is read there

	speed, width, power, config, l1 *probes.Attr

	aer              aerReader
	last             *Reading // nil before the first
	lastAt, configAt time.Duration
	before           pci.Link // the link at the read before, if known
	known            bool
	configSum        uint32 // of the bytes that last.Config was parsed from
}

func openReader(_ context.Context, h *probes.Host, address string) (collectors.Reader[Reading], error) {
	inv := h.Inventory()
	f := inv.Function(address)
	if f == nil {
		return nil, &fs.PathError{Op: "find", Path: address, Err: fs.ErrNotExist}
	}
	dir, err := h.Dir(f.Path)
	if err != nil {
		return nil, err
	}
	r := &reader{host: h, dir: dir, max: f.Max, address: address, id: f.Identity()}
	if f.Parent != nil {
		r.max = f.Max.Min(f.Parent.Max)
	}
	r.port = f.Kind == pci.Bridge && !topo.UpstreamPort(f)
	r.speed, r.width = dir.Attr("current_link_speed", 64), dir.Attr("current_link_width", 16)
	r.power, r.config, r.l1 = dir.Attr("power/runtime_status", 16), dir.Attr("config", 0), dir.Attr("link/l1_aspm", 8)
	r.aer = newAERReader(dir)
	return r, nil
}

func (r *reader) Close() {
	for _, a := range []*probes.Attr{r.speed, r.width, r.power, r.config, r.l1} {
		a.Close()
	}
	r.aer.close()
	r.dir.Close()
}

// Read takes one reading; it is the one before if nothing changed. A suspended
// function is left asleep: reading its link would wake the port above it.
func (r *reader) Read(at time.Duration) (*Reading, error) {
	if f := r.host.Inventory().Function(r.address); f != nil && f.Identity() != r.id {
		return nil, collectors.ErrReopen
	}
	now := Reading{Address: r.address}
	if r.last != nil {
		now = *r.last
		now.Lost, now.Trouble, now.Link, now.down = "", "", pci.Link{}, false
	}
	var err, errAER error
	if now.Asleep = r.asleep(); now.Asleep {
		now.Trouble = "the device is suspended and was not woken to be asked"
	} else {
		if !r.port {
			err = r.readLink(&now)
		}
		gone := errors.Is(now.ConfigErr, pci.ErrAllOnes)
		if r.last == nil || gone || r.host.Recorded() || at-r.configAt >= configEvery {
			r.readConfig(&now)
			r.configAt = at
		}
	}
	now.AER, errAER = r.aer.read()
	r.count(&now, at)
	if r.lastAt = at; r.last == nil || now != *r.last {
		r.last = &now
	}
	return r.last, errors.Join(err, errAER)
}

func (r *reader) asleep() bool {
	b, err := r.power.Read()
	return err == nil && (string(b) == "suspended" || string(b) == "suspending")
}

// readLink reads speed and width. The error is what is worth counting; a
// function without a link has none.
func (r *reader) readLink(now *Reading) error {
	speed, errSpeed := twice(r.speed)
	if errSpeed == nil {
		now.Link.Speed, _ = pci.ParseSpeed(speed)
	}
	width, errWidth := twice(r.width)
	if errWidth == nil {
		lanes, ok := pci.ParseWidth(width)
		switch {
		case ok && lanes == pci.WidthLost:
			now.Lost, now.Link.Speed = "its link registers read all ones (width 63)", 0
		case ok && lanes < pci.WidthLost:
			now.Link.Width, now.down = lanes, lanes == 0
		}
	}
	for _, err := range []error{errSpeed, errWidth} {
		if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENODEV) {
			now.Lost = "its link files answer " + probes.Reason(err) + ": the kernel has marked it disconnected"
			return err
		}
	}
	switch {
	case now.down:
		now.Link.Speed = 0 // of no lane
		now.Trouble = "the link reads width 0: it is down, or the function has no link registers"
	case errWidth == nil && now.Link.Width == 0 && now.Lost == "":
		now.Trouble = "current_link_width tells no number of lanes"
	case errors.Is(errWidth, fs.ErrNotExist):
		now.Trouble, errWidth = "the function has no link files", nil
	case errWidth != nil:
		now.Trouble = "current_link_width answers " + probes.Reason(errWidth)
	}
	if errors.Is(errSpeed, fs.ErrNotExist) {
		errSpeed = nil
	}
	return errors.Join(errSpeed, errWidth)
}

// twice reads an attribute, again if it was that of a device that is being
// removed: then it is gone or its successor's. Only of one that is there to
// stay ENODEV says that it is disconnected.
func twice(a *probes.Attr) ([]byte, error) {
	b, err := a.Read()
	if errors.Is(err, syscall.ENODEV) {
		b, err = a.Read()
	}
	return b, err
}

// readConfig parses configuration space as far as this process may see it,
// unless it is what it was.
func (r *reader) readConfig(now *Reading) {
	var parsed error
	err := r.config.View(func(b []byte) {
		sum := crc32.ChecksumIEEE(b)
		if sum == r.configSum && now.Config != nil {
			return
		}
		c, err := pci.ParseConfig(b)
		if r.configSum, parsed, now.Config = sum, err, &c; err != nil {
			now.Config = nil
		}
	})
	now.ConfigErr = cmp.Or(err, parsed)
	if err != nil {
		now.Config = nil
	}
	if errors.Is(now.ConfigErr, pci.ErrAllOnes) && now.Lost == "" {
		now.Lost = "its configuration space reads all ones"
	}
	now.L1 = probes.Value[bool]{}
	if b, err := r.l1.Read(); err == nil && len(b) > 0 {
		now.L1 = probes.Some(b[0] == '1')
	}
}

// count follows changes of the link and the time it spends below its maximum.
// A link that is down is a state; one that could not be read is none.
func (r *reader) count(now *Reading, at time.Duration) {
	if now.Asleep || now.Lost != "" || now.Link.Width == 0 && !now.down {
		r.known = false
		return
	}
	if r.known && now.Link != r.before && (now.down || r.before.Width == 0 || (now.Link.Speed == 0) == (r.before.Speed == 0)) {
		now.Transitions++
	}
	if r.known && below(now.Link, r.max) && below(r.before, r.max) {
		now.BelowMax += at - r.lastAt
	}
	r.before, r.known = now.Link, true
}

// below says whether a known part of a link is less than what it can be.
func below(link, most pci.Link) bool {
	return link.Width > 0 && link.Width < most.Width || link.Speed > 0 && link.Speed < most.Speed
}
