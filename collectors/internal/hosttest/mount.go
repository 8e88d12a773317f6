// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/fabricd/fabricd/probes"
)

// Mount writes the host as it is at the start into a folder of the test's, and
// opens that as a live machine. Writing a file below root changes the machine.
func (h *Host) Mount() (live *probes.Host, root string) {
	h.tb.Helper()
	root = h.tb.TempDir()
	must := func(err error) {
		h.tb.Helper()
		if err != nil {
			h.tb.Fatal(err)
		}
	}
	for _, links := range []bool{true, false} { // files may lie behind links
		for _, f := range h.files {
			name, target, isLink := strings.Cut(f.Name, " -> ")
			if isLink != links || strings.HasPrefix(name, "at/") || strings.HasSuffix(name, ".err") {
				continue
			}
			full := filepath.Join(root, name)
			must(os.MkdirAll(filepath.Dir(full), 0o755))
			if isLink {
				must(os.MkdirAll(filepath.Join(filepath.Dir(full), target), 0o755))
				must(os.Symlink(target, full))
				continue
			}
			must(os.WriteFile(full, f.Data, 0o644))
		}
	}
	live, err := probes.Live(root, probes.Options{})
	must(err)
	return live, root
}
