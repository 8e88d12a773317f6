// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// A link is a cable of a plan of many machines.
type link struct {
	ends [2]end
	line int
}

type end struct{ host, port string }

// LoadCabling reads a cabling plan and gives the cables of a host: a csv file
// (host, port, neighbour, neighbour-port), a Graphviz file as data centres keep
// it for prescriptive checks ("host":"port" -- "leaf":"port"), or the plan of a
// configuration file. The ending of its name says which.
func LoadCabling(name, host string) ([]Cable, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cabling plan: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("cabling plan: %w", err)
	}
	return ParseCabling(name, b, host)
}

// ParseCabling is LoadCabling of a file's bytes. Errors name the file and the line.
func ParseCabling(name string, b []byte, host string) ([]Cable, error) {
	if len(b) > maxSize {
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxSize>>20)
	}
	var links []link
	var err error
	switch path.Ext(name) {
	case ".yaml", ".yml":
		c, err := Parse(name, b, Known{})
		if err == nil && len(c.Plan.Cabling) == 0 {
			err = fmt.Errorf("%s: has no plan.cabling", name)
		}
		if err != nil {
			return nil, err
		}
		return c.Plan.Cabling, nil
	case ".csv":
		links, err = parseCSV(b, host)
	case ".dot", ".gv":
		links, err = parseDOT(b)
	default:
		return nil, fmt.Errorf("%s: a cabling plan's name ends in .csv, .dot, .gv, .yaml or .yml", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	return cablesOf(name, links, host)
}

// ErrNoCable says that a plan has nothing of a host.
var ErrNoCable = errors.New("has no cable of")

// cablesOf picks a host's cables.
func cablesOf(name string, links []link, host string) ([]Cable, error) {
	var cables []Cable
	lines := map[string]int{}
	for _, l := range links {
		own := slices.IndexFunc(l.ends[:], func(e end) bool { return sameHost(e.host, host) })
		if own < 0 {
			continue
		}
		near, far := l.ends[own], l.ends[1-own]
		if first, twice := lines[near.port]; twice {
			return nil, fmt.Errorf("%s:%d: port %q of %s already has a cable at line %d", name, l.line, near.port, near.host, first)
		}
		lines[near.port] = l.line
		if strings.ContainsAny(near.port, ":/ ") && !isAddress(near.port) {
			return nil, fmt.Errorf("%s:%d: port %q of %s is neither an interface nor a PCI address (0000:18:00.0)", name, l.line, near.port, near.host)
		}
		c := Cable{Port: near.port, Switch: far.host, SwitchPort: far.port}
		if isAddress(near.port) {
			c.Port, c.Address = "", near.port
		}
		cables = append(cables, c)
	}
	if len(cables) == 0 {
		return nil, fmt.Errorf("%s: %w %s (%d cables of others)", name, ErrNoCable, host, len(links))
	}
	return cables, nil
}

// sameHost compares host names; one without a domain is the same as one with any.
func sameHost(a, b string) bool {
	shortA, domainA, _ := strings.Cut(a, ".")
	shortB, domainB, _ := strings.Cut(b, ".")
	if domainA == "" || domainB == "" {
		a, b = shortA, shortB
	}
	return a != "" && strings.EqualFold(a, b)
}

// isAddress says whether a port is named by its PCI address: domain, bus,
// device and function, as the kernel writes them.
func isAddress(s string) bool {
	domain, rest, _ := strings.Cut(s, ":")
	bus, rest, _ := strings.Cut(rest, ":")
	device, function, _ := strings.Cut(rest, ".")
	return len(domain) >= 4 && len(bus) == 2 && len(device) == 2 && len(function) == 1 &&
		strings.Trim(domain+bus+device+function, "0123456789abcdef") == ""
}

// columns are the csv file's, and other names that they go by.
var columns = map[string]int{
	"host": 0, "hostname": 0, "port": 1, "interface": 1, "neighbour": 2, "neighbor": 2, "switch": 2,
	"neighbour-port": 3, "neighbor-port": 3, "neighbour_port": 3, "neighbor_port": 3, "switch_port": 3, "switch-port": 3,
}

// parseCSV reads lines of host, port, neighbour and neighbour-port; a line
// without the host is this host's. A line may name the columns of those after
// it, in any order and among others: files are put one behind the other.
func parseCSV(b []byte, host string) ([]link, error) {
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord, r.Comment, r.TrimLeadingSpace = -1, '#', true
	var links []link
	order := []int{0, 1, 2, 3}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return links, nil
		}
		if err != nil {
			var bad *csv.ParseError
			if errors.As(err, &bad) {
				return nil, fmt.Errorf("%d: %w", bad.Line, bad.Err)
			}
			return nil, fmt.Errorf(" %w", err)
		}
		line, _ := r.FieldPos(0)
		if named, ok := header(fields); ok {
			order = named
			continue
		}
		l, err := linkOf(fields, order, host)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", line, err)
		}
		l.line = line
		links = append(links, l)
	}
}

// header finds out where the columns are if the line names them.
func header(fields []string) (order []int, ok bool) {
	order = []int{-1, -1, -1, -1}
	for i, f := range fields {
		if column, known := columns[strings.ToLower(strings.TrimSpace(f))]; known {
			order[column] = i
		}
	}
	return order, order[1] >= 0 && order[2] >= 0
}

func linkOf(fields []string, order []int, host string) (link, error) {
	get := func(column int) string {
		if i := order[column]; i >= 0 && i < len(fields) {
			return strings.TrimSpace(fields[i])
		}
		return ""
	}
	l := link{ends: [2]end{{get(0), get(1)}, {get(2), get(3)}}}
	if len(fields) < 3 {
		return l, fmt.Errorf("%d fields, want host,port,neighbour,neighbour-port", len(fields))
	}
	if l.ends[0].host == "" {
		l.ends[0].host = host
	}
	if l.ends[0].port == "" || l.ends[1].host == "" {
		return l, errors.New("names no port or no neighbour (want host,port,neighbour,neighbour-port)")
	}
	return l, nil
}
