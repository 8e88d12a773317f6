// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// siteParameters are boot parameters whose values are the site's, as a whole.
var siteParameters = []string{
	"nfsroot", "nfsaddrs", "netroot", "ks", "inst.ks", "inst.repo", "inst.stage2", "ds", "url", "cloud-config-url", "fetch",
	"iscsi_initiator", "iscsi_target_name", "iscsi_target_ip", "nfs.nfs4_unique_id",
}

// hostParameters hold a host name.
var hostParameters = []string{"hostname", "systemd.hostname", "host", "nodename"}

// bootHosts lists the host names in boot parameters.
func bootHosts(text string) []string {
	var list []string
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case slices.Contains(hostParameters, key):
			list = append(list, value)
		case key == "ip": // client:server:gateway:netmask:hostname:device:autoconf
			if fields := strings.Split(value, ":"); len(fields) > 4 && !strings.Contains(value, "[") {
				list = append(list, fields[4])
			}
		}
	}
	return list
}

// cmdline replaces what boot parameters tell of the site.
func (s *Set) cmdline(b []byte) []byte {
	words := strings.Fields(string(b))
	for i, word := range words {
		words[i] = s.bootWord(word)
	}
	return append(s.free([]byte(strings.Join(words, " "))), '\n')
}

func (s *Set) bootWord(word string) string {
	key, value, ok := strings.Cut(word, "=")
	withheld := func(v string) string {
		return s.standIn(parameter, v, func(n int) string { return fmt.Sprintf("value-%d", n) })
	}
	switch {
	case strings.Contains(word, "://"):
		scheme, _, _ := strings.Cut(strings.TrimPrefix(word, key+"="), "://")
		if to := scheme + "://" + withheld(word); ok {
			return key + "=" + to
		}
		return withheld(word)
	case !ok:
		return word
	case slices.Contains(siteParameters, key), strings.HasPrefix(key, "rd.iscsi."), strings.HasPrefix(key, "iscsi_"):
		return key + "=" + withheld(value)
	}
	for _, before := range []string{"LABEL=", "PARTLABEL=", "PARTUUID=", "UUID=", "/dev/disk/by-id/", "/dev/disk/by-label/", "/dev/disk/by-partlabel/", "/dev/disk/by-partuuid/"} {
		if rest, ok := strings.CutPrefix(value, before); ok && rest != "" && !isUUID(rest) {
			return key + "=" + before + s.serial(rest)
		}
	}
	return word
}

func isUUID(text string) bool {
	return lengths(strings.Split(text, "-"), 8, 4, 4, 4, 12)
}

// builders replaces who built a kernel or module, and where: (root@node17).
func (s *Set) builders(b []byte) []byte {
	var out []byte
	for {
		open := bytes.IndexByte(b, '(')
		if open < 0 {
			return append(out, b...)
		}
		out, b = append(out, b[:open+1]...), b[open+1:]
		end := bytes.IndexAny(b, "() \n")
		user, machine, ok := bytes.Cut(b[:max(end, 0)], []byte("@"))
		if end < 0 || b[end] != ')' || !ok || len(user) == 0 {
			continue
		}
		out = append(append(out, "builder@"...), s.host(string(machine))...)
		b = b[end:]
	}
}

// modules takes the addresses off a list of modules; ordinary users see zeros
// there as well.
func (s *Set) modules(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		for field := range bytes.FieldsSeq(line) {
			if digits, ok := bytes.CutPrefix(field, []byte("0x")); ok && len(bytes.Trim(digits, "0")) > 0 {
				s.count(kernelAddress, field)
				line = bytes.Replace(line, field, append([]byte("0x"), bytes.Repeat([]byte("0"), len(digits))...), 1)
			}
		}
		out = append(out, line...)
	}
	return s.plain(out)
}

// maps replaces files of a process' memory map but for those of the system.
func (s *Set) maps(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		for word := range bytes.SplitAfterSeq(line, []byte(" ")) {
			if path, ok := bytes.CutPrefix(word, []byte("file=")); ok && !systemFile(path) {
				end := len(bytes.TrimRight(path, " \n"))
				to := s.standIn(file, string(path[:end]), func(n int) string { return fmt.Sprintf("/file-%d", n) })
				word = slices.Concat([]byte("file="), []byte(to), path[end:])
			}
			out = append(out, word...)
		}
	}
	return s.plain(out)
}

func systemFile(path []byte) bool {
	return bytes.HasPrefix(path, []byte("/usr/")) || bytes.HasPrefix(path, []byte("/lib")) || bytes.HasPrefix(path, []byte("/dev/"))
}

// hexID replaces a switch's id: a MAC address or GUID without separators, or
// something of the driver's own making.
func (s *Set) hexID(b []byte) []byte {
	text := strings.TrimSpace(string(b))
	id, err := hex.DecodeString(text)
	switch {
	case err != nil:
		return s.plain(b)
	case len(id) == 6:
		m := s.mac([6]byte(id))
		id = m[:]
	case len(id) == 8:
		g := s.guid([8]byte(id))
		id = g[:]
	case len(bytes.Trim(id, "\x00")) > 0:
		to := s.standIn(serial, text, func(n int) string { return fmt.Sprintf("%0*x", len(text), n) })
		return []byte(to + "\n")
	}
	return []byte(hex.EncodeToString(id) + "\n")
}

// serials replaces the values of keys of JSON that are serial numbers.
func (s *Set) serials(b []byte) []byte {
	for _, key := range []string{`"serial"`, `"board_serial"`, `"serial_number"`} {
		var out []byte
		for {
			i := bytes.Index(b, []byte(key))
			if i < 0 {
				break
			}
			i += len(key)
			out, b = append(out, b[:i]...), b[i:]
			start := len(b) - len(bytes.TrimLeft(b, " \t\r\n:"))
			d := json.NewDecoder(bytes.NewReader(b[start:]))
			if value, err := d.Token(); err == nil {
				if text, ok := value.(string); ok {
					out = append(append(out, b[:start]...), `"`+s.serial(text)+`"`...)
					b = b[start+int(d.InputOffset()):]
				}
			}
		}
		b = append(out, b...)
	}
	return b
}
