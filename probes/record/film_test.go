// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// dump lists all files of a recording as it is now.
func dump(t testing.TB, h *probes.Host) map[string]entry {
	t.Helper()
	all := map[string]entry{}
	var walk func(dir string)
	walk = func(dir string) {
		d, err := h.Dir(dir)
		if err != nil {
			t.Fatal(err)
		}
		names, err := d.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			full := path.Join(dir, name)
			if target, err := d.Readlink(name); err == nil {
				all[full] = entry{target: target}
				continue
			}
			b, err := d.ReadFile(name)
			switch errno, _ := err.(syscall.Errno); {
			case err == nil:
				all[full] = entry{data: b}
			case errno == syscall.EISDIR:
				walk(full)
			default:
				all[full] = entry{errno: errnoName(errno)}
			}
		}
	}
	for _, top := range []string{"sys", "proc"} {
		if h.Exists(top) {
			walk(top)
		}
	}
	return all
}

// withNewlines gives what entries are after they went through an archive.
func withNewlines(entries map[string]entry) map[string]entry {
	all := map[string]entry{}
	for name, e := range entries {
		if n := len(e.data); e.target == "" && e.errno == "" {
			e.data = append([]byte{}, e.data...)
			if n > 0 && e.data[n-1] != '\n' && plain(e.data) && !strings.HasSuffix(name, ".hex") && path.Base(name) != "config" {
				e.data = append(e.data, '\n')
			}
		}
		all[name] = e
	}
	return all
}

// random makes a snapshot of a small world in which names are at times files,
// at times links or directories, and directories are made anew.
func random(r *rand.Rand) *snapshot {
	s := newSnapshot()
	var fill func(dir string, depth int)
	fill = func(dir string, depth int) {
		s.dirs[dir] = r.Uint64N(3)
		for _, name := range []string{"a", "b", "config", "x.hex"} {
			full := path.Join(dir, name)
			switch r.IntN(9) {
			case 0, 1:
				s.entries[full] = entry{data: []byte(contents[r.IntN(len(contents))])}
			case 2:
				s.entries[full] = entry{target: []string{"../b", "nowhere/at/all", "a"}[r.IntN(3)]}
			case 3:
				s.entries[full] = entry{errno: []string{"EINVAL", "EIO", "EOPNOTSUPP"}[r.IntN(3)]}
			case 4, 5:
				if depth > 0 {
					fill(full, depth-1)
				}
			}
		}
	}
	fill("sys/d", 3)
	fill("proc", 1)
	return s
}

var contents = []string{"", "1", "1\n", "text\nof lines\n", "-- sys/a --\n", "x\n-- x --\r\ny", "\x00\xff\x7f", "no\r\nunix\r\n", "\n\n", "ü\n", "\xff"}

// What is written is what is read, at each mark.
func TestFilmRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		checkFilm(t, seed, seed*7)
	}
}

func FuzzFilmRoundTrip(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { checkFilm(t, a, b) })
}

func checkFilm(t *testing.T, a, b uint64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(a, b))
	r := &recorder{}
	var film []*snapshot
	for i := range 5 {
		film = append(film, random(rnd))
		r.mark(time.Duration(i)*time.Second, film[i], nil)
	}
	rec, err := r.finish(manifest{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := rec.WriteTo(&text); err != nil || text.Len() != rec.Size() {
		t.Fatalf("wrote %d of %d bytes, %v", text.Len(), rec.Size(), err)
	}
	h, err := probes.Recorded(text.Bytes(), probes.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text.Bytes())
	}
	if len(h.Marks()) != len(film) || len(r.left) > 0 {
		t.Fatalf("%d marks, left out %q", len(h.Marks()), r.left)
	}
	for i, s := range film {
		if err := h.Seek(i); err != nil {
			t.Fatalf("mark %d: %v\n%s", i, err, text.Bytes())
		}
		if got, want := dump(t, h), withNewlines(s.entries); !reflect.DeepEqual(got, want) {
			t.Fatalf("mark %d: got %q\nwant %q\n%s", i, got, want, text.Bytes())
		}
	}
}

// A directory that is made anew between two readings is another one, though
// its files say the same: who keeps a file of it open sees it go.
func TestMadeAnew(t *testing.T) {
	old, now := newSnapshot(), newSnapshot()
	for _, s := range []*snapshot{old, now} {
		s.entries["sys/d/net/e/mtu"] = entry{data: []byte("1500\n")}
		s.entries["sys/d/vendor"] = entry{data: []byte("1\n")}
		s.dirs = map[string]uint64{"sys/d": 1, "sys/d/net/e": 2}
	}
	now.dirs["sys/d/net/e"] = 3
	want := delta{removed: []string{"sys/d/net/e"}, written: []string{"sys/d/net/e/mtu"}}
	if got := difference(old, now); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	old.dirs, now.dirs = map[string]uint64{"proc/1": 1}, map[string]uint64{"proc/1": 2}
	if got := difference(old, now); len(got.removed)+len(got.written) > 0 {
		t.Errorf("procfs makes up identities, but: %+v", got)
	}
}

// A machine is a small one in a folder.
type machine struct {
	t    testing.TB
	root string
}

const nic = "sys/devices/pci0000:00/0000:00:01.0/0000:18:00.0"

func newMachine(t testing.TB) machine {
	m := machine{t, t.TempDir()}
	m.write("proc/cpuinfo", "processor : 0\n")
	m.write("proc/sys/kernel/osrelease", "6.1.0\n")
	for _, f := range []string{"sys/devices/pci0000:00/0000:00:01.0", nic} {
		m.link("sys/bus/pci/devices/"+path.Base(f), "../../../"+strings.TrimPrefix(f, "sys/"))
		m.write(f+"/vendor", "0x15b3\n")
		m.write(f+"/class", "0x020000\n")
		m.write(f+"/config", "\xb3\x15\x21\x10"+strings.Repeat("\x00", 60))
		m.write(f+"/current_link_width", "16\n")
		m.write(f+"/power/runtime_status", "active\n")
	}
	m.link("sys/class/net/ens1", "../../"+strings.TrimPrefix(nic, "sys/")+"/net/ens1")
	m.write(nic+"/net/ens1/address", "94:6d:ae:a1:b2:c3\n")
	m.write(nic+"/net/ens1/statistics/rx_bytes", "100\n")
	m.link(nic+"/net/ens1/device", "../../../0000:18:00.0")
	return m
}

func (m machine) write(name, text string) {
	m.t.Helper()
	full := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) link(name, target string) {
	m.t.Helper()
	full := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		m.t.Fatal(err)
	}
	os.Remove(full)
	if err := os.Symlink(target, full); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) remove(name string) {
	m.t.Helper()
	if err := os.RemoveAll(filepath.Join(m.root, name)); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) host(exclude ...string) *probes.Host {
	m.t.Helper()
	h, err := probes.Live(m.root, probes.Options{Exclude: exclude})
	if err != nil {
		m.t.Fatal(err)
	}
	return h
}

// text records and gives the archive.
func text(t testing.TB, h *probes.Host, o Options) string {
	t.Helper()
	r, err := Record(context.Background(), h, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFilm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		go func() {
			time.Sleep(5 * time.Second)
			m.write(nic+"/net/ens1/statistics/rx_bytes", "200\n")
			time.Sleep(10 * time.Second) // vanishes
			m.remove(nic)
			m.remove("sys/bus/pci/devices/0000:18:00.0")
			m.remove("sys/class/net/ens1")
			time.Sleep(20 * time.Second) // is back, and its interface has another name
			m.write(nic+"/vendor", "0x15b3\n")
			m.link("sys/bus/pci/devices/0000:18:00.0", "../../../"+strings.TrimPrefix(nic, "sys/"))
			m.link("sys/class/net/ens1", "../../"+strings.TrimPrefix(nic, "sys/")+"/net/ens7")
			m.write(nic+"/net/ens7/mtu", "9000\n")
			m.link(nic+"/net/ens7/device", "../../../0000:18:00.0")
		}()
		got := text(t, m.host(), Options{For: 50 * time.Second, Every: 10 * time.Second, KeepIdentities: true})
		_, got, _ = strings.Cut(got, "-- at/")
		const want = `10s/sys/devices/pci0000:00/0000:00:01.0/0000:18:00.0/net/ens1/statistics/rx_bytes --
200
-- at/20s/rm --
sys/bus/pci/devices/0000:18:00.0
sys/class/net/ens1
sys/devices/pci0000:00/0000:00:01.0/0000:18:00.0
-- at/30s/rm --
-- at/40s/sys/bus/pci/devices/0000:18:00.0 -> ../../../devices/pci0000:00/0000:00:01.0/0000:18:00.0 --
-- at/40s/sys/class/net/ens1 -> ../../devices/pci0000:00/0000:00:01.0/0000:18:00.0/net/ens7 --
-- at/40s/sys/devices/pci0000:00/0000:00:01.0/0000:18:00.0/net/ens7/device -> ../../../0000:18:00.0 --
-- at/40s/sys/devices/pci0000:00/0000:00:01.0/0000:18:00.0/net/ens7/mtu --
9000
-- at/40s/sys/devices/pci0000:00/0000:00:01.0/0000:18:00.0/vendor --
0x15b3
-- at/50s/rm --
`
		if got != want {
			t.Errorf("got\n%s", got)
		}
	})
}

// An interrupted film ends with a reading of that moment.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		r, err := Record(ctx, newMachine(t).host(), Options{For: time.Minute, Every: 10 * time.Second})
		if err != nil || r.Marks != 3 || r.Last != 25*time.Second || len(r.LeftOut) != 1 || !strings.Contains(r.LeftOut[0], "ends at 25s of 1m0s") {
			t.Errorf("%d marks, the last at %s, %q, %v", r.Marks, r.Last, r.LeftOut, err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Record(ctx, newMachine(t).host(), Options{}); err != ErrInterrupted {
		t.Errorf("got %v", err)
	}
}

// Costly files are read again after their floor only, and what refused them is
// left alone longer.
func TestFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(t)
		go func() {
			time.Sleep(5 * time.Second)
			m.write(nic+"/config", "\xb3\x15\x21\x10\x01"+strings.Repeat("\x00", 59))
		}()
		got := text(t, m.host(), Options{For: 50 * time.Second, Every: 10 * time.Second, KeepIdentities: true})
		if !strings.Contains(got, "at/30s/"+nic+"/config.hex") || strings.Count(got, "/config.hex") != 3 {
			t.Error("configuration space was read before its 30 s were over, or not after them")
		}
	})
}
