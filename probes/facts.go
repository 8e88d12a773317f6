// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
)

const nodeDir = "sys/devices/system/node"

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
	for _, id := range ids {
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
		nodes = append(nodes, n)
	}
	return nodes
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
	packages := map[string]bool{}
	const cpus = "sys/devices/system/cpu"
	if dir, err := h.Dir(cpus); err == nil {
		names, _ := dir.List()
		dir.Close()
		for _, name := range names {
			if _, err := strconv.Atoi(strings.TrimPrefix(name, "cpu")); err != nil {
				continue
			}
			b, err := h.ReadFile(path.Join(cpus, name, "topology/physical_package_id"))
			if id := string(bytes.TrimSpace(b)); err == nil && id != "-1" && id != "" {
				packages[id] = true
			}
		}
	}
	if len(packages) > 0 {
		return len(packages)
	}
	for line := range bytes.Lines(cpuinfo) {
		if key, id, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "physical id" {
			packages[string(bytes.TrimSpace(id))] = true
		}
	}
	return len(packages)
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
