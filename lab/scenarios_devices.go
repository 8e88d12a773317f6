// SPDX-License-Identifier: Apache-2.0

package lab

// Addresses of QEMU's own devices, as hardware lists them.
const (
	qemuSwitchRoot = "0000:20:00.0"
	qemuSwitchUp   = "0000:21:00.0"
	qemuSwitchDown = "0000:22:00.0"
	qemuSwitchNIC  = "0000:23:00.0"
	qemuOtherPort  = "0000:80:02.0"
	qemuVirtio     = "0000:81:00.0"
	qemuEmptyPort  = "0000:80:01.0"
)

// badTLP is a bit of PCI_ERR_COR_STATUS.
const badTLP = 0x40

// hardware is a machine of QEMU's own devices: on node 0 a switch whose ports do not know their maximum, with a NIC below
// it; on node 1 a virtio NIC, a port with nothing in it, and another NIC.
var hardware = []string{
	"-device pxb-pcie,id=pxb0,bus_nr=0x20,numa_node=0,bus=pcie.0,addr=0x10",
	"-device pxb-pcie,id=pxb1,bus_nr=0x80,numa_node=1,bus=pcie.0,addr=0x11",
	"-device pcie-root-port,id=root0,bus=pxb0,addr=0x0,chassis=1,slot=1,x-speed=16,x-width=16",
	"-device x3130-upstream,id=up0,bus=root0",
	"-device xio3130-downstream,id=down0,bus=up0,chassis=2,slot=2",
	"-netdev hubport,id=hub0,hubid=0 -device e1000e,id=nic0,bus=down0,romfile=,mac=52:54:00:00:00:10,netdev=hub0",
	"-device pcie-root-port,id=root1,bus=pxb1,addr=0x0,chassis=4,slot=4,x-speed=16,x-width=16",
	"-netdev hubport,id=hub1,hubid=0 -device virtio-net-pci,id=nic1,bus=root1,romfile=,mac=52:54:00:00:00:11,netdev=hub1,aer=on",
	"-device pcie-root-port,id=root2,bus=pxb1,addr=0x1,chassis=5,slot=5,x-speed=16,x-width=16",
	"-device pcie-root-port,id=root3,bus=pxb1,addr=0x2,chassis=6,slot=6,x-speed=16,x-width=16",
	"-netdev hubport,id=hub2,hubid=0 -device e1000e,id=nic2,bus=root3,romfile=,mac=52:54:00:00:00:12,netdev=hub2",
}

// qemuNIC is below an IOMMU.
const qemuNIC = "0000:01:00.0"

// iommu gives a scenario a machine with an IOMMU above a NIC.
func iommu(s Scenario) Scenario {
	s.Drivers = []string{"e1000e"}
	s.Devices = []string{
		"-device intel-iommu",
		"-device pcie-root-port,id=root0,bus=pcie.0,addr=0x10,chassis=1,slot=1",
		"-netdev hubport,id=hub0,hubid=0 -device e1000e,bus=root0,romfile=,netdev=hub0",
	}
	return s
}

// machine gives a scenario that machine.
func machine(s Scenario) Scenario {
	s.Nodes, s.Devices, s.Drivers = 2, hardware, []string{"virtio_pci", "virtio_net", "e1000e", "aer_inject"}
	return s
}

// deviceScenarios are those of QEMU's devices.
func deviceScenarios() []Scenario {
	up := Run("for n in /sys/class/net/eth*; do ip link set ${n##*/} up; done")
	return []Scenario{
		machine(Scenario{
			Name: "corners", About: "nothing: a switch without maximum, an empty port, virtio below a root port",
			Steps: []Step{{Name: "healthy", Do: []Action{up}, Want: bareMetal(
				Say("ok numa_unknown "+qemuVirtio, "node 1"), Say("ok numa_unknown eth0", "node 1"), Say("ok pcie_lost "+qemuSwitchNIC),
				Say("ok pcie_width "+qemuSwitchNIC), Say("unknown pcie_slot "+qemuSwitchNIC, "its port "+qemuSwitchDown+" ?"),
				Say("nothing pcie_width "+qemuEmptyPort), Say("nothing pcie_lost "+qemuEmptyPort))}},
		}),
		machine(Scenario{
			Name: "aer", About: "errors of a switch's port and of a NIC", Daemon: true,
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok pcie_aer "+qemuVirtio), Say("ok pcie_aer "+qemuSwitchDown))},
				{Name: "one corrected", Do: []Action{Inject(qemuSwitchDown, badTLP, 0)},
					Want:    bareMetal(Say("info pcie_aer "+qemuSwitchDown, "BadTLP 1")),
					Metrics: []string{`fabricd_pcie_aer_errors_total{address="` + qemuSwitchDown + `",error="BadTLP",severity="correctable"} 1`}},
				{Name: "many corrected", Do: []Action{Inject(qemuSwitchDown, badTLP, 0), Wait(second), Inject(qemuSwitchDown, badTLP, 0), Wait(second), Inject(qemuSwitchDown, badTLP, 0)},
					Want: bareMetal(Say("warn pcie_aer "+qemuSwitchDown, "BadTLP", qemuSwitchNIC))},
				{Name: "not corrected", Do: []Action{Monitor("pcie_aer_inject_error nic1 POISON_TLP")},
					Want: bareMetal(Say("warn|ended pcie_aer "+qemuSwitchDown), Say("fail pcie_aer "+qemuVirtio, "nonfatal"))},
				{Name: "fatal", Unreplayed: "what QEMU resets has no link capability afterwards, which the daemon read before", Do: []Action{Monitor("pcie_aer_inject_error root3 DLP")},
					Want: bareMetal(Say("warn|ended pcie_aer "+qemuSwitchDown), Say("fail|ended pcie_aer "+qemuVirtio), Say("fail pcie_aer "+qemuOtherPort, "fatal"))},
			},
		}),
		machine(Scenario{
			Name: "unplug", About: "a NIC's slot is switched off, and another NIC plugged in", Daemon: true,
			Steps: []Step{
				{Name: "healthy", Want: bareMetal(Say("ok pcie_lost "+qemuVirtio), Say("ok pcie_lost "+qemuSwitchNIC))},
				{Name: "pulled", Do: []Action{Run("echo 0 > /sys/bus/pci/slots/4/power")}, Want: bareMetal(Say("fail pcie_lost "+qemuVirtio, "vanished"))},
				{Name: "back", Do: []Action{Monitor("device_add virtio-net-pci,id=nic1,bus=root1,romfile=,mac=52:54:00:00:00:11,netdev=hub1,aer=on")},
					Want: bareMetal(Say("ended pcie_lost "+qemuVirtio), Say("ok numa_unknown eth0", "node 1"))},
			},
		}),
	}
}

// otherScenarios are those of IOMMUs and of virtual machines.
func otherScenarios() []Scenario {
	return []Scenario{
		iommu(Scenario{
			Name: "iommu", About: "an IOMMU translates what a compute NIC reads and writes", Append: "intel_iommu=on iommu.passthrough=0",
			Daemon: true, Config: "plan: {roles: {eth0: compute}}",
			Steps: []Step{{Name: "translates", Want: bareMetal(Say("warn pcie_iommu "+qemuNIC, "DMA"))}},
		}),
		iommu(Scenario{
			Name: "iommu-pt", About: "nothing: the IOMMU passes through", Append: "intel_iommu=on iommu=pt",
			Steps: []Step{{Name: "healthy", Want: bareMetal(Say("ok pcie_iommu "+qemuNIC, "identity"))}},
		}),
		machine(Scenario{
			Name: "guest", About: "nothing: a virtual machine, which sees none of the host's links", Guest: true,
			Steps: []Step{{Name: "healthy", Want: []Want{Say("info guest *", "virtual machine"), Say("ok numa_disabled *"),
				Say("ok numa_unknown "+qemuVirtio, "node 1")}}},
		}),
	}
}
