// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes/pci"
)

const pciDevices = "sys/bus/pci/devices"

// A Dev is one PCI function of a Host.
type Dev struct {
	h            *Host
	Address, Dir string
}

// Dev gives a function that the host has.
func (h *Host) Dev(address string) *Dev {
	h.tb.Helper()
	if h.dirs[address] == "" {
		h.tb.Fatalf("the host has no %s", address)
	}
	return &Dev{h, address, h.dirs[address]}
}

// Add adds a function below a bridge, or on a root bus if parent is "". A link
// is written "8x8 of 32x16", where both are the same "32x16", and "" for none.
func (h *Host) Add(address, parent, class, id, link string) *Dev {
	h.tb.Helper()
	a, err := pci.ParseAddress(address)
	if err != nil {
		h.tb.Fatal(err)
	}
	above := fmt.Sprintf("sys/devices/pci%04x:%02x", a.Domain, a.Bus)
	if parent != "" {
		above = h.Dev(parent).Dir
	}
	d := &Dev{h, address, path.Join(above, address)}
	h.dirs[address] = d.Dir
	h.Link(path.Join(pciDevices, address), d.Dir)
	vendor, device, _ := strings.Cut(id, ":")
	d.Set("class", "0x"+class).Set("vendor", "0x"+vendor).Set("device", "0x"+device)
	d.Set("numa_node", "0").Set("local_cpulist", "0-7")
	if link != "" {
		d.PCIe(link)
	}
	return d
}

// Port adds a bridge: a root port if parent is "".
func (h *Host) Port(address, parent, link string) *Dev {
	h.tb.Helper()
	return h.Add(address, parent, "060400", "1000:c030", link).Driver("pcieport")
}

// Switch adds a switch below a root port: its upstream port and the downstream
// ports, all on one link.
func (h *Host) Switch(upstream, parent, link string, downstream ...string) {
	h.tb.Helper()
	h.Port(upstream, parent, link)
	for _, d := range downstream {
		h.Port(d, upstream, link)
	}
}

// GPU adds an H100.
func (h *Host) GPU(address, parent, link string) *Dev {
	h.tb.Helper()
	return h.Add(address, parent, "030200", "10de:2330", link).Driver("nvidia")
}

// NIC adds a ConnectX-7 without ports.
func (h *Host) NIC(address, parent, link string) *Dev {
	h.tb.Helper()
	return h.Add(address, parent, "020700", "15b3:1021", link).Driver("mlx5_core")
}

// At gives the function as it is from a mark on.
func (d *Dev) At(mark string) *Dev { return &Dev{d.h.At(mark), d.Address, d.Dir} }

// Set writes an attribute.
func (d *Dev) Set(name, content string) *Dev {
	d.h.Set(path.Join(d.Dir, name), content)
	return d
}

// Fail makes reading an attribute fail with an error (EIO).
func (d *Dev) Fail(name, errno string) *Dev { return d.Set(name+".err", errno) }

// Drop takes attributes away from the start on.
func (d *Dev) Drop(names ...string) *Dev {
	for _, name := range names {
		d.h.Drop(path.Join(d.Dir, name))
	}
	return d
}

// Gone takes the function off the bus, with all below it.
func (d *Dev) Gone() *Dev {
	d.h.Remove(d.Dir)
	for address, dir := range d.h.dirs {
		if dir == d.Dir || strings.HasPrefix(dir, d.Dir+"/") {
			d.h.Remove(path.Join(pciDevices, address))
		}
	}
	return d
}

// PCIe sets the link's state and maximum: "8x8 of 32x16".
func (d *Dev) PCIe(link string) *Dev {
	now, most, ok := strings.Cut(link, " of ")
	if !ok {
		most = now
	}
	for prefix, text := range map[string]string{"current": now, "max": most} {
		speed, width, ok := strings.Cut(text, "x")
		if !ok {
			d.h.tb.Fatalf("%q is no link", link)
		}
		if !strings.Contains(speed, ".") {
			speed += ".0"
		}
		d.Set(prefix+"_link_speed", speed+" GT/s PCIe").Set(prefix+"_link_width", width)
	}
	return d
}

// Now sets the link's state alone: "8x8".
func (d *Dev) Now(link string) *Dev {
	speed, width, _ := strings.Cut(link, "x")
	if !strings.Contains(speed, ".") {
		speed += ".0"
	}
	return d.Set("current_link_speed", speed+" GT/s PCIe").Set("current_link_width", width)
}

// Driver binds the function to a driver.
func (d *Dev) Driver(name string) *Dev {
	d.h.Link(path.Join(d.Dir, "driver"), "sys/bus/pci/drivers/"+name)
	return d
}

// Node sets the NUMA node.
func (d *Dev) Node(n int) *Dev { return d.Set("numa_node", strconv.Itoa(n)) }

// ID sets vendor and device: "8086:1592".
func (d *Dev) ID(id string) *Dev {
	vendor, device, _ := strings.Cut(id, ":")
	return d.Set("vendor", "0x"+vendor).Set("device", "0x"+device)
}

// VirtualOf makes the function a virtual one.
func (d *Dev) VirtualOf(address string) *Dev {
	d.h.Link(path.Join(d.Dir, "physfn"), d.h.Dev(address).Dir)
	return d
}

// Group puts the function into an IOMMU group of a type; "" for a group that
// does not tell its type.
func (d *Dev) Group(number, domain string) *Dev {
	group := "sys/kernel/iommu_groups/" + number
	d.h.Link(path.Join(d.Dir, "iommu_group"), group)
	d.h.Set(path.Join(group, "reserved_regions"), "")
	if domain != "" {
		d.h.Set(path.Join(group, "type"), domain)
	}
	return d
}

// Netdev adds an interface with carrier; 0 Gb/s is a port without.
func (d *Dev) Netdev(name string, gbps int) *Dev {
	dir := path.Join(d.Dir, "net", name)
	d.h.Link("sys/class/net/"+name, dir).Link(path.Join(dir, "device"), d.Dir)
	d.Set("net/"+name+"/type", "1").Set("net/"+name+"/mtu", "9000").Set("net/"+name+"/dev_port", "0")
	if gbps == 0 {
		return d.Set("net/"+name+"/carrier", "0").Fail("net/"+name+"/speed", "EINVAL")
	}
	return d.Set("net/"+name+"/carrier", "1").Set("net/"+name+"/speed", strconv.Itoa(gbps*1000))
}

// RDMA adds an RDMA device of one InfiniBand port; 0 Gb/s is a port that is down.
func (d *Dev) RDMA(name string, gbps int, guid string) *Dev {
	dir := path.Join(d.Dir, "infiniband", name)
	d.h.Link("sys/class/infiniband/"+name, dir).Link(path.Join(dir, "device"), d.Dir)
	d.h.Set(path.Join(dir, "node_guid"), guid).Set(path.Join(dir, "sys_image_guid"), guid)
	state, phys, rate := "4: ACTIVE", "5: LinkUp", strconv.Itoa(gbps)+" Gb/sec (4X NDR)"
	if gbps == 0 {
		state, phys, rate = "1: DOWN", "3: Disabled", "40 Gb/sec (4X QDR)"
	}
	port := path.Join(dir, "ports/1")
	d.h.Set(port+"/state", state).Set(port+"/phys_state", phys).Set(port+"/rate", rate).Set(port+"/link_layer", "InfiniBand")
	d.h.Set(port+"/counters/link_downed", "0") // that a driver has counters and none can be seen is a finding of its own
	return d
}

// Addresses lists the host's PCI functions.
func (h *Host) Addresses() []string { return slices.Sorted(maps.Keys(h.dirs)) }

// Parent gives the address of the bridge above a function; "" if there is none.
func (h *Host) Parent(address string) string {
	h.tb.Helper()
	parent := path.Base(path.Dir(h.Dev(address).Dir))
	if h.dirs[parent] == "" {
		return ""
	}
	return parent
}
