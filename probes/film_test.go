// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"testing"
	"time"
)

// step is what one attribute answers at one mark.
type step struct {
	want string
	err  error
}

func attrOf(t *testing.T, h *Host, dir, name string, size int) *Attr {
	t.Helper()
	d, err := h.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := d.Attr(name, size)
	t.Cleanup(func() { a.Close(); d.Close() })
	return a
}

func wantRead(t *testing.T, a *Attr, want step, when any) {
	t.Helper()
	b, err := a.Read()
	if !errors.Is(err, want.err) || want.err == nil && err != nil || string(b) != want.want {
		t.Errorf("%v: %q, %v; want %q, %v", when, b, err, want.want, want.err)
	}
}

// What is kept open sees changes, errors and removals as the kernel would show them.
func TestFilm(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entries []string
		steps   []step // of sys/d/a, at 0 and at each mark
	}{
		{"still", []string{"sys/d/a", "1"}, []step{{"1", nil}}},
		{"change", []string{"sys/d/a", "1", "at/1s/sys/d/a", "22", "at/2s/sys/d/b", "x"}, []step{{"1", nil}, {"22", nil}, {"22", nil}}},
		{"error and back", []string{"sys/d/a", "1", "at/1s/sys/d/a.err", "EINVAL", "at/2s/sys/d/x", "", "at/3s/sys/d/a", "3"},
			[]step{{"1", nil}, {"", syscall.EINVAL}, {"", syscall.EINVAL}, {"3", nil}}},
		{"another error", []string{"sys/d/a.err", "EIO", "at/1s/sys/d/a.err", "EPERM"}, []step{{"", syscall.EIO}, {"", fs.ErrPermission}}},
		{"comes later", []string{"sys/d/b", "", "at/1s/sys/d/a", "1"}, []step{{"", fs.ErrNotExist}, {"1", nil}}},
		{"removed", []string{"sys/d/a", "1", "at/1s/rm", "sys/d/a", "at/2s/x", ""}, []step{{"1", nil}, {"", syscall.ENODEV}, {"", fs.ErrNotExist}}},
		{"removed and back", []string{"sys/d/a", "1", "at/1s/rm", "sys/d/a", "at/2s/sys/d/a", "2"}, []step{{"1", nil}, {"", syscall.ENODEV}, {"2", nil}}},
		{"replaced at one mark", []string{"sys/d/a", "1", "at/1s/rm", "sys/d/a", "at/1s/sys/d/a", "2", "at/2s/x", ""}, []step{{"1", nil}, {"", syscall.ENODEV}, {"2", nil}}},
		{"directory removed", []string{"sys/d/a", "1", "at/1s/rm", "sys/d", "at/2s/x", ""}, []step{{"1", nil}, {"", syscall.ENODEV}, {"", fs.ErrNotExist}}},
		{"parent removed", []string{"sys/d/a", "1", "sys/e", "", "at/1s/rm", "\n  sys/nothing\nsys \n", "at/2s/x", ""}, []step{{"1", nil}, {"", syscall.ENODEV}, {"", fs.ErrNotExist}}},
		// A directory that was kept is the old one; the new one has to be opened.
		{"directory made again", []string{"sys/d/a", "1", "at/1s/rm", "sys/d", "at/2s/sys/d/a", "2"}, []step{{"1", nil}, {"", syscall.ENODEV}, {"", fs.ErrNotExist}}},
		{"other file removed", []string{"sys/d/a", "1", "sys/d/b", "1", "at/1s/rm", "sys/d/b"}, []step{{"1", nil}, {"1", nil}}},
		{"marks out of order", []string{"at/10s/sys/d/a", "10", "at/2m/sys/d/a", "120", "at/500ms/sys/d/a", "0.5", "sys/d/a", "0"},
			[]step{{"0", nil}, {"0.5", nil}, {"10", nil}, {"120", nil}}},
		{"through a link", []string{"sys/e/a", "1", "sys/d -> e", "", "at/1s/sys/d/a", "2"}, []step{{"1", nil}, {"2", nil}}},
		{"link that becomes a file's", []string{"sys/d/a -> ../e/a", "", "sys/e/a", "1", "sys/f/a", "2", "at/1s/sys/d/a -> ../f/a", ""}, []step{{"1", nil}, {"1", nil}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := record(t, Options{}, test.entries...)
			if got := len(h.Marks()); got != len(test.steps) {
				t.Fatalf("%d marks: %v", got, h.Marks())
			}
			a := attrOf(t, h, "sys/d", "a", 16)
			for i, want := range test.steps {
				if err := h.Seek(i); err != nil {
					t.Fatal(err)
				}
				wantRead(t, a, want, h.Marks()[i])
			}
		})
	}
}

func TestFilmMarks(t *testing.T) {
	t.Parallel()
	h := record(t, Options{}, "at/2m/sys/a", "3", "at/10s/sys/a", "2", "sys/a", "0", "at/500ms/sys/a", "1", "at/0.5s/sys/b", "1", "at/1m60s/sys/b", "3")
	if want := []time.Duration{0, 500 * time.Millisecond, 10 * time.Second, 2 * time.Minute}; !slices.Equal(h.Marks(), want) {
		t.Errorf("got %v, want %v", h.Marks(), want)
	}
	// A jump goes by way of all marks between.
	if err := h.Seek(3); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"sys/a": "3\n", "sys/b": "3\n"} {
		if b, err := h.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	// Time does not go back.
	if err := h.Seek(1); err != nil {
		t.Fatal(err)
	}
	if b, _ := h.ReadFile("sys/a"); string(b) != "3\n" {
		t.Errorf("went back to %q", b)
	}
	h.Marks()[0] = time.Hour
	if h.Marks()[0] != 0 {
		t.Error("the marks can be changed from outside")
	}
}

// A film that has nothing at its start is still one.
func TestFilmFromNothing(t *testing.T) {
	t.Parallel()
	h := record(t, Options{}, "at/1s/sys/a", "1")
	if h.Exists("sys/a") {
		t.Error("there before its time")
	}
	if err := h.Seek(1); err != nil || !h.Exists("sys/a") {
		t.Errorf("not there: %v", err)
	}
}

// Directories that were opened before a link changed are those that were opened.
func TestFilmKeptDirectory(t *testing.T) {
	t.Parallel()
	h := record(t, Options{},
		"sys/one/a", "1", "sys/one/driver -> ../drivers/old", "", "sys/two/a", "2", "sys/two/b", "2", "sys/two/driver -> ../drivers/new", "",
		"sys/drivers/old/name", "old", "sys/drivers/new/name", "new",
		"sys/d -> one", "", "at/1s/sys/d -> two", "")
	kept, err := h.Dir("sys/d")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	if err := h.Seek(1); err != nil {
		t.Fatal(err)
	}
	if b, err := kept.ReadFile("a"); err != nil || string(b) != "1\n" {
		t.Errorf("a: %q, %v", b, err)
	}
	if b, err := kept.ReadFile("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("b: %q, %v", b, err)
	}
	if target, err := kept.Readlink("driver"); err != nil || target != "../drivers/old" {
		t.Errorf("driver: %q, %v", target, err)
	}
	if b, err := kept.ReadFile("driver/name"); err != nil || string(b) != "old\n" {
		t.Errorf("driver/name: %q, %v", b, err)
	}
	if b, err := h.ReadFile("sys/d/a"); err != nil || string(b) != "2\n" {
		t.Errorf("opened anew: %q, %v", b, err)
	}
}

func TestFilmGPUs(t *testing.T) {
	t.Parallel()
	h := record(t, Options{}, "sys/a", "",
		"at/1s/gpu.json", `{"devices": [{"index": 0, "pci_bus_id": "00000000:18:00.0"}]}`,
		"at/2s/gpu.json", `{"devices": [{"index": 0, "pci_bus_id": "00000000:18:00.0", "lost": true}]}`,
		"at/3s/gpu.json", `{`,
		"at/4s/rm", "gpu.json")
	for i := range h.Marks() {
		if err := h.Seek(i); err != nil {
			t.Fatal(err)
		}
		s, err := h.GPUs()
		switch i {
		case 0, 4:
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("mark %d: %v, %v", i, s, err)
			}
		case 1, 2:
			if d := s.Find("0000:18:00.0"); err != nil || d == nil || d.Lost != (i == 2) {
				t.Errorf("mark %d: %+v, %v", i, s, err)
			}
			if again, _ := h.GPUs(); again != s {
				t.Errorf("mark %d: parsed again", i)
			}
		case 3:
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("mark %d: %v, %v", i, s, err)
			}
		}
	}
	if _, err := mustLive(t).GPUs(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("live: %v", err)
	}
}

func mustLive(t *testing.T) *Host {
	t.Helper()
	h, _ := live(t, Options{})
	return h
}
