// SPDX-License-Identifier: Apache-2.0

package web

import (
	"os"
	"strings"
	"testing"
)

// A node of eight GPUs fits on a page: what is said of many is said once, and
// what is well is folded away.
func TestPageIsFolded(t *testing.T) {
	for name, wants := range map[string][]string{
		"hgx-h100-8gpu.txtar": {
			"<summary>", " findings are ok", "Nothing to act on", "<td>GPU7</td>", "32 GT/s x16", "NVIDIA H100", "<h2>From GPU to NIC</h2>", `class="PIX"`, `class="SYS"`, "× ", " and ",
		},
		"meta-8hca-downgraded.txtar": {"To act on", `<td class="bad">8 GT/s x16</td><td>16 GT/s x16</td><td class="bad">defect</td>`, "mlx5_6 ib4", "<td>compute</td>"},
	} {
		_, h := site(t, name)
		text := get(h, "/").Body.String()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page does not hold %q", name, want)
			}
		}
		if dir := os.Getenv("FABRICD_PAGES"); dir != "" { // to look at
			if err := os.WriteFile(dir+"/"+name+".html", []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
		if n := strings.Count(text, `class="findings"`); n < 2 {
			t.Errorf("%s: %d tables of findings", name, n)
		}
		if n := strings.Count(text, "<tr>"); n > 110 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
}
