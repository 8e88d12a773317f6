// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/fabricd/fabricd/cmd/internal/report"
	"github.com/fabricd/fabricd/cmd/internal/topoview"
	"github.com/fabricd/fabricd/collectors"
)

// A pageData is what the page shows.
type pageData struct {
	*collectors.Report
	Version string
	Facts   collectors.Facts
	Counts  []count
	Bad     []collectors.Finding // each in full: they are to be acted on
	Noted   []*report.Fold       // neither bad nor ok
	Fine    []*report.Fold       // ok
	OK      int                  // findings in Fine
	Tree    []*branch
	Devices []device
	Matrix  matrix
	Ports   portsView
	Strips  []strip
}

type count struct {
	Status collectors.Status
	N      int
}

// A device is a row of the inventory.
type device struct {
	Label, Address, Names, Role, Now, Max, Node string
	Status                                      topoview.Status // of its link
}

// Bad says whether the link is one to look at.
func (d device) Bad() bool {
	return d.Status == topoview.StatusDefect || d.Status == topoview.StatusLost
}

// A matrix is the distances of GPUs, a row each, from NICs.
type matrix struct {
	NICs []string
	Rows []matrixRow
}

type matrixRow struct {
	GPU   string
	Cells []string
}

// A page is what a browser shows of one judgement, in parts that change apart.
type page struct {
	Title string `json:"title"`
	Time  string `json:"time,omitempty"`
	Parts []part `json:"parts,omitempty"`

	number         int    // of pages that were rendered
	whole, changed []byte // events of the page, and of what is not as on the page before
}

// A part is one section of the page.
type part struct {
	ID   string        `json:"id"`
	HTML template.HTML `json:"html"`
}

// parts lists the sections, in order; each is a template of this name.
func parts() []string {
	return []string{"head", "act", "noted", "tree", "devices", "matrix", "ports", "queues", "fine"}
}

// render makes the page of the newest judgement.
func (s *Site) render(pages *template.Template) (*page, error) {
	data := pageData{Version: s.Version, Report: Report(s.Engine, s.Host)}
	if data.Report == nil {
		return &page{Title: "starting · fabricd"}, nil
	}
	view := s.Engine.State().View
	data.Facts = view.Inventory.Facts
	data.fold()
	doc := topoview.New(topoview.Source{View: view, Findings: data.Findings}).Document()
	data.inventory(doc)
	data.Tree = grow(doc)
	data.Ports, data.Strips = s.trend.ports(view), strips(view)
	p := &page{Title: fmt.Sprintf("%s · %s · fabricd", data.Status, data.Host), Time: data.Time}
	for _, id := range parts() {
		var b strings.Builder
		if err := pages.ExecuteTemplate(&b, id, data); err != nil {
			return nil, err
		}
		p.Parts = append(p.Parts, part{id, template.HTML(b.String())}) //nolint:gosec // a template wrote it
	}
	return p, nil
}

// fold sorts the findings into what is to be acted on, what is to be known and
// what is well; a node of eight GPUs has hundreds of the latter two.
func (d *pageData) fold() {
	counts := map[collectors.Status]int{}
	noted, fine := report.NewFolds(), report.NewFolds()
	for _, f := range d.Findings {
		counts[f.Status]++
		switch {
		case f.Status.Bad() || f.Muted != nil:
			d.Bad = append(d.Bad, f)
		case f.Status == collectors.OK:
			fine.Add(f)
		default:
			noted.Add(f)
		}
	}
	d.Noted, d.Fine, d.OK = noted.List(), fine.List(), counts[collectors.OK]
	for _, status := range []collectors.Status{collectors.Fail, collectors.Warn, collectors.Unknown, collectors.Info, collectors.OK} {
		if counts[status] > 0 {
			d.Counts = append(d.Counts, count{status, counts[status]})
		}
	}
}

// inventory lists GPUs and NICs with their links, and how far they are apart.
func (d *pageData) inventory(doc *topoview.Document) {
	functions := map[string]*topoview.Function{}
	for i := range doc.Functions {
		functions[doc.Functions[i].Address] = &doc.Functions[i]
	}
	links := map[string]*topoview.Link{}
	for i := range doc.Links {
		for _, address := range doc.Links[i].Functions {
			links[address] = &doc.Links[i]
		}
	}
	for _, p := range doc.Paths { // these are the devices, in the order of their labels
		if f := functions[p.Address]; f != nil && (f.Kind == "gpu" || f.Kind == "nic") {
			d.Devices = append(d.Devices, newDevice(f, links[p.Address]))
		}
	}
	d.distances(doc.GPUNIC, functions)
}

func newDevice(f *topoview.Function, l *topoview.Link) device {
	d := device{Label: f.Label, Address: f.Address, Role: f.Role, Names: deviceNames(f)}
	if f.NUMANode != nil && *f.NUMANode >= 0 {
		d.Node = fmt.Sprint(*f.NUMANode)
	}
	if l != nil {
		d.Now, d.Max, d.Status = linkState(l.Now), linkState(l.Max), l.Status
	}
	return d
}

func deviceNames(f *topoview.Function) string {
	var names []string
	if f.GPU != nil {
		names = append(names, f.GPU.Name)
	}
	for _, r := range f.RDMA {
		if r.Port {
			names = append(names, r.Name)
		}
	}
	for _, n := range f.Netdevs {
		if n.Port {
			names = append(names, n.Name)
		}
	}
	return strings.Join(names, " ")
}

func linkState(s *topoview.State) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%g GT/s x%d", s.Speed, s.Width)
}

// distances makes the matrix of the pairs. As in topo's text, NICs without an
// RDMA device are left out where others have one.
func (d *pageData) distances(pairs []topoview.Pair, functions map[string]*topoview.Function) {
	rdma := slices.ContainsFunc(pairs, func(p topoview.Pair) bool { return len(functions[p.NIC].RDMA) > 0 })
	row := ""
	for _, p := range pairs {
		gpu, nic := functions[p.GPU], functions[p.NIC]
		if rdma && len(nic.RDMA) == 0 {
			continue
		}
		if p.GPU != row {
			row = p.GPU
			d.Matrix.Rows = append(d.Matrix.Rows, matrixRow{GPU: gpu.Label})
		}
		r := &d.Matrix.Rows[len(d.Matrix.Rows)-1]
		r.Cells = append(r.Cells, p.Distance)
		if len(d.Matrix.Rows) == 1 {
			d.Matrix.NICs = append(d.Matrix.NICs, nic.Label)
		}
	}
}
