// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What an interface or RDMA device belongs to, however the kernel or an older
// recording shows it.
func TestJoin(t *testing.T) {
	t.Parallel()
	const nic = "pci0000:15/0000:15:01.0/0000:19:00.0"
	base := slices.Concat(
		device("pci0000:15/0000:15:01.0", "class", "0x060400"), device(nic), device("pci0000:15/0000:15:01.0/0000:19:00.1"),
		device("pci0000:00/0000:00:05.0"), device("pci0000:00/0000:00:14.0", "class", "0x0c0330"),
	)
	entries := func(list ...string) []string { return list }
	tests := []struct {
		name    string
		entries []string
		want    string // function, and whether it is the function's own port
	}{
		{"interface", netdev("x", nic), "0000:19:00.0 port"},
		{"interface, class directory real", entries("sys/class/net/x/type", "1", "sys/class/net/x/device -> ../../../devices/"+nic, ""), "0000:19:00.0 port"},
		{"interface, by way of the bus", entries("sys/class/net/x/type", "1", "sys/class/net/x/device -> ../../../bus/pci/devices/0000:19:00.0", ""), "0000:19:00.0 port"},
		{"interface, recorded without its device", entries("sys/class/net/x -> ../../devices/"+nic+"/net/x", "", "sys/devices/"+nic+"/net/x/type", "1"), "0000:19:00.0 port"},
		{"virtio interface", netdev("x", "pci0000:00/0000:00:05.0/virtio2"), "0000:00:05.0 port"},
		{"subfunction", netdev("x", nic+"/mlx5_core.sf.4"), "0000:19:00.0"},
		{"USB interface", netdev("x", "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0"), "0000:00:14.0"},
		{"second function", netdev("x", "pci0000:15/0000:15:01.0/0000:19:00.1"), "0000:19:00.1 port"},
		{"representor of a virtual function", netdev("x", nic, "phys_port_name", "pf0vf1\n"), "0000:19:00.0"},
		{"representor of a controller's subfunction", netdev("x", nic, "phys_port_name", "c1pf0sf3\n"), "0000:19:00.0"},
		{"representor of the host", netdev("x", nic, "phys_port_name", "pf0hpf\n"), "0000:19:00.0"},
		{"uplink of a switchdev", netdev("x", nic, "phys_port_name", "p0\n"), "0000:19:00.0 port"},
		{"half of a split port", netdev("x", nic, "phys_port_name", "p0s1\n"), "0000:19:00.0 port"},
		{"virtual interface", entries("sys/class/net/x -> ../../devices/virtual/net/x", "", "sys/devices/virtual/net/x/type", "1"), ""},
		{"interface of no PCI device", netdev("x", "platform/soc/eth"), ""},
		{"interface that leads nowhere", entries("sys/class/net/x -> ../../devices/gone", ""), ""},
		{"file among the interfaces", entries("sys/class/net/bonding_masters", "bond0"), ""},

		{"RDMA device", rdmaDevice("x", nic), "0000:19:00.0 port"},
		{"RDMA device, class directory real", entries("sys/class/infiniband/x/node_type", "1: CA", "sys/class/infiniband/x/device -> ../../../devices/"+nic, ""), "0000:19:00.0 port"},
		{"RDMA device of a subfunction", rdmaDevice("x", nic+"/mlx5_core.sf.4"), "0000:19:00.0"},
		{"RDMA device of no PCI device", rdmaDevice("x", "platform/soc"), ""},
		{"soft-RoCE", entries("sys/class/infiniband/x -> ../../devices/virtual/infiniband/x", "", "sys/devices/virtual/infiniband/x/parent", "eth0\n"), "software eth0"},
		{"soft-RoCE of older kernels, with the interface's function", rdmaDevice("x", nic, "parent", "eth0\n"), "software eth0"},
		{"soft-iWARP", entries("sys/class/infiniband/x -> ../../devices/virtual/infiniband/x", "", "sys/devices/virtual/infiniband/x/node_type", "4: RNIC"), "software"},
		{"soft-iWARP of older kernels", rdmaDevice("x", nic, "node_desc", "Software iWARP stack\n"), "software"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			onBoth(t, Options{}, slices.Concat(base, test.entries), func(t *testing.T, h *Host) {
				inv := h.Inventory()
				got := []string{}
				for _, n := range inv.Netdevs {
					got = append(got, strings.TrimSpace(n.Function.Address+" "+map[bool]string{true: "port"}[n.Port]))
					if !slices.Contains(n.Function.Netdevs, n) || n.Port != slices.Equal(n.Function.NetdevNames, []string{"x"}) {
						t.Errorf("the function has %v, named %q", n.Function.Netdevs, n.Function.NetdevNames)
					}
				}
				for _, d := range inv.RDMA {
					if d.Software() {
						got = append(got, strings.TrimSpace("software "+d.Lower))
						continue
					}
					got = append(got, strings.TrimSpace(d.Function.Address+" "+map[bool]string{true: "port"}[d.Port]))
					if !slices.Contains(d.Function.RDMA, d) || d.Port != slices.Equal(d.Function.RDMANames, []string{"x"}) {
						t.Errorf("the function has %v, named %q", d.Function.RDMA, d.Function.RDMANames)
					}
				}
				if strings.Join(got, ",") != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}

func TestNetdev(t *testing.T) {
	t.Parallel()
	const nic = "pci0000:00/0000:00:05.0"
	entries := slices.Concat(device(nic), device("pci0000:00/0000:00:06.0"),
		netdev("eth0", nic, "address", "02:00:00:00:00:01\n", "mtu", "9000\n", "speed", "400000\n", "carrier", "1\n", "operstate", "up\n", "dev_port", "1\n", "phys_port_name", "p1\n"),
		netdev("eth1", nic, "speed", "-1\n", "carrier", "0\n", "operstate", "down\n", "master -> ../../../../virtual/net/bond0", ""),
		netdev("eth2", nic, "speed.err", "EINVAL", "carrier.err", "EINVAL", "master -> ../../../../virtual/net/br0", ""),
		netdev("eth3", nic, "speed", "65535\n", "carrier", "\n"),
		netdev("eth4", nic, "speed", "4294967295\n"),
		netdev("ib0", "pci0000:00/0000:00:06.0")[0:4],
		[]string{"sys/devices/pci0000:00/0000:00:06.0/net/ib0/type", "32\n", "sys/devices/pci0000:00/0000:00:06.0/net/ib0/address", "evil\x1b[2J\n"},
		[]string{"sys/class/net/bond0 -> ../../devices/virtual/net/bond0", "", "sys/devices/virtual/net/bond0/bonding/slaves", "eth1"},
		[]string{"sys/class/net/br0 -> ../../devices/virtual/net/br0", "", "sys/devices/virtual/net/br0/bridge/priority", "1"},
	)
	inv := record(t, Options{}, entries...).Inventory()
	want := []string{
		"eth0 type 1 02:00:00:00:00:01 mtu 9000 {400000 true} {true true} up port 1 p1  false",
		"eth1 type 1  mtu 0 {0 false} {false true} down port 0  bond0 true",
		"eth2 type 1  mtu 0 {0 false} {false false}  port 0  br0 false",
		"eth3 type 1  mtu 0 {0 false} {false false}  port 0   false",
		"eth4 type 1  mtu 0 {0 false} {false false}  port 0   false",
		"ib0 type 32 evil?[2J mtu 0 {0 false} {false false}  port 0   false",
	}
	for i, n := range inv.Netdevs {
		got := fmt.Sprintf("%s type %d %s mtu %d {%d %v} {%v %v} %s port %d %s %s %v", n.Name, n.Type, n.MAC, n.MTU, n.SpeedMbps.V, n.SpeedMbps.OK, n.Carrier.V, n.Carrier.OK,
			n.OperState, n.DevPort, n.PhysPortName, n.Master, n.Bonded)
		if i >= len(want) || got != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[min(i, len(want)-1)])
		}
	}
	if len(inv.Netdevs) != len(want) {
		t.Errorf("%d interfaces", len(inv.Netdevs))
	}
}

func TestRDMA(t *testing.T) {
	t.Parallel()
	const nic = "pci0000:00/0000:00:05.0"
	entries := slices.Concat(device(nic), device("pci0000:00/0000:00:06.0"),
		rdmaDevice("mlx5_0", nic, "node_guid", "946d:ae03:00a1:b2c3\n", "sys_image_guid", "946d:ae03:00a1:b2c0\n", "fw_ver", "28.39.1002\n", "hca_type", "MT4129\n",
			"ports/2/state", "1: DOWN\n", "ports/2/phys_state", "2: Polling\n", "ports/2/link_layer", "InfiniBand\n", "ports/2/rate", "N/A\n",
			"ports/3/state.err", "EINVAL", "ports/README", "none\n"),
		rdmaDevice("roce1", "pci0000:00/0000:00:06.0", "node_guid", "0000:0000:0000:0000\n", "sys_image_guid", "0000:0000:0000:0000\n", "fw_ver", "\n"),
	)
	inv := record(t, Options{}, entries...).Inventory()
	if len(inv.RDMA) != 2 {
		t.Fatalf("%d devices", len(inv.RDMA))
	}
	d := inv.RDMA[0]
	if d.Name != "mlx5_0" || d.NodeGUID != "946d:ae03:00a1:b2c3" || d.SysImageGUID != "946d:ae03:00a1:b2c0" || d.Firmware != "28.39.1002" || d.HCAType != "MT4129" {
		t.Errorf("%+v", d)
	}
	want := []RDMAPort{
		{Number: 1, State: "ACTIVE", PhysState: "LinkUp", LinkLayer: "Ethernet", RateGbps: Some(400.0)},
		{Number: 2, State: "DOWN", PhysState: "Polling", LinkLayer: "InfiniBand"},
		{Number: 3},
	}
	if !slices.Equal(d.Ports, want) {
		t.Errorf("got %+v, want %+v", d.Ports, want)
	}
	if d := inv.RDMA[1]; d.NodeGUID != "" || d.SysImageGUID != "" || d.Firmware != "" {
		t.Errorf("identity out of zeros: %+v", d)
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{
		"400 Gb/sec (4X NDR)": 400, "2.5 Gb/sec (1X SDR)": 2.5, "56 Gb/sec (4X FDR)": 56, "40 Gb/sec (4X QDR)": 40, "10 Gb/sec": 10,
		"800 Gb/sec (4X XDR)": 800, "14.0625 Gb/sec (1X FDR)": 14.0625, "0.5 Gb/sec": 0.5, "1600 Gb/sec (8X XDR)": 1600,
		"": 0, "Gb/sec": 0, " Gb/sec": 0, "0 Gb/sec": 0, "0.0 Gb/sec": 0, "-40 Gb/sec": 0, "40": 0, "40 Mb/sec": 0, "40Gb/sec": 0, " 40 Gb/sec": 0,
		"4,0 Gb/sec": 0, "1234567 Gb/sec": 0, "Inf Gb/sec": 0, "NaN Gb/sec": 0, "0x28 Gb/sec": 0,
	} {
		if got, ok := ParseRate(in); ok && got != want || ok != (want > 0) {
			t.Errorf("%q: %v, %v; want %v", in, got, ok, want)
		}
	}
}
