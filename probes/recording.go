// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fabricd/fabricd/probes/internal/plaintext"
	"golang.org/x/tools/txtar"
)

// MaxRecording bounds a recording's size in bytes. A film of a large host with
// all of its configuration space stays below a tenth of it.
const MaxRecording = 256 << 20

// A Manifest says which sources a recording asked, and with what result.
type Manifest struct {
	Fabricd string            `json:"fabricd,omitempty"`
	Kernel  string            `json:"kernel,omitempty"`
	Time    time.Time         `json:"time,omitzero"`
	Files   int               `json:"files,omitempty"` // entries beside the manifest: a truncated recording has fewer
	Bytes   int               `json:"bytes,omitempty"` // what follows the manifest: its last entry may be cut as well
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
	f, manifest, err := parseRecording(b)
	if err != nil {
		return nil, err
	}
	return newFilm(f, manifest, o)
}

func newFilm(f *film, manifest *Manifest, o Options) (*Host, error) {
	h := newHost(newRecordedTree(), o)
	h.film, h.manifest = f, manifest
	if err := h.apply(0); err != nil {
		return nil, err
	}
	return h, nil
}

// Rewound gives a recording as it was at its start: another Host, of the same film.
func (h *Host) Rewound() (*Host, error) {
	o := h.options
	o.Exclude = *h.exclude.Load()
	return newFilm(&film{marks: h.film.marks, changes: h.film.changes}, h.manifest, o)
}

func parseRecording(b []byte) (*film, *Manifest, error) {
	archive := txtar.Parse(b)
	if len(archive.Files) == 0 {
		return nil, nil, errors.New("holds no files: not a recording (want txtar, entries like -- sys/class/… --)")
	}
	manifest, err := readManifest(b, archive)
	if err != nil {
		return nil, nil, err
	}
	f := &film{changes: map[time.Duration][]change{}}
	type entryKey struct {
		at   time.Duration
		name string
	}
	seen := make(map[entryKey]bool, len(archive.Files))
	for _, entry := range archive.Files {
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
	f.changes[0] = append(f.changes[0], change{kind: changeRemove})
	for at, list := range f.changes {
		f.marks = append(f.marks, at)
		slices.SortStableFunc(list, func(a, b change) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.depth(), b.depth())) })
	}
	slices.Sort(f.marks)
	return f, manifest, nil
}

// readManifest gives what an archive says of itself, nil if it says nothing, and
// refuses one of which a part is missing. One from before its bytes were
// counted is taken for whole if all entries are there.
func readManifest(b []byte, archive *txtar.Archive) (*Manifest, error) {
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "manifest.json" })
	if i < 0 {
		return nil, nil
	}
	m, data := &Manifest{}, archive.Files[i].Data
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", unexpected(err))
	}
	if n := len(archive.Files) - 1; n < m.Files {
		return nil, fmt.Errorf("is truncated: %d of %d entries are there", n, m.Files)
	}
	if n := len(b) - bytes.Index(b, data) - len(data); n < m.Bytes {
		return nil, fmt.Errorf("is truncated: %d of %d bytes follow the manifest (if it was edited on purpose, remove bytes from manifest.json)", max(n, 0), m.Bytes)
	}
	if _, err := decoder.Token(); err != io.EOF { // last: the name of the next entry may be cut as well
		return nil, errors.New("manifest.json: more than one value")
	}
	plaintext.All(m)
	return m, nil
}

// unexpected names the end of the text what json.Unmarshal calls it.
func unexpected(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("unexpected end of JSON input")
	}
	return err
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

// NotAsked says why a recording has no answers of a source that is no file, in
// the words of its manifest; "" if the source was asked, or if nothing is said.
func (h *Host) NotAsked(source string) string {
	if h.manifest == nil {
		return ""
	}
	result := h.manifest.Sources[source]
	if strings.HasPrefix(result, "not asked") || strings.HasPrefix(result, "refused") {
		return source + " " + result
	}
	return ""
}
