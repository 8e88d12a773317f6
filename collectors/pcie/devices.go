// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/collectors/gpu"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// A device is a row of the joining metric: one port of a function, or the
// function itself.
type device struct {
	*probes.Function
	kind                        pci.Kind
	role                        topo.Role
	gpu, netdev, rdma, upstream string
}

func devices(v *collectors.View, _ []collectors.Unit[Reading]) []device {
	s := gpu.Snapshot(v)
	var rows []device
	for _, f := range v.Inventory.Functions {
		kind := v.Topology.Kind(f)
		if kind == pci.Other && v.Topology.LinkOf(f) == nil {
			continue
		}
		d := device{Function: f, kind: kind, role: v.Topology.Role(f), upstream: f.ParentAddress}
		if g := s.Find(f.Address); g != nil {
			d.gpu = fmt.Sprint(g.Index)
		}
		rdma, netdevs := topo.Names(f)
		for i := range max(len(rdma), len(netdevs), 1) {
			row := d
			if i < len(netdevs) {
				row.netdev = netdevs[i]
			}
			if len(rdma) > 0 {
				row.rdma = rdma[min(i, len(rdma)-1)]
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func deviceColumns() collectors.Columns[device] {
	return collectors.Columns[device]{
		Labels: []collectors.Label[device]{
			{Name: "address", Get: func(d *device) string { return d.Address }},
			{Name: "class", Get: func(d *device) string { return d.kind.String() }},
			{Name: "vendor_id", Get: func(d *device) string { return fmt.Sprintf("%04x", d.Vendor) }},
			{Name: "device_id", Get: func(d *device) string { return fmt.Sprintf("%04x", d.Device) }},
			{Name: "driver", Get: func(d *device) string { return d.Driver }},
			{Name: "role", Get: func(d *device) string { return cmp.Or(string(d.role), "unknown") }},
			{Name: "gpu", Get: func(d *device) string { return d.gpu }},
			{Name: "netdev", Get: func(d *device) string { return d.netdev }},
			{Name: "rdma", Get: func(d *device) string { return d.rdma }},
			{Name: "upstream", Get: func(d *device) string { return d.upstream }},
		},
		Metrics: []collectors.Metric[device]{{
			Name: "device_info", Help: "1 for each PCI function, and each of its ports: class, ids, driver, role, the driver's GPU index, interface and RDMA device, and the bridge above.",
			Source: "inventory", Get: func(*device) (float64, bool) { return 1, true },
		}},
	}
}

// joined lists the RDMA devices or interfaces of functions, with commas.
func joined(list []*probes.Function, rdma bool) string {
	all := ""
	for _, f := range list {
		r, n := topo.Names(f)
		if rdma {
			n = r
		}
		all = withComma(all, strings.Join(n, ","))
	}
	return all
}

// addresses lists functions with commas.
func addresses(list []*probes.Function) string {
	all := ""
	for _, f := range list {
		all = withComma(all, f.Address)
	}
	return all
}

func withComma(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// named writes a function with what people call it: "0000:8d:00.0 (mlx5_6, enp141s0np0)".
func named(f *probes.Function) string {
	rdma, netdevs := topo.Names(f)
	if all := slices.Concat(rdma, netdevs); len(all) > 0 {
		return f.Address + " (" + strings.Join(all, ", ") + ")"
	}
	return f.Address
}
