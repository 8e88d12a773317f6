// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadLimits(t *testing.T) {
	l, err := ReadLimits("../../docs/fabricd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if l.Share("roce_pause", "warn_percent") >= l.Share("roce_pause", "fail_percent") || l.Of("lldp_silent", "silent_seconds") <= 0 {
		t.Errorf("%v", l)
	}
	defer func() {
		if recover() == nil {
			t.Error("a threshold that does not exist has a value")
		}
	}()
	l.Of("roce_pause", "least")
}

func TestReadNoLimits(t *testing.T) {
	for _, text := range []string{"", "thresholds: 1\n", "collectors: {}\n", ":"} {
		name := filepath.Join(t.TempDir(), "fabricd.yaml")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if l, err := ReadLimits(name); err == nil {
			t.Errorf("%q: %v", text, l)
		}
	}
	if _, err := ReadLimits(filepath.Join(t.TempDir(), "missing.yaml")); err == nil {
		t.Error("a missing file is accepted")
	}
}
