// SPDX-License-Identifier: Apache-2.0

package ethtool

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
)

// An interface that goes, comes back and is counted by other names is followed.
func TestRecordedFilm(t *testing.T) {
	h, err := probes.Recorded([]byte(strings.Join([]string{
		"-- ethtool/eth0/stats --", "a: 1", "b: 2",
		"-- at/10s/rm --", "ethtool/eth0",
		"-- at/20s/ethtool/eth0/stats --", "a: 3", "c: 4",
		"-- at/30s/ethtool/eth0/stats --", strings.Repeat("padding: 1\n", 9000),
	}, "\n")), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(h, "eth0", false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i, want := range []int{2, 0, 2, 9000} {
		if err := h.Seek(i); err != nil {
			t.Fatal(err)
		}
		s, err := p.Statistics()
		switch {
		case want == 0 && !errors.Is(err, errors.ErrUnsupported):
			t.Errorf("mark %d: %v", i, err)
		case want > 0 && (err != nil || len(s.Values) != want):
			t.Errorf("mark %d: %d, %v, want %d", i, len(s.Values), err, want)
		}
	}
}

func TestNotAsked(t *testing.T) {
	h, err := probes.Recorded([]byte("-- manifest.json --\n{\"sources\": {\"ethtool\": \"refused: EPERM\"}}\n-- sys/x --\n"), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(h, "eth0", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Statistics(); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "EPERM") {
		t.Error(err)
	}
}
