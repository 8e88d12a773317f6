// SPDX-License-Identifier: Apache-2.0

// Package lab tests fabricd against a real kernel: each scenario boots Debian's kernel in QEMU with hardware that nobody
// here has, breaks it while it runs, and holds what fabricd says to what a correct program says.
//
// It knows fabricd only as its users do: the program, its JSON and its metrics. The kernel's interfaces are genuine; which
// of the hardware below them is simulated, docs/lab.md says.
package lab

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/fabricd/fabricd/lab/internal/qemu"
)

// A Scenario is a machine and what happens to it.
type Scenario struct {
	Name  string
	About string // what is wrong, for a person
	// Guest leaves in place what tells a virtual machine from a real one.
	Guest bool
	// Nodes is the number of NUMA nodes, one processor socket each; 0 is 1.
	Nodes int
	// Append is added to the kernel's command line.
	Append string
	// FineTimers lets the guest's timers be finer than the kernel's tick of 4 ms. They cost much under emulation.
	FineTimers bool
	// Devices are QEMU's own, as its arguments.
	Devices []string
	// Drivers are modules of the kernel's to load.
	Drivers []string
	// Packages are Debian's, whose programs the scenario needs: iproute2, ethtool, lldpd. All machines have those of all scenarios.
	Packages []string
	// Wires are QEMU's network devices whose other end the lab holds, as a switch: the words of -device but for netdev=.
	Wires []string
	// Tree is what the software host bridges show; nil for none.
	Tree *Tree
	// Daemon says that the findings are those of a daemon that runs all the time. Otherwise each step runs fabricd check.
	Daemon bool
	// Config is the daemon's configuration besides its budget: YAML.
	Config string
	// Window is how long the first fabricd check takes readings; 0 is a second. It is longer each time that something is wrong.
	Window time.Duration
	// Before happens before the daemon starts, so that all of its readings agree on it.
	Before []Action
	Steps  []Step
}

// machine is what the scenario's machine is like.
func (s *Scenario) machine() qemu.Options {
	o := qemu.Options{Append: s.Append, Nodes: s.Nodes, Guest: s.Guest, Devices: words(s.Devices), Wires: s.Wires}
	if !s.FineTimers {
		o.Append = strings.TrimSpace(o.Append + " highres=off")
	}
	return o
}

// words splits arguments as written in a table: several to a line.
func words(lines []string) []string {
	var all []string
	for _, line := range lines {
		all = append(all, strings.Fields(line)...)
	}
	return all
}

// A Step is something that happens, and what fabricd has to say then. No finding may warn or fail besides those wanted.
// A step that wants no such finding is the healthy twin of the others.
type Step struct {
	Name string
	Do   []Action
	Want []Want
	// Unreplayed says why a recording of what is now would not give the verdicts of now. A film ends before that.
	Unreplayed string
	// Metrics are beginnings of lines of the daemon's /metrics that must be there.
	Metrics []string
}

const second = time.Second

// An Action makes something happen.
type Action func(context.Context, *Guest) error

// Run runs a script in the guest.
func Run(script string) Action {
	return func(ctx context.Context, g *Guest) error {
		_, err := g.Run(ctx, script)
		return err
	}
}

// Monitor has QEMU obey a command of its monitor, which is silent if all is well.
func Monitor(command string) Action {
	return func(ctx context.Context, g *Guest) error { return g.monitor(ctx, command) }
}

// Knob writes a line to a file of the software host bridges in debugfs.
func Knob(file, line string) Action { return Run("echo '" + line + "' > " + debugfs + file) }

// Inject has the kernel's AER driver find errors in a function's status registers (bits of PCI_ERR_COR_STATUS and
// PCI_ERR_UNCOR_STATUS), by its own module aer_inject. QEMU before 8.0 does not forward correctable errors to the root port.
func Inject(address string, correctable, uncorrectable uint32) Action {
	var domain uint32
	var bus, device, function uint8
	if _, err := fmt.Sscanf(address, "%x:%x:%x.%x", &domain, &bus, &device, &function); err != nil {
		panic("lab: " + address + ": " + err.Error())
	}
	b := []byte{bus, device, function, 0}
	for _, word := range []uint32{uncorrectable, correctable, 0, 0, 0, 0, domain} {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	text := ""
	for _, each := range b {
		text += fmt.Sprintf("\\%03o", each)
	}
	return Run("printf '" + text + "' > /dev/aer_inject")
}

// Wait waits.
func Wait(d time.Duration) Action {
	return func(ctx context.Context, _ *Guest) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}
}
