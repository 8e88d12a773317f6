// SPDX-License-Identifier: Apache-2.0

package topoview

// DocumentVersion is raised when a field of Document changes its meaning or
// goes. New fields may come without it.
const DocumentVersion = 1

// A Document is what topo --format json prints. What is not known or does not
// exist is absent. Addresses are PCI addresses in the kernel's form; they join
// the lists. Bandwidths are usable bits a second in one direction: line
// encoding is taken off, packet overhead is not.
type Document struct {
	Version   int        `json:"version"`
	Host      string     `json:"host"`
	Time      string     `json:"time,omitempty"` // of the readings, RFC 3339
	Machine   Facts      `json:"machine"`
	Nodes     []Node     `json:"nodes"`
	Functions []Function `json:"functions"` // all PCI functions, by address
	Links     []Link     `json:"links"`     // all PCI Express links, by the lower end's address
	Paths     []Path     `json:"paths"`     // from each GPU, NIC and NVSwitch to its root port
	GPUNIC    []Pair     `json:"gpu_nic"`   // every GPU with every NIC
}

// Facts are what is known of the machine as a whole.
type Facts struct {
	Product  string `json:"product,omitempty"` // as the firmware names it
	Kernel   string `json:"kernel,omitempty"`
	Sockets  int    `json:"sockets,omitempty"`
	Guest    bool   `json:"guest"`              // a virtual machine
	Evidence string `json:"evidence,omitempty"` // what says so, or says not
	Driver   string `json:"gpu_driver,omitempty"`
}

// A Node is an online NUMA node.
type Node struct {
	ID        int     `json:"id"`
	CPUs      string  `json:"cpus,omitempty"` // a list such as 0-3,8; absent for memory alone
	Memory    *uint64 `json:"memory_bytes,omitempty"`
	Distances []int   `json:"distances,omitempty"` // to each node of the list, 10 is itself
}

// A Function is a PCI function. Ids are in hexadecimal, as sysfs has them.
type Function struct {
	Address          string   `json:"address"`
	Kind             string   `json:"kind"`            // gpu, nic, nvswitch, bridge, storage, other
	Label            string   `json:"label,omitempty"` // as text calls it: GPU0, NIC3, NVSwitch1
	Role             string   `json:"role,omitempty"`  // of a NIC: compute, storage, management
	Class            string   `json:"class"`
	Vendor           string   `json:"vendor"`
	Device           string   `json:"device"`
	SubsystemVendor  string   `json:"subsystem_vendor,omitempty"`
	SubsystemDevice  string   `json:"subsystem_device,omitempty"`
	Root             string   `json:"root,omitempty"`   // host bridge: pci0000:17
	Parent           string   `json:"parent,omitempty"` // the bridge above, also where it is excluded
	Driver           string   `json:"driver,omitempty"`
	NUMANode         *int     `json:"numa_node,omitempty"` // -1: the firmware gives none
	LocalCPUs        string   `json:"local_cpus,omitempty"`
	Max              *State   `json:"max,omitempty"` // what the function itself can do
	PhysicalFunction string   `json:"physical_function,omitempty"`
	IOMMUGroup       string   `json:"iommu_group,omitempty"`
	IOMMUType        string   `json:"iommu_type,omitempty"`
	GPU              *GPU     `json:"gpu,omitempty"` // what the GPU driver says
	Netdevs          []Netdev `json:"netdevs,omitempty"`
	RDMA             []RDMA   `json:"rdma,omitempty"`
}

// A GPU is what the driver says of one.
type GPU struct {
	Index         int    `json:"index"`
	Name          string `json:"name,omitempty"`
	UUID          string `json:"uuid,omitempty"`
	Utilization   *int   `json:"utilization_percent,omitempty"`
	ActiveNVLinks *int   `json:"active_nvlinks,omitempty"`
}

// A Netdev is a network interface of a function.
type Netdev struct {
	Name     string `json:"name"`
	Port     bool   `json:"port"` // the function's own: no subfunction, no representor
	Infini   bool   `json:"infiniband,omitempty"`
	MAC      string `json:"mac,omitempty"`
	MTU      int    `json:"mtu_bytes,omitempty"`
	Speed    *int   `json:"speed_mbps,omitempty"` // million bits a second
	Carrier  *bool  `json:"carrier,omitempty"`
	State    string `json:"operstate,omitempty"`
	Master   string `json:"master,omitempty"` // bond or bridge above it
	PortName string `json:"phys_port_name,omitempty"`
}

// An RDMA is an RDMA device of a function.
type RDMA struct {
	Name         string     `json:"name"`
	Port         bool       `json:"port"` // the function's own device, not a subfunction's
	NodeGUID     string     `json:"node_guid,omitempty"`
	SysImageGUID string     `json:"sys_image_guid,omitempty"`
	Firmware     string     `json:"firmware,omitempty"`
	HCAType      string     `json:"hca_type,omitempty"`
	Ports        []RDMAPort `json:"ports,omitempty"`
}

// An RDMAPort is a port of an RDMA device.
type RDMAPort struct {
	Number    int      `json:"number"`
	State     string   `json:"state,omitempty"`
	PhysState string   `json:"phys_state,omitempty"`
	LinkLayer string   `json:"link_layer,omitempty"`
	Rate      *float64 `json:"rate_gbps,omitempty"` // thousand million bits a second; means nothing unless ACTIVE
}

// A State is a link's speed and width, in force or at most.
type State struct {
	Speed float64 `json:"gigatransfers_per_second,omitempty"` // on each lane
	Width int     `json:"lanes,omitempty"`
	Bits  float64 `json:"bits_per_second,omitempty"`
}

// A Link is a PCI Express link.
type Link struct {
	Lower     string   `json:"lower"`           // the function of the lowest number at the lower end
	Upper     string   `json:"upper,omitempty"` // the port above, where it is visible
	Functions []string `json:"functions"`       // at the lower end
	Devices   []string `json:"devices"`         // GPUs, NICs and NVSwitches at or below it
	Inner     bool     `json:"inner,omitempty"` // inside a card or switch: tells nothing of a slot
	Status    Status   `json:"status"`
	Now       *State   `json:"now,omitempty"`
	Max       *State   `json:"max,omitempty"`     // what both ends can do
	Trouble   string   `json:"trouble,omitempty"` // why the state is not known
}

// A Path is the way from a device to its root port.
type Path struct {
	Address    string      `json:"address"`
	Links      []string    `json:"links"` // lower ends, the device's own first; without inner links
	Bits       float64     `json:"bits_per_second,omitempty"`
	Max        float64     `json:"max_bits_per_second,omitempty"` // with all links at their maximum
	Bottleneck *Bottleneck `json:"bottleneck,omitempty"`
}

// A Bottleneck is the slowest link of a path, where it gives the device less
// than the device can use. A link that only idles counts with its maximum.
type Bottleneck struct {
	Link  string  `json:"link"` // its lower end
	Bits  float64 `json:"bits_per_second"`
	Ports float64 `json:"ports_bits_per_second,omitempty"` // what the card's active ports want, where that is more
	// Cause is defect (the link is below what both ends can do) or platform
	// (the slot, or a switch above, can do less than the card).
	Cause string `json:"cause"`
}

// A Pair is how far a GPU is from a NIC.
type Pair struct {
	GPU      string `json:"gpu"`
	NIC      string `json:"nic"`
	Distance string `json:"distance"` // PIX, PXB, PHB, NODE, SYS or unknown
	Why      string `json:"why,omitempty"`
}
