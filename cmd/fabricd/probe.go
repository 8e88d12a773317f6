// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/topo"
)

// probeCommand has the active questions.
func (a *app) probeCommand() {
	c := a.Application.Command("probe", "Ask by trying: these commands use the hardware that they ask about.")
	a.probeGDRCommand(c)
	a.probeQueueCommand(c)
}

// gdrFlags are those of probe gdr.
type gdrFlags struct {
	gpus         []string
	sizes, chunk []uint64 // one chunk
	rdma, format string
}

func (a *app) probeGDRCommand(parent *kingpin.CmdClause) {
	var f gdrFlags
	a.actions["probe gdr"] = func() error { return a.probeGDR(&f) }
	c := parent.Command("gdr", "Measure what it takes to make GPU memory reachable for a NIC: allocates memory of the GPU, exports it as dma-buf, whole and by chunks, and registers it with an RDMA device if there is one. Frees everything. Exit status: 0 all of it works, 1 some sizes do not, 2 nothing does, 3 it could not be tried.")
	c.Flag("gpu", "GPU: its number as nvidia-smi counts, its PCI address, or all (repeatable; 0).").PlaceHolder("N").StringsVar(&f.gpus)
	page := uint64(os.Getpagesize())
	sizesVar(c.Flag("sizes", "Sizes of memory (64K,2M,64M,1G)."), "--sizes", page, &f.sizes, 16, 64<<10, 2<<20, 64<<20, 1<<30)
	sizesVar(c.Flag("chunk", "Size of the chunks (2M)."), "--chunk", page, &f.chunk, 1, 2<<20)
	c.Flag("rdma", "RDMA device to register with; by default one of the nearest to the GPU.").PlaceHolder("DEVICE").StringVar(&f.rdma)
	enumVar(c.Flag("format", "text or json."), "--format", &f.format, "text", "json")
}

// maxHandles is how many chunks memory may have: each is an open file.
const maxHandles = 16384

// A gdrReport is what probe gdr prints as JSON.
type gdrReport struct {
	Host   string            `json:"host"`
	Time   time.Time         `json:"time"`
	Status collectors.Status `json:"status"`
	GPUs   []*gdrResult      `json:"gpus"`
}

// A gdrResult is what came of one GPU.
type gdrResult struct {
	gpu.GDRDevice
	Driver string `json:"cuda_driver,omitempty"`
	RDMA   string `json:"rdma_device,omitempty"`
	// NoRDMA says why nothing was registered.
	NoRDMA  string            `json:"no_rdma_device,omitempty"`
	Sizes   []gpu.GDRSize     `json:"sizes"`
	Status  collectors.Status `json:"status"`
	Verdict []string          `json:"verdict"`
}

func (a *app) probeGDR(f *gdrFlags) error {
	if a.host.recording != "" {
		return usage("probe gdr tries this machine's GPUs: --host has none to try")
	}
	for _, size := range f.sizes {
		if n := size / f.chunk[0]; n > maxHandles {
			return usage("--chunk %s: %s has %d of them; at most %d", bytesText(f.chunk[0]), bytesText(size), n, maxHandles)
		}
	}
	h, c, err := a.open()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report := &gdrReport{Host: hostName(h), Time: time.Now()}
	p := &printer{w: a.stdout, colour: colour(a.stdout)}
	if f.format == "json" {
		p = nil
	}
	if err := a.askGDR(ctx, f, h, c, report, p); err != nil {
		return gdrError(ctx, err)
	}
	if p != nil {
		err = p.err
	} else {
		e := json.NewEncoder(a.stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(report)
	}
	if code := exitCode(&collectors.Report{Status: report.Status}, false); err == nil && code != exitOK {
		return exitError{code: code}
	}
	return err
}

// gdrError says why there is nothing to report.
func gdrError(ctx context.Context, err error) error {
	var exit exitError
	switch {
	case ctx.Err() != nil:
		return exitError{exitUnknown, errors.New("interrupted; all GPU memory is freed")}
	case errors.As(err, &exit):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return exitError{exitUnknown, fmt.Errorf("GPU memory cannot be tried: %w", err)}
	}
	return exitError{exitUnknown, err}
}

// askGDR measures every GPU that is asked for, and prints as it goes.
func (a *app) askGDR(ctx context.Context, f *gdrFlags, h *probes.Host, c *config.Config, report *gdrReport, p *printer) error {
	g, err := gpu.StartGDR(ctx, a.host.nvml)
	if err != nil {
		return err
	}
	defer g.Close()
	devices, err := g.Devices(ctx)
	if err != nil {
		return err
	}
	if devices, err = chosenGPUs(devices, f.gpus, h); err != nil {
		return err
	}
	for _, d := range devices {
		r := &gdrResult{GDRDevice: d, Driver: g.Driver}
		r.RDMA, r.NoRDMA = rdmaFor(h, c, d.Address, f.rdma)
		p.gdrHead(r)
		for _, size := range f.sizes {
			s, err := g.Measure(ctx, gpu.GDRRequest{Index: d.Index, Size: size, Chunk: f.chunk[0], RDMA: r.RDMA})
			if err != nil {
				return err
			}
			r.Sizes = append(r.Sizes, *s)
			p.gdrSize(s)
		}
		r.judge()
		p.gdrVerdict(r)
		report.GPUs = append(report.GPUs, r)
		report.Status = max(report.Status, r.Status)
	}
	return nil
}

// chosenGPUs picks the GPUs of --gpu, and leaves alone those that are excluded.
func chosenGPUs(all []gpu.GDRDevice, names []string, h *probes.Host) ([]gpu.GDRDevice, error) {
	if len(names) == 0 {
		names = []string{"0"}
	}
	var list []gpu.GDRDevice
	for _, d := range all {
		named := slices.Contains(names, strconv.Itoa(d.Index)) || slices.Contains(names, d.Address)
		switch {
		case named && h.Excluded(d.Address):
			return nil, usage("--gpu %d: %s is excluded (--device-exclude or the configuration)", d.Index, d.Address)
		case named, slices.Contains(names, "all") && !h.Excluded(d.Address):
			list = append(list, d)
		}
	}
	for _, name := range names {
		known := func(d gpu.GDRDevice) bool { return name == strconv.Itoa(d.Index) || name == d.Address }
		if name != "all" && !slices.ContainsFunc(all, known) {
			return nil, usage("--gpu %s: there is no such GPU; CUDA has %s", name, countGPUs(len(all)))
		}
	}
	if len(list) == 0 {
		return nil, exitError{exitUnknown, errors.New("there is no GPU to try")}
	}
	return list, nil
}

func countGPUs(n int) string {
	if n == 1 {
		return "one: 0"
	}
	return fmt.Sprintf("%d: 0 to %d", n, n-1)
}

// rdmaFor names the RDMA device that a GPU's memory is registered with, or
// says why there is none.
func rdmaFor(h *probes.Host, c *config.Config, address, wanted string) (device, why string) {
	inv := h.Inventory()
	if wanted != "" {
		if !slices.ContainsFunc(inv.RDMA, func(d *probes.RDMADevice) bool { return d.Name == wanted }) {
			return "", "there is no " + wanted + " in /sys/class/infiniband"
		}
		return wanted, ""
	}
	tree := topo.New(inv, c.Plan)
	var near []*probes.Function
	for _, g := range tree.GPUs {
		if g.Address == address {
			near = tree.Best(g).NICs
		}
	}
	for _, f := range append(near, tree.NICs...) {
		if len(f.RDMANames) > 0 {
			return f.RDMANames[0], ""
		}
	}
	return "", "this machine has no RDMA device"
}
