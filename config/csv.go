// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// columns of a csv file: in the order in which a file without a header has
// them, the names that each goes by. Case, blanks, hyphens and underscores say nothing.
var columns = [4][]string{
	{"host", "hostname", "server", "servername", "node", "nodename", "machine", "machinename"},
	{"port", "portname", "interface", "interfacename", "ifname", "nic", "netdev", "hostport", "hostinterface", "serverport", "serverinterface", "nodeport", "localport", "localinterface"},
	{"neighbour", "neighbor", "neighbourname", "neighborname", "switch", "switchname", "leaf", "leafname", "tor", "torname", "peer", "peername", "remote", "remotehost", "remotename"},
	{"neighbourport", "neighborport", "neighbourinterface", "neighborinterface", "switchport", "switchinterface", "leafport", "leafinterface", "torport", "torinterface", "peerport", "peerinterface", "remoteport", "remoteinterface"},
}

// asides are columns that surely are none of these.
var asides = []string{"rail", "role", "speed", "length", "comment", "note", "notes", ""}

// parseCSV reads lines of host, port, neighbour and neighbour-port; in a file
// that names no host all are this host's. A line may name the columns of those
// after it, in any order and among others: files are put one behind the other.
func parseCSV(b []byte, host string) ([]link, error) {
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord, r.Comment, r.TrimLeadingSpace = -1, '#', true
	var links []link
	order := &[4]int{0, 1, 2, 3}
	for first := true; ; first = false {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return links, nameHosts(links, host)
		}
		if err != nil {
			var bad *csv.ParseError
			if errors.As(err, &bad) {
				return nil, fmt.Errorf("%d: %w", bad.Line, bad.Err)
			}
			return nil, fmt.Errorf(" %w", err)
		}
		line, _ := r.FieldPos(0)
		named, err := header(fields, first)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", line, err)
		}
		if named != nil {
			order = named
			continue
		}
		l, err := linkOf(fields, order)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", line, err)
		}
		l.line = line
		links = append(links, l)
	}
}

// header finds out where the columns are if the line names them: two names of
// columns make a header, in the file's first line one. A column that is not
// there is refused where another may be it: cables would be taken for others'.
func header(fields []string, first bool) (*[4]int, error) {
	order, stranger, twice := &[4]int{-1, -1, -1, -1}, "", ""
	found := 0
	for i, f := range fields {
		column, known := columnOf(f)
		switch {
		case !known && stranger == "":
			stranger = fmt.Sprintf(" (%q is not known)", f)
		case column >= 0 && order[column] >= 0:
			twice = fmt.Sprintf("the columns %q and %q are both the %s", fields[order[column]], f, columns[column][0])
		case column >= 0:
			order[column] = i
			found++
		}
	}
	switch {
	case found == 0 || found == 1 && !first:
		return nil, nil
	case twice != "":
		return nil, errors.New(twice)
	}
	for column, i := range order {
		if needed := column == 1 || column == 2; i < 0 && (needed || stranger != "") {
			return nil, fmt.Errorf("a header without the column of the %s%s: call it %s", columns[column][0], stranger, strings.Join(columns[column], ", "))
		}
	}
	return order, nil
}

// columnOf finds a column by its name; -1 is one that says nothing of cables.
func columnOf(name string) (column int, known bool) {
	name = strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(name))
	column = slices.IndexFunc(columns[:], func(names []string) bool { return slices.Contains(names, name) })
	return column, column >= 0 || slices.Contains(asides, name)
}

func linkOf(fields []string, order *[4]int) (link, error) {
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
	if l.ends[0].port == "" || l.ends[1].host == "" {
		return l, errors.New("names no port or no neighbour (want host,port,neighbour,neighbour-port)")
	}
	return l, nil
}

// nameHosts gives the host to a file that names none. Among lines that name
// theirs one without may be anybody's: spreadsheets leave out what stands above.
func nameHosts(links []link, host string) error {
	anonymous := func(l link) bool { return l.ends[0].host == "" }
	i := slices.IndexFunc(links, anonymous)
	if i >= 0 && !slices.ContainsFunc(links, func(l link) bool { return !anonymous(l) }) {
		for i := range links {
			links[i].ends[0].host = host
		}
		return nil
	}
	if i >= 0 {
		return fmt.Errorf("%d: names no host, as other lines do", links[i].line)
	}
	return nil
}
