// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/all"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

// hostFlags say which machine is looked at, and how.
type hostFlags struct {
	recording, rootfs, configFile, nvml string
	exclude                             []string
	bareMetal                           bool
}

func (f *hostFlags) register(k *kingpin.Application) {
	k.Flag("host", "Look at a recording instead of this machine.").PlaceHolder("RECORDING").StringVar(&f.recording)
	k.Flag("path.rootfs", "Where the machine's root is mounted.").Default("/").StringVar(&f.rootfs)
	k.Flag("config.file", "Configuration file (YAML): plan, thresholds, mutes, exclusions.").PlaceHolder("FILE").StringVar(&f.configFile)
	k.Flag("device-exclude", "Glob over PCI addresses that are never opened (repeatable).").PlaceHolder("GLOB").StringsVar(&f.exclude)
	k.Flag("gpu.nvml-path", "The program that asks NVIDIA's driver; by default fabricd-nvml beside this program or in PATH. Without it nothing is known of the GPUs' load.").PlaceHolder("PROGRAM").StringVar(&f.nvml)
	k.Flag("assume-bare-metal", "Do not take the machine for a virtual one, whatever it says.").BoolVar(&f.bareMetal)
}

// collectorFlags adds --collector.NAME and --no-collector.NAME.
func (a *app) collectorFlags() {
	a.collector, a.sampling = map[string]*bool{}, map[string]*sampling{}
	for _, c := range all.List() {
		name := c.Doc().Name
		a.collector[name] = a.Flag("collector."+name, "Enable the "+name+" collector.").Default("true").Bool()
		if d := c.Doc(); d.Samples > 0 {
			s := &sampling{}
			a.sampling[name] = s
			f := a.Flag("collector."+name+".interval", fmt.Sprintf("Time between two samples of the %s collector, from %s to %s; by default %s.", name, fastest, slowest, d.Samples))
			durationVar(f.PlaceHolder(d.Samples.String()).IsSetByUser(&s.given), "--collector."+name+".interval", &s.every, d.Samples, fastest, slowest)
		}
	}
}

// A sampling is how often a collector that samples by itself does.
type sampling struct {
	every time.Duration
	given bool
}

// Bounds of what can be asked for.
const (
	fastest = time.Millisecond
	slowest = time.Second
)

// setSampling puts the intervals that flags give in the place of the
// configuration's.
func (a *app) setSampling(c *config.Config) {
	for name, s := range a.sampling {
		if !s.given {
			continue
		}
		if c.Collectors == nil {
			c.Collectors = map[string]config.Collector{}
		}
		k := c.Collectors[name]
		k.Interval = s.every
		c.Collectors[name] = k
	}
}

// known lists what a configuration file may name.
func known() config.Known {
	k := config.Known{Thresholds: collectors.Thresholds(all.List()), Slowest: map[string]time.Duration{}}
	for _, c := range all.List() {
		k.Collectors = append(k.Collectors, c.Doc().Name)
		if c.Doc().Samples > 0 {
			k.Slowest[c.Doc().Name] = slowest
		}
	}
	return k
}

// loadConfig reads the configuration: the file named by flag, or the
// recording's own.
func (a *app) loadConfig(h *probes.Host) (*config.Config, error) {
	switch {
	case a.host.configFile != "":
		if err := refusePipe("--config.file", a.host.configFile); err != nil {
			return nil, err
		}
		c, err := config.Load(a.host.configFile, known())
		if err != nil {
			return nil, exitError{exitUsage, err}
		}
		return c, nil
	case h != nil && h.Recorded():
		b, err := h.ReadFile("fabricd.yaml")
		if err != nil {
			break
		}
		c, err := config.Parse("fabricd.yaml of the recording", b, known())
		if err != nil {
			return nil, exitError{exitUsage, err}
		}
		return c, nil
	}
	return &config.Config{}, nil
}

// open opens the machine and its configuration. The exclusions of a
// configuration file are in force before anything is opened.
func (a *app) open() (*probes.Host, *config.Config, error) { return a.openHost(a.host.recording) }

// openHost opens a recording, or the machine if none is named.
func (a *app) openHost(recording string) (*probes.Host, *config.Config, error) {
	o := probes.Options{Exclude: slices.Clone(a.host.exclude), AssumeBareMetal: a.host.bareMetal}
	if a.announce {
		o.Announce = &probes.Self{Host: hostName(nil), Version: version}
	}
	c, err := a.loadConfig(nil)
	if err != nil {
		return nil, nil, err
	}
	o.Exclude = append(o.Exclude, c.Devices.Exclude...)
	if err := checkExcludes(o.Exclude); err != nil {
		return nil, nil, err
	}
	var h *probes.Host
	if recording != "" {
		if a.host.nvml != "" {
			return nil, nil, usage("--gpu.nvml-path: a recording has its own answers (gpu.json); leave the flag out with --host")
		}
		if err := refusePipe("--host", recording); err != nil {
			return nil, nil, err
		}
		h, err = probes.OpenRecording(recording, o)
	} else {
		if o.GPUs, err = a.startGPUs(); err != nil {
			return nil, nil, err
		}
		h, err = probes.Live(a.host.rootfs, o)
	}
	if err != nil {
		return nil, nil, exitError{exitUsage, err}
	}
	if a.host.configFile == "" {
		if c, err = a.loadConfig(h); err != nil {
			return nil, nil, err
		}
		h.SetExclude(append(o.Exclude, c.Devices.Exclude...))
	}
	a.setSampling(c)
	return h, c, a.readCables(c, hostName(h))
}

// readCables adds the cables of the file that the plan names, which lies beside
// the configuration file. A host that it does not name has no plan by it.
func (a *app) readCables(c *config.Config, host string) error {
	defer printable(c)
	name := c.Plan.CablingFile
	if name == "" || a.host.configFile == "" {
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(a.host.configFile), name)
	}
	cables, err := config.LoadCabling(name, host)
	if err != nil && !errors.Is(err, config.ErrNoCable) {
		return exitError{exitUsage, err}
	}
	if twice := contradicted(c.Plan.Cabling, cables); twice != nil {
		return exitError{exitUsage, fmt.Errorf("%s: port %q has another cable in plan.cabling of %s", name, twice.Port+twice.Address, a.host.configFile)}
	}
	c.Plan.Cabling = append(c.Plan.Cabling, cables...)
	return nil
}

// contradicted finds a cable of a file that leads elsewhere in the configuration.
func contradicted(own, file []config.Cable) *config.Cable {
	for i := range file {
		f := &file[i]
		if slices.ContainsFunc(own, func(o config.Cable) bool {
			return o.Port == f.Port && o.Address == f.Address && o.Leads() && (o.Switch != f.Switch || o.SwitchPort != f.SwitchPort)
		}) {
			return f
		}
	}
	return nil
}

// printable makes what the operator writes, and findings quote, fit for labels
// and terminals.
func printable(c *config.Config) {
	for i := range c.Plan.Cabling {
		cable := &c.Plan.Cabling[i]
		for _, s := range []*string{&cable.Port, &cable.Address, &cable.Switch, &cable.SwitchPort} {
			*s = probes.Printable(*s)
		}
	}
	for i := range c.Mute {
		c.Mute[i].Reason = probes.Printable(c.Mute[i].Reason)
	}
}

// refusePipe refuses a named pipe, on which opening waits for whoever writes to
// it. That of a shell's <(command) has no name, and is read.
func refusePipe(flag, name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil // whoever opens it says what is wrong
	}
	if _, err := filepath.EvalSymlinks(name); err != nil {
		return nil
	}
	return usage("%s %s: is a named pipe; want a file", flag, name)
}

func checkExcludes(globs []string) error {
	for _, glob := range globs {
		if err := probes.CheckGlob(glob); err != nil {
			return usage("device exclusion: %w", err)
		}
	}
	return nil
}

// enabled lists the collectors that flags and configuration leave on.
func (a *app) enabled(c *config.Config) []collectors.Collector {
	var list []collectors.Collector
	for _, k := range all.List() {
		name := k.Doc().Name
		set := c.Collectors[name].Enabled
		if *a.collector[name] && (set == nil || *set) {
			list = append(list, k)
		}
	}
	return list
}

// hostName gives the machine's name for reports.
func hostName(h *probes.Host) string {
	if h != nil && h.Recorded() {
		if b, err := h.ReadFile("proc/sys/kernel/hostname"); err == nil {
			return trimmed(b)
		}
		return "recording"
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return probes.Printable(name)
}
