// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"strings"
	"time"

	"github.com/fabricd/fabricd/probes/pci"
)

// A Value is something that a device may not offer. The zero Value is absent.
type Value[T any] struct {
	V   T
	OK  bool
	Err error // why it is not OK, where that is known
}

// Some makes a Value that is there.
func Some[T any](v T) Value[T] { return Value[T]{V: v, OK: true} }

// None makes a Value that could not be read.
func None[T any](err error) Value[T] { return Value[T]{Err: err} }

// An Inventory is what a machine consists of and how its parts join. It is
// never changed; a refresh makes a new one.
type Inventory struct {
	Generation uint64
	At         time.Time   // when it was taken
	Functions  []*Function // by address
	Netdevs    []*Netdev   // by name
	RDMA       []*RDMADevice
	Nodes      []Node // online NUMA nodes; nil without NUMA
	Facts      Facts
	// Vanished lists functions that were there and are gone.
	Vanished []Vanished

	byAddress map[string]*Function
}

// A Function is one PCI function. What could not be read is zero or not OK.
type Function struct {
	Address       string // the kernel's form
	Addr          pci.Address
	Path          string // canonical directory in sysfs
	Root          string // host bridge above it: pci0000:17
	Parent        *Function
	ParentAddress string // also where the parent is excluded
	// Above lists the bridges above it by address, the nearest first, also
	// those that are excluded. It is empty for what sits on a root bus.
	Above []string

	Vendor, Device, SubVendor, SubDevice uint16
	Class                                uint32
	Kind                                 pci.Kind

	Driver    string
	NUMANode  Value[int] // -1: the firmware gives no proximity
	LocalCPUs string
	// HasLink says that there are link files: that it is PCI Express.
	HasLink bool
	// Max is the function's own maximum. Parts that it does not know are zero.
	Max pci.Link
	// MaxWidthRaw is max_link_width as read: pci.WidthLost and pci.WidthNone are told apart here.
	MaxWidthRaw Value[int]

	PhysicalFunction string // of a virtual function: the address of its physical one
	IOMMUGroup       string // its number; "" without one
	IOMMUType        Value[string]

	Netdevs []*Netdev
	RDMA    []*RDMADevice
	// RDMANames and NetdevNames are those of the function's own ports.
	RDMANames, NetdevNames []string

	identity uint64
}

// Identity changes when the function is removed and appears again, even at
// the same address: what was opened of it before is dead then.
func (f *Function) Identity() uint64 { return f.identity }

// Virtual says whether it is an SR-IOV virtual function.
func (f *Function) Virtual() bool { return f.PhysicalFunction != "" }

// A Netdev is one network interface that belongs to hardware.
type Netdev struct {
	Name         string
	Path         string // canonical directory in sysfs
	Function     *Function
	Port         bool // one of the function's own ports: no subfunction, no representor
	Type         int  // ARPHRD: 1 Ethernet, 32 InfiniBand
	MAC          string
	MTU          int
	SpeedMbps    Value[int]
	Carrier      Value[bool]
	OperState    string
	DevPort      int
	Master       string // bond or bridge above it
	Bonded       bool   // Master is a bond
	PhysPortName string
}

// An RDMADevice is one device of /sys/class/infiniband.
type RDMADevice struct {
	Name         string
	Path         string
	Function     *Function // nil of one that software makes: soft-RoCE, soft-iWARP
	Lower        string    // the interface that software makes it of; "" if not told
	Port         bool      // the function's own device, not a subfunction's
	NodeType     string    // CA (InfiniBand and RoCE), RNIC (iWARP), unspecified (EFA) …
	NodeGUID     string
	SysImageGUID string // "" if absent or zero: no identity
	Firmware     string
	HCAType      string
	Ports        []RDMAPort
}

// Software says whether the kernel makes the device of an interface (rxe, siw):
// it has no hardware of its own, whatever that interface has.
func (d *RDMADevice) Software() bool { return d.Function == nil }

// Address is the PCI function's; "" without one.
func (d *RDMADevice) Address() string {
	if d.Function == nil {
		return ""
	}
	return d.Function.Address
}

// Driver is the PCI function's; "" without one.
func (d *RDMADevice) Driver() string {
	if d.Function == nil {
		return ""
	}
	return d.Function.Driver
}

// An RDMAPort is one port of an RDMA device.
type RDMAPort struct {
	Number    int
	State     string // ACTIVE, DOWN, INIT, ARMED …
	PhysState string
	LinkLayer string         // Ethernet, InfiniBand, Unknown
	RateGbps  Value[float64] // as the file says: means nothing unless ACTIVE
}

// A Node is an online NUMA node.
type Node struct {
	ID        int
	CPUList   string
	CPUs      Value[int] // 0 of nodes of memory alone
	MemTotal  Value[uint64]
	Socket    Value[int] // the processor package that it is of
	Distances []int      // one for each online node, in order
}

// Facts are what does not change while a machine runs.
type Facts struct {
	Kernel   string
	Cmdline  string
	Sockets  int    // processor packages; 0: not known
	Guest    bool   // a virtual machine
	Evidence string // what says so, or says not; "" where nothing tells
	Product  string // vendor and product as the firmware names them
}

// A Vanished function is one that was there and is gone.
type Vanished struct {
	Function *Function // as it was last seen
	// Orderly says why its going was no accident; "" if nothing says so.
	Orderly string
}

// Function finds a function by address, or nil.
func (inv *Inventory) Function(address string) *Function {
	if inv == nil {
		return nil
	}
	return inv.byAddress[address]
}

// Taken gives the newest inventory, or nil before the first: it never waits.
func (h *Host) Taken() *Inventory { return h.inventory.Load() }

// Inventory gives the newest inventory, made at first use.
func (h *Host) Inventory() *Inventory {
	if inv := h.inventory.Load(); inv != nil {
		return inv
	}
	return h.Refresh()
}

// Looking says what the Refresh at work is looking at, for one that hangs; ""
// if none is at work.
func (h *Host) Looking() string {
	if name := h.looking.Load(); name != nil {
		return Printable(*name)
	}
	return ""
}

func (h *Host) lookAt(name string) { h.looking.Store(&name) }

// Refresh looks at the machine anew.
func (h *Host) Refresh() *Inventory {
	h.refreshing.Lock()
	defer h.refreshing.Unlock()
	defer h.looking.Store(nil)
	h.lookAt(pciDevices)
	old := h.inventory.Load()
	inv := &Inventory{Generation: 1, At: time.Now(), byAddress: map[string]*Function{}}
	if old != nil {
		inv.Generation = old.Generation + 1
	}
	h.functions(inv, old)
	h.netdevs(inv)
	h.rdma(inv)
	join(inv)
	inv.Nodes = h.nodes()
	h.lookAt("proc and sys/class/dmi")
	inv.Facts = h.findFacts()
	h.vanished(inv, old)
	h.inventory.Store(inv)
	h.events.Add(1)
	return inv
}

// join links functions with their parents and collects the names of their ports.
func join(inv *Inventory) {
	for _, f := range inv.Functions {
		if p := inv.byAddress[f.ParentAddress]; p != nil && strings.HasPrefix(f.Path, p.Path+"/") {
			f.Parent = p // a parent's directory holds its children's: no circles
		}
		for _, d := range f.RDMA {
			if d.Port {
				f.RDMANames = append(f.RDMANames, d.Name)
			}
		}
		for _, n := range f.Netdevs {
			if n.Port {
				f.NetdevNames = append(f.NetdevNames, n.Name)
			}
		}
	}
}

// functionOf finds the PCI function that a device directory belongs to, and
// whether the directory is the function's own (or its virtio device's). The
// nearest address counts: what an excluded function has is nobody's.
func (inv *Inventory) functionOf(dir string) (f *Function, own bool) {
	address, rest := nearestAddress(dir)
	if f = inv.byAddress[address]; f == nil {
		return nil, false
	}
	return f, len(rest) == 0 || len(rest) == 1 && strings.HasPrefix(rest[0], "virtio")
}

// nearestAddress finds the last PCI address in a path, and what follows it.
func nearestAddress(dir string) (address string, rest []string) {
	parts := strings.Split(dir, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if _, err := pci.ParseAddress(parts[i]); err == nil {
			return parts[i], parts[i+1:]
		}
	}
	return "", nil
}

// vanished finds out what is gone since old, and whether that was orderly.
func (h *Host) vanished(inv, old *Inventory) {
	if old == nil {
		return
	}
	for _, v := range old.Vanished {
		if inv.byAddress[v.Function.Address] == nil && !h.Excluded(v.Function.Address) {
			inv.Vanished = append(inv.Vanished, v)
		}
	}
	for _, f := range old.Functions {
		if inv.byAddress[f.Address] != nil || h.Excluded(f.Address) {
			continue
		}
		v := Vanished{Function: f}
		switch {
		case f.Virtual():
			v.Orderly = "a virtual function: removed through its physical function " + f.PhysicalFunction
		case f.Driver == "" && !h.unbound.abruptly(f.Address, time.Now()):
			v.Orderly = "no driver was bound to it before it went"
		case h.unbound.before(f.Address):
			v.Orderly = "its driver was unbound before it went"
		}
		inv.Vanished = append(inv.Vanished, v)
	}
}
