// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/fabricd/fabricd/probes/internal/plaintext"
	"github.com/fabricd/fabricd/probes/pci"
)

const pciDevices = "sys/bus/pci/devices"

// functions lists the PCI functions. What is fixed for the life of a device's
// directory is taken over from the old inventory.
func (h *Host) functions(inv, old *Inventory) {
	names, bus, err := h.listBus()
	if err != nil && !isGone(err) && old != nil {
		for _, f := range old.Functions { // not seen is not gone
			inv.add(f.again())
		}
		return
	}
	if bus == nil {
		return
	}
	defer bus.Close()
	for _, name := range names {
		addr, err := pci.ParseAddress(name)
		if err != nil || h.Excluded(name) {
			continue
		}
		if f := h.function(bus, name, addr, old); f != nil {
			inv.add(f)
		}
	}
	slices.SortFunc(inv.Functions, func(a, b *Function) int { return a.Addr.Compare(b.Addr) })
}

func (inv *Inventory) add(f *Function) {
	inv.Functions = append(inv.Functions, f)
	inv.byAddress[f.Address] = f
}

func (h *Host) listBus() (names []string, bus *Dir, err error) {
	if bus, err = h.Dir(pciDevices); err != nil {
		return nil, nil, err
	}
	if names, err = bus.List(); err != nil {
		bus.Close()
		return nil, nil, err
	}
	return names, bus, nil
}

// isGone says whether an error means that a device is not there, and not that it
// could not be looked at.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}

// again is the function as it was, for an inventory in which it could not be
// looked at; what it joins with is found anew.
func (f *Function) again() *Function {
	c := *f
	c.Parent, c.Netdevs, c.RDMA, c.RDMANames, c.NetdevNames = nil, nil, nil, nil, nil
	return &c
}

// function reads one function; nil if it went meanwhile.
func (h *Host) function(bus *Dir, name string, addr pci.Address, old *Inventory) *Function {
	h.lookAt(path.Join(pciDevices, name))
	f := &Function{Address: name, Addr: addr, Path: path.Join(pciDevices, name)}
	if target, err := bus.Readlink(name); err == nil {
		f.Path = path.Join(pciDevices, target)
	}
	was := old.Function(name)
	dir, err := h.Dir(f.Path)
	if err == nil {
		defer dir.Close()
		f.identity, err = dir.d.identity()
	}
	if err != nil {
		if was != nil && !isGone(err) {
			return was.again()
		}
		return nil
	}
	f.place()
	if was != nil && !h.Recorded() && was.Path == f.Path && was.identity == f.identity && was.complete() {
		f.takeOver(was)
	} else {
		f.readFixed(dir)
	}
	f.readChanging(h, dir)
	return f
}

// place finds host bridge and parent in the path. Only what follows the last
// host bridge counts: below a VMD controller there is another one.
func (f *Function) place() {
	for part := range strings.SplitSeq(path.Dir(f.Path), "/") {
		if rest, ok := strings.CutPrefix(part, "pci"); ok && strings.Count(rest, ":") == 1 {
			f.Root, f.Above = Printable(part), nil
		} else if _, err := pci.ParseAddress(part); err == nil {
			f.Above = append(f.Above, part)
		}
	}
	slices.Reverse(f.Above)
	if len(f.Above) > 0 {
		f.ParentAddress = f.Above[0]
	}
}

// complete says whether everything fixed could be read; what could not, as of
// a device in reset, is asked again.
func (f *Function) complete() bool {
	return f.Class != 0 && (!f.HasLink || f.MaxWidthRaw.OK && f.MaxWidthRaw.V != pci.WidthLost)
}

func (f *Function) takeOver(was *Function) {
	f.Vendor, f.Device, f.SubVendor, f.SubDevice = was.Vendor, was.Device, was.SubVendor, was.SubDevice
	f.Class, f.Kind = was.Class, was.Kind
	f.LocalCPUs, f.HasLink, f.Max, f.MaxWidthRaw = was.LocalCPUs, was.HasLink, was.Max, was.MaxWidthRaw
	f.PhysicalFunction = was.PhysicalFunction
}

func (f *Function) readFixed(dir *Dir) {
	f.Vendor, f.Device = uint16(hexOf(dir, "vendor")), uint16(hexOf(dir, "device"))
	f.SubVendor, f.SubDevice = uint16(hexOf(dir, "subsystem_vendor")), uint16(hexOf(dir, "subsystem_device"))
	f.Class = uint32(hexOf(dir, "class"))
	f.Kind = pci.KindOf(f.Vendor, f.Class)
	f.LocalCPUs = textOf(dir, "local_cpulist")
	if target, err := dir.Readlink("physfn"); err == nil {
		f.PhysicalFunction = nameOf(target)
	}
	if file, err := dir.d.open("current_link_width"); err == nil {
		file.close()
		f.HasLink = true
	}
	b, err := dir.ReadFile("max_link_speed")
	if speed, ok := pci.ParseSpeed(b); err == nil && ok {
		f.Max.Speed = speed
	}
	b, err = dir.ReadFile("max_link_width")
	if width, ok := pci.ParseWidth(b); err == nil && ok {
		f.MaxWidthRaw = Some(width)
		if width < pci.WidthLost {
			f.Max.Width = width
		}
	} else {
		f.MaxWidthRaw = None[int](err)
	}
}

// readChanging reads what may change while the device stays.
func (f *Function) readChanging(h *Host, dir *Dir) {
	if target, err := dir.Readlink("driver"); err == nil {
		f.Driver = nameOf(target)
	}
	b, err := dir.ReadFile("numa_node")
	if n, e := strconv.Atoi(string(bytes.TrimSpace(b))); err == nil && e == nil && n >= -1 {
		f.NUMANode = Some(n)
	} else {
		f.NUMANode = None[int](err)
	}
	if target, err := dir.Readlink("iommu_group"); err == nil {
		f.IOMMUGroup = nameOf(target)
		b, err := h.ReadFile(path.Join("sys/kernel/iommu_groups", path.Base(target), "type"))
		if text := Printable(string(bytes.TrimSpace(b))); err == nil && text != "" {
			f.IOMMUType = Some(text)
		} else {
			f.IOMMUType = None[string](err)
		}
	}
}

// hexOf reads an attribute of the form 0x10de; 0 if it cannot be read, which
// is no valid id of a vendor or class that matters.
func hexOf(d *Dir, name string) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(textOf(d, name), "0x"), 16, 32)
	if err != nil {
		return 0
	}
	return n
}

// textOf reads a one-line attribute; "" if it cannot be read. What is not
// printable is not taken.
func textOf(d *Dir, name string) string {
	buf := d.h.buffer()
	defer d.h.buffers.Put(buf)
	b, err := readAttribute(d.d, name, buf[:])
	if err != nil {
		return ""
	}
	return Printable(string(bytes.TrimSpace(b)))
}

// Printable replaces what does not belong into a label or a terminal: control
// characters, what is no UTF-8, and what is invisible or turns text around, by
// which one name could pass for another.
func Printable(s string) string { return plaintext.Text(s) }

// ParseJSON reads a document that others wrote into what to points to, and makes
// every string in it printable.
func ParseJSON(b []byte, to any) error {
	if err := json.Unmarshal(b, to); err != nil {
		return err
	}
	plaintext.All(to)
	return nil
}
