// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/fabricd/fabricd/cmd/internal/lldpview"
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/lldp"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

// lldpFlags are those of lldp and its commands.
type lldpFlags struct {
	format, diffFormat string
	wait, diffWait     time.Duration
	plan               string
	ports              []string
	yes                bool
}

func (a *app) lldpCommand() {
	var f lldpFlags
	c := a.Application.Command("lldp", "Who is at the other end of each cable.")
	a.lldpShowCommand(c, &f)
	a.actions["lldp diff"] = func() error { return a.lldpDiff(&f) }
	diff := c.Command("diff", "Compare the neighbours with a cabling plan: csv (host,port,neighbour,neighbour-port), Graphviz (.dot) or a configuration file, of this host or of all. Exit status as check's.")
	diff.Arg("plan", "The plan's file; by default the plan of the configuration file.").StringVar(&f.plan)
	waitVar(diff, &f.diffWait)
	enumVar(diff.Flag("format", "text or json."), "--format", &f.diffFormat, "text", "json")
	a.actions["lldp send"] = func() error { return a.lldpSend(&f) }
	send := c.Command("send", "Announce this machine on its ports every 30 s, until interrupted; then take it back.")
	send.Flag("port", "Interface to send on (repeatable); by default all Ethernet ports with link.").PlaceHolder("NETDEV").StringsVar(&f.ports)
	send.Flag("yes", "Do not ask.").BoolVar(&f.yes)
}

func (a *app) lldpShowCommand(c *kingpin.CmdClause, f *lldpFlags) {
	a.actions["lldp show"] = func() error { return a.lldpShow(f) }
	show := c.Command("show", "Print the neighbours (the default).").Default()
	waitVar(show, &f.wait)
	enumVar(show.Flag("format", "text, json, csv (of all hosts together: the map of a cluster) or dot (Graphviz)."), "--format", &f.format, "text", "json", "csv", "dot")
}

// waitVar adds --wait. Most neighbours send every 30 s.
func waitVar(c *kingpin.CmdClause, to *time.Duration) {
	durationVar(c.Flag("wait", "How long to listen at most; ends when every port with link has a neighbour (35s)."), "--wait", to, 35*time.Second, 100*time.Millisecond, time.Hour)
}

// listen runs the lldp collector until every port has a neighbour, or for the
// whole wait.
func (a *app) listen(h *probes.Host, c *config.Config, wait time.Duration, only []string) (*collectors.Engine, error) {
	list := slices.DeleteFunc(a.enabled(c), func(k collectors.Collector) bool { return k.Doc().Name != lldp.Name })
	if len(list) == 0 {
		return nil, usage("the lldp collector is switched off")
	}
	o := collectors.Options{Host: h, Collectors: list, Config: c, Only: only, Window: 2 * time.Second}
	if only == nil {
		o.Skip = []string{"*"}
	}
	e := collectors.NewEngine(o)
	err := observeUntil(e, h, list, wait, func() bool { return lldp.Settled(lldp.Links(e.State().View)) })
	return e, err
}

func (a *app) lldpShow(f *lldpFlags) error {
	h, c, err := a.open()
	if err != nil {
		return err
	}
	e, err := a.listen(h, c, f.wait, nil)
	if err != nil {
		return err
	}
	s := e.State()
	m := lldpview.Map{Host: hostName(h), Time: e.Stamp(s), Links: lldp.Links(s.View)}
	switch f.format {
	case "json":
		err = m.WriteJSON(a.stdout)
	case "csv":
		err = m.WriteCSV(a.stdout)
	case "dot":
		err = m.WriteDOT(a.stdout)
	default:
		err = m.WriteText(a.stdout)
	}
	if err == nil && len(m.Links) == 0 {
		fmt.Fprintln(a.stderr, "there is no Ethernet port of hardware to listen on")
	}
	if err == nil && deaf(m.Links) {
		return exitError{code: exitUnknown, err: fmt.Errorf("nobody listens: %w", m.Links[0].Err)}
	}
	return err
}

// deaf says whether no port could be listened on.
func deaf(links []lldp.Link) bool {
	return len(links) > 0 && !slices.ContainsFunc(links, func(l lldp.Link) bool { return l.Err == nil })
}

func (a *app) lldpDiff(f *lldpFlags) error {
	h, c, err := a.open()
	if err != nil {
		return err
	}
	if f.plan != "" {
		if err := refusePipe("plan", f.plan); err != nil {
			return err
		}
		if c.Plan.Cabling, err = config.LoadCabling(f.plan, hostName(h)); err != nil {
			return exitError{exitUsage, err}
		}
		printable(c)
	}
	if len(c.Plan.Cabling) == 0 {
		return usage("there is no plan: name a file, or give one with plan.cabling by --config.file")
	}
	e, err := a.listen(h, c, f.diffWait, []string{"lldp_cabling"})
	if err != nil {
		return err
	}
	s := e.State()
	r := &collectors.Report{Host: hostName(h), Time: e.Stamp(s), Findings: s.Findings}
	r.Status = collectors.Worst(r.Findings)
	return a.printReport(r, f.diffFormat, true, false)
}
