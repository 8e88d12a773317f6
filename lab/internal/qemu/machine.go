// SPDX-License-Identifier: Apache-2.0

// Package qemu runs one virtual machine: it starts QEMU, obeys its monitor's protocol and the one by which the guest's
// first program takes scripts. It knows neither what is in the guest nor what scenarios are.
package qemu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Program is the emulator that is run.
const Program = "qemu-system-x86_64"

// Options describe a machine.
type Options struct {
	Kernel, Initramfs string
	// Append is added to the kernel's command line.
	Append string
	// Nodes is the number of NUMA nodes, one socket each: 1 or 2.
	Nodes int
	// Guest leaves in place what tells a virtual machine from a real one.
	Guest bool
	// Devices are further arguments, each a word as a shell has them.
	Devices []string
	// Wires are network devices whose other end is ours: see Wire.
	Wires []string
	// Interactive joins the console with this program's standard input and output.
	Interactive bool
	// Limit bounds how long the machine may take to be ready.
	Limit time.Duration
	// State is what Save saved of a machine with the same options, which then goes on from there instead of booting; or empty.
	State string
	// Dir is an empty folder for sockets and the console's text.
	Dir string
}

// A Machine is a running QEMU.
type Machine struct {
	dir     string
	command *exec.Cmd
	ended   chan struct{}
	monitor *monitor
	agent   *agent
	wires   []*Wire
}

// Start starts a machine and waits for its first program to say that it is ready. The machine ends with the context.
func Start(ctx context.Context, o Options) (*Machine, error) {
	m := &Machine{dir: o.Dir, ended: make(chan struct{})}
	m.command = exec.CommandContext(ctx, Program, o.arguments()...)
	m.command.WaitDelay = 5 * time.Second
	log, err := os.Create(filepath.Join(o.Dir, "qemu.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	m.command.Stderr = log
	for i := range o.Wires {
		w, err := newWire(wirePath(o.Dir, i))
		if err != nil {
			m.close()
			return nil, err
		}
		m.wires = append(m.wires, w)
	}
	if o.Interactive {
		m.command.Stdin, m.command.Stdout = os.Stdin, os.Stdout
	}
	if err := m.run(); err != nil {
		m.close()
		return nil, err
	}
	starting, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	if err := m.connect(starting, o.State != ""); err != nil {
		m.Stop()
		return nil, fmt.Errorf("the machine does not start: %w%s", err, m.complaint())
	}
	return m, nil
}

// run starts QEMU, which the kernel ends with the thread that started it: no machine outlives the program that is killed.
func (m *Machine) run() error {
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(m.ended)
		err := m.command.Start()
		started <- err
		if err == nil {
			m.command.Wait() //nolint:errcheck // how it ended does not matter: it is killed
		}
	}()
	return <-started
}

// connect joins the monitor and the first program.
func (m *Machine) connect(ctx context.Context, resumed bool) error {
	conn, err := m.dial(ctx, "monitor")
	if err != nil {
		return err
	}
	if m.monitor, err = newMonitor(conn); err != nil {
		return err
	}
	if conn, err = m.dial(ctx, "agent"); err != nil {
		return err
	}
	if resumed {
		m.agent = &agent{conn: conn, lines: bufio.NewReader(conn)} // it said that it was ready before it was saved
		return m.resume(ctx)
	}
	m.agent, err = newAgent(ctx, conn)
	return err
}

// dial waits for one of QEMU's sockets.
func (m *Machine) dial(ctx context.Context, name string) (net.Conn, error) {
	for {
		conn, err := net.Dial("unix", filepath.Join(m.dir, name))
		if err == nil {
			return conn, nil
		}
		select {
		case <-m.ended:
			return nil, errors.New("QEMU ended")
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// complaint is what QEMU said before it ended.
func (m *Machine) complaint() string {
	text, _ := os.ReadFile(filepath.Join(m.dir, "qemu.log"))
	if len(text) == 0 {
		return ""
	}
	return "\n" + strings.TrimSpace(string(text))
}

// Run has the guest run a script, and returns its standard output. A status other than those allowed (0 where none is
// given) is an error that carries what it said on standard error.
func (m *Machine) Run(ctx context.Context, script string, allowed ...int) (string, error) {
	return m.agent.run(ctx, script, allowed)
}

// Monitor has QEMU obey a command of its human monitor, and returns what it answers.
func (m *Machine) Monitor(ctx context.Context, command string) (string, error) {
	return m.monitor.command(ctx, command)
}

// Wait waits until the machine has ended by itself.
func (m *Machine) Wait() { <-m.ended }

// Stop ends the machine.
func (m *Machine) Stop() {
	m.command.Process.Kill() //nolint:errcheck // it may have ended
	<-m.ended
	m.close()
}

// Burnt is the processor time that the machine has used, once it has stopped.
func (m *Machine) Burnt() time.Duration {
	return m.command.ProcessState.UserTime() + m.command.ProcessState.SystemTime()
}

// Wire is our end of the wire to a network device, by its place among Options.Wires.
func (m *Machine) Wire(i int) *Wire { return m.wires[i] }

func (m *Machine) close() {
	if m.monitor != nil {
		m.monitor.conn.Close()
	}
	if m.agent != nil {
		m.agent.conn.Close()
	}
	for _, w := range m.wires {
		w.close()
	}
}
