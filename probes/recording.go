// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
	"golang.org/x/tools/txtar"
)

// MaxRecording bounds a recording's size in bytes. A film of a large host with
// all of its configuration space stays below a tenth of it.
const MaxRecording = 256 << 20

var errLeadsOut = errors.New("leads out of the archive")

// A Manifest says which sources a recording asked, and with what result.
type Manifest struct {
	Fabricd string            `json:"fabricd,omitempty"`
	Kernel  string            `json:"kernel,omitempty"`
	Time    time.Time         `json:"time,omitzero"`
	Files   int               `json:"files,omitempty"` // entries beside the manifest: a truncated recording has fewer
	Sources map[string]string `json:"sources,omitempty"`
	Caps    []string          `json:"capabilities,omitempty"`
}

// A change is one entry of a recording.
type change struct {
	kind   changeKind
	name   string
	data   []byte // a file's content, a link's target, a removal's paths
	errno  syscall.Errno
	origin string // the entry's name in the archive, for messages
}

// depth orders links: those nearer to the root lead the way to the others.
func (c change) depth() int {
	if c.kind != changeLink {
		return 0
	}
	return strings.Count(c.name, "/")
}

type changeKind uint8

const (
	changeRemove changeKind = iota // first: a mark removes, then writes
	changeLink
	changeFile
)

// film is the changes of a recording by time; the first are those at 0.
type film struct {
	marks   []time.Duration
	changes map[time.Duration][]change
	at      int // index into marks of what is applied
}

// OpenRecording reads the recording in the file at name.
func OpenRecording(name string, o Options) (*Host, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("recording: %s is a directory; a recording is one txtar file", name)
	} else if err == nil && info.Size() > MaxRecording {
		return nil, fmt.Errorf("recording: %s has %d MiB; more than %d MiB is refused", name, info.Size()>>20, MaxRecording>>20)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxRecording+1))
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if len(b) > MaxRecording {
		return nil, fmt.Errorf("recording: %s has more than %d MiB and is refused", name, MaxRecording>>20)
	}
	h, err := Recorded(b, o)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", name, err)
	}
	return h, nil
}

// Recorded makes a Host of a recording's bytes.
func Recorded(b []byte, o Options) (*Host, error) {
	films, manifest, err := parseRecording(b)
	if err != nil {
		return nil, err
	}
	t := newRecordedTree()
	h := newHost(t, o)
	h.film, h.manifest = films, manifest
	if err := h.apply(0); err != nil {
		return nil, err
	}
	return h, nil
}

func parseRecording(b []byte) (*film, *Manifest, error) {
	archive := txtar.Parse(b)
	if len(archive.Files) == 0 {
		return nil, nil, errors.New("holds no files: not a recording (want txtar, entries like -- sys/class/… --)")
	}
	f := &film{changes: map[time.Duration][]change{}}
	type entryKey struct {
		at   time.Duration
		name string
	}
	seen := make(map[entryKey]bool, len(archive.Files))
	var manifest *Manifest
	for _, entry := range archive.Files {
		if entry.Name == "manifest.json" {
			manifest = &Manifest{}
			if err := json.Unmarshal(entry.Data, manifest); err != nil {
				return nil, nil, fmt.Errorf("manifest.json: %w", err)
			}
		}
		at, c, err := parseEntry(entry)
		if err != nil {
			return nil, nil, fmt.Errorf("entry %q: %w", shorten(entry.Name), err)
		}
		key := entryKey{at, c.name}
		if seen[key] {
			return nil, nil, fmt.Errorf("entry %q: the name is there twice", shorten(entry.Name))
		}
		seen[key] = true
		f.changes[at] = append(f.changes[at], c)
	}
	if manifest != nil && manifest.Files > len(archive.Files)-1 {
		return nil, nil, fmt.Errorf("is truncated: %d of %d entries are there", len(archive.Files)-1, manifest.Files)
	}
	f.changes[0] = append(f.changes[0], change{kind: changeRemove})
	for at, list := range f.changes {
		f.marks = append(f.marks, at)
		slices.SortStableFunc(list, func(a, b change) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.depth(), b.depth())) })
	}
	slices.Sort(f.marks)
	return f, manifest, nil
}

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
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("has a control character in its name")
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

// apply makes the tree what it is at mark i.
func (h *Host) apply(i int) error {
	t, ok := h.tree.(*recordedTree)
	if !ok {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range h.film.changes[h.film.marks[i]] {
		var err error
		switch c.kind {
		case changeRemove:
			for name := range strings.Lines(string(c.data)) {
				if name = strings.TrimSpace(name); name != "" {
					t.remove(name)
				}
			}
		case changeLink:
			err = t.link(c.name, string(c.data))
		case changeFile:
			err = t.write(c.name, c.data, c.errno)
		}
		if err != nil {
			return fmt.Errorf("entry %q: %w", shorten(c.origin), err)
		}
	}
	h.film.at = i
	return nil
}

// Marks lists a recording's moments, the first of them 0; a live host has none.
func (h *Host) Marks() []time.Duration {
	if h.film == nil {
		return nil
	}
	return slices.Clone(h.film.marks)
}

// Seek moves a recording forward to its mark i, at most to the last.
func (h *Host) Seek(i int) error {
	if h.film == nil {
		return nil
	}
	i = min(i, len(h.film.marks)-1)
	for next := h.film.at + 1; next <= i; next++ {
		if err := h.apply(next); err != nil {
			return err
		}
	}
	return nil
}

// Manifest gives what the recording says of itself; nil without one.
func (h *Host) Manifest() *Manifest { return h.manifest }
