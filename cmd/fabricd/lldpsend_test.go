// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes"
	frames "github.com/fabricd/fabricd/probes/lldp"
)

// wire notes what is sent; broken ports send nothing.
type wire struct {
	sent   []string
	broken map[string]bool
}

type wireEnd struct {
	*wire
	port string
}

func (w wireEnd) Send(f *frames.Frame) error {
	if w.broken[w.port] {
		return errors.New("network is down")
	}
	w.sent = append(w.sent, fmt.Sprintf("%s %d %d", frames.Text(f.PortDescription), f.TTL, f.MTU))
	return nil
}

func (w wireEnd) Close() {}

// One port that goes down, comes back and changes holds up no other.
func TestAnnouncer(t *testing.T) {
	inv := &probes.Inventory{}
	for i, name := range []string{"eth0", "eth1"} {
		f := &probes.Function{Address: fmt.Sprintf("0000:0%d:00.0", i)}
		n := &probes.Netdev{Name: name, MAC: fmt.Sprintf("02:00:00:00:00:0%d", i), MTU: 1500, Port: true, Type: 1, Carrier: probes.Some(true), Function: f}
		f.Netdevs = []*probes.Netdev{n}
		inv.Netdevs = append(inv.Netdevs, n)
	}
	w, log := &wire{broken: map[string]bool{}}, &strings.Builder{}
	a := newAnnouncer(inv.Netdevs, probes.Self{Host: "gpu-07"}, func(n *probes.Netdev) (sender, error) { return wireEnd{w, n.Name}, nil }, log)
	for _, test := range []struct {
		at     time.Duration
		change func(*probes.Netdev)
		sent   []string
		log    string
	}{
		{0, nil, []string{"eth0 120 1518", "eth1 120 1518"}, ""},
		{2, nil, nil, ""},
		{30, func(*probes.Netdev) { w.broken["eth0"] = true }, []string{"eth1 120 1518"}, "eth0: is not announced: network is down\n"},
		{32, nil, nil, ""},
		{34, func(*probes.Netdev) { w.broken["eth0"] = false }, []string{"eth0 120 1518"}, "eth0: announced\n"},
		{36, func(n *probes.Netdev) { n.Carrier = probes.Some(false) }, nil, "eth0: has no link\n"},
		{38, func(n *probes.Netdev) { n.Carrier = probes.Some(true) }, []string{"eth0 120 1518"}, "eth0: announced\n"},
		{40, func(n *probes.Netdev) { n.MTU = 9000 }, []string{"eth0 120 9018"}, ""},
		{42, func(n *probes.Netdev) { n.Name = "rail0" }, []string{" 0 0", "rail0 120 9018"}, ""},
		{44, func(n *probes.Netdev) { n.Port = false }, nil, "rail0: is gone\n"},
		{60, nil, []string{"eth1 120 1518"}, ""},
	} {
		w.sent = nil
		log.Reset()
		if test.change != nil {
			test.change(inv.Netdevs[0])
		}
		_ = a.step(inv, test.at*time.Second)
		if !slices.Equal(w.sent, test.sent) || log.String() != test.log {
			t.Errorf("at %d s: sent %q, want %q; told %q, want %q", test.at, w.sent, test.sent, log, test.log)
		}
	}
	w.sent = nil
	if a.goodbye(); !slices.Equal(w.sent, []string{" 0 0"}) {
		t.Errorf("at the end: %q", w.sent)
	}
}

// Whoever announces the machine is heard by the switch, and takes it back at
// the end: the command, and the daemon.
func TestAnnouncedOnACable(t *testing.T) {
	p := program(t)
	c := newCable(t)
	name, err := os.Hostname()
	c.must(err)
	for _, args := range [][]string{{"lldp", "send", "--yes"}, {"run", "--collector.lldp.send", "--web.listen-address=127.0.0.1:9794"}} {
		c.start(p, args...)
		first := c.hear("announcement", func(f *frames.Frame) bool { return f.TTL > 0 })
		if first.SystemName != name || first.Port.String() != "fd0" || first.MTU != 1518 || first.TTL != 120 || !strings.Contains(first.SystemDescription, "fabricd") {
			t.Errorf("%v: %+v", args, first)
		}
		c.must(c.daemon.Process.Signal(syscall.SIGTERM))
		last := c.hear("goodbye", func(f *frames.Frame) bool { return f.TTL == 0 })
		if last.Chassis != first.Chassis || last.Port != first.Port {
			t.Errorf("%v: %+v takes back %+v", args, last, first)
		}
		if err := c.daemon.Wait(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, c.stderr)
		}
	}
}
