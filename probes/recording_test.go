// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecordedBad(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   []byte
		want string // part of the message
	}{
		{"nothing", nil, "holds no files: not a recording"},
		{"only a comment", []byte("source: x\nsymptom: y\n"), "holds no files"},
		{"some other file", []byte("\x7fELF\x02\x01\x01\x00"), "holds no files"},
		{"twice", archive("sys/a", "1", "sys/a", "2"), `entry "sys/a": the name is there twice`},
		{"file and hex", archive("sys/a", "1", "sys/a.hex", "31"), `entry "sys/a.hex": the name is there twice`},
		{"file and error", archive("sys/a.err", "EIO", "sys/a", "1"), `entry "sys/a": the name is there twice`},
		{"file and link", archive("sys/a", "1", "sys/a -> b", ""), "the name is there twice"},
		{"twice at marks of one time", archive("at/60s/sys/a", "1", "at/1m/sys/a", "2"), `entry "at/1m/sys/a": the name is there twice`},
		{"two removals at one mark", archive("at/1s/rm", "sys/a", "at/1s/rm", "sys/b"), "the name is there twice"},
		{"file that is a directory too", archive("sys/a/b", "1", "sys/a", "2"), "sys/a: is a directory and a file"},
		{"below a file", archive("sys/a", "1", "sys/a/b", "2"), `entry "sys/a/b": not a directory`},
		{"file in a loop", archive("sys/a -> a", "", "sys/a/b", "2"), `entry "sys/a/b": too many levels`},
		{"NUL", archive("sys/a\x00b", "1"), "NUL byte"},
		{"control character", archive("sys/a\x1bb", "1"), "control character"},
		{"absolute", archive("/sys/a", "1"), "is not a clean relative name"},
		{"upwards", archive("../sys/a", "1"), "is not a clean relative name"},
		{"upwards within", archive("sys/../a", "1"), "is not a clean relative name"},
		{"double slash", archive("sys//a", "1"), "is not a clean relative name"},
		{"ends in a slash", archive("sys/a/", ""), "is not a clean relative name"},
		{"the root", archive(".", "1"), "is not a clean relative name"},
		{"absolute link", archive("sys/a -> /sys/b", ""), "leads out of the archive"},
		{"link out", archive("sys/a -> ../../b", ""), "leads out of the archive"},
		{"link out and in again", archive("sys/a -> ../../sys/b", ""), "leads out of the archive"},
		{"link to the outside itself", archive("sys/a -> ../..", ""), "leads out of the archive"},
		{"file written through a link that leads out", archive("sys/a/b -> ../..", "", "sys/c -> a/b/..", "", "sys/c/x", "1"), "leads out of the archive"},
		{"removal upwards", archive("sys/a", "1", "at/10s/rm", "sys/a\n../../etc\n"), `entry "at/10s/rm": "../../etc": is not a clean relative name`},
		{"odd hex", archive("sys/a.hex", "123"), `entry "sys/a.hex": hex: `},
		{"no hex", archive("sys/a.hex", "0x12"), "hex: "},
		{"unknown error", archive("sys/a.err", "EWHAT"), `"EWHAT" is not the name of an error (want EIO, EINVAL …)`},
		{"error number", archive("sys/a.err", "5"), `"5" is not the name of an error`},
		{"no error", archive("sys/a.err", ""), `"" is not the name of an error`},
		{"no mark", archive("at/soon/sys/a", "1"), `"soon" is no mark (want at/10s/NAME)`},
		{"mark without a unit", archive("at/10/sys/a", "1"), `"10" is no mark`},
		{"mark at zero", archive("at/0s/sys/a", "1"), `"0s" is no mark`},
		{"mark before the start", archive("at/-10s/sys/a", "1"), `"-10s" is no mark`},
		{"mark alone", archive("at/10s", "1"), `"10s" is no mark`},
		{"mark with nothing", archive("at/10s/", "1"), "has no name"},
		{"huge mark", archive("at/99999999999h/sys/a", "1"), "is no mark"},
		{"manifest is no JSON", archive("manifest.json", "{"), "manifest.json: unexpected end"},
		{"manifest of another shape", archive("manifest.json", `{"files": "many"}`), "manifest.json: "},
		{"truncated", archive("manifest.json", `{"files": 3}`, "sys/a", "1", "sys/b", "2"), "is truncated: 2 of 3 entries are there"},
		{"cut within its last entry", archive("manifest.json", `{"files": 2, "bytes": 30}`, "sys/a", "1", "sys/b", "2"), "is truncated: 28 of 30 bytes follow the manifest"},
		{"long name", archive("at/x/"+strings.Repeat("n", 1000), ""), `entry "at/x/` + strings.Repeat("n", 75) + `…"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := Recorded(test.in, Options{})
			if err == nil {
				t.Fatalf("no error, marks %v", h.Marks())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want …%s…", err, test.want)
			}
		})
	}
}

// A mark that cannot be applied is a broken recording, whenever it is found.
func TestRecordedBadMark(t *testing.T) {
	t.Parallel()
	b := archive("sys/a/b", "1", "at/1s/sys/a", "2")
	h, err := Recorded(b, Options{})
	if err == nil {
		err = h.Seek(1)
	}
	if err == nil || !strings.Contains(err.Error(), `entry "at/1s/sys/a": sys/a: is a directory and a file`) {
		t.Errorf("got %v", err)
	}
}

func TestRecordedGood(t *testing.T) {
	t.Parallel()
	h := record(t, Options{},
		"manifest.json", `{"fabricd": "1.2", "kernel": "6.18", "time": "2026-11-30T09:00:00Z", "files": 4, "sources": {"lldp": "listened 60s"}, "capabilities": ["CAP_NET_RAW"], "later": {}}`,
		"sys/config.hex", "de10 35 23\n\t00ff\n",
		"sys/empty.hex", " \n",
		"sys/x.err", " EOPNOTSUPP \n",
		"lldp/eth0.hex", "# a frame\n0180c200000e\n",
	)
	if m := h.Manifest(); m == nil || m.Fabricd != "1.2" || m.Kernel != "6.18" || m.Time.Year() != 2026 || m.Sources["lldp"] != "listened 60s" || !slices.Equal(m.Caps, []string{"CAP_NET_RAW"}) {
		t.Errorf("%+v", m)
	}
	for name, want := range map[string]string{"sys/config": "\xde\x10\x35\x23\x00\xff", "sys/empty": "", "lldp/eth0.hex": "# a frame\n0180c200000e\n"} {
		if b, err := h.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v; want %q", name, b, err, want)
		}
	}
	if !h.Recorded() || !slices.Equal(h.Marks(), []time.Duration{0}) {
		t.Errorf("recorded %v, marks %v", h.Recorded(), h.Marks())
	}
	if h := record(t, Options{}, "sys/a", "1"); h.Manifest() != nil {
		t.Error("a manifest out of nothing")
	}
	// Of everything that is neither below sys nor below proc, nothing is an error's name.
	if b, err := record(t, Options{}, "notes.err", "EIO").ReadFile("notes.err"); err != nil || string(b) != "EIO\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestRecordedErrno(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason string
		refused      bool
	}{
		{"EINVAL", "EINVAL", true}, {"EIO", "EIO", false}, {"EPERM", "permission denied", true}, {"EACCES", "permission denied", true},
		{"ENODEV", "ENODEV", false}, {"EOPNOTSUPP", "", true}, {"ENOENT", "absent", false}, {"EAGAIN", "EAGAIN", false}, {"ENOSYS", "ENOSYS", true},
		{"ETIMEDOUT", "ETIMEDOUT", false}, {"EHWPOISON", "EHWPOISON", false},
	}
	for _, test := range tests {
		h := record(t, Options{}, "sys/d/x.err", test.name, "proc/x.err", test.name, "sys/d/y", "1")
		for _, name := range []string{"sys/d/x", "proc/x"} {
			b, err := h.ReadFile(name)
			if err == nil {
				t.Errorf("%s: %s reads %q", test.name, name, b)
			}
			if got := Reason(err); got != test.reason && test.reason != "" {
				t.Errorf("%s: reason %q, want %q", test.name, got, test.reason)
			}
			if Refused(err) != test.refused {
				t.Errorf("%s: refused %v", test.name, !test.refused)
			}
		}
		if !h.Exists("sys/d/x") || !h.Exists("sys/d/y") {
			t.Errorf("%s: not there", test.name)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	if got := Reason(nil); got != "" {
		t.Errorf("no error: %q", got)
	}
	if got := Reason(fmt.Errorf("odd")); got != "odd" {
		t.Errorf("got %q", got)
	}
	if _, err := os.Open("/nothing/at/all"); Reason(err) != "absent" {
		t.Errorf("got %q", Reason(err))
	}
	if _, err := os.ReadFile("/"); Reason(err) != "EISDIR" {
		t.Errorf("got %q", Reason(err))
	}
}

func TestOpenRecording(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	good := write("good.txtar", archive("sys/a", "1"))
	if h, err := OpenRecording(good, Options{}); err != nil || !h.Exists("sys/a") {
		t.Errorf("%v", err)
	}
	huge := write("huge.txtar", archive("sys/a", "1"))
	if err := os.Truncate(huge, MaxRecording+1<<20); err != nil { // sparse
		t.Fatal(err)
	}
	bad := write("bad.txtar", archive("sys/a.hex", "1"))
	for name, want := range map[string]string{
		filepath.Join(dir, "absent.txtar"): "no such file",
		dir:                                "is a directory; a recording is one txtar file",
		huge:                               "has 257 MiB; more than 256 MiB is refused",
		bad:                                "recording " + bad + `: entry "sys/a.hex": hex: `,
	} {
		if h, err := OpenRecording(name, Options{}); h != nil || err == nil || !strings.HasPrefix(err.Error(), "recording") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want …%s…", name, err, want)
		}
	}
}
