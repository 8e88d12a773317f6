// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes"
)

// Show writes a table a port: what mlnx_qos or dcb, ethtool, show_gids and rdma
// statistic say of it, in one place.
func Show(w io.Writer, h *probes.Host, v *collectors.View) error {
	list := ports(v, collectors.Readings[Reading](v, Name))
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no Ethernet ports of hardware")
		return err
	}
	for i := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := list[i].show(w, h); err != nil {
			return err
		}
	}
	return nil
}

const none = "-"

func (p *port) show(w io.Writer, h *probes.Host) error {
	fmt.Fprintln(w, strings.Join(p.heading(), "  "))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p.lanes(t)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range p.lines() {
		if line != "" {
			fmt.Fprintln(w, "  "+line)
		}
	}
	return p.gids(w, h)
}

// heading names the port.
func (p *port) heading() []string {
	list := []string{p.Netdev, p.net.Function.Address, p.Driver}
	switch {
	case p.net.Carrier.OK && !p.net.Carrier.V:
		list = append(list, "no carrier")
	case p.net.SpeedMbps.OK:
		list = append(list, gbps(p.net.SpeedMbps.V))
	}
	list = append(list, fmt.Sprintf("MTU %d", p.net.MTU))
	if p.rdma != nil {
		list = append(list, fmt.Sprintf("%s/%d %s %s", p.rdma.Device, p.rdma.Number, p.rdma.Protocol, p.rdma.State))
	}
	return list
}
