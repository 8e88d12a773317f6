// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A hostName is one that has to be replaced wherever it appears.
type hostName struct {
	lower string
	exact string
	// telling: it holds a digit or a sign, so that it is no word of a language
	// and its case does not matter.
	telling bool
	// unmistakable: it can also be told from the names of devices, modules and
	// the like, which look like node12.
	unmistakable bool
}

// Host takes notice of a machine's name.
func (s *Set) Host(name string) { s.learn(name, true) }

// learn takes notice of a name and of its first label. Those that everybody
// has are no identities. One that only may be a machine's is never
// unmistakable.
func (s *Set) learn(name string, sure bool) {
	name = strings.TrimSpace(name)
	short, _, _ := strings.Cut(name, ".")
	for _, n := range []string{name, short} {
		h := hostName{exact: n, lower: string(asciiLower([]byte(n))), telling: strings.ContainsAny(n, "0123456789-_.")}
		h.unmistakable = sure && len(n) >= 6 && strings.ContainsAny(n, "-.")
		known := slices.ContainsFunc(s.hosts, func(o hostName) bool { return o.exact == n })
		if len(n) > 1 && !known && !anybodys(h.lower) {
			s.hosts = append(s.hosts, h)
		}
	}
	slices.SortStableFunc(s.hosts, func(a, b hostName) int {
		return cmp.Or(len(b.exact)-len(a.exact), strings.Compare(a.exact, b.exact))
	})
}

// anybodys says whether a name is one that tells no machine from another.
func anybodys(lower string) bool {
	short, _, _ := strings.Cut(lower, ".")
	return slices.Contains([]string{"localhost", "(none)", "none", "unknown"}, short)
}

// host gives a host name's stand-in; what is a full name stays one.
func (s *Set) host(name string) string {
	if name == "" || anybodys(strings.ToLower(name)) {
		return name
	}
	short, _, full := strings.Cut(strings.ToLower(name), ".")
	to := s.standIn(host, short, func(n int) string { return fmt.Sprintf("host-%d", n) })
	if full {
		return to + ".example"
	}
	return to
}

// switchName gives the stand-in of another machine's name, as plans and
// neighbours have it. The own names are told apart.
func (s *Set) switchName(name string) string {
	lower := strings.ToLower(name)
	short, _, full := strings.Cut(lower, ".")
	for _, h := range s.hosts {
		if h.lower == lower || h.lower == short {
			return s.host(name)
		}
	}
	to := s.standIn(switchName, short, func(n int) string { return fmt.Sprintf("switch-%d", n) })
	if full {
		return to + ".example"
	}
	return to
}

// inHosts replaces the known host names in a text; unless it is for people,
// only the unmistakable ones.
func (s *Set) inHosts(b []byte, people bool) []byte {
	for _, h := range s.hosts {
		if people || h.unmistakable {
			b = s.inHost(b, h)
		}
	}
	return b
}

func (s *Set) inHost(b []byte, h hostName) []byte {
	text, want := b, h.exact
	if h.telling {
		text, want = asciiLower(b), h.lower
	}
	var out []byte
	from := 0
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(want))
		if i < 0 {
			break
		}
		i += at
		end := i + len(want)
		if !h.apart(b, i, end) {
			at = i + 1
			continue
		}
		end += domain(b[end:])
		out = append(append(out, b[from:i]...), s.host(string(b[i:end]))...)
		from, at = end, end
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}

// apart says whether a name found in a text stands by itself. A telling one
// may be part of a word with signs (vg_node17-root).
func (h hostName) apart(b []byte, from, to int) bool {
	part := func(c byte) bool {
		return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || !h.telling && (c == '-' || c == '_')
	}
	return (from == 0 || !part(b[from-1])) && (to == len(b) || !part(b[to]))
}

// domain gives the length of the domain that follows a host name.
func domain(b []byte) int {
	n := 0
	for n+1 < len(b) && b[n] == '.' && isAlpha(b[n+1]) {
		n++
		for n < len(b) && (isAlpha(b[n]) || '0' <= b[n] && b[n] <= '9' || b[n] == '-') {
			n++
		}
	}
	return n
}

func isAlpha(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// asciiLower makes a copy in lower case that has the same length, which
// bytes.ToLower does not promise.
func asciiLower(b []byte) []byte {
	out := slices.Clone(b)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}

// hostname replaces the file that holds nothing but the name.
func (s *Set) hostname(b []byte) []byte {
	name := strings.TrimSpace(string(b))
	return []byte(s.host(name) + "\n")
}

// vocabulary are words of node descriptions that name a make, not a machine.
var vocabulary = []string{
	"hca", "rdma", "roce", "infiniband", "ethernet", "adapter", "card", "port", "mellanox", "nvidia", "technologies", "technology",
	"intel", "broadcom", "amd", "pensando", "amazon", "huawei", "cisco", "soft", "elastic", "fabric", "efa", "irdma", "mlx5", "mlx4",
	"bnxt_re", "host", "channel", "connectx", "bluefield", "omni-path", "hfi", "unknown", "inc.", "corporation", "iwarp",
}

// knownWord says whether a word of a node description is none that a person
// gave a machine.
func knownWord(word, device string) bool {
	lower := strings.ToLower(word)
	if word == device || slices.Contains(vocabulary, strings.Trim(lower, ":,;()[]")) {
		return true
	}
	for _, start := range []string{"mt", "hca-", "connectx", "connect-x", "bluefield", "mlx", "hfi1_", "mlx5_", "bnxt_re", "irdma", "rocep", "ibp", "efa_"} {
		if rest, ok := strings.CutPrefix(lower, start); ok && strings.Trim(rest, "0123456789-:,lxdsf") == "" {
			return true
		}
	}
	return strings.Trim(lower, "0123456789-_.:,;()[]") == ""
}

// device gives the RDMA device that a file belongs to.
func device(name string) string {
	parts := strings.Split(name, "/")
	if i := slices.Index(parts, "infiniband"); i >= 0 && i+1 < len(parts) {
		return parts[i+1]
	}
	return ""
}

// nodeDesc replaces the words of a node description that are not known to be
// harmless: many sites put the host's name there, or anything else.
func (s *Set) nodeDesc(name string, b []byte) []byte {
	words := strings.Fields(string(s.free(b)))
	for i, word := range words {
		if !knownWord(word, device(name)) && !s.isHost(word) {
			words[i] = s.host(word)
		}
	}
	return []byte(strings.Join(words, " ") + "\n")
}

// isHost says whether a text is a host name's stand-in.
func (s *Set) isHost(text string) bool {
	text = strings.TrimSuffix(text, ".example")
	for _, to := range s.tables[host] {
		if to == text {
			return true
		}
	}
	return false
}
