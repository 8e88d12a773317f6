// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"fmt"
	"strings"
	"time"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/gpu"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// A load is how busy the GPUs below a link are.
type load struct {
	gpus  int
	known bool          // of all of them
	most  int           // percent, of the busiest that is known
	told  time.Duration // when that was: what was told longest ago counts; -1: never
	old   bool          // some of it was told too long ago to count
}

func loadOf(v *collectors.View, devices []*probes.Function) load {
	l := load{known: true, most: -1, told: -1}
	for _, f := range devices {
		if v.Topology.Kind(f) != pci.GPU {
			continue
		}
		l.gpus++
		of := gpu.LoadOf(v, f.Address)
		l.old = l.old || of.Old
		if of.Percent < 0 {
			l.known = false
			continue
		}
		if l.told < 0 || of.Told < l.told {
			l.told = of.Told
		}
		l.most = max(l.most, of.Percent)
	}
	return l
}

// A linkRow is one link with its state.
type linkRow struct {
	*topo.Link
	at       *Reading // of the lower end; nil: no fresh reading
	now      pci.Link
	load     load
	target   string // a port whose target speed is below the link's maximum
	guest    bool
	none     bool // there is no link: the device of a virtual machine
	onlyGPUs bool
	l1       probes.Value[bool]
	l1Why    string
}

func linkRows(v *collectors.View, list []collectors.Unit[Reading]) []linkRow {
	l := lookAt(v, list)
	var rows []linkRow
	for _, k := range v.Topology.Links {
		if k.Inner {
			continue
		}
		r := linkRow{Link: k, at: l.by[k.Lower.Address], now: l.link(k), load: loadOf(v, k.Devices), guest: v.Inventory.Facts.Guest}
		r.onlyGPUs = len(k.Devices) > 0 && r.load.gpus == len(k.Devices)
		r.target = l.capped(k)
		r.l1, r.l1Why = l.aspm(k)
		rows = append(rows, r)
	}
	return append(rows, noLinks(v)...)
}

// noLinks gives the devices of a virtual machine that have no link files, or
// whose files tell of none.
func noLinks(v *collectors.View) []linkRow {
	var rows []linkRow
	if !v.Inventory.Facts.Guest {
		return nil
	}
	for _, f := range v.Inventory.Functions {
		if v.Topology.IsDevice(f) && v.Topology.SlotLink(f) == nil {
			k := &topo.Link{Lower: f, Functions: []*probes.Function{f}, Devices: []*probes.Function{f}}
			rows = append(rows, linkRow{Link: k, guest: true, none: true})
		}
	}
	return rows
}

// hops writes every link from f to the root port:
// "0000:8d:00.0 8 GT/s x16 of 16 GT/s x16 below 0000:8c:00.0, …".
func hops(v *collectors.View, f *probes.Function) string {
	l := lookAt(v, collectors.Readings[Reading](v, "pcie"))
	var parts []string
	for _, k := range v.Topology.Path(f) {
		if k.Inner {
			continue
		}
		text := fmt.Sprintf("%s %s", k.Lower.Address, l.link(k))
		if k.Max != l.link(k) {
			text += fmt.Sprintf(" of %s", k.Max)
		}
		if k.Upper != nil {
			text += " below " + k.Upper.Address
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// capped finds a port that was told not to go as fast as the link can.
func (l look) capped(k *topo.Link) string {
	for _, f := range []*probes.Function{k.Upper, k.Lower} {
		if f == nil {
			continue
		}
		c, _ := l.config(f)
		if c != nil && c.PCIe != nil && c.PCIe.TargetSpeed < k.Max.Speed && c.PCIe.TargetSpeed >= l.link(k).Speed {
			return fmt.Sprintf("the target link speed of %s is %s", f.Address, c.PCIe.TargetSpeed)
		}
	}
	return ""
}

// aspm says whether L1 is enabled at both ends of a link.
func (l look) aspm(k *topo.Link) (on probes.Value[bool], why string) {
	e, why := l.express(k.Lower)
	if e != nil && e.HasLink {
		on = probes.Some(e.ASPML1)
		if k.Upper != nil {
			if u, _ := l.express(k.Upper); u != nil && u.HasLink {
				on.V = on.V && u.ASPML1
			}
		}
		return on, ""
	}
	if r := l.by[k.Lower.Address]; r != nil && r.L1.OK {
		return r.L1, ""
	}
	return on, why
}
