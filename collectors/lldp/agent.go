// SPDX-License-Identifier: Apache-2.0

package lldp

import (
	"path"
	"strings"

	"github.com/fabricd/fabricd/probes"
)

// agents are the private flags by which drivers say whether the firmware keeps
// LLDP frames to itself, and the value that says so: drivers/net/ethernet/intel,
// ice/ice_ethtool.c and i40e/i40e_ethtool.c.
var agents = map[string]string{"fw-lldp-agent": "on", "disable-fw-lldp": "off"}

// agent gives the flag of a firmware agent that is on, as ethtool shows it.
func agent(h *probes.Host, n *probes.Netdev) string {
	b, err := h.ReadFile(path.Join("ethtool", path.Base(n.Path), "private-flags"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if agents[name] == value && value != "" {
			return name + ": " + value
		}
	}
	return ""
}
