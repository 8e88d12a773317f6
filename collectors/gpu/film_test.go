// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"testing"
	"time"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

// A real H200 that idles, is busy from the tenth second on and idles again.
func TestFilm(t *testing.T) {
	const h200 = "0000:00:06.0"
	load := func() *hosttest.Host { return hosttest.Load(t, "../testdata/hosts/h200-vm-film.txtar") }
	for _, test := range []struct {
		until time.Duration
		busy  bool
		says  string
	}{
		{8 * time.Second, false, "never: ok|info|warn|fail|unknown gpu_process *"},
		{20 * time.Second, true, "expect: ok gpu_process 557\nsays: one NUMA node"},
		{30 * time.Second, false, "never: ok|info|warn|fail|unknown gpu_process *"},
	} {
		h := load().Until(test.until)
		h.Expect("expect: ok pcie_speed " + h200 + "\nexpect: ok pcie_replays " + h200 + "\nexpect: ok pcie_flaps " + h200 + "\n" + test.says + "\nonly: yes")
		if got := exposed(t, h, "gpu_utilization_ratio")[h200]; got > 0.5 != test.busy {
			t.Errorf("at %s: utilisation %v", test.until, got)
		}
		if got, ok := exposed(t, h, "gpu_processes")[h200]; !ok || got == 1 != test.busy {
			t.Errorf("at %s: %v processes", test.until, got)
		}
		if got, ok := exposed(t, h, "pcie_link_below_max_busy_seconds_total")[h200]; !ok || got != 0 {
			t.Errorf("at %s: slow for %v s", test.until, got)
		}
	}
	// Had the link been slow, it would have been for as long as the GPU was busy.
	slow := load().Replace(`"generation": 5,`, `"generation": 1,`)
	if got := exposed(t, slow, "pcie_link_below_max_busy_seconds_total")[h200]; got < 8 || got > 14 {
		t.Errorf("slow and busy for %v s", got)
	}
}
