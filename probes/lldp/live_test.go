// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/internal/nettest"
	"github.com/fabricd/fabricd/probes"
	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// A bench is two network namespaces: the test's own, which holds the host's
// ports, and the switch's. They live as long as the test.
type bench struct {
	t    *testing.T
	host *probes.Host
	root string
	peer int // a process in the switch's namespace
}

// newBench moves the test's thread into a namespace of its own.
func newBench(t *testing.T, programs ...string) *bench {
	nettest.Enter(t, unix.CLONE_NEWNS, append(programs, "nsenter")...)
	b := &bench{t: t, root: t.TempDir(), peer: nettest.Elsewhere(t)}
	for _, dir := range []string{"proc", "sys"} {
		if err := os.Mkdir(filepath.Join(b.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("sysfs", b.root+"/sys", "sysfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(b.root+"/sys", unix.MNT_DETACH) })
	host, err := probes.Live(b.root, probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.host = host
	return b
}

func (b *bench) run(name string, args ...string) string {
	b.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// there runs a program in the switch's namespace.
func (b *bench) there(args ...string) string {
	b.t.Helper()
	return b.run("nsenter", append([]string{"-t", fmt.Sprint(b.peer), "-n"}, args...)...)
}

// cable makes an interface of the host, with its files in sysfs, and the
// switch's end of the cable.
func (b *bench) cable(name, far string) *probes.Netdev {
	b.t.Helper()
	b.run("ip", "link", "add", name, "type", "veth", "peer", "name", far)
	b.run("ip", "link", "set", far, "netns", fmt.Sprint(b.peer))
	b.run("ip", "link", "set", name, "up")
	b.there("ip", "link", "set", far, "up")
	return b.netdev(name)
}

func (b *bench) netdev(name string) *probes.Netdev {
	b.t.Helper()
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return &probes.Netdev{Name: name, Path: "sys/devices/virtual/net/" + name, MAC: ifi.HardwareAddr.String(), MTU: ifi.MTU, Port: true, Type: 1}
}

func (b *bench) open(n *probes.Netdev) *Port {
	b.t.Helper()
	p, err := Open(b.host, n)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(p.Close)
	b.read(p) // the socket is there from the first read on
	return p
}

func (b *bench) read(p *Port) *State {
	b.t.Helper()
	s, err := p.Read(time.Duration(time.Now().UnixNano()))
	if err != nil {
		b.t.Fatal(err)
	}
	if s.Err != nil {
		b.t.Fatal(s.Err)
	}
	return s
}

// await reads until what is wanted is there.
func (b *bench) await(p *Port, what string, want func(*State) bool) *State {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		s := b.read(p)
		if want(s) {
			return s
		}
		if time.Now().After(end) {
			b.t.Fatalf("no %s: %+v", what, s)
		}
	}
}

// An agent is an lldpd.
type agent struct {
	b      *bench
	dir    string
	cmd    *exec.Cmd
	prefix []string // how to reach its namespaces
}

// lldpd starts one on an interface, in the switch's namespace or beside us.
func (b *bench) lldpd(there bool, netdev string) *agent {
	b.t.Helper()
	dir, err := os.MkdirTemp("", "lldpd")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // lldpcli gives up its rights
		b.t.Fatal(err)
	}
	start := "mount -t tmpfs none /run && mkdir -p /run/lldpd && exec lldpd -d -I " + netdev + " -u " + dir + "/s -C " + netdev
	args := []string{"unshare", "-m", "sh", "-c", start}
	var prefix []string
	if there {
		prefix = []string{"nsenter", "-t", fmt.Sprint(b.peer), "-n"}
	}
	args = append(prefix, args...)
	a := &agent{b: b, dir: dir, prefix: prefix, cmd: exec.Command(args[0], args[1:]...)}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	errs, err := a.cmd.StderrPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(a.stop)
	// It starts paused, until an lldpcli of its own has read the configuration and says "resume"; that one writes
	// back all settings as it found them, and so does ours: who comes in between loses his words, or pauses it again.
	log := bufio.NewScanner(errs)
	for log.Scan() {
		if strings.Contains(log.Text(), "lldpd should resume operations") {
			go io.Copy(io.Discard, errs)
			return a
		}
	}
	b.t.Fatal("lldpd does not start", log.Err())
	return nil
}

func (a *agent) stop() {
	if a.cmd.ProcessState == nil {
		_ = a.cmd.Process.Signal(syscall.SIGTERM)
		_ = a.cmd.Wait()
	}
}

func (a *agent) cli(words string) string {
	a.b.t.Helper()
	args := slices.Concat(a.prefix, []string{"lldpcli", "-u", a.dir + "/s"}, strings.Fields(words))
	return a.b.run(args[0], args[1:]...)
}

// A real lldpd is the switch: all that it says is understood, its goodbye
// too, and what is sent to it stands in its table.
func TestAgainstLLDPD(t *testing.T) {
	b := newBench(t, "lldpd", "lldpcli")
	n := b.cable("fd0", "sw0")
	port := b.open(n)
	sw := b.lldpd(true, "sw0")
	sw.cli("configure system hostname leaf-01")
	sw.cli("configure system description a-switch")
	sw.cli("configure ports sw0 lldp portidsubtype local Ethernet1/7 description etp7")
	sw.cli("configure lldp custom-tlv oui 00,80,c2 subtype 11 oui-info 08,08")
	sw.cli("configure lldp custom-tlv add oui 00,80,c2 subtype 9 oui-info 00,00,01,23,45,32,32,00,00,00,00,00,00,02,02,00,00,00,00,00,00")
	sw.cli("configure lldp custom-tlv add oui 00,80,c2 subtype 12 oui-info 00,63,12,b7,75,00,1a")
	sw.cli("configure lldp tx-interval 1")

	s := b.await(port, "neighbour with PFC", func(s *State) bool {
		return len(s.Neighbours) == 1 && s.Neighbours[0].Apps.Present && s.Neighbours[0].SystemName == "leaf-01"
	})
	f := s.Neighbours[0].Frame
	if f.SystemName != "leaf-01" || f.Port.String() != "Ethernet1/7" || f.Port.Subtype != PortLocal || f.PortDescription != "etp7" || !f.Chassis.IsMAC() || f.SystemDescription != "a-switch" {
		t.Errorf("%+v", f)
	}
	if f.PFC.Enabled != 1<<3 || f.PFC.Capability != 8 || f.ETS.PriorityTC != [8]uint8{0, 0, 0, 1, 2, 3, 4, 5} || f.ETS.Bandwidth[1] != 50 || f.ETS.Algorithm[1] != TSAETS ||
		f.Apps.At(0) != (App{3, SelectUDP, 4791}) || f.Apps.At(1) != (App{3, SelectDSCP, 26}) {
		t.Errorf("%+v", f)
	}

	own, err := Announcement{Chassis: MAC{2, 0, 0, 0, 0, 9}, Host: "gpu-07", System: "fabricd test", TTL: 60}.Frame(n)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := NewSender(b.host, n)
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	if err := sender.Send(own); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"02:00:00:00:00:09", "gpu-07", "fabricd test", "fd0", "1518", "Station"} {
		shows(t, sw, want, true)
	}
	if err := sender.Send(own.Shutdown()); err != nil {
		t.Fatal(err)
	}
	shows(t, sw, "gpu-07", false)

	sw.stop()
	if s := b.await(port, "goodbye", func(s *State) bool { return len(s.Neighbours) == 0 }); s.Counts[Shutdown] == 0 {
		t.Errorf("%+v", s)
	}
}

// shows waits for a word in an agent's table, or for its absence.
func shows(t *testing.T, a *agent, word string, want bool) {
	t.Helper()
	out := ""
	for range 100 {
		if out = a.cli("show neighbors details"); strings.Contains(out, word) == want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%q is there: %v, want %v; lldpcli shows\n%s", word, !want, want, out)
}

// An lldpd on this host goes on as before, and is not taken for a neighbour.
func TestBesideLLDPD(t *testing.T) {
	b := newBench(t, "lldpd", "lldpcli")
	n := b.cable("fd0", "sw0")
	port := b.open(n)
	sw, beside := b.lldpd(true, "sw0"), b.lldpd(false, "fd0")
	sw.cli("configure system hostname leaf-01")
	beside.cli("configure system hostname gpu-07")
	sw.cli("configure lldp tx-interval 1")
	beside.cli("configure lldp tx-interval 1")
	b.say(n, "ourselves")
	shows(t, beside, "leaf-01", true)
	shows(t, sw, "gpu-07", true)
	shows(t, beside, "ourselves", false)
	s := b.await(port, "neighbour", func(s *State) bool { return s.Counts[Accepted] >= 3 })
	if len(s.Neighbours) != 1 || s.Neighbours[0].SystemName != "leaf-01" {
		t.Errorf("%+v", s)
	}
}

// inject sends bytes from the switch's end of a cable.
func (b *bench) inject(far string, frames ...[]byte) {
	b.t.Helper()
	fd, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", b.peer))
	if err != nil {
		b.t.Fatal(err)
	}
	defer fd.Close()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		b.t.Fatal(err)
	}
	defer own.Close()
	if err := unix.Setns(int(fd.Fd()), unix.CLONE_NEWNET); err != nil {
		b.t.Fatal(err)
	}
	defer func() {
		if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
			b.t.Fatal(err)
		}
	}()
	ifi, err := net.InterfaceByName(far)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := packet.Listen(ifi, packet.Raw, receiveNothing, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	for _, f := range frames {
		if _, err := c.WriteTo(f, &packet.Addr{HardwareAddr: f[:6]}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// say sends one frame on the host's end of a cable.
func (b *bench) say(n *probes.Netdev, host string) {
	b.t.Helper()
	sender, err := NewSender(b.host, n)
	if err != nil {
		b.t.Fatal(err)
	}
	defer sender.Close()
	own, err := Announcement{Host: host, TTL: 60}.Frame(n)
	if err == nil {
		err = sender.Send(own)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestSockets(t *testing.T) {
	b := newBench(t)
	plain, bridged, forwarding := b.cable("fd0", "sw0"), b.cable("fd1", "sw1"), b.cable("fd2", "sw2")
	for _, bridge := range []struct {
		name string
		port *probes.Netdev
		mask string
	}{{"br0", bridged, "0"}, {"br1", forwarding, "0x4000"}} {
		b.run("ip", "link", "add", bridge.name, "type", "bridge", "group_fwd_mask", bridge.mask)
		b.run("ip", "link", "set", bridge.name, "up")
		b.run("ip", "link", "set", bridge.port.Name, "master", bridge.name)
	}
	ports := map[string]*Port{"sw0": b.open(plain), "sw1": b.open(bridged), "sw2": b.open(forwarding)}
	counts := func(far string) Counts { return b.read(ports[far]).Counts }

	for far := range ports {
		b.inject(far, of("a", "1", 120))
		if s := b.await(ports[far], "neighbour on "+far, func(s *State) bool { return len(s.Neighbours) == 1 }); s.Neighbours[0].Chassis.Value != "a" {
			t.Errorf("%s: %+v", far, s)
		}
	}
	tagged := full()
	tagged.Chassis.Value = "\x02\x00\x00\x00\x00\x02"
	untagged := tagged.Append(nil)
	qinq := append(append(append([]byte{}, untagged[:12]...), 0x88, 0xa8, 0, 5), untagged[12:]...)
	b.inject("sw0", untagged, qinq)
	b.await(ports["sw0"], "tagged frame", func(s *State) bool { return len(s.Neighbours) == 2 })
	if got := counts("sw0"); got != (Counts{Accepted: 2}) {
		t.Errorf("two tags: %v", got)
	}
	// The kernel's filter passes LLDP alone; what is broken in it is counted.
	b.inject("sw0", append(of("b", "1", 1)[:12], make([]byte, 48)...), of("c", "1", 1)[:20])
	b.await(ports["sw0"], "malformed frame", func(s *State) bool { return s.Counts[Malformed] == 1 })

	// Whoever keeps no table gets the frames as they are.
	e, err := NewEar(b.host, plain)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	b.inject("sw0", of("e", "1", 120))
	var got []byte
	for range 100 {
		if err := e.Receive(func(frame []byte) { got = append(got, frame...) }); err != nil {
			t.Fatal(err)
		}
		if got != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !bytes.Equal(got, of("e", "1", 120)) {
		t.Errorf("%x", got)
	}

	// The interface goes and comes back under its name: the socket follows.
	b.run("ip", "link", "del", "fd0")
	if s, err := ports["sw0"].Read(time.Duration(time.Now().UnixNano())); err == nil {
		t.Errorf("nobody notices that the interface is gone: %+v", s)
	}
	again := b.open(b.cable("fd0", "sw0"))
	b.inject("sw0", of("d", "1", 120))
	b.await(again, "neighbour on the new interface", func(s *State) bool { return len(s.Neighbours) == 1 })
}

// Without the right to listen the state says which one is missing.
func TestWithoutCapability(t *testing.T) {
	b := newBench(t)
	n := b.cable("fd0", "sw0")
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3} // this thread's, which ends with the test
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	data[0].Effective &^= 1 << unix.CAP_NET_RAW
	if err := unix.Capset(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	p, err := Open(b.host, n)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := p.Read(0)
	if err != nil || s.Err == nil || !strings.Contains(s.Err.Error(), "CAP_NET_RAW") {
		t.Errorf("%v %+v", err, s)
	}
	if _, err := NewSender(b.host, n); err == nil || !strings.Contains(err.Error(), "CAP_NET_RAW") {
		t.Errorf("sending: %v", err)
	}
}

// An interface that joins a bridge while somebody listens, or leaves it, does
// not go deaf.
func TestMasterLater(t *testing.T) {
	b := newBench(t)
	n := b.cable("fd0", "sw0")
	port := b.open(n)
	ear := port.source.(*live)
	b.run("ip", "link", "add", "br0", "type", "bridge", "group_fwd_mask", "0x4000")
	b.run("ip", "link", "add", "br1", "type", "bridge")
	b.run("ip", "link", "set", "br0", "up")
	b.run("ip", "link", "set", "br1", "up")
	for i, master := range [][]string{{"master", "br0"}, {"nomaster"}, {"master", "br1"}, {"type", "bridge_slave", "group_fwd_mask", "0x4000"}} {
		b.run("ip", append([]string{"link", "set", "fd0"}, master...)...)
		ear.looked = ear.looked.Add(-lookAfter)
		b.read(port)
		if ear.tap != (i == 0 || i == 3) {
			t.Errorf("%v: tap is %v", master, ear.tap)
		}
		b.say(n, "ourselves") // which a tap would hear
		b.inject("sw0", of(strings.Join(master, " "), "1", 120))
		b.await(port, "neighbour", func(s *State) bool { return len(s.Neighbours) == i+1 })
	}
}

// A storm on a port costs that port's frames alone, and of them as many as are
// taken at once.
func TestStorm(t *testing.T) {
	b := newBench(t)
	b.cable("fd0", "sw0")
	quiet := b.cable("fd1", "sw1")
	storm, other := b.open(b.netdev("fd0")), b.open(quiet)
	b.inject("sw0", of("right", "1", 120))
	b.inject("sw1", of("right", "1", 120))
	b.await(storm, "neighbour", func(s *State) bool { return len(s.Neighbours) == 1 })
	before := b.await(other, "neighbour", func(s *State) bool { return len(s.Neighbours) == 1 })
	roomy(t, storm)
	const sent = 3 * maxAtOnce
	var frames [][]byte
	for i := range sent {
		frames = append(frames, of(fmt.Sprintf("%0200d", i), "1", 120))
	}
	b.inject("sw0", frames...)
	taken := func(s *State) int { return int(s.Counts[Accepted] + s.Counts[Refused]) }
	last := 1
	s := b.await(storm, "end of the storm", func(s *State) bool {
		n := taken(s) - last
		if last += n; n > maxAtOnce {
			t.Errorf("%d frames were taken at once", n)
		}
		return n == 0 && s.Counts[Refused] > 0
	})
	if s.Neighbours[0].Chassis.Value != "right" || len(s.Neighbours) != maxNeighbours || s.Counts[Accepted] != maxNeighbours {
		t.Errorf("%d neighbours, %v", len(s.Neighbours), s.Counts)
	}
	after := b.read(other)
	if !reflect.DeepEqual(after, before) {
		t.Errorf("the other port: %+v, before %+v", after, before)
	}
}

// roomy makes the kernel keep more frames than are taken at once.
func roomy(t *testing.T, p *Port) {
	t.Helper()
	if err := unix.SetsockoptInt(p.source.(*live).fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
		t.Fatal(err)
	}
}

// tcpdump reads what we write.
func TestAgainstTcpdump(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("needs tcpdump (make deps)")
	}
	b := full().Append(nil)
	pcap := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	pcap = binary.LittleEndian.AppendUint32(pcap, 4<<16|2)
	for _, n := range []int{0, 0, 65535, 1, 0, 0, len(b), len(b)} { // zone, accuracy, snap, Ethernet; time, lengths
		pcap = binary.LittleEndian.AppendUint32(pcap, uint32(n))
	}
	file := filepath.Join(t.TempDir(), "frame.pcap")
	if err := os.WriteFile(file, append(pcap, b...), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tcpdump", "-vv", "-n", "-r", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := strings.Join(strings.Fields(string(out)), " ")
	for _, want := range []string{
		"Subtype MAC address (4): 02:00:00:00:00:01", "Subtype Interface Name (5): Ethernet12", "TTL 120s",
		"Port Description TLV (4), length 4: etp4", "System Name TLV (5), length 7: leaf-01",
		"System Capabilities [Bridge, Router] (0x0014)", "Enabled Capabilities [Bridge] (0x0004)",
		"Management Address length 5, AFI IPv4 (1): 10.0.0.1", "port vlan id (PVID): 100", "vlan id (VID): 100", "vlan name: rail0",
		"MTU size 9216", "aggregation status", "ETS Configuration", "Priority Flow Control Configuration",
		"MBC: 1, RES: 0, PFC cap:8", "Priority : 0 1 2 3 4 5 6 7 Value : 0 0 0 1 0 0 0 0", "Application Priority",
		"Priority: 3, RES: 0, Sel: 3, Protocol ID: 4791", "Priority: 3, RES: 0, Sel: 5, Protocol ID: 26",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("tcpdump does not say %q", want)
		}
	}
	if strings.Contains(text, "invalid") || strings.Contains(text, "[|") {
		t.Error("tcpdump takes the frame for broken")
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
