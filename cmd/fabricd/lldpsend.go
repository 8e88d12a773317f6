// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/collectors/lldp"
	"github.com/fabricd/fabricd/probes"
	frames "github.com/fabricd/fabricd/probes/lldp"
)

func (a *app) lldpSend(f *lldpFlags) error {
	if a.host.recording != "" {
		return usage("lldp send announces this machine: --host has none to announce")
	}
	h, _, err := a.open()
	if err != nil {
		return err
	}
	ports, err := sendPorts(h.Inventory(), f.ports)
	if err != nil {
		return err
	}
	names := make([]string, len(ports))
	for i, n := range ports {
		names[i] = n.Name
	}
	fmt.Fprintf(a.stderr, "announces %s on %s every %s, with host name, port, role and MTU; takes it back at the end\n", hostName(h), strings.Join(names, ", "), lldp.Interval)
	if !f.yes {
		return usage("lldp send makes this machine visible to its switches: say --yes if that is wanted")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	open := func(n *probes.Netdev) (sender, error) { return frames.NewSender(h, n) }
	return newAnnouncer(ports, probes.Self{Host: hostName(h), Version: version}, open, a.stderr).run(ctx, h)
}

func sendPorts(inv *probes.Inventory, names []string) ([]*probes.Netdev, error) {
	var list []*probes.Netdev
	for _, n := range frames.Ports(inv) {
		if len(names) == 0 && n.Carrier.V || slices.Contains(names, n.Name) {
			list = append(list, n)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(list, func(n *probes.Netdev) bool { return n.Name == name }) {
			return nil, usage("%s is no Ethernet port of this machine", probes.Printable(name))
		}
	}
	if len(list) == 0 {
		return nil, exitError{exitUnknown, errors.New("there is no Ethernet port with link")}
	}
	return list, nil
}

// A sender sends frames on one port.
type sender interface {
	Send(*frames.Frame) error
	Close()
}

// An announcer sends on some ports, each for itself: one that is down holds up
// no other.
type announcer struct {
	self    probes.Self
	open    func(*probes.Netdev) (sender, error)
	log     io.Writer
	ports   []*announced
	chassis frames.MAC // the first: with another this would be another machine
}

type announced struct {
	place  string // that the port keeps when it is given another name
	name   string
	sender sender
	frame  *frames.Frame // the last that was sent; nil: none since the link came
	next   time.Duration
	state  string // as it was told
}

func newAnnouncer(ports []*probes.Netdev, self probes.Self, open func(*probes.Netdev) (sender, error), log io.Writer) *announcer {
	a := &announcer{self: self, open: open, log: log}
	for _, n := range ports {
		a.ports = append(a.ports, &announced{place: placeOf(n), name: n.Name, state: spoken})
	}
	return a
}

// placeOf tells a port from others, whatever it is called.
func placeOf(n *probes.Netdev) string {
	return fmt.Sprintf("%s %d %s", n.Function.Address, n.DevPort, n.PhysPortName)
}

const (
	lookEvery = 2 * time.Second // at links, names and MTUs
	spoken    = "announced"
)

// run sends until ctx ends. What is not permitted at the start ends it at once.
func (a *announcer) run(ctx context.Context, h *probes.Host) error {
	defer a.goodbye()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	start := time.Now()
	if err := a.step(h.Inventory(), 0); err != nil && !slices.ContainsFunc(a.ports, func(p *announced) bool { return p.sender != nil }) {
		return exitError{exitUnknown, err}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			_ = a.step(h.Refresh(), time.Since(start)) // it has told
		}
	}
}

// step sends on every port where it is time, or where there is something new,
// and tells each port's state when it changes. The error is of a port that
// could not be opened.
func (a *announcer) step(inv *probes.Inventory, at time.Duration) (failed error) {
	speaker := lldp.NewSpeaker(inv, a.self)
	if a.chassis == (frames.MAC{}) {
		a.chassis = speaker.Chassis
	}
	speaker.Chassis = a.chassis
	list := frames.Ports(inv)
	for _, p := range a.ports {
		state := spoken
		i := slices.IndexFunc(list, func(n *probes.Netdev) bool { return placeOf(n) == p.place })
		switch {
		case i < 0:
			state = "is gone"
		case list[i].Carrier.OK && !list[i].Carrier.V:
			state = "has no link"
		default:
			if err := p.send(list[i], speaker, a.open, at); err != nil {
				state = "is not announced: " + err.Error()
				if p.sender == nil {
					failed = err
				}
			}
		}
		if state != spoken {
			p.silence()
		}
		if state != p.state {
			fmt.Fprintf(a.log, "%s: %s\n", p.name, state)
		}
		p.state = state
	}
	return failed
}

// send sends if it is time, or if the port's name, MTU or role is another.
func (p *announced) send(n *probes.Netdev, speaker lldp.Speaker, open func(*probes.Netdev) (sender, error), at time.Duration) error {
	f, err := speaker.Frame(n)
	if err != nil {
		return err
	}
	same := p.frame != nil && bytes.Equal(f.Append(nil), p.frame.Append(nil))
	if same && at < p.next {
		return nil
	}
	if p.frame != nil && p.frame.Port != f.Port { // the neighbour would know two ports
		_ = p.sender.Send(p.frame.Shutdown())
		p.silence()
	}
	p.name = n.Name
	if p.sender == nil {
		if p.sender, err = open(n); err != nil {
			p.sender = nil
			return err
		}
	}
	if err := p.sender.Send(f); err != nil {
		return err
	}
	p.frame, p.next = f, at+lldp.Interval
	return nil
}

// silence forgets what was sent: it is sent anew as soon as that is possible.
func (p *announced) silence() {
	if p.sender != nil {
		p.sender.Close()
	}
	p.sender, p.frame = nil, nil
}

// goodbye takes back what was said.
func (a *announcer) goodbye() {
	for _, p := range a.ports {
		if p.frame != nil {
			_ = p.sender.Send(p.frame.Shutdown())
		}
		p.silence()
	}
}
