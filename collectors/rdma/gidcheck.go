// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"

	"github.com/fabricd/fabricd/collectors"
	"github.com/fabricd/fabricd/probes/rdma"
)

func gidCheck() portCheck {
	return portCheck{
		Name:    "rdma_gid",
		Help:    "Warns when an active RoCE port has no RoCE v2 address that routes, only version 1 or link-local ones. Otherwise it names the index of the best one.",
		Silent:  "empty slots and entries that cannot be read; unique local IPv6 and private IPv4 addresses route; iWARP and EFA have no such addresses.",
		Subject: portSubject(false),
		Eval:    evalGID,
	}
}

func evalGID(r *portRow, _ *portEnv) verdict {
	g := &r.GIDs
	switch {
	case r.Protocol != RoCE || r.State == rdma.Down:
		return verdict{} // without a link there are no addresses
	case r.State != rdma.Active:
		return collectors.Verdictf(collectors.Unknown, "the port is not ACTIVE; see rdma_port")
	case g.HasV2:
		return collectors.Verdictf(collectors.OK, "best GID index %d: RoCE v2, %s", g.Best.Index, g.Best.Address.Unmap())
	case !g.Read || g.Used == 0 && g.Unread > 0 || g.Untyped > 0:
		return collectors.Verdictf(collectors.Unknown, "the table of GIDs, or the types in it, cannot be read")
	}
	why := "its table of GIDs is empty"
	switch {
	case g.V2 == 1:
		why = "its only RoCE v2 GID is link-local"
	case g.V2 > 1:
		why = fmt.Sprintf("all of its %d RoCE v2 GIDs are link-local", g.V2)
	case g.Used > 0:
		why = "it has RoCE v1 GIDs only"
	}
	if r.virtual {
		return collectors.Verdictf(collectors.Info, "no RoCE v2 address that routes: %s; %s", why, r.whose())
	}
	return collectors.Verdictf(collectors.Warn, "no RoCE v2 address that routes: %s", why).
		Remedyf("give %s an IPv4 or a routable IPv6 address: ip addr show dev %s", r.netdevName(), r.netdevName()).
		With("GIDs in use", g.Used).With("RoCE v2 GIDs", g.V2)
}

func (p *Port) netdevName() string {
	if p.Netdev.Name == "" {
		return "its interface"
	}
	return p.Netdev.Name
}
