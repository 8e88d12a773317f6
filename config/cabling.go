// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// A link is a cable of a plan of many machines.
type link struct {
	ends [2]end
	line int
}

type end struct{ host, port string }

func (e end) String() string { return strings.TrimSpace(fmt.Sprintf("%q %s", e.host, e.port)) }

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
	b, err := unmarked(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var links []link
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

// unmarked takes out the byte order marks that spreadsheets put before their
// text; of files one behind the other each has one.
func unmarked(b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return nil, errors.New("is UTF-16: save it as UTF-8")
	}
	return bytes.ReplaceAll(b, []byte("\ufeff"), nil), nil
}

// ErrNoCable says that a plan has nothing of a host.
var ErrNoCable = errors.New("has no cable of")

// cablesOf picks a host's cables. A cable may be told twice, from either end.
func cablesOf(name string, links []link, host string) ([]Cable, error) {
	var cables []Cable
	type far struct {
		end
		line int
	}
	known := map[string]far{}
	for _, l := range links {
		for i, near := range l.ends {
			if !sameHost(near.host, host) {
				continue
			}
			other := l.ends[1-i]
			if first, twice := known[near.port]; twice {
				if sameHost(first.host, other.host) && first.port == other.port {
					continue
				}
				return nil, fmt.Errorf("%s:%d: port %q of %s already has a cable at line %d, to %s", name, l.line, near.port, near.host, first.line, first.end)
			}
			known[near.port] = far{other, l.line}
			if strings.ContainsAny(near.port, ":/ ") && !isAddress(near.port) {
				return nil, fmt.Errorf("%s:%d: port %q of %s is neither an interface nor a PCI address (0000:18:00.0)", name, l.line, near.port, near.host)
			}
			c := Cable{Port: near.port, Switch: other.host, SwitchPort: other.port}
			if isAddress(near.port) {
				c.Port, c.Address = "", near.port
			}
			cables = append(cables, c)
		}
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
