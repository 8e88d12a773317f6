// SPDX-License-Identifier: Apache-2.0

package lab

import "fmt"

// Links of the server that most scenarios have.
var (
	gen5x16 = Link{5, 16}
	gen4x16 = Link{4, 16}
)

// Addresses of that server, in the first of its four quarters. A quarter is a root port with a switch above two GPUs and
// two NICs; two quarters are on node 0 (domain 0001), two on node 1 (domain 0002).
const (
	rootPort   = "0001:00:00.0"
	switchUp   = "0001:01:00.0"
	gpuPort    = "0001:02:00.0" // the switch's port above the first GPU
	nicPort    = "0001:02:02.0" // and above the first NIC
	firstGPU   = "0001:03:00.0"
	secondGPU  = "0001:04:00.0"
	firstNIC   = "0001:05:00.0"
	secondNIC  = "0001:06:00.0"
	gpusBelow  = firstGPU + "," + secondGPU
	distantGPU = "0002:0b:00.0" // the last quarter's second
	distantNIC = "0002:0d:00.0"
)

// server makes a tree of 8 GPUs and 8 NICs; nodes are those of its two host bridges.
func server(nodes ...int) *Tree {
	t := &Tree{}
	for i, node := range nodes {
		for half := range 2 {
			t.quarter(i+1, half, node)
		}
	}
	return t
}

// onlyQuarter makes the server's first quarter alone. Daemons read that more often than the whole: they stretch their periods
// by what reading costs, which is much under emulation.
func onlyQuarter() *Tree {
	t := &Tree{}
	t.quarter(1, 0, 0)
	return t
}

// quarter adds a root port with a switch and its devices.
func (t *Tree) quarter(domain, half, node int) {
	bus := 1 + 7*half // of the switch; one number for its ports and one for each device follow
	at := func(bus, device int) string { return fmt.Sprintf("%04x:%02x:%02x.0", domain, bus, device) }
	root := t.Port(at(0, half), node, gen5x16)
	up := t.Up(at(bus, 0), root.Address, gen5x16)
	for i := range 4 {
		down := t.Down(at(bus+1, i), up.Address, gen5x16)
		if i < 2 {
			t.GPU(at(bus+2+i, 0), down.Address, gen5x16)
		} else {
			t.NIC(at(bus+2+i, 0), down.Address, gen5x16)
		}
	}
}
