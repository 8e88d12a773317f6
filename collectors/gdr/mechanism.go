// SPDX-License-Identifier: Apache-2.0

package gdr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
)

// A mechanism is a way by which a NIC may reach a GPU's memory.
type mechanism struct {
	name string // peermem, dma-buf; none; "" where it cannot be told
	why  string
}

// dmabufDriver says whether the RDMA side of a NIC's driver registers dma-buf
// memory (reg_user_mr_dmabuf in Linux 6.12), and whether that is known.
func dmabufDriver(driver string) (does, known bool) {
	switch driver {
	case "mlx5_core", "bnxt_en", "ice", "i40e", "efa":
		return true, true
	case "mlx4_core", "hns3", "cxgb4", "qede", "be2net", "hfi1", "ib_qib", "vmw_pvrdma":
		return false, true
	}
	return false, false
}

// elsewhere says whether a driver has taken a GPU from NVIDIA's.
func elsewhere(driver string) bool {
	return strings.Contains(driver, "vfio") || driver == "nouveau" || driver == "nova_core" || driver == "pci-stub" || driver == "pciback"
}

// find tells the mechanism between a GPU and a NIC.
func (r *Reading) find(gpu, nic *probes.Function) mechanism {
	switch {
	case gpu.Vendor == pci.VendorAMD:
		return r.amd(nic)
	case gpu.Vendor == pci.VendorNVIDIA && elsewhere(gpu.Driver):
		return mechanism{why: "the GPU is bound to " + gpu.Driver + ": NVIDIA's driver does not have it"}
	case gpu.Vendor != pci.VendorNVIDIA:
		return mechanism{why: "how a GPU of this maker shares its memory is not known to fabricd"}
	case r.NVIDIAErr != nil:
		return mechanism{why: "/proc/driver/nvidia/version: " + probes.Reason(r.NVIDIAErr)}
	case r.NVIDIA == "":
		return mechanism{why: "/proc/driver/nvidia/version is not there: NVIDIA's driver is not loaded or not visible"}
	case r.Denied:
		return mechanism{name: "none", why: "the driver was told to refuse it: GrdmaPciTopoCheckOverride is 2 in /proc/driver/nvidia/params"}
	}
	peer, weak, why := r.peerMemory()
	if peer && !weak {
		return mechanism{name: "peermem", why: "peer memory: " + why}
	}
	buffer, missing := r.dmabuf(nic)
	switch {
	case buffer && peer:
		return mechanism{name: "dma-buf", why: "dma-buf possible (" + missing + "); peer memory as well: " + why}
	case buffer:
		return mechanism{name: "dma-buf", why: "dma-buf possible (" + missing + "); " + why}
	case peer:
		return mechanism{name: "peermem", why: "peer memory, on weak evidence: " + why}
	case r.Hidden != "":
		return mechanism{why: "whether peer memory is registered cannot be told: " + r.Hidden + "; no dma-buf: " + missing}
	case r.PeerErr != nil:
		return mechanism{why: "whether peer memory is registered cannot be told: /" + peerMemory + ": " + probes.Reason(r.PeerErr) + "; no dma-buf: " + missing}
	case r.Peermem.Loaded && !r.PeerDirectory && !r.coreKnown():
		return mechanism{why: "nvidia_peermem is loaded, and whether the RDMA core is OFED's is not visible; no dma-buf: " + missing}
	case missing == unknownDriver:
		return mechanism{why: fmt.Sprintf("%s; whether the NIC's driver %s registers dma-buf memory is not known", why, nic.Driver)}
	case missing == unknownKernel:
		return mechanism{why: why + ", and " + missing + ": whether dma-buf is possible cannot be told"}
	case nic.Driver == "efa" && r.Modules["efa"].OutOfTree:
		return mechanism{why: "Amazon's own efa driver has a way to GPU memory that it does not show"}
	}
	return mechanism{name: "none", why: fmt.Sprintf("%s, and no dma-buf: %s; NVIDIA driver: %s; NIC driver %s: %s", why, missing, r.driverText(), nic.Driver, r.coreText())}
}

// amd tells AMD's mechanism: dma-buf, or OFED's peer memory, where amdgpu
// registers itself without a module of its own.
func (r *Reading) amd(nic *probes.Function) mechanism {
	if client := r.peer("amdkfd"); client != "" {
		return mechanism{name: "peermem", why: "peer memory: /" + peerMemory + "/" + client + " is registered"}
	}
	if does, _ := dmabufDriver(nic.Driver); !does {
		return mechanism{why: fmt.Sprintf("the NIC's driver %s is not known to register dma-buf memory", nic.Driver)}
	}
	if known, ok := r.kernelHasDmabuf(); !known || !ok {
		return mechanism{why: "kernel " + r.Kernel + " has no registration of dma-buf memory of its own; AMD's driver may bring one"}
	}
	return mechanism{name: "dma-buf", why: fmt.Sprintf("dma-buf possible (amdgpu, kernel %s, %s)", r.Kernel, nic.Driver)}
}

// peerMemory looks where NCCL looks for a registered peer memory client. An
// entry in OFED's directory is registration. The module alone is not: it is
// weak evidence when something uses it, or when OFED's core shows no directory;
// the kernel's own core has no peer memory at all.
func (r *Reading) peerMemory() (there, weak bool, why string) {
	client := r.peer("nv_mem")
	switch {
	case client != "":
		return true, false, "/" + peerMemory + "/" + client + " is registered"
	case r.Hidden != "" && r.Peermem.Uses == 0:
		return false, false, "the loaded modules are not visible (" + r.Hidden + ")"
	case !r.Peermem.Loaded:
		return false, false, "no peer memory module (nvidia_peermem) is loaded"
	case r.Peermem.Uses > 0:
		return true, true, fmt.Sprintf("nvidia_peermem is loaded and used (%d)", r.Peermem.Uses)
	case !r.PeerDirectory && r.Modules["ib_core"].OutOfTree:
		return true, true, "nvidia_peermem is loaded beside OFED's core, which shows no list of its clients"
	}
	return false, false, "nvidia_peermem is loaded, but no peer memory client is registered"
}

// Reasons for which dma-buf cannot be told.
const (
	unknownKernel = "the kernel's version is not known"
	unknownDriver = "the NIC's driver is not known"
)

// dmabuf says whether the prerequisites of dma-buf are there, and which are or
// are not.
func (r *Reading) dmabuf(nic *probes.Function) (possible bool, text string) {
	known, kernel := r.kernelHasDmabuf()
	does, driverKnown := dmabufDriver(nic.Driver)
	switch {
	case !strings.Contains(r.NVIDIA, "Open Kernel Module"):
		return false, "the NVIDIA driver is the closed one"
	case !known:
		return false, unknownKernel
	case !kernel:
		return false, "kernel " + r.Kernel + " is older than 5.12"
	case !driverKnown:
		return false, unknownDriver
	case !does:
		return false, "the NIC's driver " + nic.Driver + " does not register dma-buf memory"
	}
	return true, fmt.Sprintf("open NVIDIA modules, kernel %s, %s", r.Kernel, nic.Driver)
}

// kernelHasDmabuf compares the kernel's release with 5.12, which brought the
// registration of dma-buf memory.
func (r *Reading) kernelHasDmabuf() (known, has bool) {
	major, rest, _ := strings.Cut(r.Kernel, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(strings.TrimRight(minor, "-+abcdefghijklmnopqrstuvwxyz"))
	if errA != nil || errB != nil {
		return false, false
	}
	return true, a > 5 || a == 5 && b >= 12
}

// driverText shortens NVIDIA's version line to what tells.
func (r *Reading) driverText() string {
	flavour := "closed"
	if strings.Contains(r.NVIDIA, "Open Kernel Module") {
		flavour = "open"
	}
	for word := range strings.FieldsSeq(r.NVIDIA) {
		if strings.Count(word, ".") >= 1 && word[0] >= '0' && word[0] <= '9' {
			return word + " (" + flavour + ")"
		}
	}
	return flavour
}

// coreKnown says whether the origin of the RDMA core is known.
func (r *Reading) coreKnown() bool {
	_, known := r.Modules["ib_core"]
	return known
}

func (r *Reading) coreText() string {
	switch {
	case !r.coreKnown():
		return "an RDMA core of unknown origin"
	case r.Modules["ib_core"].OutOfTree:
		return "OFED's RDMA core"
	}
	return "the kernel's own RDMA core"
}
