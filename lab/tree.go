// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"slices"
	"strings"
)

// debugfs is the folder in which the guest's software host bridges are made and altered.
const debugfs = "/sys/kernel/debug/fakepci/"

// A Link is a generation of PCI Express and a number of lanes.
type Link struct{ Gen, Width int }

// Vendor and device numbers of the devices that trees are made of.
const (
	gpuID        = "10de:2330"
	nicID        = "15b3:1021"
	rootPortID   = "8086:352a"
	switchPortID = "1000:c030"

	gpuClass    = "030200"
	nicClass    = "020700"
	bridgeClass = "060400"
)

// A Function is one PCI function of a tree.
type Function struct {
	Address, Parent, Kind, ID, Class string

	Max, Now Link
	// More are settings besides: node=1, acs=1d, mps=256.
	More []string
}

// With adds settings.
func (f *Function) With(settings ...string) *Function {
	f.More = append(f.More, settings...)
	return f
}

// A Tree is what software host bridges show, from their root ports on.
type Tree struct{ functions []*Function }

// Add adds a function with a link at its best.
func (t *Tree) Add(f Function) *Function {
	if f.Now == (Link{}) {
		f.Now = f.Max
	}
	t.functions = append(t.functions, &f)
	return &f
}

// Port adds a root port; the host bridge of its domain is on a node, or on none (-1).
func (t *Tree) Port(address string, node int, link Link) *Function {
	f := t.Add(Function{Address: address, Parent: "-", Kind: "root", ID: rootPortID, Class: bridgeClass, Max: link})
	return f.With(fmt.Sprintf("node=%d", node))
}

// Up adds the upstream port of a switch.
func (t *Tree) Up(address, parent string, link Link) *Function {
	return t.Add(Function{Address: address, Parent: parent, Kind: "up", ID: switchPortID, Class: bridgeClass, Max: link})
}

// Down adds a downstream port of a switch.
func (t *Tree) Down(address, parent string, link Link) *Function {
	return t.Add(Function{Address: address, Parent: parent, Kind: "down", ID: switchPortID, Class: bridgeClass, Max: link})
}

// GPU adds one.
func (t *Tree) GPU(address, parent string, link Link) *Function {
	return t.Add(Function{Address: address, Parent: parent, Kind: "ep", ID: gpuID, Class: gpuClass, Max: link})
}

// NIC adds an InfiniBand controller.
func (t *Tree) NIC(address, parent string, link Link) *Function {
	return t.Add(Function{Address: address, Parent: parent, Kind: "ep", ID: nicID, Class: nicClass, Max: link})
}

// At finds a function by its address.
func (t *Tree) At(address string) *Function {
	for _, f := range t.functions {
		if f.Address == address {
			return f
		}
	}
	panic("lab: the tree has no " + address)
}

// Slow sets the link between a function and the port above it.
func (t *Tree) Slow(address string, now Link) *Tree {
	f := t.At(address)
	f.Now = now
	if f.Parent != "-" {
		t.At(f.Parent).Now = now
	}
	return t
}

// Limit lets a port do no more than a link, so that what is below it runs with that.
func (t *Tree) Limit(address string, link Link) *Tree {
	port := t.At(address)
	port.Max, port.Now = link, link
	for _, f := range t.functions {
		if f.Parent == address {
			f.Now = link
		}
	}
	return t
}

// Without takes away the functions that are meant, and what is below them must be among them.
func (t *Tree) Without(meant func(*Function) bool) *Tree {
	t.functions = slices.DeleteFunc(t.functions, meant)
	return t
}

// RDMA gives every NIC an InfiniBand device: mlx5_0 to the first, and so on.
func (t *Tree) RDMA(gbps int) *Tree {
	n := 0
	for _, f := range t.functions {
		if f.Class == nicClass {
			f.With(fmt.Sprintf("rdma=mlx5_%d,%d,ib", n, gbps))
			n++
		}
	}
	return t
}

// has tells whether a setting occurs in the tree.
func (t *Tree) has(setting string) bool { return t != nil && strings.Contains(t.String(), " "+setting) }

// modules lists the lab's modules that the tree needs, in the order in which they are loaded.
func (t *Tree) modules() []string {
	var list []string
	if t.has("netdev=") {
		list = append(list, "labnic")
	}
	if t.has("rdma=") {
		list = append(list, "labrdma")
	}
	return append(list, "fakepci")
}

// String writes the tree as the software host bridges take it.
func (t *Tree) String() string {
	var b strings.Builder
	for _, f := range t.functions {
		fmt.Fprintf(&b, "%s %s %s %s %s maxspeed=%d maxwidth=%d curspeed=%d curwidth=%d", f.Address, f.Parent, f.Kind, f.ID, f.Class,
			f.Max.Gen, f.Max.Width, f.Now.Gen, f.Now.Width)
		for _, setting := range f.More {
			b.WriteString(" " + setting)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
