// SPDX-License-Identifier: Apache-2.0

package node

import "github.com/fabricd/fabricd/dashboards/panel"

func settingPanels() []panel.Panel { return []panel.Panel{settings(), acs()} }

func settings() panel.Panel {
	value := func(metric string) string { return byAddress(onlyOn(of(metric), endpoints())) }
	return panel.Table(panel.Frame{
		Title: "PCIe settings of GPUs and NICs",
		Description: "Maximum payload and read request sizes, relaxed ordering, link power states (ASPM). " +
			"Empty where the config space cannot be read (no CAP_SYS_ADMIN, virtual machine).",
		Empty: panel.Unrecorded("GPUs and NICs", "there are none"), Width: 16, Height: 9,
	},
		[]panel.Label{
			{Name: "address", Title: "Address"}, {Name: "class", Title: "Class"},
			{Name: "netdev", Title: "Netdev"}, {Name: "rdma", Title: "RDMA"},
		},
		[]panel.Column{
			{Expr: "max by (address, class, netdev, rdma) (" + endpoints() + ")"},
			{Title: "NUMA node", Expr: value("fabricd_numa_node")},
			{Title: "Max payload", Expr: value("fabricd_pcie_max_payload_bytes"), Unit: "bytes"},
			{Title: "Max read request", Expr: value("fabricd_pcie_max_read_request_bytes"), Unit: "bytes"},
			{Title: "Relaxed ordering", Expr: value("fabricd_pcie_relaxed_ordering_enabled"), Values: switched(panel.Note, panel.Good)},
			{Title: "ASPM", Expr: value("fabricd_pcie_aspm_enabled"), Values: switched(panel.Good, panel.Note)},
		},
		panel.Sort{Title: "Address"})
}

func acs() panel.Panel {
	return panel.Matrix(panel.Frame{
		Title: "ACS redirection at bridges",
		Description: "A bridge that redirects sends traffic between GPU and NIC up to the root complex and back. " +
			"pcie_acs fails where such a bridge is on a way that matters.",
		Empty: panel.Unrecorded("bridges with ACS", "there are none, or the configuration space cannot be read"), Width: 8, Height: 9,
	}, panel.Cells{Row: "address", Column: "control", Values: switched(panel.Good, panel.Warning)},
		"max by (address, control) ("+of("fabricd_pcie_acs_redirect_enabled")+")")
}

// switched shows a setting that is off (0) or on (1).
func switched(off, on string) []panel.Value {
	return []panel.Value{{Number: 0, Text: "off", Color: off}, {Number: 1, Text: "on", Color: on}}
}
