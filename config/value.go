// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strconv"

	"gopkg.in/yaml.v3"
)

// maxUnknown bounds the unknown keys that one message names: a file that is
// something else altogether would fill a page.
const maxUnknown = 10

// A document is the file that is being read.
type document struct {
	name    string
	known   Known
	unknown []string // keys without a meaning, each with its line
}

// errorf says what is wrong on a line.
func (d *document) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", d.name, line, fmt.Errorf(format, args...))
}

// A value is one value of the file and where it stands. The structures are
// filled from these by hand because the library's own decoder drops what is
// null, cuts fractions off, and names neither the key nor the first mistake.
type value struct {
	node *yaml.Node
	doc  *document
	line int    // of the key, or of the item of a list
	key  string // or the index in a list
	path string // all keys down to this one; "" is the whole file
}

// A reader takes a value over into the structure that it was made for.
type reader = func(value) error

func (v value) child(key string, line int, n *yaml.Node) value {
	path := printable(key)
	if v.path != "" {
		path = v.path + "." + path
	}
	return value{node: resolve(n), doc: v.doc, line: line, key: key, path: path}
}

func (v value) errorf(format string, args ...any) error {
	path := v.path
	if path == "" {
		path = "cannot unmarshal" // the library's word for a file that is no configuration at all
	}
	return v.doc.errorf(v.line, "%s: %w", path, fmt.Errorf(format, args...))
}

// String gives the value as a message quotes it.
func (v value) String() string {
	switch v.node.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return fmt.Sprintf("%.80q", v.node.Value)
}

// null tells that nothing was written, or null.
func (v value) null() bool { return v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!null" }

// fields reads a mapping whose keys are fixed.
func (v value) fields(known map[string]reader) error {
	return v.entries(func(v value) error {
		if read, ok := known[v.key]; ok {
			return read(v)
		}
		// All of them are named, since a key that was renamed tends to occur more than once.
		if d := v.doc; len(d.unknown) < maxUnknown {
			d.unknown = append(d.unknown, fmt.Sprintf("%d: field %s is not a known key", v.line, printable(v.key)))
		}
		return nil
	})
}

// table reads a mapping whose keys are names.
func table[T any](to *map[string]T, read func(*T, value) error) reader {
	return func(v value) error {
		*to = map[string]T{}
		return v.entries(func(v value) error {
			var t T
			err := read(&t, v)
			(*to)[v.key] = t
			return err
		})
	}
}

// list reads a list. An item that is null is read as well: it would shift the
// others if it were left out.
func list[T any](to *[]T, read func(*T, value) error) reader {
	return func(v value) error {
		if v.null() {
			return nil
		}
		if v.node.Kind != yaml.SequenceNode {
			return v.errorf("%s is not a list", v)
		}
		*to = make([]T, len(v.node.Content))
		for i, n := range v.node.Content {
			if err := read(&(*to)[i], v.child(strconv.Itoa(i), n.Line, n)); err != nil {
				return err
			}
		}
		return nil
	}
}

// entries calls read with what a mapping holds, in the file's order, and then
// with what it merges (<<) and does not hold itself. Null is an empty mapping.
func (v value) entries(read reader) error {
	return v.merge(map[string]bool{}, map[*yaml.Node]bool{}, read)
}

// merge is entries without the keys that were taken before. Mappings that
// were merged before are passed by, as they may contain themselves.
func (v value) merge(taken map[string]bool, merged map[*yaml.Node]bool, read reader) error {
	if v.null() || merged[v.node] {
		return nil
	}
	if v.node.Kind != yaml.MappingNode {
		return v.errorf("%s is not a mapping (want key: value)", v)
	}
	merged[v.node] = true
	lines, bases := map[string]int{}, []*yaml.Node(nil)
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, line := resolve(v.node.Content[i]), v.node.Content[i].Line
		if key.ShortTag() == "!!merge" {
			bases = append(bases, v.node.Content[i+1])
			continue
		}
		if first, twice := lines[key.Value]; twice {
			return v.doc.errorf(line, "mapping key %q already defined at line %d", key.Value, first)
		}
		lines[key.Value] = line
		if taken[key.Value] {
			continue
		}
		taken[key.Value] = true
		if err := read(v.child(key.Value, line, v.node.Content[i+1])); err != nil {
			return err
		}
	}
	return v.mergeAll(bases, taken, merged, read)
}

// mergeAll merges the values of <<: mappings, or lists of them.
func (v value) mergeAll(bases []*yaml.Node, taken map[string]bool, merged map[*yaml.Node]bool, read reader) error {
	for _, n := range bases {
		items := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			items = n.Content
		}
		for _, item := range items {
			v.node, v.line = resolve(item), item.Line
			if err := v.merge(taken, merged, read); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// printable gives a key as a message names it: quoted where it would not be
// seen or would end the line.
func printable(key string) string {
	if quoted := strconv.Quote(key); key == "" || quoted[1:len(quoted)-1] != key {
		return quoted
	}
	return key
}
