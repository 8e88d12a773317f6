// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"slices"

	"github.com/fabricd/fabricd/probes"
)

// ImpliedNode says on which NUMA node a function seems to be for which the
// firmware gives none: by the bridges above it, or by the processors near it.
func ImpliedNode(f *probes.Function, nodes []probes.Node) (node int, why string, ok bool) {
	for _, b := range Bridges(f) {
		if b.NUMANode.OK && b.NUMANode.V >= 0 {
			return b.NUMANode.V, fmt.Sprintf("its bridge %s is on node %d", b.Address, b.NUMANode.V), true
		}
	}
	near, err := probes.ParseList(f.LocalCPUs)
	if err != nil || len(near) == 0 {
		return 0, "", false
	}
	found := 0
	for _, n := range nodes {
		cpus, err := probes.ParseList(n.CPUList)
		if err == nil && slices.ContainsFunc(near, func(c int) bool { return slices.Contains(cpus, c) }) {
			node = n.ID
			found++
		}
	}
	if found != 1 {
		return 0, "", false
	}
	return node, fmt.Sprintf("the processors near it (%s) are on node %d", f.LocalCPUs, node), true
}
