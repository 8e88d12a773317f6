// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func rewrite(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAttrLive(t *testing.T) {
	t.Parallel()
	h, root := live(t, Options{}, "sys/d/a", "1\n")
	a := attrOf(t, h, "sys/d", "a", 8)
	name := filepath.Join(root, "sys/d/a")
	for _, test := range []step{{want: "1"}, {want: "22"}, {want: ""}, {want: "x  y"}, {want: "12345678"}} {
		rewrite(t, name, test.want+" \n")
		wantRead(t, a, test, "rewritten")
	}
	rewrite(t, name, "0123456789\n")
	wantRead(t, a, step{want: "01234567"}, "longer than its buffer")
	rewrite(t, name, "1\x00\x00\n")
	wantRead(t, a, step{want: "1"}, "ended by NUL")
	rewrite(t, name, "\n \n\t1\n")
	wantRead(t, a, step{want: "\n \n\t1"}, "white space before")
	a.Close()
	wantRead(t, a, step{want: "\n \n\t1"}, "closed, and opened again")
	a.Close()
	a.Close()
}

// What is kept open is read where it is, and cannot be opened below a closed directory.
func TestAttrClosedDir(t *testing.T) {
	t.Parallel()
	h, _ := live(t, Options{}, "sys/d/a", "1\n", "sys/d/b", "2\n")
	d, err := h.Dir("sys/d")
	if err != nil {
		t.Fatal(err)
	}
	a, b := d.Attr("a", 8), d.Attr("b", 8)
	defer a.Close()
	wantRead(t, a, step{want: "1"}, "open")
	d.Close()
	wantRead(t, a, step{want: "1"}, "directory closed")
	if got, err := b.Read(); err == nil {
		t.Errorf("read %q", got)
	}
}

// An attribute whose file is not there is asked for again after a while, or when the inventory was renewed.
func TestAttrAbsent(t *testing.T) {
	t.Parallel()
	h, root := live(t, Options{}, "sys/d/b", "")
	a := attrOf(t, h, "sys/d", "a", 8)
	wantRead(t, a, step{err: fs.ErrNotExist}, "absent")
	rewrite(t, filepath.Join(root, "sys/d/a"), "1\n")
	wantRead(t, a, step{err: fs.ErrNotExist}, "not asked again yet")
	h.Refresh()
	wantRead(t, a, step{want: "1"}, "after an event")
	if err := os.RemoveAll(filepath.Join(root, "sys/d")); err != nil {
		t.Fatal(err)
	}
	a.Close()
	wantRead(t, a, step{err: fs.ErrNotExist}, "removed")
}

// fakeDir is a directory whose one file answers what the test wants.
type fakeDir struct {
	directory
	openErr, readErr error
	text             string
	opens, reads     int
	open_            int // files that are open
}

func (d *fakeDir) open(string) (file, error) {
	d.opens++
	if d.openErr != nil {
		return nil, d.openErr
	}
	d.open_++
	return &fakeFile{d}, nil
}

type fakeFile struct{ d *fakeDir }

func (f *fakeFile) readAt(buf []byte) (int, error) {
	f.d.reads++
	return copy(buf, f.d.text), f.d.readErr
}

func (f *fakeFile) close() { f.d.open_-- }

func fakeAttr(t *testing.T, h *Host, d *fakeDir) *Attr {
	t.Helper()
	return (&Dir{h, d}).Attr("a", 16)
}

// What is refused is not asked again within 30 s, but for an event.
func TestAttrRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		d     fakeDir
		again bool
	}{
		{"open refused", fakeDir{openErr: &fs.PathError{Op: "openat", Path: "a", Err: syscall.EACCES}}, false},
		{"absent", fakeDir{openErr: &fs.PathError{Op: "openat", Path: "a", Err: syscall.ENOENT}}, false},
		{"read not permitted", fakeDir{readErr: syscall.EPERM}, false},
		{"read invalid", fakeDir{readErr: syscall.EINVAL}, false},
		{"not supported", fakeDir{readErr: syscall.EOPNOTSUPP}, false},
		{"gone", fakeDir{readErr: syscall.ENODEV}, true},
		{"failed", fakeDir{readErr: syscall.EIO}, true},
		{"too many files", fakeDir{openErr: &fs.PathError{Op: "openat", Path: "a", Err: syscall.EMFILE}}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, _ := live(t, Options{})
			synctest.Test(t, func(t *testing.T) {
				d := test.d
				want := errors.Join(d.openErr, d.readErr)
				a := fakeAttr(t, h, &d)
				asked := func() int { return d.opens }
				read := func(when string, opens int) {
					t.Helper()
					b, err := a.Read()
					if err == nil || Reason(err) != Reason(want) || b != nil {
						t.Errorf("%s: %q, %v", when, b, err)
					}
					if asked() != opens {
						t.Errorf("%s: asked %d times, want %d", when, asked(), opens)
					}
				}
				read("first", 1)
				if test.again {
					read("at once", 2)
				} else {
					read("at once", 1)
					time.Sleep(29900 * time.Millisecond)
					read("29.9 s later", 1)
					time.Sleep(100 * time.Millisecond)
					read("30 s later", 2)
					time.Sleep(time.Second)
					read("31 s later", 2)
					h.events.Add(1)
					read("after an event", 3)
					read("and not again", 3)
					time.Sleep(refusedFor)
				}
				d.openErr, d.readErr, d.text = nil, nil, "back\n"
				if b, err := a.Read(); err != nil || string(b) != "back" {
					t.Errorf("answers again: %q, %v", b, err)
				}
				if a.Close(); d.open_ != 0 {
					t.Errorf("%d files are open", d.open_)
				}
				if n := h.kept.Load(); n != 0 {
					t.Errorf("%d attributes count as kept", n)
				}
			})
		})
	}
}

// In a recording every mark is asked, however short after the last.
func TestAttrRecordedRefused(t *testing.T) {
	t.Parallel()
	h := record(t, Options{}, "sys/d/a.err", "EPERM", "sys/d/c", "", "at/1s/sys/d/a", "1", "at/1s/sys/d/b", "2")
	a, b := attrOf(t, h, "sys/d", "a", 8), attrOf(t, h, "sys/d", "b", 8)
	wantRead(t, a, step{err: fs.ErrPermission}, 0)
	wantRead(t, b, step{err: fs.ErrNotExist}, 0)
	if err := h.Seek(1); err != nil {
		t.Fatal(err)
	}
	wantRead(t, a, step{want: "1"}, 1)
	wantRead(t, b, step{want: "2"}, 1)
}

// A file whose permission is missing, as an ordinary user.
func TestAttrPermission(t *testing.T) {
	t.Parallel()
	h, root := live(t, Options{}, "sys/d/a", "1\n", "sys/d/b", "2\n")
	d, err := h.Dir("sys/d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	name := filepath.Join(root, "sys/d/a")
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if os.Getuid() == 0 {
			_ = unix.Setfsuid(65534) // also takes the capabilities over files away
		}
		a, b := d.Attr("a", 8), d.Attr("b", 8)
		defer a.Close()
		defer b.Close()
		if got, err := a.Read(); Reason(err) != "permission denied" {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := b.Read(); err != nil || string(got) != "2" {
			t.Errorf("the file beside it: %q, %v", got, err)
		}
		if err := os.Chmod(name, 0o644); err != nil && os.Getuid() != 0 {
			t.Error(err)
		}
		if got, err := a.Read(); Reason(err) != "permission denied" {
			t.Errorf("asked again at once: %q, %v", got, err)
		}
	}()
	<-done
}

// Beyond the limit attributes work too, but are not kept.
func TestAttrMaxKept(t *testing.T) {
	t.Parallel()
	h, _ := live(t, Options{})
	d := &fakeDir{text: "1\n"}
	first, second := fakeAttr(t, h, d), fakeAttr(t, h, d)
	h.kept.Store(h.most - 1)
	for range 3 {
		wantRead(t, first, step{want: "1"}, "the last that is kept")
	}
	if d.opens != 1 {
		t.Errorf("opened %d times", d.opens)
	}
	for range 3 {
		wantRead(t, second, step{want: "1"}, "the first that is not kept")
	}
	if d.opens != 4 || d.open_ != 1 || h.kept.Load() != h.most {
		t.Errorf("opened %d times, %d are open, %d count as kept", d.opens, d.open_, h.kept.Load())
	}
}

func TestAttrView(t *testing.T) {
	t.Parallel()
	h, root := live(t, Options{}, "sys/d/config", strings.Repeat("\x00\xff \n", 1024)+"more", "sys/d/a", "")
	a := attrOf(t, h, "sys/d", "config", 0)
	seen := ""
	if err := a.View(func(b []byte) { seen = string(b) }); err != nil || seen != strings.Repeat("\x00\xff \n", 1024) {
		t.Errorf("%d bytes, %v", len(seen), err)
	}
	rewrite(t, filepath.Join(root, "sys/d/config"), "short\n")
	if err := a.View(func(b []byte) { seen = string(b) }); err != nil || seen != "short\n" {
		t.Errorf("%q, %v", seen, err)
	}
	absent := attrOf(t, h, "sys/d", "absent", 0)
	if err := absent.View(func([]byte) { t.Error("called") }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestAttrAllocations(t *testing.T) {
	h, _ := live(t, Options{}, "sys/d/a", "12345\n")
	recorded := record(t, Options{}, "sys/d/a", "12345\n")
	for name, a := range map[string]*Attr{"live": attrOf(t, h, "sys/d", "a", 16), "recorded": attrOf(t, recorded, "sys/d", "a", 16), "absent": attrOf(t, h, "sys/d", "b", 16)} {
		if n := testing.AllocsPerRun(100, func() { _, _ = a.Read() }); n != 0 {
			t.Errorf("%s: %v allocations a read", name, n)
		}
	}
}
