// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"strings"
)

// Packages and drivers of scenarios with soft-RoCE.
var (
	rocePackages = []string{"iproute2", "ethtool", "perftest", "ibverbs-providers"}
	roceDrivers  = []string{"crc32_generic", "rdma_rxe", "ib_uverbs", "act_skbedit", "sch_ingress", "cls_flower", "sch_netem", "veth"}
)

// Addresses of the two ends of soft-RoCE.
const (
	roceHere  = "10.9.0.1"
	roceThere = "10.9.0.2"
)

// SoftRoCE makes the kernel's soft-RoCE devices rxe0 and rxe1 of two wired interfaces, and has what one sends to the other
// leave over the wire, although both are this machine's. What they send has priority 3.
func SoftRoCE(here, there string) Action {
	script := `set -e
ip addr add HERE/24 dev A; ip addr add THERE/24 dev B; ip link set A up; ip link set B up
cd /proc/sys/net/ipv4/conf
for i in all A B; do echo 0 > $i/rp_filter; echo 1 > $i/accept_local; echo 2 > $i/arp_announce; echo 1 > $i/arp_ignore; done
ip rule add pref 10 oif A lookup 101; ip rule add pref 11 oif B lookup 102
ip rule add pref 12 from HERE iif lo lookup 101; ip rule add pref 13 from THERE iif lo lookup 102
ip rule add pref 100 lookup local; ip rule del pref 0
ip route add THERE/32 dev A src HERE table 101; ip route add HERE/32 dev B src THERE table 102
for d in A B; do
	tc qdisc add dev $d clsact
	tc filter add dev $d egress protocol ip flower ip_proto udp dst_port 4791 action skbedit priority 3
done
rdma link add rxe0 type rxe netdev A; rdma link add rxe1 type rxe netdev B
`
	return Run(strings.NewReplacer("HERE", roceHere, "THERE", roceThere, "A", here, "B", there).Replace(script))
}

// WriteBandwidth has rxe0 write so many times 64 KiB into rxe1's memory, and shows what ib_write_bw says in the end.
func WriteBandwidth(times int) Action {
	return Shows(writes(times)+"; exit $s", "BW average", "65536")
}

// KeepWriting has rxe0 write 5 times 64 KiB again and again, with a breath between.
func KeepWriting() Action {
	return Run("(while :; do " + writes(5) + "; sleep 1; done) >/tmp/writes 2>&1 </dev/null &")
}

// writes is a script that leaves in s how its writing ended.
func writes(times int) string {
	command := fmt.Sprintf("ib_write_bw -x 1 -n %d -s 65536 -F", times)
	return command + " -d rxe1 >/tmp/server 2>&1 & sleep 1; " + command + " -d rxe0 " + roceThere + " 2>&1; s=$?; [ $s = 0 ] || kill $!; wait"
}
