// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// parseDOT reads the edges between ports of a Graphviz file:
//
//	graph rack7 { "gpu-07":"eth0" -- "leaf-01":"swp12"; }
//
// Attributes, nodes and subgraphs' names say nothing of cables and are passed over.
func parseDOT(b []byte) ([]link, error) {
	d := dot{rest: b, line: 1}
	var links []link
	for {
		t, err := d.next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%d: %w", d.line, err)
		case t.kind == dotEnd:
			if !d.opened || d.depth != 0 {
				return nil, fmt.Errorf("%d: not a whole graph (want graph NAME { … })", d.line)
			}
			return links, nil
		}
		if t.kind != dotName || !d.opened {
			if err := d.punctuation(t); err != nil {
				return nil, fmt.Errorf("%d: %w", d.line, err)
			}
			continue
		}
		line := d.line
		more, err := d.statement(t)
		for i := range more {
			more[i].line = line
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", line, err)
		}
		links = append(links, more...)
	}
}

type dotKind uint8

const (
	dotEnd  dotKind = iota
	dotName         // a name or a quoted string
	dotEdge         // -- or ->
	dotMark         // one of { } [ ] = ; , :
)

type dotToken struct {
	kind dotKind
	text string
}

// dot is a reader of Graphviz files.
type dot struct {
	rest   []byte
	line   int
	depth  int
	opened bool
	peeked *dotToken
}

// punctuation follows the braces, and passes over attributes.
func (d *dot) punctuation(t dotToken) error {
	if t.kind == dotEdge {
		return errors.New("an edge without a node before it")
	}
	switch t.text {
	case "{":
		d.depth++
		d.opened = true
	case "}":
		if d.depth--; d.depth < 0 {
			return errors.New("a } too many")
		}
	case "[":
		return d.attributes()
	}
	return nil
}

func (d *dot) attributes() error {
	for {
		t, err := d.next()
		switch {
		case err != nil:
			return err
		case t.kind == dotEnd:
			return errors.New("attributes without an end (])")
		case t.text == "]" && t.kind == dotMark:
			return nil
		}
	}
}

// statement reads a chain of nodes and gives its edges.
func (d *dot) statement(t dotToken) ([]link, error) {
	var links []link
	for previous := (*end)(nil); ; {
		node, err := d.node(t)
		if err != nil {
			return nil, err
		}
		if previous != nil {
			if previous.port == "" || node.port == "" {
				return nil, fmt.Errorf("the edge from %q to %q names no ports (want \"host\":\"port\" -- \"switch\":\"port\")", previous.host, node.host)
			}
			links = append(links, link{ends: [2]end{*previous, node}})
		}
		next, err := d.peek()
		if err != nil || next.kind != dotEdge {
			return links, err
		}
		d.peeked = nil
		if t, err = d.next(); err != nil {
			return nil, err
		}
		if t.kind != dotName {
			return nil, fmt.Errorf("the edge from %q leads to no node", node.host)
		}
		previous = &node
	}
}

// node reads a name and its port; a compass point after it says nothing.
func (d *dot) node(t dotToken) (end, error) {
	e := end{host: t.text}
	for i := 0; ; i++ {
		next, err := d.peek()
		if err != nil || next.kind != dotMark || next.text != ":" {
			return e, err
		}
		d.peeked = nil
		port, err := d.next()
		if err != nil {
			return e, err
		}
		if port.kind != dotName {
			return e, fmt.Errorf("%q has no port after its colon", e.host)
		}
		if i == 0 {
			e.port = port.text
		}
	}
}

func (d *dot) peek() (dotToken, error) {
	if d.peeked == nil {
		t, err := d.next()
		if err != nil {
			return t, err
		}
		d.peeked = &t
	}
	return *d.peeked, nil
}

func (d *dot) next() (dotToken, error) {
	if t := d.peeked; t != nil {
		d.peeked = nil
		return *t, nil
	}
	if err := d.space(); err != nil || len(d.rest) == 0 {
		return dotToken{}, err
	}
	switch c := d.rest[0]; {
	case c == '"':
		return d.quoted()
	case bytes.HasPrefix(d.rest, []byte("--")), bytes.HasPrefix(d.rest, []byte("->")):
		d.rest = d.rest[2:]
		return dotToken{dotEdge, "--"}, nil
	case strings.IndexByte("{}[]=;,:", c) >= 0:
		d.rest = d.rest[1:]
		return dotToken{dotMark, string(c)}, nil
	}
	n := 0
	for n < len(d.rest) && nameByte(d.rest[n]) && !bytes.HasPrefix(d.rest[n:], []byte("--")) && !bytes.HasPrefix(d.rest[n:], []byte("->")) {
		n++
	}
	if n == 0 {
		return dotToken{}, fmt.Errorf("%q has no place here", d.rest[:1])
	}
	text := string(d.rest[:n])
	d.rest = d.rest[n:]
	return dotToken{dotName, text}, nil
}

// nameByte says whether a byte may stand in a name without quotes. Graphviz
// wants quotes around a hyphen; people forget them.
func nameByte(c byte) bool {
	return c == '_' || c == '.' || c == '/' || c == '-' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (d *dot) quoted() (dotToken, error) {
	var text []byte
	for i := 1; i < len(d.rest); i++ {
		switch c := d.rest[i]; {
		case c == '"':
			d.rest = d.rest[i+1:]
			return dotToken{dotName, string(text)}, nil
		case c == '\n':
			return dotToken{}, errors.New("a string without its closing quote")
		case c == '\\' && i+1 < len(d.rest) && (d.rest[i+1] == '"' || d.rest[i+1] == '\\'):
			i++
			text = append(text, d.rest[i])
		default:
			text = append(text, c)
		}
	}
	return dotToken{}, errors.New("a string without its closing quote")
}

// space passes over white space and comments.
func (d *dot) space() error {
	for len(d.rest) > 0 {
		switch {
		case d.rest[0] == '\n':
			d.line++
			d.rest = d.rest[1:]
		case d.rest[0] == ' ', d.rest[0] == '\t', d.rest[0] == '\r':
			d.rest = d.rest[1:]
		case d.rest[0] == '#', bytes.HasPrefix(d.rest, []byte("//")):
			n := bytes.IndexByte(d.rest, '\n')
			if n < 0 {
				n = len(d.rest)
			}
			d.rest = d.rest[n:]
		case bytes.HasPrefix(d.rest, []byte("/*")):
			n := bytes.Index(d.rest, []byte("*/"))
			if n < 0 {
				return errors.New("a comment without its end")
			}
			d.line += bytes.Count(d.rest[:n], []byte("\n"))
			d.rest = d.rest[n+2:]
		default:
			return nil
		}
	}
	return nil
}
