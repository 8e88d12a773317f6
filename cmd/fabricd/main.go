// SPDX-License-Identifier: Apache-2.0

// Command fabricd watches the links, memory placement and fabric ports of a
// GPU node, says what is wrong, why, and what to do. This package knows flags,
// wiring and exit codes; what is read and judged it leaves to the others.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/fabricd/fabricd/probes/gpu"
)

// version is set by the linker.
var version = "devel"

// Exit codes of all commands.
const (
	exitOK       = 0
	exitWarn     = 1
	exitFail     = 2
	exitUnknown  = 3
	exitUsage    = 64 // flags, arguments or configuration
	exitInternal = 70
)

// An exitError ends the program with a code; its message is printed if it has one.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usage marks an error as the user's.
func usage(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program, for tests as well.
func run(args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "fabricd: internal error: %v (please report it)\n", p)
			code = exitInternal
		}
		if (code == exitUsage || code == exitInternal) && runsProgram(args) {
			code = exitImpossible
		}
	}()
	a := newApp(stdout, stderr)
	command, err := a.parse(args)
	var stopped stop
	switch {
	case errors.As(err, &stopped):
		return stopped.code
	case err != nil:
		fmt.Fprintf(stderr, "fabricd: %v (see fabricd --help)\n", err)
		return exitUsage
	}
	defer a.close()
	err = command()
	var exit exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintf(stderr, "fabricd: %v\n", exit.err)
		}
		return exit.code
	}
	fmt.Fprintf(stderr, "fabricd: %v\n", err)
	return exitInternal
}

// A stop is how kingpin's --help and --version end the program.
type stop struct{ code int }

func (s stop) Error() string { return fmt.Sprintf("exit status %d", s.code) }

// An app is the flags of all commands and what they run.
type app struct {
	*kingpin.Application
	stdout, stderr io.Writer
	actions        map[string]func() error
	host           hostFlags
	gpus           *gpu.Client // of a live machine
	collector      map[string]*bool
	sampling       map[string]*sampling // of collectors that sample by themselves
	announce       bool                 // the machine to its neighbours
}

func newApp(stdout, stderr io.Writer) *app {
	k := kingpin.New("fabricd", "Watches PCIe links, memory placement and fabric ports of a GPU node, and says what is wrong, why, and what to do.")
	a := &app{Application: k, stdout: stdout, stderr: stderr, actions: map[string]func() error{}}
	k.Version("fabricd " + version)
	k.HelpFlag.Short('h')
	k.UsageWriter(stdout)
	k.ErrorWriter(stderr)
	k.Terminate(func(code int) { panic(stop{code}) })
	a.host.register(k)
	a.collectorFlags()
	a.runCommand()
	a.checkCommand()
	a.readCommand()
	a.recordCommand()
	a.topoCommand()
	a.lldpCommand()
	a.routeCommand()
	a.probeCommand()
	a.heatmapCommand()
	a.numaCommand()
	a.manualCommand()
	a.command("version", "Print the version.", func() error {
		_, err := fmt.Fprintf(a.stdout, "fabricd %s\n", version)
		return err
	})
	return a
}

// command adds a command.
func (a *app) command(name, help string, action func() error) *kingpin.CmdClause {
	a.actions[name] = action
	return a.Application.Command(name, help)
}

// parse finds the command and its flags. Ends by --help come as a stop.
func (a *app) parse(args []string) (action func() error, err error) {
	defer func() {
		if s, ok := recover().(stop); ok {
			err = s
		}
	}()
	name, err := a.Parse(args)
	if err != nil {
		if word, ok := strings.CutPrefix(err.Error(), "unexpected "); ok {
			return nil, fmt.Errorf("%q is no command, or is too much for this one", word)
		}
		return nil, err
	}
	return a.actions[name], nil
}
