// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fabricd/fabricd/internal/nettest"
	frames "github.com/fabricd/fabricd/probes/lldp"
	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// A cable leads from a NIC of a machine, in whose network namespace the test
// is, to a switch in another one.
type cable struct {
	tb     testing.TB
	root   string // of the machine
	here   int    // its network namespace
	far    *packet.Conn
	daemon *exec.Cmd
	stderr *buffer
}

const nicOfCable = `-- proc/cpuinfo --
flags : fpu
-- sys/bus/pci/devices/0000:01:00.0 -> ../../../devices/pci0000:00/0000:01:00.0 --
-- sys/devices/pci0000:00/0000:01:00.0/class --
0x020000
-- sys/devices/pci0000:00/0000:01:00.0/vendor --
0x15b3
-- sys/class/net/fd0 -> ../../devices/pci0000:00/0000:01:00.0/net/fd0 --
-- sys/devices/pci0000:00/0000:01:00.0/net/fd0/device -> ../../../0000:01:00.0 --
-- kernel/empty --
`

// newCable moves the test's thread into namespaces of its own, where a veth
// passes for a NIC.
func newCable(tb testing.TB) *cable {
	c := &cable{tb: tb, root: unpack(tb, file(tb, "cable.txtar", nicOfCable))}
	there := c.namespace()
	c.here = c.namespace()
	c.ip("link", "add", "fd0", "type", "veth", "peer", "name", "sw0", "netns", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), there))
	c.ip("link", "set", "fd0", "up")
	c.ip("link", "set", "lo", "up")
	c.must(unix.Setns(there, unix.CLONE_NEWNET))
	c.ip("link", "set", "sw0", "up")
	ifi, err := net.InterfaceByName("sw0")
	c.must(err)
	c.far, err = packet.Listen(ifi, packet.Raw, frames.EtherType, nil)
	c.must(err)
	tb.Cleanup(func() { c.far.Close() })
	c.must(unix.Setns(c.here, unix.CLONE_NEWNET))
	c.disguise()
	return c
}

// namespace moves the thread into a new network namespace, and gives it.
func (c *cable) namespace() int {
	nettest.Enter(c.tb, unix.CLONE_NEWNS)
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY, 0) // ip inherits it
	c.must(err)
	c.tb.Cleanup(func() { unix.Close(fd) })
	return fd
}

// disguise makes the near end's files those of the NIC's interface.
func (c *cable) disguise() {
	kernel, nic := filepath.Join(c.root, "kernel"), filepath.Join(c.root, "sys/devices/pci0000:00/0000:01:00.0/net/fd0")
	c.must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	c.must(unix.Mount("sysfs", kernel, "sysfs", 0, ""))
	c.tb.Cleanup(func() { _ = unix.Unmount(kernel, unix.MNT_DETACH) })
	for _, name := range []string{"address", "carrier", "carrier_changes", "ifindex", "mtu", "operstate", "type"} {
		own := filepath.Join(nic, name)
		c.must(os.WriteFile(own, nil, 0o644))
		c.must(unix.Mount(filepath.Join(kernel, "class/net/fd0", name), own, "", unix.MS_BIND, ""))
		c.tb.Cleanup(func() { _ = unix.Unmount(own, unix.MNT_DETACH) })
	}
}

func (c *cable) must(err error) {
	c.tb.Helper()
	if err != nil {
		c.tb.Fatal(err)
	}
}

func (c *cable) ip(args ...string) {
	c.tb.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		c.tb.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// start starts the program on the machine.
func (c *cable) start(program string, args ...string) {
	c.tb.Helper()
	c.stderr = &buffer{}
	c.daemon = exec.Command(program, append(args, "--path.rootfs="+c.root)...)
	c.daemon.Stderr, c.daemon.SysProcAttr = c.stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.must(c.daemon.Start())
	c.tb.Cleanup(func() { _ = c.daemon.Process.Kill(); _ = c.daemon.Wait() })
}

// get asks the machine's daemon, by a thread that is in its namespace.
func (c *cable) get(address, path string) (body string) {
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread() // never unlocked
		if unix.Setns(c.here, unix.CLONE_NEWNET) != nil {
			return
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.0\r\n\r\n", path)
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		body = string(b)
	})
	done.Wait()
	return body
}

// hear waits for a frame that arrives at the switch.
func (c *cable) hear(what string, is func(*frames.Frame) bool) *frames.Frame {
	c.tb.Helper()
	c.must(c.far.SetReadDeadline(time.Now().Add(time.Minute)))
	buf := make([]byte, 2048)
	for {
		n, _, err := c.far.ReadFrom(buf)
		if err != nil {
			c.tb.Fatalf("no %s: %v\n%s", what, err, c.stderr)
		}
		if f, err := frames.Decode(buf[:n]); err == nil && is(f) {
			return f
		}
	}
}
