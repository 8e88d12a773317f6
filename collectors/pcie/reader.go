// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"context"
	"errors"
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

	Transitions uint64        // changes of speed or width seen between reads
	BelowMax    time.Duration // time seen below what both ends can do

	AER       *AER // nil: no counters
	Config    *pci.Config
	ConfigErr error
	L1        probes.Value[bool] // sysfs link/l1_aspm
}

type reader struct {
	host *probes.Host
	dir  *probes.Dir
	max  pci.Link
	port bool // an upper end: its link is the one below it and is read there

	speed, width, power *probes.Attr
	aer                 aerReader
	last                Reading
	lastAt, configAt    time.Duration
	read                bool
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
	r := &reader{host: h, dir: dir, max: f.Max, last: Reading{Address: address}}
	if f.Parent != nil {
		r.max = f.Max.Min(f.Parent.Max)
	}
	r.port = f.Kind == pci.Bridge && !topo.UpstreamPort(f)
	r.speed, r.width = dir.Attr("current_link_speed", 64), dir.Attr("current_link_width", 16)
	r.power = dir.Attr("power/runtime_status", 16)
	r.aer = newAERReader(dir)
	return r, nil
}

func (r *reader) Close() {
	for _, a := range []*probes.Attr{r.speed, r.width, r.power} {
		a.Close()
	}
	r.aer.close()
	r.dir.Close()
}

// Read takes one reading. A suspended function is left asleep: reading its
// link would wake the port above it.
func (r *reader) Read(at time.Duration) (*Reading, error) {
	now := r.last
	now.Asleep, now.Lost, now.Trouble, now.Link = r.asleep(), "", "", pci.Link{}
	var errs []error
	if !now.Asleep {
		if !r.port {
			if err := r.readLink(&now); err != nil {
				errs = append(errs, err)
			}
		}
		if !r.read || r.host.Recorded() || at-r.configAt >= configEvery {
			r.readConfig(&now)
			r.configAt = at
		}
	} else {
		now.Trouble = "the device is suspended and was not woken to be asked"
	}
	now.AER = r.aer.read()
	r.count(&now, at)
	r.last, r.lastAt, r.read = now, at, true
	return &now, errors.Join(errs...)
}

func (r *reader) asleep() bool {
	b, err := r.power.Read()
	return err == nil && (string(b) == "suspended" || string(b) == "suspending")
}

// readLink reads speed and width. The error is what is worth counting; a
// function without a link has none.
func (r *reader) readLink(now *Reading) error {
	speed, errSpeed := r.speed.Read()
	if errSpeed == nil {
		now.Link.Speed, _ = pci.ParseSpeed(speed)
	}
	width, errWidth := r.width.Read()
	if errWidth == nil {
		lanes, ok := pci.ParseWidth(width)
		switch {
		case ok && lanes == pci.WidthLost && now.Link.Speed == 0:
			now.Lost = "its link registers read all ones (width 63)"
		case ok && lanes < pci.WidthLost:
			now.Link.Width = lanes
		}
	}
	err := errSpeed
	if err == nil || errors.Is(err, fs.ErrNotExist) && errWidth != nil {
		err = errWidth
	}
	switch {
	case err == nil:
		if now.Link.Width == 0 && now.Lost == "" {
			now.Trouble = "the link reads width 0: it is down, or the function has no link registers"
		}
		return nil
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENODEV):
		now.Lost = "its link files answer " + probes.Reason(err) + ": the kernel has marked it disconnected"
	case errors.Is(err, fs.ErrNotExist):
		now.Trouble = "the function has no link files"
		return nil
	default:
		now.Trouble = "its link files answer " + probes.Reason(err)
	}
	return err
}

// readConfig parses configuration space as far as this process may see it.
func (r *reader) readConfig(now *Reading) {
	now.Config, now.ConfigErr = nil, nil
	b, err := r.dir.ReadFile("config")
	if err == nil {
		var c pci.Config
		if c, err = pci.ParseConfig(b); err == nil {
			now.Config = &c
		}
	}
	now.ConfigErr = err
	if errors.Is(err, pci.ErrAllOnes) && now.Lost == "" {
		now.Lost = "its configuration space reads all ones"
	}
	now.L1 = probes.Value[bool]{}
	if b, err := r.dir.ReadFile("link/l1_aspm"); err == nil && len(b) > 0 {
		now.L1 = probes.Some(b[0] == '1')
	}
}

// count follows changes of the link and the time it spends below its maximum.
func (r *reader) count(now *Reading, at time.Duration) {
	if !r.read || now.Link.Width == 0 || r.last.Link.Width == 0 {
		return
	}
	if now.Link != r.last.Link && (now.Link.Speed == 0) == (r.last.Link.Speed == 0) {
		now.Transitions++
	}
	if below(now.Link, r.max) && below(r.last.Link, r.max) {
		now.BelowMax += at - r.lastAt
	}
}

// below says whether a known part of a link is less than what it can be.
func below(link, most pci.Link) bool {
	return link.Width > 0 && link.Width < most.Width || link.Speed > 0 && link.Speed < most.Speed
}
