// SPDX-License-Identifier: Apache-2.0

// Package amdgpu knows what AMD's kernel driver shows of a GPU in sysfs, and
// gives it in the shape of NVML's answers. Files that block (pcie_bw measures
// for a second) or that a read resets (xgmi_error) it leaves alone.
package amdgpu

import (
	"bytes"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/gpu"
	"github.com/fabricd/fabricd/probes/pci"
)

// Driver is the kernel module's name.
const Driver = "amdgpu"

// A Card is one GPU with its attributes kept open. It is not safe for
// concurrent use.
type Card struct {
	dir                               *probes.Dir
	address, name                     string
	power, busy, link, replays        *probes.Attr
	total, used, visible, visibleUsed *probes.Attr
	hive                              *probes.Attr
}

// Open opens a function that the driver is bound to.
func Open(h *probes.Host, f *probes.Function) (*Card, error) {
	dir, err := h.Dir(f.Path)
	if err != nil {
		return nil, err
	}
	number := func(name string) *probes.Attr { return dir.Attr(name, 32) }
	name, _ := dir.ReadFile("product_name")
	return &Card{
		name: probes.Printable(string(bytes.TrimSpace(name))), dir: dir, address: f.Address, power: number("power/runtime_status"),
		busy: number("gpu_busy_percent"), link: dir.Attr("pp_dpm_pcie", 1024), replays: number("pcie_replay_count"),
		total: number("mem_info_vram_total"), used: number("mem_info_vram_used"),
		visible: number("mem_info_vis_vram_total"), visibleUsed: number("mem_info_vis_vram_used"),
		hive: number("xgmi_hive_info/xgmi_hive_id"),
	}, nil
}

// Close closes what is kept open.
func (c *Card) Close() {
	for _, a := range []*probes.Attr{c.power, c.busy, c.link, c.replays, c.total, c.used, c.visible, c.visibleUsed, c.hive} {
		a.Close()
	}
	c.dir.Close()
}

// Read asks for what there is. A suspended GPU is asked nothing but who it is:
// its driver would wake it. Only where nothing at all is answered there is an
// error: fs.ErrNotExist if there are no such files.
func (c *Card) Read() (*gpu.Device, error) {
	d := &gpu.Device{PCIBusID: c.address, Address: c.address, Name: c.name}
	if b, err := c.power.Read(); err == nil && (string(b) == "suspended" || string(b) == "suspending") {
		d.Asleep = true
		return d, nil
	}
	var a answers
	if busy := a.number(c.busy); busy != nil && *busy <= 100 {
		percent := int(*busy)
		d.Utilization = &percent
	}
	d.MemoryTotal = a.number(c.total)
	if visible := a.number(c.visible); visible != nil {
		d.BAR1 = &gpu.BAR1{Total: *visible, Used: a.number(c.visibleUsed)}
	}
	if b := a.text(c.link); b != nil {
		d.PCIe = parseLevels(b)
	}
	if n := a.number(c.replays); n != nil {
		if d.PCIe == nil {
			d.PCIe = &gpu.PCIe{}
		}
		d.PCIe.Replays = n
	}
	if b := a.text(c.hive); b != nil && strings.Trim(string(b), "0x") != "" {
		d.Hive = probes.Printable(string(b))
	}
	switch {
	case a.got > 0:
		return d, nil
	case len(a.errs) == 0:
		return nil, &fs.PathError{Op: "read", Path: "amdgpu's files of " + c.address, Err: fs.ErrNotExist}
	}
	return nil, errors.Join(a.errs...)
}

// answers counts what is answered.
type answers struct {
	got  int
	errs []error
}

func (a *answers) text(attr *probes.Attr) []byte {
	b, err := attr.Read()
	switch {
	case err == nil:
		a.got++
		return b
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EOPNOTSUPP):
		a.errs = append(a.errs, err)
	}
	return nil
}

func (a *answers) number(attr *probes.Attr) *uint64 {
	n, err := strconv.ParseUint(string(a.text(attr)), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// parseLevels reads pp_dpm_pcie, a line for each level that the link can be
// at, the one in force marked: "1: 8.0GT/s, x16 619Mhz *". The most that a
// level has is what GPU and slot can do.
func parseLevels(b []byte) *gpu.PCIe {
	p := &gpu.PCIe{}
	for line := range bytes.Lines(b) {
		_, level, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		generation, width := parseLevel(level)
		most := func(to **int, n int) {
			if n > 0 && (*to == nil || n > **to) {
				*to = &n
			}
		}
		most(&p.GenerationMax, generation)
		most(&p.WidthMax, width)
		if strings.Contains(level, "*") && generation > 0 && width > 0 {
			p.Generation, p.Width = &generation, &width
		}
	}
	if *p == (gpu.PCIe{}) {
		return nil
	}
	return p
}

// parseLevel reads "8.0GT/s, x16 619Mhz"; what is not told is 0.
func parseLevel(s string) (generation, width int) {
	speed, rest, ok := strings.Cut(s, "GT/s")
	if !ok {
		return 0, 0
	}
	if parsed, ok := pci.ParseSpeed([]byte(strings.TrimSpace(speed) + " GT/s")); ok {
		for g := 1; pci.SpeedOf(g) > 0; g++ {
			if pci.SpeedOf(g) == parsed {
				generation = g
			}
		}
	}
	for field := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == ' ' || r == ',' }) {
		if lanes, ok := strings.CutPrefix(field, "x"); ok {
			if n, err := strconv.Atoi(lanes); err == nil && n > 0 && n <= 32 {
				width = n
			}
		}
	}
	return generation, width
}
