// SPDX-License-Identifier: Apache-2.0

package web

import (
	"os"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes"
)

// A node of eight GPUs fits on a page: what is said of many is said once, and
// what is well is folded away.
func TestPageIsFolded(t *testing.T) {
	for name, wants := range map[string][]string{
		"hgx-h100-8gpu.txtar": {
			"<summary>", " findings are ok", "Nothing to act on", `<th scope="row">GPU7</th>`, `<b>switch</b>`, "<b>NUMA node 1</b>", "32 GT/s x16", "NVIDIA H100", "<h2>From GPU to NIC</h2>", `class="PIX"`, `class="SYS"`, "× ", " and ",
		},
		"meta-8hca-downgraded.txtar": {"To act on", `<td class="bad">8 GT/s x16</td><td>16 GT/s x16</td><td class="bad">defect</td>`, "mlx5_6 ib4", "<td>compute</td>", `<span class="link defect">8 GT/s x16 of 16 GT/s x16</span>`, `<span class="limit">bottleneck of `},
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
		if n := strings.Count(text, "<tr>"); n > 160 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
}

// A source that cannot be read is named on the page and in the API.
func TestTroubles(t *testing.T) {
	host, err := probes.Recorded([]byte("-- proc/cmdline --\nro\n-- gpu.json --\n{\n"), probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, h := siteOf(t, host)
	for path, want := range map[string]string{"/": "<li>gpu: reading: gpu.json: unexpected end", "/api/v1/findings": `"troubles":["gpu: reading: gpu.json: unexpected end`} {
		if text := get(h, path).Body.String(); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %s", path, want, text)
		}
	}
}
