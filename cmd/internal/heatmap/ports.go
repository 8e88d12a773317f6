// SPDX-License-Identifier: Apache-2.0

package heatmap

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/prometheus/common/model"
)

// A target is a node as the rules tell nodes apart: clusters may have nodes of
// the same name, and two jobs may scrape one.
type target struct{ cluster, job, instance string }

func targetOf(l model.Metric) target {
	return target{string(l["cluster"]), string(l["job"]), string(l["instance"])}
}

// names gives the targets the names of their rows: instances, below what it
// takes to keep them apart.
func names(all map[target]bool) map[target]string {
	clusters, seen, twice := map[string]bool{}, map[target]bool{}, false
	for t := range all {
		clusters[t.cluster] = true
		t.job = ""
		twice = twice || seen[t]
		seen[t] = true
	}
	list := map[target]string{}
	for t := range all {
		name := probes.Printable(t.instance)
		if twice && t.job != "" {
			name = probes.Printable(t.job) + "/" + name
		}
		if len(clusters) > 1 && t.cluster != "" {
			name = probes.Printable(t.cluster) + "/" + name
		}
		list[t] = name
	}
	return list
}

// A port is one of an RDMA device, or an interface that is none's.
type port struct {
	address, netdev, role string
	device                string // the RDMA device, also of an interface that is bonded into its port
	number                int    // of the device's port, 0: it is an interface alone
	leaf                  string
	rail                  int // -1: not of a rail
	lid                   float64
}

func (p *port) name() string {
	switch p.number {
	case 0:
		return cmp.Or(p.netdev, p.device)
	case 1:
		return p.device
	}
	return p.device + "/" + strconv.Itoa(p.number)
}

type numbered struct {
	device string
	number int
}

// A node is the ports of one, by their two kinds of names.
type node struct {
	rdma    map[numbered]*port
	netdevs map[string]*port
}

// ports are those of all nodes.
type ports map[target]*node

func (all ports) node(l model.Metric) *node {
	t := targetOf(l)
	if all[t] == nil {
		all[t] = &node{map[numbered]*port{}, map[string]*port{}}
	}
	return all[t]
}

func numberOf(l model.Metric) int {
	n, err := strconv.Atoi(string(l["port"]))
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// port gives a port of an RDMA device, which need not be known yet.
func (n *node) port(device string, number int) *port {
	p := n.rdma[numbered{device, number}]
	if p == nil {
		p = &port{device: device, number: number, rail: -1, lid: math.NaN()}
		n.rdma[numbered{device, number}] = p
	}
	return p
}

// netdev gives an interface, which need not be known yet.
func (n *node) netdev(name string) *port {
	p := n.netdevs[name]
	if p == nil {
		p = &port{netdev: name, rail: -1, lid: math.NaN()}
		n.netdevs[name] = p
	}
	return p
}

// addRDMA notes a port of an RDMA device and its interface.
func (all ports) addRDMA(l model.Metric, _ float64) {
	n := all.node(l)
	p := n.port(string(l["device"]), numberOf(l))
	p.address = string(l["address"])
	if name := string(l["netdev"]); name != "" && n.netdevs[name] == nil {
		p.netdev, n.netdevs[name] = name, p
	}
}

// addNICs notes the interfaces of NICs, or NICs without any, and their roles. It comes
// after the RDMA ports: an older fabricd names none, and then a device's only
// interface is that of its first port.
func (all ports) addNICs(nics []model.Metric) {
	type device struct {
		t    target
		rdma string
	}
	interfaces := map[device]int{}
	for _, l := range nics {
		interfaces[device{targetOf(l), string(l["rdma"])}]++
	}
	for _, l := range nics {
		n, rdma, netdev := all.node(l), string(l["rdma"]), string(l["netdev"])
		list := n.of(rdma)
		if rdma != "" && len(list) == 0 && interfaces[device{targetOf(l), rdma}] == 1 {
			p := n.port(rdma, 1)
			if p.netdev = netdev; netdev != "" {
				n.netdevs[netdev] = p
			}
			list = []*port{p}
		}
		if netdev != "" {
			p := n.netdev(netdev)
			p.device = cmp.Or(p.device, rdma)
			list = append(list, p)
		}
		for _, p := range list {
			p.address, p.role = cmp.Or(p.address, string(l["address"])), cmp.Or(p.role, string(l["role"]))
		}
	}
}

// of gives the ports of an RDMA device.
func (n *node) of(device string) []*port {
	var list []*port
	for at, p := range n.rdma {
		if at.device == device {
			list = append(list, p)
		}
	}
	return list
}

// interfaces gives those of an RDMA device of whose ports nothing is known.
func (n *node) interfaces(device string) []*port {
	var list []*port
	for _, p := range n.netdevs {
		if p.number == 0 && p.device == device {
			list = append(list, p)
		}
	}
	return list
}

// list gives every port once, in the order of the addresses.
func (n *node) list() []*port {
	list := slices.Collect(maps.Values(n.rdma))
	for _, p := range n.netdevs {
		if p.number == 0 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *port) int {
		return cmp.Or(strings.Compare(a.address, b.address), naturally(a.name(), b.name()))
	})
	return list
}

// number gives the compute ports of each node their rails, in the order of their
// addresses. An interface that is bonded into a port is of that port's.
func (all ports) number() {
	for _, n := range all {
		next := 0
		for _, p := range n.list() {
			if p.role == "compute" && (p.number > 0 || len(n.of(p.device)) == 0) {
				p.rail = next
				next++
			}
		}
		for _, p := range n.netdevs {
			if list := n.of(p.device); p.number == 0 && p.role == "compute" && len(list) == 1 {
				p.rail = list[0].rail
			}
		}
	}
}

// named gives the ports that a series is about: the one that its labels name, or
// those that a subject does.
func (all ports) named(l model.Metric) []*port {
	n := all.node(l)
	if subject, ok := l["subject"]; ok {
		return n.subject(string(subject))
	}
	if device := string(l["device"]); device != "" {
		return []*port{n.port(device, numberOf(l))}
	}
	if name := string(l["netdev"]); name != "" {
		return []*port{n.netdev(name)}
	}
	return nil
}

// subject gives the ports that a check judged: interfaces, one port of an RDMA
// device (mlx5_0/2), or all ports of one, of which only it is named.
func (n *node) subject(s string) []*port {
	var list []*port
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == ',' })
	for i, part := range parts {
		found := n.of(part)
		if len(found) == 0 {
			found = n.interfaces(part)
		}
		if i+1 < len(parts) {
			number, err := strconv.Atoi(parts[i+1])
			if p := n.rdma[numbered{part, number}]; err == nil && p != nil {
				found = []*port{p}
			}
		}
		if p := n.netdevs[part]; p != nil {
			found = append(found, p)
		}
		for _, p := range found {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}
