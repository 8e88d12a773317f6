// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"
)

// errAbsent is a source that this machine does not have: a normal state.
type errAbsent struct{ why string }

func (e errAbsent) Error() string { return "NVML: " + e.why }
func (e errAbsent) Unwrap() error { return fs.ErrNotExist }

// errNoGDR is a machine whose GPU memory cannot be asked for.
type errNoGDR struct{ why string }

func (e errNoGDR) Error() string { return e.why }
func (e errNoGDR) Unwrap() error { return fs.ErrNotExist }

// errVersion is a program that came with another fabricd.
var errVersion = errors.New(childName + ": is of another version than fabricd: install both from one release")

// errStarting is a child that did not yet answer.
type errStarting struct{}

func (errStarting) Error() string { return childName + ": is starting; the driver did not answer yet" }

// errHung is a child that did not answer in time.
type errHung struct {
	patience time.Duration
	doing    string // the part that it was at
}

func (e errHung) Error() string {
	patience := e.patience.Round(100 * time.Millisecond)
	if e.doing == "" {
		return fmt.Sprintf("%s: no answer within %s", childName, patience)
	}
	return fmt.Sprintf("%s: no answer within %s (the driver hangs in %s)", childName, patience, e.doing)
}

// errDied is a child that ended.
type errDied struct {
	code   int // 0 by itself, -1 by a signal
	signal syscall.Signal
	status string
	doing  string
	words  string // of its standard error
}

func (e errDied) Error() string {
	text := childName + ": " + e.status
	if e.doing != "" {
		text += " in " + e.doing
	}
	if e.words != "" {
		text += ": " + e.words
	}
	if e.foreign() {
		text += "; not by fabricd: another process sent it, or the kernel for want of memory (dmesg)"
	}
	return text
}

// foreign says that somebody else ended the child: fabricd kills it only when
// it no longer listens to it, and a fault has other signals.
func (e errDied) foreign() bool {
	return slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, e.signal)
}

// absence tells a child that has nothing to ask from one that fails.
func (e errDied) absence() (errAbsent, bool) {
	if e.code != ExitAbsent && e.code != ExitUsage {
		return errAbsent{}, false
	}
	if e.words == "" {
		return errAbsent{e.Error()}, true
	}
	return errAbsent{e.words}, true
}

// errStuck is a child that cannot even be killed.
type errStuck struct{ cause error }

func (e errStuck) Error() string {
	return e.cause.Error() + "; it cannot be killed: it waits in the kernel's driver"
}
func (e errStuck) Unwrap() error { return e.cause }
