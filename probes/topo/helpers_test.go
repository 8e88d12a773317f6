// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/config"
	"github.com/fabricd/fabricd/probes"
)

// models are the functions that machines of tests are built of: vendor, device, class.
var models = map[string][3]string{
	"port":     {"0x8086", "0x352a", "0x060400"}, // root port
	"switch":   {"0x1000", "0xc030", "0x060400"}, // port of a switch
	"gpu":      {"0x10de", "0x2335", "0x030200"},
	"amd":      {"0x1002", "0x74a1", "0x120000"},
	"intel":    {"0x8086", "0x0bd5", "0x038000"},
	"nic":      {"0x15b3", "0x1021", "0x020000"},
	"slow":     {"0x8086", "0x159b", "0x020000"}, // another model
	"nvswitch": {"0x10de", "0x22a3", "0x068000"},
	"disk":     {"0x144d", "0xa80a", "0x010802"},
	"other":    {"0x8086", "0x0b00", "0x088000"},
}

// machine builds a recorded machine of lines. One line is a function: its path
// (00/00:01.0/01:00.0 stands for pci0000:00/0000:00:01.0/0000:01:00.0), its
// model, and what differs from 32 GT/s x16 on node 0:
//
//	vendor=ID device=ID class=ID node=N max=GTSxWIDTH width=RAW nolink vf=ADDRESS
//	eth=NAME[:MBPS[:bond=NAME]] (MBPS ?: it is up, at no known speed) ipoib=NAME:MBPS[:PORT] rep=NAME
//	rdma=NAME[:GBPS] guid=GUID  ib: the RDMA ports are InfiniBand
//
// Other lines: nodes N, sockets N, guest.
func machine(t testing.TB, text string, o probes.Options) *probes.Inventory {
	t.Helper()
	var b strings.Builder
	file := func(name, content string) { fmt.Fprintf(&b, "-- %s --\n%s\n", name, content) }
	link := func(name, target string) { fmt.Fprintf(&b, "-- %s -> %s --\n", name, target) }
	cpuinfo := ""
	for line := range strings.SplitSeq(text, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case fields[0] == "nodes":
			file("sys/devices/system/node/online", "0-"+string(fields[1][0]-1))
			for n := range fields[1][0] - '0' {
				file(fmt.Sprintf("sys/devices/system/node/node%d/cpulist", n), "0")
			}
		case fields[0] == "sockets":
			for n := range fields[1][0] - '0' {
				file(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", n), string('0'+n))
			}
		case fields[0] == "guest":
			cpuinfo = "flags : hypervisor\n"
		default:
			function(t, file, link, fields)
		}
	}
	file("proc/cpuinfo", cpuinfo)
	h, err := probes.Recorded([]byte(b.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	return h.Inventory()
}

func function(t testing.TB, file, link func(string, string), fields []string) {
	t.Helper()
	parts := strings.Split(fields[0], "/")
	parts[0] = "pci0000:" + parts[0]
	for i, p := range parts[1:] {
		if strings.Count(p, ":") == 1 {
			parts[i+1] = "0000:" + p
		}
	}
	dir := "sys/devices/" + path.Join(parts...)
	link("sys/bus/pci/devices/"+parts[len(parts)-1], "../../../"+strings.TrimPrefix(dir, "sys/"))
	model, ok := models[fields[1]]
	if !ok {
		t.Fatalf("no model %s", fields[1])
	}
	a := map[string]string{
		"vendor": model[0], "device": model[1], "class": model[2], "numa_node": "0",
		"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16", "current_link_width": "16",
	}
	ports := []string{}
	guid, layer := "", "Ethernet"
	for _, field := range fields[2:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "vendor", "device", "class":
			a[key] = "0x" + value
		case "node":
			a["numa_node"] = value
		case "max":
			speed, width, _ := strings.Cut(value, "x")
			a["max_link_speed"], a["max_link_width"] = speed+" GT/s PCIe", width
		case "width":
			a["max_link_width"] = value
		case "nolink":
			delete(a, "max_link_speed")
			delete(a, "max_link_width")
			delete(a, "current_link_width")
		case "vf":
			link(dir+"/physfn", "../0000:"+value)
		case "guid":
			guid = value
		case "ib":
			layer = "InfiniBand"
		default:
			ports = append(ports, field)
		}
	}
	for name, value := range a {
		file(dir+"/"+name, value)
	}
	for _, field := range ports {
		key, value, _ := strings.Cut(field, "=")
		port(t, file, link, dir, key, strings.Split(value, ":"), guid, layer)
	}
}

func port(t testing.TB, file, link func(string, string), dir, key string, value []string, guid, layer string) {
	t.Helper()
	class, own := "net", dir+"/net/"+value[0]
	if key == "rdma" {
		class, own = "infiniband", dir+"/infiniband/"+value[0]
	}
	link("sys/class/"+class+"/"+value[0], "../../"+strings.TrimPrefix(own, "sys/"))
	link(own+"/device", "../..")
	up := len(value) > 1 && value[1] != ""
	switch key {
	case "rep":
		file(own+"/phys_port_name", "pf0vf0")
		file(own+"/carrier", "1")
		file(own+"/speed", "400000")
	case "ipoib":
		file(own+"/type", "32")
		file(own+"/carrier", "1")
		file(own+"/speed", value[1])
		if len(value) > 2 {
			file(own+"/dev_port", value[2])
		}
	case "eth":
		file(own+"/carrier", map[bool]string{true: "1", false: "0"}[up])
		if up && value[1] != "?" {
			file(own+"/speed", value[1])
		}
		if len(value) > 2 {
			bond := strings.TrimPrefix(value[2], "bond=")
			link(own+"/master", "../../../../virtual/net/"+bond)
			file("sys/class/net/"+bond+"/bonding/"+value[0], "")
		}
	case "rdma":
		file(own+"/sys_image_guid", guid)
		file(own+"/ports/1/link_layer", layer)
		if up {
			file(own+"/ports/1/state", "4: ACTIVE")
			file(own+"/ports/1/rate", value[1]+" Gb/sec (4X NDR)")
		} else {
			file(own+"/ports/1/state", "1: DOWN")
			file(own+"/ports/1/rate", "40 Gb/sec (4X QDR)") // what mlx5 says of a port that is down
		}
	default:
		t.Fatalf("no such attribute: %s", key)
	}
}

func tree(t testing.TB, text string, plan config.Plan) *Tree {
	t.Helper()
	return New(machine(t, text, probes.Options{}), plan)
}

func fn(t testing.TB, tree *Tree, address string) *probes.Function {
	t.Helper()
	f := tree.Inventory.Function("0000:" + address)
	if f == nil {
		t.Fatalf("no function %s", address)
	}
	return f
}

// short lists addresses without their domain.
func short(list []*probes.Function) string {
	var names []string
	for _, f := range list {
		names = append(names, strings.TrimPrefix(f.Address, "0000:"))
	}
	return strings.Join(names, " ")
}

func (l *Link) text() string {
	s := short([]*probes.Function{l.Lower}) + " < "
	if l.Upper != nil {
		s += short([]*probes.Function{l.Upper})
	} else {
		s += "?"
	}
	s += " (" + short(l.Functions) + ") [" + short(l.Devices) + "] " + l.Max.String()
	if l.Inner {
		s += " inner"
	}
	return s
}

// A box is an 8-GPU machine's corner: a switch with a GPU, a NIC of two
// functions, one virtual function and a disk; a GPU at a second switch.
const box = `
nodes 2
sockets 2
15/15:01.0                                    port
15/15:01.0/16:00.0                            switch
15/15:01.0/16:00.0/17:00.0                    switch
15/15:01.0/16:00.0/17:01.0                    switch
15/15:01.0/16:00.0/17:02.0                    switch
15/15:01.0/16:00.0/17:00.0/18:00.0            gpu
15/15:01.0/16:00.0/17:01.0/19:00.0            nic eth=eth0:400000 rdma=mlx5_0:400
15/15:01.0/16:00.0/17:01.0/19:00.1            nic eth=eth1:400000 rdma=mlx5_1:400
15/15:01.0/16:00.0/17:01.0/19:00.2            nic vf=19:00.0 max=0x0 eth=eth0v0:400000
15/15:01.0/16:00.0/17:02.0/1a:00.0            disk max=16x4
26/26:01.0                                    port
26/26:01.0/27:00.0                            switch
26/26:01.0/27:00.0/28:00.0                    switch
26/26:01.0/27:00.0/28:00.0/29:00.0            gpu
00/00:1f.0                                    other nolink
00/00:02.0                                    port
00/00:02.0/01:00.0                            slow max=8x8 eth=eno1:25000 rdma=irdma0:25
97/97:01.0                                    port node=1
97/97:01.0/98:00.0                            nic max=16x16 node=1 eth=eth9:200000 rdma=mlx5_9:200
`
