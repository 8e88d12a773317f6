// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/fabricd/fabricd/cmd/internal/numaview"
	"github.com/fabricd/fabricd/collectors"
)

// numaWindow is how long a live machine is looked at: long enough to see where
// interrupts are taken.
const numaWindow = 2 * time.Second

func (a *app) numaShowCommand(parent *kingpin.CmdClause) {
	var format string
	a.actions["numa show"] = func() error { return a.numaShow(format) }
	c := parent.Command("show", "Print what is on which NUMA node: processors and memory, GPUs, NICs and their interrupts, the processes that use GPUs.")
	enumVar(c.Flag("format", "text or json."), "--format", &format, "text", "json")
}

func (a *app) numaShow(format string) error {
	h, c, err := a.open()
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(a.enabled(c), func(k collectors.Collector) bool {
		return !slices.Contains(numaview.Collectors(), k.Doc().Name)
	})
	e := collectors.NewEngine(collectors.Options{Host: h, Collectors: list, Config: c, Only: numaview.Checks(), Window: numaWindow})
	if err := observe(e, h, list, numaWindow); err != nil {
		return err
	}
	s := e.State()
	d := numaview.New(hostName(h), e.Stamp(s), s.View, s.Findings)
	if format == "json" {
		return d.WriteJSON(a.stdout)
	}
	return d.WriteText(a.stdout)
}
