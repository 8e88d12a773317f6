// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"time"

	"github.com/fabricd/fabricd/cmd/internal/topoview"
	"github.com/fabricd/fabricd/collectors"
	"golang.org/x/term"
)

// topoWindow is how long a live machine's links are read: once is enough.
const topoWindow = 300 * time.Millisecond

// topoFlags are those of the topo command.
type topoFlags struct {
	format string
	all    bool
}

func (a *app) topoCommand() {
	var f topoFlags
	c := a.command("topo", "Print the PCIe tree with every link's state, and the distances between GPUs and NICs.", func() error { return a.topo(&f) })
	enumVar(c.Flag("format", "text, json, csv, dot (Graphviz) or nccl (a file for NCCL_TOPO_FILE)."), "--format", &f.format, "text", "json", "csv", "dot", "nccl")
	c.Flag("all", "In text and dot, show every function: also what leads to no GPU, NIC or NVSwitch.").BoolVar(&f.all)
}

func (a *app) topo(f *topoFlags) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	switch f.format {
	case "json":
		return m.WriteJSON(a.stdout)
	case "csv":
		return m.WriteCSV(a.stdout)
	case "dot":
		return m.WriteDOT(a.stdout, f.all)
	case "nccl":
		return m.WriteNCCL(a.stdout)
	}
	return m.WriteText(a.stdout, topoview.Look{Colour: colour(a.stdout), Unicode: topoview.SpeaksUTF8(os.Getenv), All: f.all, Width: columns(a.stdout)})
}

// machine reads the links of the machine or recording once.
func (a *app) machine() (*topoview.Machine, error) {
	h, c, err := a.open()
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(a.enabled(c), func(k collectors.Collector) bool {
		return !slices.Contains(topoview.Collectors(), k.Doc().Name)
	})
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: list, Config: c, Only: topoview.Checks(), Window: topoWindow})
	if err := observe(e, h, list, topoWindow); err != nil {
		return nil, err
	}
	s := e.State()
	cpuinfo, _ := h.ReadFile("proc/cpuinfo") // where there is none, NCCL asks the processor
	return topoview.New(topoview.Source{Host: hostName(h), Time: e.Stamp(s), View: s.View, Findings: s.Findings, CPUInfo: cpuinfo}), nil
}

// columns gives the width of a terminal, but at least the 80 that lines cannot
// do without; 0 for what is no terminal.
func columns(w any) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 80)
}
