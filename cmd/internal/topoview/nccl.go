// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// WriteNCCL writes the tree as NCCL reads it from NCCL_TOPO_FILE: processors,
// and below them switches, GPUs and NICs with the most that each link can do.
//
// NCCL keeps what a file says and asks the machine for the rest, so that a
// wrong word is worse than none. Left to NCCL are <gpu> with all of its
// attributes and its NVLinks (device numbers differ in a container that sees
// fewer GPUs, ranks from job to job), of <net> dev, latency, maxconn and gdr,
// and all that is not known here.
//
// <net> has a price: a NIC that a file names is not looked at again, and what
// is above it only by processes whose GPU is there as well. Two processes then
// have a whole and a half description of one bridge, and NCCL takes them for
// two bridges. So <net> stands only where all above it is known.
func (m *Machine) WriteNCCL(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!-- fabricd topo: a file for NCCL_TOPO_FILE -->\n")
	m.ncclSystem().write(&b, "")
	_, err := io.WriteString(w, b.String())
	return err
}

// A planter puts functions into NCCL's tree.
type planter struct {
	*Machine
	cpus  map[int]*element
	pcis  map[*probes.Function]*element
	whole map[*element]bool // what NCCL has nothing to add to, nor to what is above
}

func (m *Machine) ncclSystem() *element {
	p := &planter{m, map[int]*element{}, map[*probes.Function]*element{}, map[*element]bool{}}
	for _, f := range m.gpus {
		p.plant(f).comment = m.ncclComment(f)
	}
	for _, f := range m.matrixNICs(false) {
		e := p.plant(m.firstPort(f))
		if p.whole[e] {
			e.nets(f, m.onePort(f))
		}
	}
	system := &element{name: "system", attrs: []attribute{{"version", "1"}}}
	var ids []int
	for id := range p.cpus {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		system.subs = append(system.subs, p.cpus[id])
	}
	return system
}

// firstPort gives function 0 of a NIC of several functions: NCCL takes all for
// one device, which it knows by that address.
func (m *Machine) firstPort(f *probes.Function) *probes.Function {
	for _, n := range m.nics {
		if n.Addr.Slot() == f.Addr.Slot() && n.ParentAddress == f.ParentAddress && n.Addr.Function == 0 {
			return n
		}
	}
	return f
}

// onePort says whether a NIC's card has one RDMA port in all.
func (m *Machine) onePort(f *probes.Function) bool {
	first, ports := m.firstPort(f), 0
	for _, n := range m.nics {
		if m.firstPort(n) != first {
			continue
		}
		for _, d := range n.RDMA {
			if d.Port {
				ports += len(d.Ports)
			}
		}
	}
	return ports == 1
}

func rootOf(f *probes.Function) *probes.Function {
	for f.Parent != nil {
		f = f.Parent
	}
	return f
}

// plant gives a function's element and hangs it where NCCL does: below the
// function two levels up. Ports of one level stay out by that: root ports, and
// the downstream ports of switches.
func (p *planter) plant(f *probes.Function) *element {
	if e := p.pcis[f]; e != nil {
		return e
	}
	e, whole := ncclPCI(f)
	p.pcis[f] = e
	var above *element
	if f.Parent != nil && f.Parent.Parent != nil {
		above = p.plant(f.Parent.Parent)
	} else {
		above = p.cpu(p.node(rootOf(f)))
	}
	p.whole[e] = whole && p.whole[above]
	above.subs = append(above.subs, e)
	slices.SortStableFunc(above.subs, func(a, b *element) int { return a.busid.Compare(b.busid) })
	return e
}

func (p *planter) cpu(id int) *element {
	if e := p.cpus[id]; e != nil {
		return e
	}
	e := &element{name: "cpu"}
	affinity := p.affinity(id)
	e.set("numaid", strconv.Itoa(id))
	e.set("affinity", affinity)
	e.set("arch", p.processor.arch)
	e.set("vendor", p.processor.vendor)
	e.set("familyid", p.processor.family)
	e.set("modelid", p.processor.model)
	// Node -1 has no processors that NCCL could add.
	p.whole[e] = p.processor.complete() && (affinity != "" || id < 0)
	p.cpus[id] = e
	return e
}

// affinity writes a node's processors as the kernel's cpumap does: words of 32
// bits, the highest first. "" if they are not known, or too many for NCCL.
func (m *Machine) affinity(id int) string {
	var words []uint32
	var mine []int
	found := false
	for _, n := range m.inventory.Nodes {
		cpus, err := probes.ParseList(n.CPUList)
		if err != nil {
			return ""
		}
		for _, c := range cpus {
			for len(words) <= c/32 {
				words = append(words, 0)
			}
		}
		if n.ID == id {
			mine, found = cpus, true
		}
	}
	if !found || len(words) == 0 {
		return ""
	}
	for _, c := range mine {
		words[c/32] |= 1 << (c % 32)
	}
	parts := make([]string, len(words))
	for i, w := range words {
		parts[len(words)-1-i] = fmt.Sprintf("%08x", w)
	}
	text := strings.Join(parts, ",")
	if len(text) > maxValue {
		return ""
	}
	return text
}

// ncclPCI makes a function's element; whole says that nothing of it is unknown.
func ncclPCI(f *probes.Function) (e *element, whole bool) {
	most := f.Max
	if f.Parent != nil {
		most = most.Min(f.Parent.Max)
	}
	e = &element{name: "pci", busid: f.Addr}
	e.set("busid", f.Address)
	e.set("class", fmt.Sprintf("0x%06x", f.Class))
	e.set("vendor", hexID(f.Vendor))
	e.set("device", hexID(f.Device))
	if f.SubVendor != 0 || f.SubDevice != 0 {
		e.set("subsystem_vendor", fmt.Sprintf("0x%04x", f.SubVendor))
		e.set("subsystem_device", fmt.Sprintf("0x%04x", f.SubDevice))
	}
	e.set("link_speed", ncclSpeed(most.Speed))
	if most.Width > 0 {
		e.set("link_width", strconv.Itoa(most.Width))
	}
	return e, len(e.attrs) == 8
}

// ncclSpeed writes a speed as the kernel does: NCCL compares the text.
func ncclSpeed(s pci.Speed) string {
	if s == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d GT/s PCIe", s/10, s%10)
}

// nets adds a <net> for each RDMA device of a NIC's function. A name that
// NCCL's parser could not read is left to NCCL. So is the port where there are
// several, of a device or of a card: NCCL numbers those that are up.
func (e *element) nets(f *probes.Function, onePort bool) {
	for _, d := range f.RDMA {
		if !d.Port || !plainName(d.Name) {
			continue
		}
		net := &element{name: "net"}
		net.set("name", d.Name)
		if len(d.Ports) == 1 {
			if p := d.Ports[0]; p.State == "ACTIVE" && p.RateGbps.OK {
				net.set("speed", fmt.Sprintf("%.0f", p.RateGbps.V*1000)) // Mb/s
			}
			if onePort {
				net.set("port", strconv.Itoa(d.Ports[0].Number))
			}
		}
		net.set("guid", ncclGUID(d.SysImageGUID))
		if len(e.subs) == 0 {
			e.subs = append(e.subs, &element{name: "nic"})
		}
		e.subs[0].subs = append(e.subs[0].subs, net)
	}
}

// ncclGUID writes a GUID (0c42:a103:…) as NCCL does, which reads its bytes in
// the order of a little-endian machine.
func ncclGUID(s string) string {
	n, err := strconv.ParseUint(strings.ReplaceAll(s, ":", ""), 16, 64)
	if err != nil || n == 0 {
		return ""
	}
	var swapped uint64
	for range 8 {
		swapped, n = swapped<<8|n&0xff, n>>8
	}
	return fmt.Sprintf("0x%x", swapped)
}

// ncclComment says which GPU an element is, for people.
func (m *Machine) ncclComment(f *probes.Function) string {
	text := m.labels[f]
	if d := m.snapshot.Find(f.Address); d != nil {
		text = strings.TrimSpace(text + " " + d.Name)
	}
	text = strings.Map(func(r rune) rune {
		if plainRune(r) || r == ' ' {
			return r
		}
		return '_'
	}, text)
	text = strings.ReplaceAll(text, "--", "__") // the end of a comment
	return text[:min(len(text), 64)]
}
