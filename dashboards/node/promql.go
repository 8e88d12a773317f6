// SPDX-License-Identifier: Apache-2.0

package node

import "strings"

// of selects a metric of the node that the viewer picked.
func of(metric string, matchers ...string) string {
	all := append([]string{`cluster=~"$cluster"`, `instance="$instance"`}, matchers...)
	return metric + "{" + strings.Join(all, ",") + "}"
}

// onlyOn keeps the series of expr whose PCI address is one of those of the
// series of others.
func onlyOn(expr, others string) string {
	return "(" + expr + ") and on (address) (" + others + ")"
}

// byAddress reduces expr to one series for each PCI address.
func byAddress(expr string) string { return "max by (address) (" + expr + ")" }

// endpoints are the devices that training traffic starts or ends at.
func endpoints() string {
	return of("fabricd_device_info", `class=~"gpu|nic|nvswitch"`)
}

// onTheWay are the addresses of the links to endpoints: the endpoints, and the
// lower ends of links above them, whose pcie_width names the devices below.
func onTheWay() string {
	above := of("fabricd_check_status", `check="pcie_width"`, `subject=~"[^/]+/[^/]+/[^/]+.*"`)
	return endpoints() + " or on (address) " + addressed(above)
}

// addressed gives series with a subject the label address, its first component.
func addressed(expr string) string {
	return `label_replace(` + expr + `, "address", "$1", "subject", "([^/]+).*")`
}

// verdict is what selected checks say: their status, or −1 where they say
// unknown. A check that says neither has no series.
func verdict(matchers ...string) string {
	return of("fabricd_check_status", matchers...) + " or -" + of("fabricd_check_unknown", matchers...)
}

// named adds the labels netdev, rdma and class of the device at label join to
// expr; what no device is known for stays without. topk picks one row of a
// function that has several ports.
func named(expr, join string) string {
	info := "topk by (address) (1, " + of("fabricd_device_info") + ")"
	if join != "address" {
		info = `label_replace(` + info + `, "` + join + `", "$1", "address", "(.+)")`
	}
	return expr + " * on (" + join + ") group_left (class, netdev, rdma) " + info + " or on (" + join + ") " + expr
}
