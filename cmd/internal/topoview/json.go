// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// WriteJSON writes the machine's Document.
func (m *Machine) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(m.Document())
}

// Document gives all that is known of the machine's tree.
func (m *Machine) Document() *Document {
	facts := m.inventory.Facts
	d := &Document{
		Version: DocumentVersion, Host: m.host, Time: m.time,
		Machine: Facts{
			Product: facts.Product, Kernel: facts.Kernel, Sockets: facts.Sockets,
			Guest: facts.Guest, Evidence: facts.Evidence,
		},
		Nodes: []Node{}, Functions: []Function{}, Links: []Link{}, Paths: []Path{}, GPUNIC: []Pair{},
	}
	if m.snapshot != nil {
		d.Machine.Driver = printable(m.snapshot.DriverVersion)
	}
	for _, n := range m.inventory.Nodes {
		d.Nodes = append(d.Nodes, Node{ID: n.ID, CPUs: n.CPUList, Memory: pointer(n.MemTotal), Distances: n.Distances})
	}
	for _, f := range m.inventory.Functions {
		d.Functions = append(d.Functions, m.function(f))
	}
	for _, l := range m.tree.Links {
		d.Links = append(d.Links, m.linkDocument(l))
	}
	for _, f := range slices.Concat(m.gpus, m.nics, m.switches) {
		d.Paths = append(d.Paths, m.pathDocument(f))
	}
	for _, g := range m.gpus {
		for _, n := range m.nics {
			distance, why := m.tree.Distance(g, n)
			d.GPUNIC = append(d.GPUNIC, Pair{g.Address, n.Address, distance.String(), why})
		}
	}
	return d
}

func pointer[T any](v probes.Value[T]) *T {
	if !v.OK {
		return nil
	}
	return &v.V
}

// hexID writes an id as sysfs does; "" for one that was not read.
func hexID(id uint16) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("0x%04x", id)
}

func (m *Machine) function(f *probes.Function) Function {
	d := Function{
		Address: f.Address, Kind: m.tree.Kind(f).String(), Label: m.labels[f], Role: string(m.tree.Role(f)),
		Class: fmt.Sprintf("0x%06x", f.Class), Vendor: fmt.Sprintf("0x%04x", f.Vendor), Device: fmt.Sprintf("0x%04x", f.Device),
		SubsystemVendor: hexID(f.SubVendor), SubsystemDevice: hexID(f.SubDevice),
		Root: f.Root, Parent: f.ParentAddress, Driver: printable(f.Driver), NUMANode: pointer(f.NUMANode), LocalCPUs: f.LocalCPUs,
		Max: state(f.Max), PhysicalFunction: f.PhysicalFunction, IOMMUGroup: f.IOMMUGroup, IOMMUType: printable(f.IOMMUType.V),
	}
	if g := m.snapshot.Find(f.Address); g != nil {
		d.GPU = &GPU{Index: g.Index, Name: printable(g.Name), UUID: printable(g.UUID), Utilization: g.Utilization}
		if len(g.NVLinks) > 0 {
			active := 0
			told := true
			for i := range g.NVLinks {
				told = told && g.NVLinks[i].Active != nil
				if g.NVLinks[i].IsActive() {
					active++
				}
			}
			if told {
				d.GPU.ActiveNVLinks = &active
			}
		}
	}
	for _, n := range f.Netdevs {
		d.Netdevs = append(d.Netdevs, netdev(n))
	}
	for _, r := range f.RDMA {
		d.RDMA = append(d.RDMA, rdma(r))
	}
	return d
}

func netdev(n *probes.Netdev) Netdev {
	const infiniband = 32 // ARPHRD_INFINIBAND
	return Netdev{
		Name: printable(n.Name), Port: n.Port, Infini: n.Type == infiniband, MAC: n.MAC, MTU: n.MTU,
		Speed: pointer(n.SpeedMbps), Carrier: pointer(n.Carrier), State: n.OperState,
		Master: printable(n.Master), PortName: printable(n.PhysPortName),
	}
}

func rdma(r *probes.RDMADevice) RDMA {
	d := RDMA{
		Name: printable(r.Name), Port: r.Port, NodeGUID: r.NodeGUID, SysImageGUID: r.SysImageGUID,
		Firmware: r.Firmware, HCAType: r.HCAType,
	}
	for _, p := range r.Ports {
		d.Ports = append(d.Ports, RDMAPort{p.Number, p.State, p.PhysState, p.LinkLayer, pointer(p.RateGbps)})
	}
	return d
}

// state gives a link's speed and width, or nil if neither is known.
func state(l pci.Link) *State {
	if l.Speed == 0 && l.Width == 0 {
		return nil
	}
	return &State{l.Speed.GigaTransfers(), l.Width, l.BitsPerSecond()}
}

func addresses(list []*probes.Function) []string {
	all := make([]string, len(list))
	for i, f := range list {
		all[i] = f.Address
	}
	return all
}

func (m *Machine) linkDocument(l *topo.Link) Link {
	d := Link{
		Lower: l.Lower.Address, Functions: addresses(l.Functions), Devices: addresses(l.Devices),
		Inner: l.Inner, Status: m.status(l), Now: state(m.now(l)), Max: state(l.Max),
	}
	if l.Upper != nil {
		d.Upper = l.Upper.Address
	}
	switch r := m.readings[l.Lower.Address]; {
	case r == nil:
		d.Trouble = "not read"
	case r.Lost != "":
		d.Trouble = printable(r.Lost)
	default:
		d.Trouble = printable(r.Trouble)
	}
	return d
}

func (m *Machine) pathDocument(f *probes.Function) Path {
	hops, _ := m.path(f)
	d := Path{Address: f.Address, Links: []string{}}
	for _, l := range hops {
		d.Links = append(d.Links, l.Lower.Address)
	}
	d.Bits, d.Max = m.bandwidth(f)
	if at, b := m.limitOf(f); at != nil {
		d.Bottleneck = &Bottleneck{Link: at.Lower.Address, Bits: b.bits, Ports: b.wanted, Cause: "platform"}
		if b.grade == gradeDefect {
			d.Bottleneck.Cause = "defect"
		}
	}
	return d
}
