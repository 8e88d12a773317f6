// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"
)

var errLeadsOut = errors.New("leads out of the archive")

func parseEntry(entry txtar.File) (at time.Duration, c change, err error) {
	name, target, isLink := strings.Cut(entry.Name, " -> ")
	c = change{kind: changeFile, origin: entry.Name, data: entry.Data}
	if rest, ok := strings.CutPrefix(name, "at/"); ok {
		mark, rest, ok := strings.Cut(rest, "/")
		at, err = time.ParseDuration(mark)
		if err != nil || at <= 0 || !ok {
			return 0, c, fmt.Errorf("%q is no mark (want at/10s/NAME)", mark)
		}
		name = rest
	}
	if err := checkName(name); err != nil {
		return 0, c, err
	}
	switch {
	case name == "rm" && at > 0:
		c.kind, c.name = changeRemove, name
		err = checkRemoved(entry.Data)
	case isLink:
		c.kind, c.name, c.data = changeLink, name, []byte(target)
		err = checkTarget(name, target)
	case strings.HasSuffix(name, ".hex") && !strings.HasPrefix(name, "lldp/"):
		c.name = strings.TrimSuffix(name, ".hex")
		c.data, err = decodeHex(entry.Data)
	case strings.HasSuffix(name, ".err") && strings.HasPrefix(name, "sys/"), strings.HasSuffix(name, ".err") && strings.HasPrefix(name, "proc/"):
		c.name = strings.TrimSuffix(name, ".err")
		c.errno, err = errnoOf(string(bytes.TrimSpace(entry.Data)))
	default:
		c.name = name
	}
	return at, c, err
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("has no name")
	case strings.ContainsRune(name, 0):
		return errors.New("has a NUL byte in its name")
	case strings.HasPrefix(name, "/") || path.Clean(name) != name || name == "." || strings.HasPrefix(name, ".."):
		return errors.New("is not a clean relative name")
	case !utf8.ValidString(name):
		return errors.New("has a name that is no UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("has a control character in its name")
	}
	return nil
}

// checkRemoved looks at the names that an entry takes away.
func checkRemoved(list []byte) error {
	for line := range bytes.Lines(list) {
		if name := string(bytes.TrimSpace(line)); name != "" {
			if err := checkName(strings.TrimSuffix(name, "/")); err != nil {
				return fmt.Errorf("%q: %w", shorten(name), err)
			}
		}
	}
	return nil
}

func checkTarget(name, target string) error {
	if target == "" || strings.ContainsRune(target, 0) {
		return errors.New("is a link to nothing")
	}
	if strings.HasPrefix(target, "/") {
		return errLeadsOut
	}
	if p := path.Join(path.Dir(name), target); p == ".." || strings.HasPrefix(p, "../") {
		return errLeadsOut
	}
	return nil
}

func decodeHex(b []byte) ([]byte, error) {
	digits := make([]byte, 0, len(b))
	for _, c := range b {
		if c != '\n' && c != ' ' && c != '\t' && c != '\r' {
			digits = append(digits, c)
		}
	}
	n, err := hex.Decode(digits, digits) // in place: it writes behind where it reads
	if err != nil {
		return nil, fmt.Errorf("hex: %w", err)
	}
	return digits[:n], nil
}

// errnoOf finds an error number by its name.
func errnoOf(name string) (syscall.Errno, error) {
	for e := syscall.Errno(1); e < 134; e++ {
		if name != "" && unix.ErrnoName(e) == name {
			return e, nil
		}
	}
	if name == "EOPNOTSUPP" { // the same number as ENOTSUP, which is the name found
		return syscall.EOPNOTSUPP, nil
	}
	return 0, fmt.Errorf("%q is not the name of an error (want EIO, EINVAL …)", shorten(name))
}

func shorten(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
