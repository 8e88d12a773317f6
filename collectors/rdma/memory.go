// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// memory knows which ports were ever seen active: a port that was, and is not,
// has lost its partner, also if its device was replaced meanwhile.
type memory struct {
	mu     sync.Mutex
	active map[portKey]string // their interfaces
}

type portKey struct {
	address, device string
	number          int
}

func (k portKey) compare(o portKey) int {
	return cmp.Or(strings.Compare(k.address, o.address), strings.Compare(k.device, o.device), cmp.Compare(k.number, o.number))
}

// note files a port and says whether it was ever active.
func (m *memory) note(key portKey, netdev string, active bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.active[key]; ok || !active {
		return ok
	}
	if m.active == nil {
		m.active = map[portKey]string{}
	}
	m.active[key] = netdev
	return true
}

// errGone stands for a port whose RDMA device is no longer there.
var errGone = errors.New("the RDMA device is gone")

// gone lists the ports that were active and whose PCI function has no RDMA
// device any more, and counts those whose function went too: pcie_lost speaks
// of them.
func (m *memory) gone(v *collectors.View) (rows []portRow, lost int) {
	there := map[string]bool{}
	for _, d := range v.Inventory.RDMA {
		there[d.Address()] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(m.active), portKey.compare) {
		if key.address == "" {
			continue // software made it, and may unmake it
		}
		f := v.Inventory.Function(key.address)
		if f == nil {
			lost++
			continue
		}
		if f.Virtual() || there[key.address] {
			continue
		}
		p := &Port{Device: key.device, Address: key.address, Number: key.number, WasActive: true, Err: errGone, Netdev: Netdev{Name: m.active[key]}}
		rows = append(rows, portRow{Port: p, device: &probes.RDMADevice{}, f: f, role: v.Topology.Role(f), sisters: v.Topology.Sisters(f)})
	}
	return rows, lost
}

// evalGone judges a port whose device is gone. It may have been moved on
// purpose, into a container's namespace, so that without a plan nobody can tell.
func (r *portRow) evalGone(e *portEnv) verdict {
	switch {
	case r.f.Driver == "" || r.f.Driver == "vfio-pci":
		return collectors.Verdictf(collectors.Info, "it was ACTIVE; its driver was unbound from %s, which is still there", r.Address)
	case r.planned(e):
		return collectors.Verdictf(collectors.Fail, "it was ACTIVE and the plan names it, but %s is gone, though %s and its driver %s are there", r.Device, r.Address, probes.Printable(r.f.Driver)).
			Remedyf("look in dmesg for errors of the driver and for a firmware reset; if a container has the device, leave it out of the plan")
	}
	return collectors.Verdictf(collectors.Unknown, "it was ACTIVE, but %s is gone, though %s and its driver %s are there: the driver gave it up, or it was moved into another network namespace", r.Device, r.Address, probes.Printable(r.f.Driver)).
		Remedyf("look in dmesg for errors of the driver; ip netns and rdma system tell of namespaces")
}
