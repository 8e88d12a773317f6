// SPDX-License-Identifier: Apache-2.0

package pcie_test

import (
	"strings"
	"testing"
)

// Counters that are there and cannot be read are not healthy.
func TestAERUnread(t *testing.T) {
	zero := "TOTAL_ERR_NONFATAL 0"
	run(t, oneNIC, []row{
		{"correctable in a picture", func(h *host) { h.Dev(nic).Fail(cor, "EIO").Set(non, zero) }, "expect: unknown pcie_aer mlx5_0\nsays: aer_dev_correctable: EIO\nonly: yes"},
		{"correctable in a film", func(h *host) {
			h.Dev(nic).Fail(cor, "EIO").Set(non, zero)
			h.At("60s").Set("proc/uptime", "60")
		}, "expect: unknown pcie_aer mlx5_0\nsays: aer_dev_correctable: EIO\nonly: yes"},
		{"correctable, while non-fatal ones grow", func(h *host) {
			h.Dev(nic).Fail(cor, "EIO").Set(non, zero)
			h.Dev(nic).At("60s").Set(non, "TOTAL_ERR_NONFATAL 1")
		}, "expect: fail pcie_aer mlx5_0"},
		{"all", func(h *host) { h.Dev(nic).Fail(cor, "EIO").Fail(non, "EIO").Fail(fatal, "EIO") }, "expect: unknown pcie_aer mlx5_0\nsays: EIO\nonly: yes"},
	})
}

// A link that goes down and comes back has changed twice.
func TestFlapsThroughDown(t *testing.T) {
	h := oneGPU(t)
	loads(h, gpu, step, repeat(9, 95)...)
	d := h.Dev(gpu)
	for i := range 9 {
		at := d
		if m := mark(step, i); m != "" {
			at = d.At(m)
		}
		if i%2 == 0 {
			at.Now("32x16")
		} else {
			at.Set("current_link_width", "0").Set("current_link_speed", "Unknown")
		}
	}
	h.Expect("expect: warn pcie_flaps " + gpu + "\nsays: 8 times\nnever: warn|fail pcie_width *")
}

// What answers all ones stays lost until it answers otherwise, also where its
// link files tell nothing of it.
func TestAllOnesStays(t *testing.T) {
	h := oneNIC(t)
	d := h.Dev(nic)
	d.At("30s").Set("config.hex", strings.Repeat("ff", 256))
	h.At("60s").Set("proc/uptime", "60")
	h.Expect("expect: fail pcie_lost mlx5_0\nsays: all ones")
}
