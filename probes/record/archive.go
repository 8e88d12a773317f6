// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An archive is the entries of a recording, written one after the other as
// txtar. The manifest, which goes first, is made when all are there.
type archive struct {
	body    bytes.Buffer
	entries int
}

// put writes an entry; false if its name cannot stand in a recording.
func (a *archive) put(at, name string, e entry) bool {
	full, data, ok := encode(name, e)
	if !ok {
		return false
	}
	a.raw(at+full, data)
	return true
}

func (a *archive) raw(name string, data []byte) {
	a.entries++
	a.body.WriteString("-- " + name + " --\n")
	a.body.Write(data)
	if len(data) > 0 && data[len(data)-1] != '\n' {
		a.body.WriteByte('\n')
	}
}

// encode gives an entry's name and content in the archive.
func encode(name string, e entry) (full string, data []byte, ok bool) {
	if !validName(name) {
		return "", nil, false
	}
	switch {
	case e.target != "":
		if !validName(e.target) || !leadsInside(name, e.target) {
			return "", nil, false
		}
		return name + " -> " + e.target, nil, true
	case e.errno != "":
		return name + ".err", []byte(e.errno + "\n"), true
	case strings.HasPrefix(name, "lldp/"): // is hex already
		return name, e.data, !hasMarker(e.data)
	case path.Base(name) == "config" || !plain(e.data), strings.HasSuffix(name, ".hex"), strings.HasSuffix(name, ".err"):
		return name + ".hex", hexLines(e.data), true
	}
	return name, e.data, true
}

// validName says whether a name survives being written and read: a recording
// has no way to quote one.
func validName(name string) bool {
	return name != "" && utf8.ValidString(name) && strings.TrimSpace(name) == name && !strings.Contains(name, " -> ") &&
		!strings.ContainsFunc(name, unicode.IsControl)
}

// leadsInside says whether a link stays within the recording.
func leadsInside(name, target string) bool {
	to := path.Join(path.Dir(name), target)
	return !strings.HasPrefix(target, "/") && to != ".." && !strings.HasPrefix(to, "../")
}

// plain says whether content may stand as it is: text without a line that
// txtar takes for the beginning of an entry. Text without a newline at its end
// gets one, which sysfs's readers do not mind.
func plain(b []byte) bool {
	for _, r := range string(b) {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return false
		}
	}
	return !hasMarker(b)
}

func hasMarker(b []byte) bool {
	for line := range bytes.Lines(b) {
		line = bytes.TrimRight(line, "\r\n")
		if bytes.HasPrefix(line, []byte("-- ")) && bytes.HasSuffix(line, []byte(" --")) {
			return true
		}
	}
	return false
}

// hexLines writes bytes as hex digits, 32 bytes a line.
func hexLines(b []byte) []byte {
	const width = 32
	var out []byte
	for len(b) > 0 {
		n := min(width, len(b))
		out = append(hex.AppendEncode(out, b[:n]), '\n')
		b = b[n:]
	}
	return out
}

// markName writes a moment as a mark: 10s, 90s, 1.5s, 100ms.
func markName(at time.Duration) string {
	if at%time.Second == 0 {
		return strconv.Itoa(int(at/time.Second)) + "s"
	}
	return at.String()
}
