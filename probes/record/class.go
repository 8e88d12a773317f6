// SPDX-License-Identifier: Apache-2.0

package record

import (
	"path"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/probes/pci"
)

const (
	pciDevices = "sys/bus/pci/devices"
	classNet   = "sys/class/net"
	classRDMA  = "sys/class/infiniband"
)

// A member is one entry of a class, before anything of its device is opened.
type member struct {
	name, own string // own: its canonical directory
	device    string // what it belongs to; "" for what belongs to no hardware
}

// members lists a class. Those of excluded functions are left out; their
// names go to hidden.
func (w *walk) members(class string, hidden map[string]bool) []member {
	d, err := w.host.Dir(class)
	if err != nil {
		return nil
	}
	defer d.Close()
	if id, err := d.Identity(); err == nil {
		w.now.dirs[class] = id
	}
	var list []member
	for _, name := range w.list(d, class) {
		m := member{name: name, own: path.Join(class, name)}
		target, err := d.Readlink(name)
		if err == nil {
			m.own = path.Join(class, target)
		}
		if !w.excluded(m.own) {
			m.device = w.device(m.own, class)
		}
		if w.excluded(m.own) || w.excluded(m.device) {
			hidden[name] = true
			continue
		}
		if target != "" {
			w.now.entries[path.Join(class, name)] = entry{target: target}
		}
		list = append(list, m)
	}
	return list
}

// device finds what a class entry belongs to.
func (w *walk) device(own, class string) string {
	d, err := w.host.Dir(own)
	if err != nil {
		return ""
	}
	defer d.Close()
	if target, err := d.Readlink("device"); err == nil {
		return path.Join(own, target)
	}
	if i := strings.LastIndex(own, "/"+path.Base(class)+"/"); i > 0 && !strings.HasPrefix(own, "sys/class/") && !strings.HasPrefix(own, "sys/devices/virtual/") {
		return own[:i]
	}
	return ""
}

// excluded says whether a directory belongs to an excluded function: the last
// one on its path. What is below an excluded bridge is not excluded by that.
func (w *walk) excluded(dir string) bool {
	parts := strings.Split(dir, "/")
	for _, part := range slices.Backward(parts) {
		if _, err := pci.ParseAddress(part); err == nil {
			return w.host.Excluded(part)
		}
	}
	return false
}

// netdevs asks the network interfaces of hardware, bonds, what is stacked on
// them, and what RDMA devices run on; not the many of containers. Of a
// recording all are taken.
func (w *walk) netdevs(all []member) {
	taken, rest := map[string]bool{}, []member{}
	take := func(m member) {
		taken[m.name] = true
		w.now.netdevs = append(w.now.netdevs, m.name)
		w.ask(m.own, w.plan.netdev, false)
		if m.device != "" {
			w.driver(m.name)
		}
	}
	for _, m := range all {
		if m.device != "" || w.now.lower[m.name] || w.host.Recorded() || w.host.Exists(path.Join(m.own, "bonding")) {
			take(m)
		} else {
			rest = append(rest, m)
		}
	}
	const depth = 4 // a VLAN of a bridge of a VLAN of a bond
	for range depth {
		rest = slices.DeleteFunc(rest, func(m member) bool {
			stacked := w.stacked(m, taken)
			if stacked {
				take(m)
			}
			return stacked
		})
	}
	for _, m := range rest {
		delete(w.now.entries, path.Join(classNet, m.name))
	}
}

// stacked says whether an interface is built upon one that is taken.
func (w *walk) stacked(m member, taken map[string]bool) bool {
	names, err := w.host.ReadDir(m.own)
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		lower, ok := strings.CutPrefix(name, "lower_")
		return ok && taken[lower]
	})
}
