// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

const hosts = "../collectors/testdata/hosts/"

// archive makes a recording of names and contents, in turn. The content of a
// link (a/b -> c) is empty.
func archive(entries ...string) []byte {
	var b strings.Builder
	for i := 0; i < len(entries); i += 2 {
		b.WriteString("-- " + entries[i] + " --\n")
		if text := entries[i+1]; text != "" {
			b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	return []byte(b.String())
}

func record(t testing.TB, o Options, entries ...string) *Host {
	t.Helper()
	h, err := Recorded(archive(entries...), o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// live makes the same a mounted machine.
func live(t testing.TB, o Options, entries ...string) (h *Host, root string) {
	t.Helper()
	root = t.TempDir()
	unpack(t, root, append([]string{"sys/", "", "proc/", ""}, entries...)...)
	h, err := Live(root, o)
	if err != nil {
		t.Fatal(err)
	}
	return h, root
}

// unpack writes files, links and, where a name ends in a slash, directories.
// Links come first, as in a recording: files may lie behind them.
func unpack(t testing.TB, root string, entries ...string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(entries); i += 2 {
		name, target, isLink := strings.Cut(entries[i], " -> ")
		full := filepath.Join(root, name)
		switch {
		case strings.HasSuffix(name, "/"):
			must(os.MkdirAll(full, 0o755))
		case isLink:
			must(os.MkdirAll(filepath.Dir(full), 0o755))
			must(os.MkdirAll(filepath.Join(filepath.Dir(full), target), 0o755))
			must(os.Symlink(target, full))
		}
	}
	for i := 0; i < len(entries); i += 2 {
		if name := entries[i]; !strings.HasSuffix(name, "/") && !strings.Contains(name, " -> ") {
			must(os.MkdirAll(filepath.Join(root, path.Dir(name)), 0o755))
			must(os.WriteFile(filepath.Join(root, name), []byte(entries[i+1]), 0o644))
		}
	}
}

// onBoth runs a test on a recorded and on a mounted machine of the same entries.
func onBoth(t *testing.T, o Options, entries []string, test func(*testing.T, *Host)) {
	t.Helper()
	t.Run("recorded", func(t *testing.T) { test(t, record(t, o, entries...)) })
	t.Run("live", func(t *testing.T) {
		h, _ := live(t, o, entries...)
		test(t, h)
	})
}

// device makes the entries of a PCI function: its directory below sys/devices,
// the link to it, and attributes, names and contents in turn. A link is
// relative to the function's directory.
func device(dir string, attributes ...string) []string {
	entries := []string{
		"sys/bus/pci/devices/" + path.Base(dir) + " -> ../../../devices/" + dir, "",
		"sys/devices/" + dir + "/class", "0x020000\n",
	}
	for i := 0; i < len(attributes); i += 2 {
		name := "sys/devices/" + dir + "/" + attributes[i]
		if attributes[i] == "class" {
			entries[3] = attributes[i+1]
			continue
		}
		entries = append(entries, name, attributes[i+1])
	}
	return entries
}

// netdev makes the entries of an interface of the function at dir, which may
// name a directory further down (…/virtio0).
func netdev(name, dir string, attributes ...string) []string {
	own := "sys/devices/" + dir + "/net/" + name
	entries := []string{"sys/class/net/" + name + " -> ../../devices/" + dir + "/net/" + name, "", own + "/device -> ../..", "", own + "/type", "1\n"}
	for i := 0; i < len(attributes); i += 2 {
		entries = append(entries, own+"/"+attributes[i], attributes[i+1])
	}
	return entries
}

// rdmaDevice makes the entries of an RDMA device with one port.
func rdmaDevice(name, dir string, attributes ...string) []string {
	own := "sys/devices/" + dir + "/infiniband/" + name
	entries := []string{
		"sys/class/infiniband/" + name + " -> ../../devices/" + dir + "/infiniband/" + name, "", own + "/device -> ../..", "",
		own + "/node_type", "1: CA\n", own + "/ports/1/state", "4: ACTIVE\n", own + "/ports/1/phys_state", "5: LinkUp\n",
		own + "/ports/1/link_layer", "Ethernet\n", own + "/ports/1/rate", "400 Gb/sec (4X NDR)\n",
	}
	for i := 0; i < len(attributes); i += 2 {
		entries = append(entries, own+"/"+attributes[i], attributes[i+1])
	}
	return entries
}

func addresses(list []*Function) []string {
	names := []string{}
	for _, f := range list {
		names = append(names, f.Address)
	}
	return names
}

// A spyTree notes what is asked of a tree, and may refuse it.
type spyTree struct {
	tree
	mu     sync.Mutex
	asked  []string
	answer func(op, name string) error // nil: everything is allowed
}

func spyOn(h *Host) *spyTree {
	s := &spyTree{tree: h.tree}
	h.tree = s
	return s
}

func (s *spyTree) ask(op, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, op+" "+name)
	if s.answer == nil {
		return nil
	}
	return s.answer(op, name)
}

func (s *spyTree) dir(name string) (directory, error) {
	if err := s.ask("dir", name); err != nil {
		return nil, err
	}
	d, err := s.tree.dir(name)
	if err != nil {
		return nil, err
	}
	return &spyDir{d, s, name}, nil
}

type spyDir struct {
	directory
	s    *spyTree
	name string
}

func (d *spyDir) open(name string) (file, error) {
	if err := d.s.ask("open", path.Join(d.name, name)); err != nil {
		return nil, err
	}
	return d.directory.open(name)
}

func (d *spyDir) list() ([]string, error) {
	if err := d.s.ask("list", d.name); err != nil {
		return nil, err
	}
	return d.directory.list()
}

// descriptors counts the open files of this process.
func descriptors(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(names)
}

// noLeak fails if do leaves a descriptor behind. Not for parallel tests. The
// collector is held off, so that it does not close what was forgotten.
func noLeak(t *testing.T, do func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	do() // what is opened once for the process's life
	before := descriptors(t)
	for range 3 {
		do()
	}
	after := descriptors(t)
	for range 100 { // goroutines may close theirs a moment later
		if after <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
		after = descriptors(t)
	}
	t.Errorf("%d descriptors, before %d", after, before)
}

// entriesOf reads a recorded host into names and contents.
func entriesOf(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile(hosts + name)
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, f := range txtar.Parse(b).Files {
		entries = append(entries, f.Name, string(f.Data))
	}
	return entries
}
