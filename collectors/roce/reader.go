// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/dcb"
	"github.com/fabricd/fabricd/probes/dcqcn"
	"github.com/fabricd/fabricd/probes/ethtool"
	"github.com/fabricd/fabricd/probes/pci"
)

// How often each source is asked at most, whatever the budget allows.
const (
	costlyEvery  = time.Second // the statistics of a driver that asks its firmware for each
	dcbEvery     = 10 * time.Second
	fecEvery     = time.Second
	settingEvery = 30 * time.Second
	dcqcnEvery   = 5 * time.Minute
	refusedEvery = 30 * time.Second

	// How long after an event all of that is asked anew, at least: of what
	// happened to the interface itself, and of what may be about others only, as
	// the links that containers come and go with.
	ownRest   = time.Second
	otherRest = 10 * time.Second
)

// A Reading is what one interface's driver answers. It is never changed.
type Reading struct {
	Netdev string
	Driver string // "" if it does not tell
	// Counters is nil where the driver has none or could not be asked; Err says why.
	Counters *Counters
	Err      error
	FEC      *ethtool.FEC // nil: not told
	*Settings
}

// A timer says when something is to be read again.
type timer struct {
	every time.Duration
	next  time.Duration
}

// due says whether it is time, and sets the next one.
func (t *timer) due(at time.Duration, always bool) bool {
	if !always && at < t.next {
		return false
	}
	t.next = at + t.every - t.every/8 // ticks are not exact
	return true
}

// events are what happened since all was asked.
type events struct {
	at         time.Duration // when that was
	own, other bool
	link       probes.Netdev // as it was then
}

// due says whether all is to be asked anew.
func (e *events) due(at time.Duration) bool {
	return e.own && at-e.at >= ownRest || e.other && at-e.at >= otherRest
}

// look notes an event, after which the interface is as n.
func (e *events) look(n *probes.Netdev) {
	link := *n
	link.Function = nil // the same one, found anew
	e.own, e.other = e.own || link != e.link, true
	e.link = link
}

type reader struct {
	h       *probes.Host
	unit    string
	raw     string // the interface's name as the kernel has it
	dir     string // in sysfs
	address string
	id      uint64 // the interface's identity when it was opened
	port    *ethtool.Port
	portErr error
	driver  string
	vendor  *vendor
	plan    *plan
	names   int    // generation of the names that plan is of
	seen    uint64 // generation of the inventory

	events

	last                                      *Reading
	counters, dcb, fec, settings, dcqcn, told timer
}

func open(_ context.Context, h *probes.Host, unit string) (collectors.Reader[Reading], error) {
	inv := h.Inventory()
	n := netdev(inv, unit)
	if n == nil {
		return nil, &fs.PathError{Op: "find", Path: unit, Err: fs.ErrNotExist}
	}
	id, err := identity(h, n.Path)
	if err != nil {
		return nil, err
	}
	r := &reader{
		h: h, unit: unit, raw: path.Base(n.Path), dir: n.Path, address: n.Function.Address, id: id, seen: inv.Generation,
		dcb: timer{every: dcbEvery}, fec: timer{every: fecEvery}, settings: timer{every: settingEvery},
		dcqcn: timer{every: dcqcnEvery}, told: timer{every: refusedEvery},
	}
	r.events.look(n)
	r.driver = n.Function.Driver
	if r.port, r.portErr = ethtool.Open(h, r.raw, find(r.driver) != nil && find(r.driver).relabels); r.portErr == nil {
		r.portErr = r.introduce()
	}
	return r, nil
}

func identity(h *probes.Host, dir string) (uint64, error) {
	d, err := h.Dir(dir)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	return d.Identity()
}

// introduce asks who the driver is, and makes sure that it is the one of the
// interface that sysfs shows: in a container the two may be of different
// network namespaces.
func (r *reader) introduce() error {
	d, err := r.port.Driver()
	if err == nil && d.Name != "" {
		r.driver = d.Name
	}
	if r.vendor = find(r.driver); r.vendor != nil && r.vendor.relabels {
		r.counters.every = costlyEvery
	}
	a, badAddress := pci.ParseAddress(d.Bus)
	if !r.h.Recorded() && err == nil && badAddress == nil && a.String() != r.address {
		return ethtool.ErrElsewhere
	}
	return nil
}

func (r *reader) Close() {
	if r.port != nil {
		r.port.Close()
	}
}

// Read takes one reading. What the driver does not have is no error; what it
// refused is asked again after an event, or later.
func (r *reader) Read(at time.Duration) (*Reading, error) {
	if inv := r.h.Inventory(); inv.Generation != r.seen {
		if err := r.check(inv); err != nil {
			return nil, err
		}
		r.seen = inv.Generation
	}
	fresh := r.last == nil || r.h.Recorded() || r.due(at)
	if fresh {
		r.events = events{at: at, link: r.link}
	}
	now := Reading{Netdev: r.unit, Driver: r.driver, Settings: &Settings{}}
	if r.last != nil {
		now = *r.last
	}
	err := r.count(&now, at, fresh)
	if errors.Is(err, ethtool.ErrReplaced) {
		return nil, collectors.ErrReopen
	}
	err = errors.Join(err, r.ask(&now, at, fresh))
	if err = plain(err); r.last == nil || now != *r.last {
		r.last = &now
	}
	return r.last, err
}

// plain gives an error alone that was joined with nothing.
func plain(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) == 1 {
		return joined.Unwrap()[0]
	}
	return err
}

// check looks whether the interface is still the one that was opened.
func (r *reader) check(inv *probes.Inventory) error {
	n := netdev(inv, r.unit)
	if n == nil {
		return &fs.PathError{Op: "find", Path: r.unit, Err: fs.ErrNotExist}
	}
	if id, err := identity(r.h, n.Path); err != nil {
		return err
	} else if id != r.id {
		return collectors.ErrReopen
	}
	r.look(n)
	return nil
}

// worth gives an error that is to be counted: not that of a driver which does
// not have something, or of a caller who may not.
func worth(err error) error {
	if err == nil || probes.Refused(err) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// count reads the statistics.
func (r *reader) count(now *Reading, at time.Duration, fresh bool) error {
	if r.portErr != nil {
		now.Err = r.portErr
		return worth(r.portErr)
	}
	if now.Err != nil && probes.Refused(now.Err) && !r.told.due(at, fresh) || !r.counters.due(at, r.h.Recorded()) {
		return nil
	}
	s, err := r.port.Statistics()
	now.Counters, now.Err = nil, err
	if err != nil {
		return worth(err)
	}
	if r.plan == nil || r.names != s.Generation {
		if r.plan != nil {
			r.dcb.next = 0 // other names are a sign of another configuration
		}
		r.plan, r.names = newPlan(r.vendor, s.Names), s.Generation
	}
	now.Counters = r.plan.collect(at, s.Values)
	return nil
}

// ask reads the settings that are due.
func (r *reader) ask(now *Reading, at time.Duration, fresh bool) error {
	var errs []error
	set := *now.Settings
	if r.dcb.due(at, fresh) {
		if set.DCB, set.DCBErr = nil, r.portErr; r.portErr == nil { // which count tells
			set.DCB, set.DCBErr = dcb.Get(r.h, r.raw)
			errs = append(errs, worth(set.DCBErr))
		}
	}
	if r.settings.due(at, fresh) {
		errs = append(errs, r.readSettings(&set))
	}
	if r.dcqcn.due(at, fresh) {
		set.DCQCN, set.DCQCNErr = dcqcn.Read(r.h, r.dir, r.address, r.driver)
		errs = append(errs, worth(set.DCQCNErr))
	}
	if r.fec.due(at, fresh) && r.portErr == nil {
		now.FEC = nil
		if f, err := r.port.FEC(); err == nil {
			now.FEC = &f
		} else {
			errs = append(errs, worth(err))
		}
	}
	if set != *now.Settings {
		now.Settings = &set
	}
	return errors.Join(errs...)
}
