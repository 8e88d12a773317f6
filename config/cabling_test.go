// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCablingFiles(t *testing.T) {
	two := []Cable{{Port: "eth0", Switch: "leaf-01", SwitchPort: "Ethernet12"}, {Address: "0000:18:00.1", Switch: "leaf-02", SwitchPort: "Eth1/12"}}
	for _, test := range []struct {
		name, text string
		want       []Cable
		err        string
	}{
		{"p.csv", "host,port,neighbour,neighbour-port\ngpu-07,eth0,leaf-01,Ethernet12\ngpu-08,eth0,leaf-01,Ethernet13\nGPU-07.dc1.example.com,0000:18:00.1,leaf-02,Eth1/12\n", two, ""},
		{"p.csv", "# no header\n\ngpu-07, eth0, leaf-01, Ethernet12\ngpu-07,0000:18:00.1,leaf-02,\"Eth1/12\"\n", two, ""},
		{"p.csv", "rail,switch,switch_port,port\n0,leaf-01,Ethernet12,eth0\n1,leaf-02,Eth1/12,0000:18:00.1\n", two, ""},
		{"p.csv", "leaf-01,Ethernet12,gpu-07,eth0\n", two[:1], ""},
		{"p.csv", "gpu-07,eth0,leaf-01\n", []Cable{{Port: "eth0", Switch: "leaf-01"}}, ""},
		{"p.csv", "host,port,neighbour,neighbour-port\ngpu-08,eth0,leaf-01,1\nport,host,neighbour,neighbour-port\neth0,gpu-07,leaf-01,Ethernet12\n", two[:1], ""},
		{"p.csv", "eth0,leaf-01,Ethernet12\n", nil, "no cable of gpu-07"},
		{"p.csv", ",eth0,leaf-01,Ethernet12\n,0000:18:00.1,leaf-02,Eth1/12\n", two, ""},
		{"p.csv", "host,port,switch,switchport\ngpu-08,eth0,leaf-09,1\n,eth1,leaf-09,2\n", nil, "p.csv:3: names no host, as other lines do"},
		{"p.csv", "\ufeffhost,port,neighbour,neighbour-port\ngpu-07,eth0,leaf-01,Ethernet12\n\ufeffhost,port,neighbour,neighbour-port\ngpu-08,eth1,leaf-09,Ethernet99\n", two[:1], ""},
		{"p.csv", "\ufeffgpu-07,eth0,leaf-01,Ethernet12\n", two[:1], ""},
		{"p.csv", "\xff\xfeh\x00", nil, "p.csv: is UTF-16"},
		{"p.csv", "server,interface,switch,switch_port\ngpu-08,eth1,leaf-09,Ethernet99\ngpu-07,eth0,leaf-01,Ethernet12\n", two[:1], ""},
		{"p.csv", "Host Name,Local_Port,LEAF,Switch Port,Cable\ngpu-08,eth1,leaf-09,Ethernet99,A\ngpu-07,eth0,leaf-01,Ethernet12,B\n", two[:1], ""},
		{"p.csv", "Rechner,port,switch,switch_port\ngpu-08,eth1,leaf-09,Ethernet99\n", nil, "p.csv:1: a header without the column of the host (\"Rechner\" is not known): call it host, hostname, server"},
		{"p.csv", "host,port,switch,Dose\ngpu-07,eth0,leaf-01,Ethernet12\n", nil, "column of the neighbourport (\"Dose\" is not known): call it neighbourport"},
		{"p.csv", "Uplink,Host,Adapter,Dose\nleaf-01,gpu-07,eth0,Ethernet12\n", nil, "column of the port (\"Uplink\" is not known)"},
		{"p.csv", "host,port,switch,leaf\n", nil, "the columns \"switch\" and \"leaf\" are both the neighbour"},
		{"p.csv", "gpu-07,eth0,leaf-01,Ethernet12\ngpu-07,eth0,leaf-01,Ethernet12\nleaf-01,Ethernet12,GPU-07.dc1,eth0\n", two[:1], ""},
		{"p.csv", "gpu-07,eth0,leaf-01,Ethernet12\nleaf-02,Ethernet12,gpu-07,eth0\n", nil, "p.csv:2: port \"eth0\" of gpu-07 already has a cable at line 1, to \"leaf-01\" Ethernet12"},
		{"p.csv", "gpu-07,eth0,gpu-07,eth1\ngpu-07,eth1,gpu-07,eth0\n", []Cable{{Port: "eth0", Switch: "gpu-07", SwitchPort: "eth1"}, {Port: "eth1", Switch: "gpu-07", SwitchPort: "eth0"}}, ""},
		{"p.csv", "gpu-07,eth0\n", nil, "p.csv:1: 2 fields"},
		{"p.csv", "gpu-07,eth0,leaf-01,1\ngpu-07,,leaf-01,2\n", nil, "p.csv:2: names no port"},
		{"p.csv", "gpu-07,eth0,leaf-01,1\n\ngpu-07,eth0,leaf-01,2\n", nil, "p.csv:3: port \"eth0\" of gpu-07 already has a cable at line 1"},
		{"p.csv", "gpu-07,\"eth0,leaf-01,1\n", nil, "p.csv:1:"},
		{"p.csv", "gpu-07,eth0,leaf-01,1\ngpu-08,0000:1,leaf-01,2\ngpu-07,0000:18:0g.0,leaf-01,3\n", nil, "p.csv:3: port \"0000:18:0g.0\" of gpu-07 is neither"},
		{"p.csv", "gpu-09,eth0,leaf-01,1\n", nil, "p.csv: has no cable of gpu-07 (1 cables of others)"},
		{"p.csv", "", nil, "no cable"},

		{"p.dot", `graph rack { /* two
			lines */ node [shape=box, label="a:b -- c"]; # a comment
			"gpu-07":"eth0" -- "leaf-01":"Ethernet12" [speed=400];
			subgraph cluster_a { gpu-08:eth0 -- leaf-01:Ethernet13 }
			"leaf-02":"Eth1/12" -> gpu-07:"0000:18:00.1":n // the other way round
			"leaf-01" [role="leaf"]
		}`, two, ""},
		{"p.gv", `strict digraph { "gpu-07":"eth0" -- "leaf-01":"Ethernet12" -- "x":"y" }`, two[:1], ""},
		{"p.dot", "graph {\n\"gpu-07\" -- \"leaf-01\":\"1\"\n}", nil, "p.dot:2: the edge from \"gpu-07\""},
		{"p.dot", "graph {\n\n\"gpu-07\":\"eth0\" -- }", nil, "p.dot:3: the edge from"},
		{"p.dot", "graph {\n\"gpu-07\":\"eth0", nil, "p.dot:2: a string"},
		{"p.dot", "graph {\n a:b -- c:d\n", nil, "not a whole graph"},
		{"p.dot", "graph { a:b -- c:d } }", nil, "a } too many"},
		{"p.dot", "graph { a:b -- c:d [x=1 }", nil, "without an end"},
		{"p.dot", "graph { -- }", nil, "an edge without"},
		{"p.dot", "graph { a:; }", nil, "no port after its colon"},
		{"p.dot", "graph { a $ }", nil, "has no place"},
		{"p.dot", "/* ", nil, "comment"},

		{"p.yaml", "plan: {cabling: [{port: eth0, switch: leaf-01, switch_port: Ethernet12}]}", two[:1], ""},
		{"p.yaml", "plan:\n  cabling:\n  - {port: eth0, switch: a}\n  - {address: \"0000:18:00.0\", switch: b}\n  - {switch: b, port: eth0}\n", nil, "p.yaml:5: plan.cabling.2: port \"eth0\" already has a cable at line 3"},
		{"p.yaml", "plan:\n  cabling:\n  - {address: \"18:00.0\", switch: a}\n", nil, "p.yaml:3: plan.cabling.0: \"18:00.0\" is no PCI address"},
		{"p.yaml", "plan:\n  cabling:\n  - {port: eth0, switch: \" \"}\n", nil, "p.yaml:3: plan.cabling.0: the cable of \"eth0\" leads nowhere"},
		{"p.dot", "\ufeffgraph { \"gpu-07\":\"eth0\" -- \"leaf-01\":\"Ethernet12\" \"leaf-01\":\"Ethernet12\" -- \"gpu-07\":\"eth0\" }", two[:1], ""},
		{"p.yaml", "\ufeffplan: {cabling: [{port: eth0, switch: leaf-01, switch_port: Ethernet12}]}", two[:1], ""},
		{"p.yaml", "plan: {}", nil, "no plan.cabling"},
		{"p.yaml", "plan:\n  cablin: []", nil, "p.yaml:2"},
		{"p.txt", "", nil, "ends in .csv"},
	} {
		got, err := ParseCabling(test.name, []byte(test.text), "gpu-07")
		if (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s %q: error %v, want %q", test.name, test.text, err, test.err)
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s %q: %s", test.name, test.text, d)
		}
	}
}

func FuzzCabling(f *testing.F) {
	f.Add("p.dot", []byte(`graph { "gpu-07":"eth0" -- "leaf-01":"1" [a=b]; }`))
	f.Add("p.csv", []byte("host,port,neighbour\ngpu-07,eth0,leaf-01\n"))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		cables, err := ParseCabling(name, b, "gpu-07")
		if err == nil && len(cables) == 0 {
			t.Error("neither cables nor an error")
		}
	})
}
