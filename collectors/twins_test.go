// SPDX-License-Identifier: Apache-2.0

package collectors_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/collectors/internal/hosttest"
)

// twinned are recorded hosts of all kinds whose twins are looked at: the same
// machines, changed in one respect, about which less can be known.
var twinned = []string{
	"dgx-gb10", "gpu-memory-nodes", "many-virtual-functions", "mi-8gpu-5nic",
	"cases/003a-rtx50-wakes-to-gen5", "cases/006b-h100-busy-gen3-x8", "cases/008-arc-inner-link-is-not-the-slot",
	"cases/012a-two-100g-ports-in-gen3-x8", "cases/021b-replays-out-of-hand", "cases/025a-correctable-burst-on-both-ends",
	"cases/030-some-bridges-still-redirect", "cases/037-acs-and-translation-at-once", "cases/060-numa-off",
	"cases/208-payload-128-below-a-path-of-512", "cases/210-peer-one-of-four-gpus-in-an-x8-slot", "cases/212-flaps-width-of-a-busy-card",
}

// Whatever a host is like, its twin is not judged by what it cannot show.
func TestTwins(t *testing.T) {
	for _, twin := range []struct {
		name, expect string
		change       func(*hosttest.Host)
	}{
		{"in a virtual machine", `
			never: warn|fail pcie_width *
			never: warn|fail pcie_speed *
			never: info|warn|fail pcie_slot *
			never: ok|warn|fail pcie_budget *
			never: ok|warn|fail pcie_acs *
			never: ok|warn|fail pcie_payload *
			never: warn|fail numa_disabled *
			expect: info guest *`, func(h *hosttest.Host) { h.Guest(); h.Discard("sys/class/dmi") }},
		{"seen by an ordinary user", `
			never: ok|info|warn|fail pcie_acs *
			never: ok|info|warn|fail pcie_payload *`, func(h *hosttest.Host) { eachConfig(h, 64) }},
		{"seen without extended configuration space", `
			never: ok|info|warn|fail pcie_acs *`, func(h *hosttest.Host) { eachConfig(h, 256) }},
		{"at one moment", `
			never: ok|info|warn|fail pcie_flaps *
			never: ok|info|warn|fail pcie_replays *
			never: info|warn|fail pcie_aer *`, func(h *hosttest.Host) { h.First() }},
		{"without a source of the GPUs' load", `
			never: warn|fail pcie_flaps *
			never: ok|info|warn|fail pcie_replays *`, func(h *hosttest.Host) { h.Discard("gpu.json") }},
		{"asleep", `
			never: ok|info|warn|fail pcie_width *
			never: ok|info|warn|fail pcie_speed *
			never: ok|info|warn|fail pcie_lost *
			never: warn|fail pcie_budget *`, func(h *hosttest.Host) { everyDevice(h, "power/runtime_status", "suspended") }},
		{"with links that cannot be read", `
			never: ok|info|warn|fail pcie_width *
			never: ok|info|warn|fail pcie_speed *
			never: fail pcie_lost *`, func(h *hosttest.Host) {
			everyDevice(h, "current_link_width.err", "EIO")
			everyDevice(h, "current_link_speed.err", "EIO")
		}},
		{"with nodes that cannot be read", `
			never: warn|fail numa_unknown *
			never: warn|fail gpu_nic *`, func(h *hosttest.Host) { everyDevice(h, "numa_node.err", "EIO") }},
	} {
		for _, name := range twinned {
			t.Run(twin.name+"/"+filepath.Base(name), func(t *testing.T) {
				t.Parallel()
				h := hosttest.Load(t, filepath.Join(hosts, name+".txtar"))
				twin.change(h)
				h.Expect(strings.ReplaceAll(twin.expect, "\t", ""))
			})
		}
	}
}

// eachConfig leaves only the first bytes of each configuration space visible.
func eachConfig(h *hosttest.Host, visible int) {
	for _, address := range h.Addresses() {
		name := path.Join(h.Dev(address).Dir, "config")
		if b := h.Bytes(name); len(b) > visible {
			h.Discard(name)
			h.Set(name+".hex", hosttest.Hex(b[:visible]))
		}
	}
}

// everyDevice writes an attribute of every PCI function, at every mark.
func everyDevice(h *hosttest.Host, attribute, content string) {
	for _, address := range h.Addresses() {
		d := h.Dev(address)
		h.Discard(strings.TrimSuffix(path.Join(d.Dir, attribute), ".err"))
		d.Set(attribute, content)
	}
}
