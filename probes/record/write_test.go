// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fabricd/fabricd/probes"
)

// words is content, and an error to end it with.
type words struct {
	text string
	err  error
}

func (w words) WriteTo(to io.Writer) (int64, error) {
	n, err := io.WriteString(to, w.text)
	return int64(n), errors.Join(err, w.err)
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.txtar")
	check := func(want string) {
		t.Helper()
		b, _ := os.ReadFile(name)
		names, _ := os.ReadDir(dir)
		if string(b) != want || len(names) != 1 && want != "" || len(names) != 0 && want == "" {
			t.Errorf("holds %q, want %q; %d files are left", b, want, len(names))
		}
	}
	if err := WriteFile(name, false, words{"half", errors.New("broken")}); !errors.Is(err, ErrTarget) {
		t.Error(err)
	}
	check("")
	if err := CheckTarget(name, false); err != nil {
		t.Error(err)
	}
	check("")
	if err := WriteFile(name, false, words{text: "one"}); err != nil {
		t.Error(err)
	}
	check("one")
	for _, err := range []error{CheckTarget(name, false), WriteFile(name, false, words{text: "two"})} {
		if !errors.Is(err, ErrTarget) || !strings.Contains(err.Error(), "--force") {
			t.Error(err)
		}
	}
	check("one")
	if err := errors.Join(CheckTarget(name, true), WriteFile(name, true, words{text: "two"})); err != nil {
		t.Error(err)
	}
	check("two")
	if err := WriteFile(name, true, words{"half", errors.New("broken")}); err == nil {
		t.Error("no error")
	}
	check("two")
	for _, bad := range []string{dir, "/dev/null", filepath.Join(dir, "no", "where"), filepath.Join(name, "x")} {
		if err := CheckTarget(bad, true); !errors.Is(err, ErrTarget) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestOptions(t *testing.T) {
	tests := []struct {
		length, every time.Duration
		want          string
	}{
		{0, 0, ""},
		{time.Minute, 10 * time.Second, ""},
		{time.Second, time.Second, ""},
		{time.Minute, 0, "needs both"},
		{0, time.Minute, "needs both"},
		{-time.Minute, -time.Second, "needs both"},
		{time.Minute, time.Millisecond, "at least 10ms"},
		{time.Second, 2 * time.Second, "longer than --for"},
		{100 * time.Hour, time.Second, "10000 readings"},
	}
	for _, test := range tests {
		err := Options{For: test.length, Every: test.every}.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s/%s: %v", test.length, test.every, err)
		}
	}
}

// Recorded again, a recording stays what it is, also what it says of itself;
// frames are heard again at each of their marks.
func TestAgain(t *testing.T) {
	const recording = "comment\n" +
		"-- manifest.json --\n{\"time\": \"2026-01-02T03:04:05Z\", \"identities\": \"replaced\", \"capabilities\": [\"CAP_NET_RAW\"], \"sources\": {\"lldp\": \"listened 60s\", \"config\": \"refused: EPERM\"}}\n" +
		"-- ethtool/e0/stats --\n     rx: 1\n" +
		"-- fabricd.yaml --\n{}\n" +
		"-- lldp/e0.hex --\n0180c2\n" +
		"-- route.json --\n{}\n" +
		"-- sys/class/net/e0/mtu --\n1500\n" +
		"-- at/500ms/rm --\nethtool/e0/stats\n" +
		"-- at/500ms/lldp/e0.hex --\n0180c2\n" +
		"-- at/90s/lldp/e0.hex --\n0180c2\n"
	again := recording
	var first string
	for range 2 {
		h, err := probes.Recorded([]byte(again), probes.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if again = text(t, h, Options{KeepIdentities: true, Version: "1"}); first == "" {
			first = again
		}
	}
	if again != first {
		t.Errorf("got\n%s\nthen\n%s", first, again)
	}
	_, entries, _ := strings.Cut(again, "\n}\n")
	if _, want, _ := strings.Cut(recording, "}}\n"); entries != want {
		t.Errorf("got\n%s\nwant\n%s", entries, want)
	}
	for _, word := range []string{"2026-01-02T03:04:05Z", `"replaced"`, "CAP_NET_RAW", "listened 60s", "refused: EPERM", `"fabricd": "1"`, `"files": 8`} {
		if !strings.Contains(again, word) {
			t.Errorf("%s is not in the manifest", word)
		}
	}
	if strings.Contains(again, "not asked") {
		t.Error("what the recording does not say was asked counts as asked")
	}
	h, err := probes.Recorded([]byte(recording), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, h, Options{Config: []byte("plan: {}\n"), KeepIdentities: true}); !strings.Contains(got, "-- fabricd.yaml --\nplan: {}\n") || strings.Count(got, "fabricd.yaml") != 1 {
		t.Error(got)
	}
	if got := text(t, h, Options{}); strings.Contains(got, "route.json") {
		t.Errorf("addresses of routes are in a recording without identities:\n%s", got)
	}
}
