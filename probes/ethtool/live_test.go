// SPDX-License-Identifier: Apache-2.0

package ethtool_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fabricd/fabricd/internal/nettest"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/dcb"
	"github.com/fabricd/fabricd/probes/ethtool"
	"golang.org/x/sys/unix"
)

// namespace makes a network namespace with two ends of a cable for the test,
// va and vb.
func namespace(t *testing.T) *probes.Host {
	t.Helper()
	nettest.Enter(t, 0)
	nettest.Command(t, "ip link add va type veth peer name vb")
	nettest.Command(t, "ip link set va up")
	nettest.Command(t, "ip link set vb up")
	h, err := probes.Live("/", probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A veth has statistics and nothing else: what the kernel says is what is read.
func TestLive(t *testing.T) {
	h := namespace(t)
	for _, relabels := range []bool{false, true} {
		p, err := ethtool.Open(h, "va", relabels)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		d, err := p.Driver()
		if err != nil || d.Name != "veth" {
			t.Errorf("driver %+v, %v", d, err)
		}
		s, err := p.Statistics()
		if err != nil || len(s.Names) == 0 || s.Names[0] != "peer_ifindex" || len(s.Values) != len(s.Names) || s.Values[0] == 0 {
			t.Fatalf("statistics %+v, %v", s, err)
		}
		if n := testing.AllocsPerRun(20, func() { _, err = p.Statistics() }); err != nil || n > 0 {
			t.Errorf("%v allocations, %v", n, err)
		}
		for name, ask := range map[string]func() error{
			"pause": func() error { _, err := p.Pause(); return err }, "rings": func() error { _, err := p.Rings(); return err },
			"fec": func() error { _, err := p.FEC(); return err }, "flags": func() error { _, err := p.Flags(); return err },
			"prevention": func() error { _, err := p.Prevention(); return err },
		} {
			if err := ask(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := dcb.Get(h, "va"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("dcbnl of a veth: %v", err)
	}
	if _, err := dcb.Get(h, "nosuch"); !errors.Is(err, unix.ENODEV) {
		t.Errorf("dcbnl of no interface: %v", err)
	}
}

// An interface of the same name that is another one is not taken for it.
func TestLiveReplaced(t *testing.T) {
	h := namespace(t)
	p, err := ethtool.Open(h, "va", false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Statistics(); err != nil {
		t.Fatal(err)
	}
	nettest.Command(t, "ip link del va")
	if _, err := p.Statistics(); !errors.Is(err, unix.ENODEV) {
		t.Errorf("a removed interface: %v", err)
	}
	nettest.Command(t, "ip link add va type veth peer name vb")
	if _, err := p.Statistics(); !errors.Is(err, ethtool.ErrReplaced) {
		t.Errorf("an interface that came back: %v", err)
	}
	if _, err := ethtool.Open(h, "a-name-that-is-too-long", false); err == nil {
		t.Error("a name that no interface can have is opened")
	}
}

// An interface that /sys shows and the kernel does not know here is one of
// another network namespace: a container sees the host's /sys.
func TestElsewhere(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"proc", "sys/class/net/none0"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "sys/class/net/none0/ifindex"), []byte("7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := probes.Live(root, probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ethtool.Open(h, "none0", false); !errors.Is(err, ethtool.ErrElsewhere) {
		t.Errorf("%v, want %v", err, ethtool.ErrElsewhere)
	}
	if _, err := ethtool.Open(h, "none1", false); err == nil || errors.Is(err, ethtool.ErrElsewhere) {
		t.Errorf("%v of an interface that is nowhere", err)
	}
}
