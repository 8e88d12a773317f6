// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/fabricd/fabricd/probes"
	probe "github.com/fabricd/fabricd/probes/rdma"
)

// shownGIDs is how many entries of a port's table are shown: a port of a
// machine with many VLANs or containers has up to 256.
const shownGIDs = 16

// gids writes the port's table of GIDs, as show_gids does. It is read anew: the
// collector keeps a summary.
func (p *port) gids(w io.Writer, h *probes.Host) error {
	if p.rdma == nil {
		return nil
	}
	list := readGIDs(h, p.rdma.Device, p.rdma.Number)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range list[:min(len(list), shownGIDs)] {
		name := g.Netdev
		if name == "" {
			name = none
		}
		fmt.Fprintf(t, "    GID %d\t%s\t%s\t%s\n", g.Index, g.Type, g.Address.Unmap(), name)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(list) - shownGIDs; more > 0 {
		fmt.Fprintf(w, "    and %d more\n", more)
	}
	return nil
}

// readGIDs reads a port's table; none where there is none, or it cannot be read.
func readGIDs(h *probes.Host, device string, number int) []probe.GID {
	for _, d := range h.Inventory().RDMA {
		if d.Name != device {
			continue
		}
		opened, err := probe.Open(h, d.Name, d.Path)
		if err != nil {
			return nil
		}
		defer opened.Close()
		for _, p := range opened.Ports {
			if p.Number == number {
				list, _, _ := p.GIDs()
				return list
			}
		}
	}
	return nil
}
