// SPDX-License-Identifier: Apache-2.0

package topoview

import (
	"fmt"
	"strings"

	"github.com/fabricd/fabricd/probes/pci"
)

// An element is one of XML.
type element struct {
	name    string
	attrs   []attribute
	subs    []*element
	comment string
	busid   pci.Address // orders the elements below one
}

type attribute struct{ name, value string }

// set adds an attribute, unless its value is not known.
func (e *element) set(name, value string) {
	if value != "" {
		e.attrs = append(e.attrs, attribute{name, value})
	}
}

// write writes an element for NCCL's own parser, which knows no declaration, no
// entities and one space between attributes, nor a value of more characters
// than maxValue. All values are plain names and numbers.
func (e *element) write(b *strings.Builder, indent string) {
	b.WriteString(indent + "<" + e.name)
	for _, a := range e.attrs {
		fmt.Fprintf(b, ` %s="%s"`, a.name, a.value)
	}
	if len(e.subs) == 0 {
		b.WriteString("/>")
	} else {
		b.WriteString(">")
	}
	if e.comment != "" {
		b.WriteString(" <!-- " + e.comment + " -->")
	}
	b.WriteString("\n")
	if len(e.subs) > 0 {
		for _, s := range e.subs {
			s.write(b, indent+"  ")
		}
		b.WriteString(indent + "</" + e.name + ">\n")
	}
}

// maxValue is the most characters of a value that NCCL's parser takes.
const maxValue = 253

// plainName says whether a name means itself in a format without quoting.
func plainName(s string) bool {
	return s != "" && len(s) <= maxValue && !strings.ContainsFunc(s, func(r rune) bool { return !plainRune(r) })
}

func plainRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_.+-", r)
}
