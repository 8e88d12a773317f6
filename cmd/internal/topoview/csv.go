// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/pci"
	"github.com/fabricd/fabricd/probes/topo"
)

// csvHeader names the columns of WriteCSV. Speeds are in GT/s a lane, widths in
// lanes, bandwidth in usable bits a second to the root port; max is what both
// ends of the link can do. Several names are separated by spaces. What is not
// known is empty.
func csvHeader() []string {
	return []string{
		"address", "kind", "role", "gpu", "product", "rdma", "netdev", "numa_node",
		"speed_gts", "width_lanes", "max_speed_gts", "max_width_lanes", "status", "path_bits_per_second", "upstream",
	}
}

// WriteCSV writes a row for each GPU, NIC and NVSwitch, after a header.
func (m *Machine) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	c.Write(csvHeader()) // the first error is kept until Error
	for _, f := range slices.Concat(m.gpus, m.nics, m.switches) {
		c.Write(m.csvRow(f))
	}
	c.Flush()
	return c.Error()
}

func (m *Machine) csvRow(f *probes.Function) []string {
	index, product := "", ""
	if d := m.snapshot.Find(f.Address); d != nil {
		index, product = strconv.Itoa(d.Index), printable(d.Name)
	}
	node := ""
	if f.NUMANode.OK && f.NUMANode.V >= 0 {
		node = strconv.Itoa(f.NUMANode.V)
	}
	var now, most pci.Link
	status := ""
	if l := m.tree.LinkOf(f); l != nil {
		now, most, status = m.now(l), l.Max, string(m.status(l))
	}
	path := ""
	if bits, _ := m.bandwidth(f); bits > 0 {
		path = strconv.FormatFloat(bits, 'f', 0, 64)
	}
	rdma, netdevs := topo.Names(f)
	return []string{
		f.Address, m.tree.Kind(f).String(), string(m.tree.Role(f)), index, product,
		printable(strings.Join(rdma, " ")), printable(strings.Join(netdevs, " ")), node,
		speedCell(now), widthCell(now), speedCell(most), widthCell(most), status, path, f.ParentAddress,
	}
}

func speedCell(l pci.Link) string {
	if l.Speed == 0 {
		return ""
	}
	return fmt.Sprint(l.Speed.GigaTransfers())
}

func widthCell(l pci.Link) string {
	if l.Width == 0 {
		return ""
	}
	return strconv.Itoa(l.Width)
}
