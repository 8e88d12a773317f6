// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// plan replaces names in the operator's configuration file. Comments and
// reasons are for the site's own people and are withheld.
func (s *Set) plan(b []byte) []byte {
	var doc yaml.Node
	if yaml.Unmarshal(b, &doc) != nil || doc.Kind == 0 {
		return s.free(b)
	}
	s.planNode(&doc, "")
	out, err := yaml.Marshal(&doc)
	if err != nil {
		return s.free(b)
	}
	return out
}

func (s *Set) planNode(n *yaml.Node, key string) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	n.Anchor = s.Path(n.Anchor)
	if !strings.HasPrefix(n.Tag, "!!") {
		n.Tag = s.Path(n.Tag)
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			s.planNode(k, "")
			s.planNode(n.Content[i+1], k.Value)
		}
		return
	case yaml.ScalarNode, yaml.AliasNode:
	default:
		for _, c := range n.Content {
			s.planNode(c, key)
		}
		return
	}
	switch key {
	case "switch":
		n.Value = s.neighbour(n.Value)
	case "reason":
		n.Value = "withheld"
	default:
		switch n.Tag {
		case "!!int", "!!float", "!!bool", "!!null", "!!timestamp":
		default:
			n.Value = s.Path(n.Value)
		}
	}
}

// neighbour replaces what names a switch: a name, or an address.
func (s *Set) neighbour(text string) string {
	text = strings.TrimRight(text, "\x00 \t\r\n")
	if text == "" {
		return text
	}
	if strings.Trim(text, "0123456789abcdefABCDEF:.-") == "" {
		if to := string(s.free([]byte(text))); to != text {
			return to
		}
	}
	return s.switchName(text)
}
