// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"fmt"
	"slices"
	"strings"
)

// A readElement is what NCCL makes of an element.
type readElement struct {
	name   string
	keys   []string
	values map[string]string
	subs   []*readElement
	parent *readElement
}

// all lists the elements of a name at and below e.
func (e *readElement) all(name string) []*readElement {
	var list []*readElement
	if e.name == name {
		list = append(list, e)
	}
	for _, s := range e.subs {
		list = append(list, s.all(name)...)
	}
	return list
}

// A reader reads what NCCL's own parser of XML reads, and no more: elements
// whose attributes follow each other after one space, values without entities
// and of at most 254 characters, comments, no declaration.
type ncclReader struct {
	text string
	at   int
}

func (r *ncclReader) next() (byte, error) {
	if r.at >= len(r.text) {
		return 0, fmt.Errorf("the file ends too early")
	}
	r.at++
	return r.text[r.at-1], nil
}

// token reads up to one of the characters of ends.
func (r *ncclReader) token(ends string) (string, byte, error) {
	from := r.at
	for {
		c, err := r.next()
		if err != nil {
			return "", 0, err
		}
		if strings.IndexByte(ends, c) >= 0 {
			word := r.text[from : r.at-1]
			if len(word) > 254 {
				err = fmt.Errorf("%q is too long", word)
			}
			return word, c, err
		}
	}
}

// tag reads one tag, or nil at the end: its name with a leading / if it
// closes, and whether it closes itself.
func (r *ncclReader) tag() (e *readElement, single bool, err error) {
	for r.at < len(r.text) && strings.IndexByte(" \n\r", r.text[r.at]) >= 0 {
		r.at++
	}
	if r.at == len(r.text) {
		return nil, false, nil
	}
	if c, _ := r.next(); c != '<' {
		return nil, false, fmt.Errorf("%q where < has to be", c)
	}
	if strings.HasPrefix(r.text[r.at:], "!-- ") {
		end := strings.Index(r.text[r.at:], "-->")
		if end < 0 {
			return nil, false, fmt.Errorf("a comment does not end")
		}
		if strings.Contains(r.text[r.at+3:r.at+end], "--") {
			return nil, false, fmt.Errorf("-- in a comment")
		}
		r.at += end + 3
		return r.tag()
	}
	closes := strings.HasPrefix(r.text[r.at:], "/")
	if closes {
		r.at++
	}
	name, c, err := r.token(" >/\n\r")
	if closes {
		name = "/" + name
	}
	e = &readElement{name: name, values: map[string]string{}}
	for err == nil && c == ' ' {
		c, err = r.attribute(e)
	}
	if err == nil && c == '/' {
		single = true
		c, err = r.next()
	}
	if err == nil && c != '>' {
		err = fmt.Errorf("<%s: %q where > has to be", name, c)
	}
	return e, single, err
}

func (r *ncclReader) attribute(e *readElement) (last byte, err error) {
	key, c, err := r.token("= >/\n\r")
	if err != nil || c != '=' {
		return 0, fmt.Errorf("<%s: an attribute %q without a value (%v)", e.name, key, err)
	}
	if quote, err := r.next(); err != nil || quote != '"' {
		return 0, fmt.Errorf("<%s %s: no quote (%v)", e.name, key, err)
	}
	value, _, err := r.token(`"`)
	if err != nil || strings.ContainsAny(value, "&<>\n") || slices.Contains(e.keys, key) {
		return 0, fmt.Errorf("<%s %s: value %q, seen before %v (%v)", e.name, key, value, slices.Contains(e.keys, key), err)
	}
	e.keys, e.values[key] = append(e.keys, key), value
	return r.next()
}

// readNCCL reads a topology file. What NCCL would leave out is an error.
func readNCCL(text string) (*readElement, error) {
	below := map[string]string{"": "system", "system": "cpu", "cpu": "pci nic", "pci": "pci gpu nic", "nic": "net", "net": ""}
	r := &ncclReader{text: text}
	top := &readElement{}
	at := top
	for {
		e, single, err := r.tag()
		switch {
		case err != nil:
			return nil, fmt.Errorf("at byte %d: %w", r.at, err)
		case e == nil:
			if at != top || len(top.subs) != 1 {
				return nil, fmt.Errorf("the file ends within <%s>", at.name)
			}
			return top.subs[0], nil
		case strings.HasPrefix(e.name, "/"):
			if e.name != "/"+at.name {
				return nil, fmt.Errorf("<%s> within <%s>", e.name, at.name)
			}
			at = at.parent
			continue
		case !slices.Contains(strings.Fields(below[at.name]), e.name):
			return nil, fmt.Errorf("<%s> has no place within <%s>", e.name, at.name)
		}
		e.parent = at
		at.subs = append(at.subs, e)
		if !single {
			at = e
		}
	}
}
