// SPDX-License-Identifier: Apache-2.0

package image

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A newer kernel replaces the older one of its suite, and nothing else.
func TestUse(t *testing.T) {
	cache := t.TempDir()
	have := func(thing, folder string, packages ...string) {
		t.Helper()
		for _, dir := range []string{folder, "debs"} {
			if err := os.MkdirAll(filepath.Join(cache, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for i, name := range packages {
			packages[i] = filepath.Join(cache, "debs", name)
			if err := os.WriteFile(packages[i], nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := use(cache, thing, filepath.Join(cache, folder), packages); err != nil {
			t.Fatal(err)
		}
	}
	have("kernel-", "image-1", "linux_1.deb", "busybox_1.deb")
	have("kernel-backports", "image-9", "linux_9.deb", "busybox_1.deb")
	have("layer-iproute2", "layer-1", "iproute2_1.deb")
	have("kernel-", "image-2", "linux_2.deb", "busybox_1.deb")
	var left []string
	err := filepath.WalkDir(cache, func(name string, _ fs.DirEntry, err error) error {
		if base := filepath.Base(name); strings.HasPrefix(base, "image-") || strings.HasPrefix(base, "layer-") || filepath.Ext(base) == ".deb" {
			left = append(left, base)
		}
		return err
	})
	slices.Sort(left)
	if want := "busybox_1.deb image-2 image-9 iproute2_1.deb layer-1 linux_2.deb linux_9.deb"; err != nil || strings.Join(left, " ") != want {
		t.Errorf("left: %q (%v), want %s", left, err, want)
	}
}
