// SPDX-License-Identifier: Apache-2.0

// Package lldpview prints what is at the other end of a machine's cables, for
// people and for programs. It knows formats; who is a neighbour it is told.
package lldpview

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fabricd/fabricd/collectors/lldp"
	frames "github.com/fabricd/fabricd/probes/lldp"
)

// A Map is one machine's neighbours.
type Map struct {
	Host, Time string
	Links      []lldp.Link
}

// WriteText prints a line for each neighbour.
func (m Map) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PORT\tADDRESS\tROLE\tNEIGHBOUR\tITS PORT\tHEARD\tANNOUNCES")
	for _, l := range m.Links {
		head := fmt.Sprintf("%s\t%s\t%s\t", l.Netdev.Name, l.Netdev.Function.Address, orDash(string(l.Role)))
		for i := range l.Neighbours {
			n := &l.Neighbours[i]
			fmt.Fprintf(t, "%s%s\t%s\t%s ago\t%s\n", head, lldp.SystemName(n), portText(n), (l.At - n.Last).Round(time.Second), orDash(announces(n.Frame)))
		}
		if len(l.Neighbours) == 0 {
			fmt.Fprintf(t, "%s%s\t\t\t\n", head, why(l))
		}
	}
	return t.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// why says why a port has no neighbour.
func why(l lldp.Link) string {
	switch {
	case l.Err != nil:
		return "? " + l.Err.Error()
	case l.Carrier.OK && !l.Carrier.V:
		return "no link"
	}
	return "nothing heard"
}

func portText(n *frames.Neighbour) string {
	name := lldp.PortName(n)
	if d := frames.Text(n.PortDescription); d != "" && d != name {
		return name + " (" + d + ")"
	}
	return name
}

// announces sums up flow control.
func announces(f *frames.Frame) string {
	var parts []string
	switch c := f.CEE(); {
	case f.PFC.Present:
		parts = append(parts, "PFC "+orNone(priorities(f.PFC.Enabled)))
	case c.PFC.Present:
		parts = append(parts, "PFC (CEE) "+orNone(priorities(c.PFC.On())))
	}
	if f.MTU > 0 {
		parts = append(parts, "frames of "+strconv.Itoa(int(f.MTU)))
	}
	return strings.Join(parts, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "off"
	}
	return s
}

func priorities(mask uint8) string {
	var list []string
	for i := range 8 {
		if mask>>i&1 != 0 {
			list = append(list, strconv.Itoa(i))
		}
	}
	return strings.Join(list, ",")
}

// WriteCSV prints the cables as a plan has them: those of all machines, one
// after the other, are the map of a cluster.
func (m Map) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"host", "port", "neighbour", "neighbour-port"})
	m.each(func(port, system, far string) { _ = c.Write([]string{m.Host, port, system, far}) })
	c.Flush()
	if err := c.Error(); err != nil {
		return err
	}
	_, err := io.WriteString(w, m.several("# "))
	return err
}

// WriteDOT prints the cables as a Graphviz file.
func (m Map) WriteDOT(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %s {\n", quote(m.Host))
	m.each(func(port, system, far string) {
		fmt.Fprintf(&b, "\t%s:%s -- %s:%s;\n", quote(m.Host), quote(port), quote(system), quote(far))
	})
	b.WriteString(m.several("\t// "))
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// each lists the cables: of ports with one neighbour.
func (m Map) each(f func(port, system, far string)) {
	for _, l := range m.Links {
		if len(l.Neighbours) == 1 {
			f(l.Netdev.Name, lldp.SystemName(&l.Neighbours[0]), lldp.PortName(&l.Neighbours[0]))
		}
	}
}

// several are comments on the ports that hear more than one neighbour: which
// of them has the cable nobody knows, and a plan has one.
func (m Map) several(mark string) string {
	var b strings.Builder
	for _, l := range m.Links {
		if len(l.Neighbours) < 2 {
			continue
		}
		var names []string
		for i := range l.Neighbours {
			names = append(names, quote(lldp.SystemName(&l.Neighbours[i]))+" "+quote(lldp.PortName(&l.Neighbours[i])))
		}
		fmt.Fprintf(&b, "%s%s %s hears %d neighbours, of which the plan is to name one: %s\n", mark, quote(m.Host), quote(l.Netdev.Name), len(names), strings.Join(names, ", "))
	}
	return b.String()
}

type jsonMap struct {
	Host  string     `json:"host"`
	Time  string     `json:"time,omitempty"`
	Ports []jsonPort `json:"ports"`
}

type jsonPort struct {
	Netdev     string          `json:"netdev"`
	Address    string          `json:"address"`
	Role       string          `json:"role,omitempty"`
	Link       *bool           `json:"link,omitempty"`
	Error      string          `json:"error,omitempty"`
	Neighbours []jsonNeighbour `json:"neighbours"`
}

type jsonNeighbour struct {
	Chassis        string   `json:"chassis_id"`
	ChassisSubtype string   `json:"chassis_subtype"`
	Port           string   `json:"port_id"`
	PortSubtype    string   `json:"port_subtype"`
	Description    string   `json:"port_description,omitempty"`
	Name           string   `json:"system_name,omitempty"`
	System         string   `json:"system_description,omitempty"`
	Management     []string `json:"management_addresses,omitempty"`
	TTL            uint16   `json:"ttl_seconds"`
	Age            float64  `json:"age_seconds"`
	MTU            uint16   `json:"max_frame_bytes,omitempty"`
	PVID           uint16   `json:"port_vlan,omitempty"`
	PFC            *[]int   `json:"pfc_enabled,omitempty"`
	Unknown        int      `json:"other_tlvs,omitempty"`
}

// WriteJSON prints all that the neighbours say of themselves.
func (m Map) WriteJSON(w io.Writer) error {
	out := jsonMap{Host: m.Host, Time: m.Time, Ports: []jsonPort{}}
	for _, l := range m.Links {
		p := jsonPort{Netdev: l.Netdev.Name, Address: l.Netdev.Function.Address, Role: string(l.Role), Neighbours: []jsonNeighbour{}}
		if l.Carrier.OK {
			p.Link = &l.Carrier.V
		}
		if l.Err != nil {
			p.Error = l.Err.Error()
		}
		for i := range l.Neighbours {
			p.Neighbours = append(p.Neighbours, neighbourJSON(&l.Neighbours[i], l.At))
		}
		out.Ports = append(out.Ports, p)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func neighbourJSON(n *frames.Neighbour, at time.Duration) jsonNeighbour {
	j := jsonNeighbour{
		Chassis: n.Chassis.String(), ChassisSubtype: n.Chassis.Kind(), Port: n.Port.String(), PortSubtype: n.Port.Kind(),
		Description: frames.Text(n.PortDescription), Name: frames.Text(n.SystemName), System: frames.Text(n.SystemDescription),
		TTL: n.TTL, Age: (at - n.Last).Seconds(), MTU: n.MTU, PVID: n.PVID, Unknown: len(n.Others) - len(n.Management()) - len(n.VLANs()),
	}
	for _, m := range n.Management() {
		j.Management = append(j.Management, m.String())
	}
	mask, ok := n.PFC.Enabled, n.PFC.Present
	if c := n.CEE(); c.Present {
		j.Unknown--
		if !ok {
			mask, ok = c.PFC.On(), c.PFC.Present
		}
	}
	if ok {
		list := []int{}
		for i := range 8 {
			if mask>>i&1 != 0 {
				list = append(list, i)
			}
		}
		j.PFC = &list
	}
	return j
}
