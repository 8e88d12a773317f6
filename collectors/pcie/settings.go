// SPDX-License-Identifier: Apache-2.0

package pcie

import (
	"fmt"
	"strings"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

func iommuCheck() functionCheck {
	return functionCheck{
		Name:    "pcie_iommu",
		Help:    "Warns when a GPU or compute NIC is in an IOMMU group that translates addresses (DMA, DMA-FQ); info for other NICs. Translation slows peer-to-peer traffic or hinders it.",
		Silent:  "identity (passthrough), or no IOMMU at all, is ok; a device that is handed to a virtual machine is info.",
		Subject: functionSubject(),
		Eval:    func(f *function, _ *functionEnv) verdict { return evalIOMMU(f) },
	}
}

func evalIOMMU(f *function) verdict {
	if f.kind != pci.GPU && f.kind != pci.NIC {
		return verdict{}
	}
	domain := f.IOMMUType.V
	switch {
	case f.IOMMUGroup == "" && f.guest:
		return collectors.Verdictf(collectors.Unknown, "virtual machine: the host's IOMMU is not visible")
	case f.IOMMUGroup == "":
		return collectors.Verdictf(collectors.OK, "no IOMMU")
	case !f.IOMMUType.OK:
		return collectors.Verdictf(collectors.Unknown, "the type of IOMMU group %s is not told (kernels before 5.11 do not)", f.IOMMUGroup)
	case domain == "identity":
		return collectors.Verdictf(collectors.OK, "IOMMU group %s passes addresses through (identity)", f.IOMMUGroup)
	case domain != "DMA" && domain != "DMA-FQ":
		return collectors.Verdictf(collectors.Info, "IOMMU group %s has a domain of type %s: the device is handed to a virtual machine or a user's driver", f.IOMMUGroup, domain)
	}
	status := collectors.Info
	if f.kind == pci.GPU || f.role == topo.Compute {
		status = collectors.Warn
	}
	return collectors.Verdictf(status, "%s is in IOMMU group %s, which translates addresses (%s)", named(f.Function), f.IOMMUGroup, domain).
		Remedyf("iommu=pt on the kernel command line, unless devices are handed to virtual machines").
		With("/sys/kernel/iommu_groups/"+f.IOMMUGroup+"/type", domain)
}

func payloadCheck() functionCheck {
	return functionCheck{
		Name:    "pcie_payload",
		Help:    "Warns when the maximum payload in force differs along the path of a GPU or NIC; info when a NIC of at least 100 Gb/s asks for less than 512 bytes at once, or has relaxed ordering off.",
		Silent:  "a device that could do more than all of its path agreed on.",
		Subject: functionSubject(),
		Thresholds: []collectors.Threshold{
			{Name: "read_request", Default: 512, Unit: "bytes", Help: "smaller read requests of a fast NIC are info"},
			{Name: "fast", Default: 100, Unit: "Gb/s", Help: "rate from which a NIC is fast"},
		},
		Eval: evalPayload,
	}
}

func evalPayload(f *function, e *functionEnv) verdict {
	if f.kind != pci.GPU && f.kind != pci.NIC || f.link == nil {
		return verdict{}
	}
	own := f.config()
	if own == nil {
		return f.noConfig()
	}
	if !f.guest && f.payload.smallest != f.payload.largest {
		hops := payloadHops(f, e)
		return collectors.Verdictf(collectors.Warn, "maximum payload differs along the path: %s", hops).
			Remedyf("a reboot lets the firmware agree on one; a hot-added device gets the path's with pci=pcie_bus_safe on the kernel command line").
			With("DEVCTL maximum payload", hops)
	}
	var slow []string
	if gbps := topo.PortsGbps(f.Function); f.kind == pci.NIC && gbps >= e.Threshold("fast") {
		if own.MaxReadRequest < int(e.Threshold("read_request")) {
			slow = append(slow, fmt.Sprintf("maximum read request is %d bytes", own.MaxReadRequest))
		}
		if !own.RelaxedOrdering {
			slow = append(slow, "relaxed ordering is off")
		}
	}
	switch {
	case len(slow) > 0:
		return collectors.Verdictf(collectors.Info, "%s on %s", strings.Join(slow, " and "), named(f.Function)).
			Remedyf("firmware setup, or the vendor's tool: mlxconfig PCI_WR_ORDERING, setpci for the read request")
	case f.guest:
		return collectors.Verdictf(collectors.Unknown, "virtual machine: maximum payload is %d bytes here; the host's path is not visible", own.MaxPayload)
	case f.link.Upper == nil:
		return collectors.Verdictf(collectors.Unknown, "maximum payload is %d bytes here; the port above is not visible", own.MaxPayload)
	case f.payload.unseen != "":
		return collectors.Verdictf(collectors.Unknown, "%s", f.payload.unseen)
	}
	return collectors.Verdictf(collectors.OK, "maximum payload is %d bytes along the path", own.MaxPayload)
}

// payloadHops writes the maximum payload of each function up to the root port.
func payloadHops(f *function, e *functionEnv) string {
	l := lookAt(e.View, collectors.Readings[Reading](e.View, "pcie"))
	var hops []string
	for at := f.Function; at != nil; at = at.Parent {
		if x, _ := l.express(at); x != nil {
			hops = append(hops, fmt.Sprintf("%s %d", at.Address, x.MaxPayload))
		}
	}
	return strings.Join(hops, ", ")
}

// noConfig says why settings in configuration space are not known.
func (f *function) noConfig() verdict {
	switch {
	case f.guest:
		return collectors.Verdictf(collectors.Unknown, "virtual machine: the settings along the host's path are not visible")
	case f.at == nil:
		return collectors.Verdictf(collectors.Unknown, "no fresh reading of %s", f.Address)
	case f.at.Lost != "":
		return collectors.Verdictf(collectors.Unknown, "the device does not answer: see pcie_lost")
	case f.at.ConfigErr != nil:
		return collectors.Verdictf(collectors.Unknown, "configuration space: %s", probes.Reason(f.at.ConfigErr))
	case f.at.Config != nil:
		return collectors.Verdictf(collectors.Unknown, "%d bytes of configuration space are visible; the settings lie beyond", f.at.Config.Visible).
			Remedyf("reading all of it needs CAP_SYS_ADMIN")
	}
	return collectors.Verdictf(collectors.Unknown, "configuration space was not read")
}
