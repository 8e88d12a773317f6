// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
)

const (
	nodeDir = "sys/devices/system/node"
	cpuDir  = "sys/devices/system/cpu"
)

// nodes lists the online NUMA nodes.
func (h *Host) nodes() []Node {
	b, err := h.ReadFile(path.Join(nodeDir, "online"))
	if err != nil {
		return nil
	}
	ids, err := ParseList(string(bytes.TrimSpace(b)))
	if err != nil {
		return nil
	}
	var nodes []Node
	var sockets map[int]string
	for _, id := range ids {
		h.lookAt(path.Join(nodeDir, "node"+strconv.Itoa(id)))
		n := Node{ID: id}
		dir, err := h.Dir(path.Join(nodeDir, "node"+strconv.Itoa(id)))
		if err != nil {
			continue
		}
		b, err := dir.ReadFile("cpulist")
		n.CPUList = Printable(string(bytes.TrimSpace(b)))
		if cpus, bad := ParseList(n.CPUList); err == nil && bad == nil {
			n.CPUs = Some(len(cpus))
		}
		for d := range strings.FieldsSeq(textOf(dir, "distance")) {
			if v, err := strconv.Atoi(d); err == nil {
				n.Distances = append(n.Distances, v)
			}
		}
		if b, err := dir.ReadFile("meminfo"); err == nil {
			n.MemTotal = memTotal(b)
		}
		dir.Close()
		n.Socket = h.socketOf(n, &sockets)
		nodes = append(nodes, n)
	}
	return nodes
}

// socketOf finds a node's socket by the first of its processors of which it is
// told: in sysfs, or else in cpuinfo, which is read once.
func (h *Host) socketOf(n Node, cpuinfo *map[int]string) Value[int] {
	cpus, err := ParseList(n.CPUList)
	if err != nil {
		return Value[int]{}
	}
	number := func(text string) Value[int] {
		id, err := strconv.Atoi(text)
		if err != nil || id < 0 {
			return Value[int]{}
		}
		return Some(id)
	}
	for _, cpu := range cpus {
		b, err := h.ReadFile(path.Join(cpuDir, "cpu"+strconv.Itoa(cpu), "topology/physical_package_id"))
		if id := number(string(bytes.TrimSpace(b))); err == nil && id.OK {
			return id
		}
	}
	if *cpuinfo == nil {
		b, _ := h.ReadFile("proc/cpuinfo")
		*cpuinfo = packages(b)
	}
	for _, cpu := range cpus {
		if id := number((*cpuinfo)[cpu]); id.OK {
			return id
		}
	}
	return Value[int]{}
}

// packages reads the processors' packages in /proc/cpuinfo.
func packages(cpuinfo []byte) map[int]string {
	all := map[int]string{}
	cpu := -1
	for line := range bytes.Lines(cpuinfo) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch string(bytes.TrimSpace(key)) {
		case "processor":
			cpu = -1
			if n, err := strconv.Atoi(string(value)); ok && err == nil {
				cpu = n
			}
		case "physical id":
			if cpu >= 0 {
				all[cpu] = string(value)
			}
		}
	}
	return all
}

// memTotal reads "Node 0 MemTotal:       65843236 kB".
func memTotal(b []byte) Value[uint64] {
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) >= 4 && string(fields[2]) == "MemTotal:" {
			if kb, err := strconv.ParseUint(string(fields[3]), 10, 50); err == nil {
				return Some(kb << 10)
			}
		}
	}
	return Value[uint64]{}
}

// maxList bounds the members of a list: more CPUs than any kernel has.
const maxList = 1 << 16

// ParseList reads the kernel's list form: "0-3,8,10-11"; an empty line is an
// empty list.
func ParseList(s string) ([]int, error) {
	var list []int
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b >= maxList || len(list)+b-a >= maxList {
			return nil, fmt.Errorf("%q is not a list such as 0-3,8", shorten(s))
		}
		for ; a <= b; a++ {
			list = append(list, a)
		}
	}
	return list, nil
}

// findFacts reads what does not change; a live host's is read once.
func (h *Host) findFacts() Facts {
	if h.facts != nil {
		return *h.facts
	}
	var f Facts
	text := func(name string) string {
		b, _ := h.ReadFile(name)
		return Printable(string(bytes.TrimSpace(b)))
	}
	f.Cmdline, f.Kernel = text("proc/cmdline"), text("proc/sys/kernel/osrelease")
	cpuinfo, _ := h.ReadFile("proc/cpuinfo")
	f.Sockets = h.sockets(cpuinfo)
	vendor, product := text("sys/class/dmi/id/sys_vendor"), text("sys/class/dmi/id/product_name")
	f.Product = strings.TrimSpace(vendor + " " + product)
	f.Guest, f.Evidence = h.guest(cpuinfo, vendor, product)
	if !h.Recorded() {
		h.facts = &f
	}
	return f
}

// sockets counts processor packages by their numbers, which need not be dense.
func (h *Host) sockets(cpuinfo []byte) int {
	ids := map[string]bool{}
	if dir, err := h.Dir(cpuDir); err == nil {
		names, _ := dir.List()
		dir.Close()
		for _, name := range names {
			if _, err := strconv.Atoi(strings.TrimPrefix(name, "cpu")); err != nil {
				continue
			}
			b, err := h.ReadFile(path.Join(cpuDir, name, "topology/physical_package_id"))
			if id := string(bytes.TrimSpace(b)); err == nil && id != "-1" && id != "" {
				ids[id] = true
			}
		}
	}
	if len(ids) > 0 {
		return len(ids)
	}
	for line := range bytes.Lines(cpuinfo) {
		if key, id, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "physical id" {
			ids[string(bytes.TrimSpace(id))] = true
		}
	}
	return len(ids)
}

// hypervisors are the DMI vendors and product names of virtual machines.
var hypervisors = [...]string{
	"QEMU", "KVM", "Bochs", "VMware", "VirtualBox", "innotek", "Xen", "Virtual Machine", "Google Compute Engine",
	"Amazon EC2", "OpenStack", "Parallels", "Alibaba Cloud ECS", "Nutanix AHV", "BHYVE", "oVirt", "RHEV", "Firecracker", "Cloud Hypervisor", "HVM domU", "Apple Virtualization",
}

// guest finds out whether this is a virtual machine, and from what; without
// evidence nothing could be read that would tell.
func (h *Host) guest(cpuinfo []byte, vendor, product string) (bool, string) {
	if h.options.AssumeBareMetal {
		return false, "bare metal is assumed by the operator"
	}
	if strings.HasSuffix(product, ".metal") || strings.Contains(product, ".metal-") {
		return false, "the product " + product + " is a bare-metal machine"
	}
	if b, err := h.ReadFile("sys/hypervisor/type"); err == nil {
		caps, _ := h.ReadFile("proc/xen/capabilities")
		if !bytes.Contains(caps, []byte("control_d")) {
			return true, "/sys/hypervisor/type is " + Printable(string(bytes.TrimSpace(b)))
		}
		return false, "the control domain of a hypervisor"
	}
	if hypervisorFlag(cpuinfo) {
		return true, "/proc/cpuinfo has the hypervisor flag"
	}
	for _, name := range hypervisors {
		if strings.Contains(vendor, name) || strings.Contains(product, name) {
			return true, "the firmware names " + strings.TrimSpace(vendor+" "+product)
		}
	}
	if len(cpuinfo) == 0 && vendor == "" && product == "" {
		return false, ""
	}
	return false, "no sign of a hypervisor"
}

func hypervisorFlag(cpuinfo []byte) bool {
	for line := range bytes.Lines(cpuinfo) {
		if key, flags, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "flags" {
			for flag := range bytes.FieldsSeq(flags) {
				if string(flag) == "hypervisor" {
					return true
				}
			}
			return false // all CPUs have the same
		}
	}
	return false
}
