// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/fabricd/fabricd/cmd/internal/web"
	"github.com/fabricd/fabricd/collectors"
)

//go:embed fleet.html
var files embed.FS

// A Fleet is many nodes on one address, each under its name: /NAME/metrics.
// Two names may be one node.
type Fleet struct {
	nodes map[string]*Node
	page  *template.Template
}

// NewFleet makes a fleet of nodes by their names, which become a part of their
// paths and the label instance.
func NewFleet(nodes map[string]*Node) (*Fleet, error) {
	rule := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	for name := range nodes {
		if !rule.MatchString(name) {
			return nil, fmt.Errorf("%q cannot be the name of a node: want letters, digits, dots, _ and -, at most 63", name)
		}
	}
	page, err := template.ParseFS(files, "fleet.html")
	return &Fleet{nodes, page}, err
}

// Run plays all nodes until ctx is done. failed is told of a node that cannot
// go on; the others do.
func (f *Fleet) Run(ctx context.Context, failed func(name string, err error)) {
	distinct := map[*Node]bool{}
	var all sync.WaitGroup
	for _, n := range f.nodes {
		if distinct[n] {
			continue
		}
		distinct[n] = true
		all.Go(func() {
			if err := n.Run(ctx); err != nil {
				failed(n.Name, err)
			}
		})
	}
	all.Wait()
}

// Handler serves the nodes, a list of them, and the list as Prometheus'
// http_sd_configs takes it.
func (f *Fleet) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", f.list)
	mux.HandleFunc("GET /targets", f.targets)
	for _, name := range []string{"style.css", "live.js", "icon.svg"} {
		mux.Handle("GET /assets/"+name, web.Assets())
	}
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "fabricd is alive") })
	mux.HandleFunc("GET /-/ready", f.ready)
	mux.HandleFunc("GET /{node}/", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("node")
		if n := f.nodes[name]; n != nil {
			http.StripPrefix("/"+name, n).ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	})
	return mux
}

func (f *Fleet) names() []string { return slices.Sorted(maps.Keys(f.nodes)) }

func (f *Fleet) ready(w http.ResponseWriter, _ *http.Request) {
	for _, name := range f.names() {
		if f.nodes[name].State() == nil {
			http.Error(w, "the first readings of "+name+" are not there yet", http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "fabricd is ready")
}

// A target is an entry of a list that Prometheus asks for.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// targets lists the nodes at the address by which the client knows us.
func (f *Fleet) targets(w http.ResponseWriter, r *http.Request) {
	list := []target{}
	for _, name := range f.names() {
		list = append(list, target{[]string{r.Host}, map[string]string{"__metrics_path__": "/" + name + "/metrics", "instance": name}})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(list) //nolint:errcheck // the client went away
}

// A line is a node in the list.
type line struct {
	Name   string
	Status collectors.Status
	Worst  *collectors.Finding // if it is one to act on
	More   int                 // of those beside it
}

// An overview is the page of all nodes.
type overview struct {
	Time  string
	Nodes []line
}

func (f *Fleet) list(w http.ResponseWriter, _ *http.Request) {
	var lines []line
	for _, name := range f.names() {
		l := line{Name: name, Status: collectors.Unknown}
		if s := f.nodes[name].State(); s != nil {
			l.Status = collectors.Worst(s.Findings)
			for i := range s.Findings {
				switch bad := s.Findings[i].Status.Bad(); {
				case bad && l.Worst == nil:
					l.Worst = &s.Findings[i]
				case bad:
					l.More++
				}
			}
		}
		lines = append(lines, l)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	f.page.Execute(w, overview{time.Now().UTC().Format(time.RFC3339), lines}) //nolint:errcheck // the client went away
}
