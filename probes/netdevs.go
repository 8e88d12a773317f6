// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"math"
	"path"
	"strconv"
	"strings"
)

const (
	classNet  = "sys/class/net"
	classRDMA = "sys/class/infiniband"
)

// device finds the canonical directory of a class entry and of the device that
// it belongs to; the latter is "" for what belongs to no hardware.
func (h *Host) device(class, name string) (own, device string) {
	own = path.Join(class, name)
	if dir, err := h.Dir(class); err == nil {
		if target, err := dir.Readlink(name); err == nil {
			own = path.Join(class, target)
		}
		dir.Close()
	}
	if address, _ := nearestAddress(own); h.Excluded(address) {
		return own, ""
	}
	dir, err := h.Dir(own)
	if err != nil {
		return own, ""
	}
	defer dir.Close()
	if target, err := dir.Readlink("device"); err == nil {
		return own, path.Join(own, target)
	}
	// Older recordings leave the link out: …/0000:18:00.0/net/eth0 says it as well.
	if i := strings.LastIndex(own, "/"+path.Base(class)+"/"); i > 0 && !strings.HasPrefix(own, "sys/class/") {
		return own, own[:i]
	}
	return own, ""
}

// An Interface is an entry of /sys/class/net, of whatever kind.
type Interface struct {
	Name     string // as the kernel has it: to be shown only by way of Printable
	Path     string // canonical directory in sysfs
	Hardware bool   // it belongs to a device: it is no bond, and no container's
}

// Interfaces lists the network interfaces, but those of excluded functions. Of
// those that are made of nothing, of which containers have many, only the
// link is read.
func (h *Host) Interfaces() ([]Interface, error) {
	class, err := h.Dir(classNet)
	if err != nil {
		return nil, err
	}
	defer class.Close()
	names, err := class.List()
	if err != nil {
		return nil, err
	}
	var list []Interface
	for _, name := range names {
		if target, err := class.Readlink(name); err == nil {
			if own := path.Join(classNet, target); strings.HasPrefix(own, "sys/devices/virtual/") {
				list = append(list, Interface{Name: name, Path: own})
				continue
			}
		}
		own, device := h.device(classNet, name)
		if !h.forbids(own, device) {
			list = append(list, Interface{name, own, device != ""})
		}
	}
	return list, nil
}

// forbids says whether a class entry is an excluded function's.
func (h *Host) forbids(own, device string) bool {
	ownAddress, _ := nearestAddress(own)
	address, _ := nearestAddress(device)
	return h.Excluded(ownAddress) || h.Excluded(address)
}

// netdevs lists the interfaces that belong to hardware.
func (h *Host) netdevs(inv *Inventory) {
	names, err := h.ReadDir(classNet)
	if err != nil {
		return
	}
	for _, name := range names {
		h.lookAt(path.Join(classNet, name))
		own, device := h.device(classNet, name)
		f, direct := inv.functionOf(device)
		if device == "" || f == nil {
			continue
		}
		dir, err := h.Dir(own)
		if err != nil {
			continue
		}
		n := readNetdev(dir, name, own)
		if target, err := dir.Readlink("master"); err == nil {
			n.Master = nameOf(target)
			n.Bonded = h.Exists(path.Join(classNet, path.Base(target), "bonding"))
		}
		dir.Close()
		n.Function, n.Port = f, direct && !representor(n.PhysPortName)
		inv.Netdevs = append(inv.Netdevs, n)
		f.Netdevs = append(f.Netdevs, n)
	}
}

// nameOf gives the name of what a link leads to. Whoever can name a device, an
// interface or a mount can put anything but a slash and a NUL into it; paths
// keep names as they are, what is shown does not.
func nameOf(target string) string { return Printable(path.Base(target)) }

func readNetdev(dir *Dir, name, own string) *Netdev {
	n := &Netdev{Name: Printable(name), Path: own, MAC: textOf(dir, "address"), OperState: textOf(dir, "operstate"), PhysPortName: textOf(dir, "phys_port_name")}
	n.Type, _ = strconv.Atoi(textOf(dir, "type"))
	n.MTU, _ = strconv.Atoi(textOf(dir, "mtu"))
	n.DevPort, _ = strconv.Atoi(textOf(dir, "dev_port"))
	// A port without carrier answers -1, which drivers write as 65535 or, without
	// the sign, as 4294967295 (SPEED_UNKNOWN), or EINVAL: no speed.
	if mbps, err := strconv.Atoi(textOf(dir, "speed")); err == nil && mbps > 0 && mbps != math.MaxUint16 && mbps < math.MaxInt32 {
		n.SpeedMbps = Some(mbps)
	}
	switch textOf(dir, "carrier") {
	case "1":
		n.Carrier = Some(true)
	case "0":
		n.Carrier = Some(false)
	}
	return n
}

// representor tells the switchdev names of virtual functions and subfunctions
// (pf0vf1, c1pf0sf3) from those of physical ports (p0).
func representor(physPortName string) bool {
	s := strings.TrimLeft(physPortName, "c0123456789")
	return strings.HasPrefix(s, "pf")
}

// rdma lists the RDMA devices.
func (h *Host) rdma(inv *Inventory) {
	names, err := h.ReadDir(classRDMA)
	if err != nil {
		return
	}
	for _, name := range names {
		h.lookAt(path.Join(classRDMA, name))
		own, device := h.device(classRDMA, name)
		if h.forbids(own, device) {
			continue
		}
		dir, err := h.Dir(own)
		if err != nil {
			continue
		}
		d := &RDMADevice{Name: Printable(name), Path: own}
		software := h.software(d, dir)
		if !software {
			d.Function, d.Port = inv.functionOf(device)
		}
		if software && h.forbids(h.device(classNet, d.Lower)) || !software && d.Function == nil {
			dir.Close()
			continue
		}
		d.NodeType, d.HCAType, d.Firmware = afterColon(textOf(dir, "node_type")), textOf(dir, "hca_type"), textOf(dir, "fw_ver")
		d.NodeGUID, d.SysImageGUID = guid(textOf(dir, "node_guid")), guid(textOf(dir, "sys_image_guid"))
		dir.Close()
		d.Ports = h.rdmaPorts(own)
		inv.RDMA = append(inv.RDMA, d)
		if d.Function != nil {
			d.Function.RDMA = append(d.Function.RDMA, d)
		}
	}
}

// software says whether the kernel makes an RDMA device of an interface, which
// soft-RoCE names as its parent. Kernels before 5.13 have such devices in the
// directory of the interface's PCI function, as if they were its own.
func (h *Host) software(d *RDMADevice, dir *Dir) bool {
	d.Lower = textOf(dir, "parent")
	return d.Lower != "" || strings.HasPrefix(d.Path, "sys/devices/virtual/") || strings.HasPrefix(textOf(dir, "node_desc"), "Software iWARP")
}

// guid gives a GUID, or "" for one that is zero and so names nothing.
func guid(s string) string {
	if strings.Trim(s, "0:") == "" {
		return ""
	}
	return s
}

func (h *Host) rdmaPorts(own string) []RDMAPort {
	numbers, err := h.ReadDir(path.Join(own, "ports"))
	if err != nil {
		return nil
	}
	var ports []RDMAPort
	for _, number := range numbers {
		n, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		dir, err := h.Dir(path.Join(own, "ports", number))
		if err != nil {
			continue
		}
		p := RDMAPort{Number: n, LinkLayer: textOf(dir, "link_layer")}
		p.State, p.PhysState = afterColon(textOf(dir, "state")), afterColon(textOf(dir, "phys_state"))
		if gbps, ok := ParseRate(textOf(dir, "rate")); ok {
			p.RateGbps = Some(gbps)
		}
		dir.Close()
		ports = append(ports, p)
	}
	return ports
}

// afterColon takes "4: ACTIVE" to "ACTIVE".
func afterColon(s string) string {
	if _, name, ok := strings.Cut(s, ": "); ok {
		return name
	}
	return s
}

// ParseRate reads an RDMA port's rate file: "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)".
func ParseRate(s string) (gbps float64, ok bool) {
	number, _, ok := strings.Cut(s, " Gb/sec")
	if !ok || len(number) > 12 {
		return 0, false
	}
	gbps, err := strconv.ParseFloat(number, 64)
	return gbps, err == nil && gbps > 0 && gbps < 1e6
}
