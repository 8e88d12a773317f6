// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"github.com/fabricd/fabricd/collectors"
)

// An mtuRow is an interface that carries RoCE.
type mtuRow struct {
	netdev  string
	mtu     int // of the interface
	sisters string
	virtual bool
}

// rdmaMTU gives the RDMA MTU that an interface's MTU allows: the kernel takes
// off 96 bytes for the largest headers (iboe_get_mtu) and leaves a power of two.
func rdmaMTU(mtu int) int {
	const headers = 96
	for size := 4096; size >= 256; size /= 2 {
		if mtu-headers >= size {
			return size
		}
	}
	return 0
}

func mtuRows(v *collectors.View, list []collectors.Unit[Reading]) []mtuRow {
	var rows []mtuRow
	seen := map[string]bool{}
	for _, u := range list {
		d := findDevice(v.Inventory, u.Name)
		if d == nil || d.Software() {
			continue
		}
		for i := range u.Reading.Ports {
			p := &u.Reading.Ports[i]
			if n := p.Netdev.Name; p.Protocol == RoCE && n != "" && !seen[n] {
				seen[n] = true
				rows = append(rows, mtuRow{n, p.Netdev.MTU, v.Topology.Sisters(d.Function), d.Function.Virtual() || !d.Port})
			}
		}
	}
	return rows
}

func mtuColumns() collectors.Columns[mtuRow] {
	return collectors.Columns[mtuRow]{
		Labels: []collectors.Label[mtuRow]{{Name: "netdev", Get: func(r *mtuRow) string { return r.netdev }}},
		Metrics: []collectors.Metric[mtuRow]{{
			Name: "rdma_mtu_bytes", Source: "sysfs class/net/*/mtu, less 96 bytes of headers",
			Help: "Largest RDMA MTU that the interface's MTU allows: 256 to 4096.",
			Get:  func(r *mtuRow) (float64, bool) { return float64(rdmaMTU(r.mtu)), rdmaMTU(r.mtu) > 0 },
		}},
		Checks: []collectors.Check[mtuRow]{{
			Name:   "rdma_mtu",
			Help:   "Warns when the RDMA MTU that a RoCE interface's MTU allows differs from that of most of its sisters; info when it is below 4096. The kernel takes 96 bytes off for headers: 4192 and more allow 4096.",
			Silent: "MTUs that differ but allow the same RDMA MTU; interfaces of another model or role.",
			Eval:   evalMTU,
		}},
	}
}

func evalMTU(r *mtuRow, e *collectors.Env[mtuRow]) verdict {
	if r.mtu == 0 {
		return collectors.Verdictf(collectors.Unknown, "the MTU of %s cannot be read", r.netdev)
	}
	const enough = "ip link set dev %s mtu 9000 (4200 is enough), on the switch's port too"
	own := rdmaMTU(r.mtu)
	var all []int
	for i := range e.Rows {
		if o := &e.Rows[i]; o.sisters == r.sisters && o.virtual == r.virtual && o.mtu > 0 {
			all = append(all, rdmaMTU(o.mtu))
		}
	}
	usual, n, _ := collectors.Majority(all, func(a, b int) bool { return a == b })
	if collectors.Most(n, len(all)) && own != usual && !r.virtual {
		return collectors.Verdictf(collectors.Warn, "MTU %d allows the RDMA MTU %d; %d of %d interfaces of its kind have %d", r.mtu, own, n, len(all), usual).
			Remedyf("give all the same: "+enough, r.netdev).With("class/net/"+r.netdev+"/mtu", r.mtu)
	}
	if own < 4096 {
		return collectors.Verdictf(collectors.Info, "MTU %d allows the RDMA MTU %d, less than 4096", r.mtu, own).Remedyf(enough, r.netdev)
	}
	return collectors.Verdictf(collectors.OK, "MTU %d allows the RDMA MTU %d", r.mtu, own)
}
