// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/probes/lldp"
)

// heard is a recording of a host whose ports eth0 and eth1 hear a neighbour each.
func heard(t *testing.T, names ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("-- proc/cpuinfo --\nflags : fpu\n-- proc/sys/kernel/hostname --\ngpu-07\n")
	for i, name := range names {
		f := lldp.Frame{
			Destination: lldp.Destinations()[0], Source: lldp.MAC{2, 0, 0, 0, 0, 1}, TTL: 120,
			Chassis: lldp.ChassisID{Subtype: lldp.ChassisMAC, Value: "\x02\x00\x00\x00\x00\x01"}, SystemName: name,
			Port: lldp.PortID{Subtype: lldp.PortName, Value: fmt.Sprintf("Ethernet%d", 4*i)},
			PFC:  lldp.PFC{Enabled: 1 << 3, Present: true},
		}
		dir := fmt.Sprintf("sys/devices/pci0000:00/0000:00:0%d.0", i+1)
		fmt.Fprintf(&b, "-- sys/bus/pci/devices/0000:00:0%d.0 -> ../../../%s --\n", i+1, strings.TrimPrefix(dir, "sys/"))
		fmt.Fprintf(&b, "-- %s/class --\n0x020000\n-- %s/vendor --\n0x15b3\n-- %s/device --\n0x1021\n", dir, dir, dir)
		fmt.Fprintf(&b, "-- sys/class/net/eth%d -> ../../%s/net/eth%d --\n", i, strings.TrimPrefix(dir, "sys/"), i)
		fmt.Fprintf(&b, "-- %s/net/eth%d/device -> ../../../0000:00:0%d.0 --\n-- %s/net/eth%d/type --\n1\n-- %s/net/eth%d/carrier --\n1\n", dir, i, i+1, dir, i, dir, i)
		fmt.Fprintf(&b, "-- lldp/eth%d.hex --\n%x\n", i, f.Append(nil))
	}
	return file(t, "host.txtar", b.String())
}

func TestLLDP(t *testing.T) {
	host := heard(t, "leaf-01", `leaf"\02`)
	for format, want := range map[string]string{
		"text": "eth0  0000:00:01.0  -     leaf-01    Ethernet0  0s ago  PFC 3",
		"json": `"pfc_enabled": [`,
		"csv":  "host,port,neighbour,neighbour-port\ngpu-07,eth0,leaf-01,Ethernet0\ngpu-07,eth1,\"leaf\"\"\\02\",Ethernet4\n",
		"dot":  `"gpu-07":"eth1" -- "leaf\"\\02":"Ethernet4";`,
	} {
		code, out, errs := fabricd("lldp", "--host", host, "--format", format)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d, %s\n%s\nwant %q", format, code, errs, out, want)
		}
		if format == "json" && !json.Valid([]byte(out)) {
			t.Errorf("no JSON: %s", out)
		}
		if format == "csv" || format == "dot" { // what is printed is a plan
			if code, out, errs := fabricd("lldp", "diff", "--host", host, file(t, "map."+format, out)); code != 0 || strings.Count(out, "as planned") != 2 {
				t.Errorf("%s: %d, %s\n%s", format, code, errs, out)
			}
		}
	}
	for _, test := range []struct {
		plan string
		code int
		says string
	}{
		{"gpu-07,eth0,leaf-01,Ethernet4\n", exitFail, "the cable leads to leaf-01 port Ethernet0"},
		{"gpu-07,eth0,leaf-01,Ethernet0\ngpu-07,eth7,leaf-01,Ethernet4\n", exitWarn, "eth7, and this machine has no such port"},
		{"gpu-07,eth0,leaf-01,etp1\n", exitUnknown, "cannot be compared"},
		{"gpu-08,eth0,leaf-01,Ethernet0\n", exitUsage, "has no cable of gpu-07"},
		{"gpu-07\n", exitUsage, "plan.csv:1:"},
	} {
		code, out, errs := fabricd("lldp", "diff", "--host", host, file(t, "plan.csv", test.plan))
		if code != test.code || !strings.Contains(out+errs, test.says) {
			t.Errorf("%q: %d, want %d and %q\n%s%s", test.plan, code, test.code, test.says, out, errs)
		}
	}
	if code, _, errs := fabricd("lldp", "diff", "--host", host); code != exitUsage || !strings.Contains(errs, "there is no plan") {
		t.Errorf("no plan: %d %s", code, errs)
	}
	if code, _, errs := fabricd("lldp", "--host", file(t, "half.txtar", halfWidth)); code != exitOK || !strings.Contains(errs, "no Ethernet port") {
		t.Errorf("no port: %d %s", code, errs)
	}
	if code, _, errs := fabricd("lldp", "send", "--yes", "--host", host); code != exitUsage || !strings.Contains(errs, "--host has none") {
		t.Errorf("send: %d %s", code, errs)
	}
}

// A port with two neighbours is none of the cables of the plan that is printed.
func TestSeveralNeighbours(t *testing.T) {
	b, err := os.ReadFile(heard(t, "leaf-01", "leaf-02"))
	if err != nil {
		t.Fatal(err)
	}
	_, frame, _ := strings.Cut(string(b), "-- lldp/eth1.hex --\n")
	host := file(t, "both.txtar", strings.Replace(string(b), "-- lldp/eth0.hex --\n", "-- lldp/eth0.hex --\n"+frame, 1))
	for format, comment := range map[string]string{"csv": "# ", "dot": "\t// "} {
		_, out, _ := fabricd("lldp", "--host", host, "--format", format)
		if !strings.Contains(out, comment+`"gpu-07" "eth0" hears 2 neighbours`) || strings.Count(out, "eth0") != 1 {
			t.Errorf("%s: %s", format, out)
		}
		if code, diff, errs := fabricd("lldp", "diff", "--host", host, file(t, "map."+format, out)); code != exitOK || strings.Count(diff, "as planned") != 1 {
			t.Errorf("%s: %d, %s\n%s\n%s", format, code, errs, diff, out)
		}
	}
}

// A plan's names come from elsewhere: none reaches the terminal as it is.
func TestHostilePlan(t *testing.T) {
	host := heard(t, "leaf-01")
	for name, text := range map[string]string{
		"p.csv":  "gpu-07,eth0,\"a\x1b[31m\",1\ngpu-07,eth1\x1b[31m,leaf-01,\u202e1\n",
		"p.yaml": `plan: {cabling: [{port: eth0, switch: "a\e[31m"}, {port: "eth1\e[31m", switch: leaf-01, switch_port: "\u202e1"}]}`,
	} {
		plan := file(t, name, text)
		all := [][]string{{"lldp", "diff", "--host", host, plan}}
		if name == "p.yaml" {
			all = append(all, []string{"check", "--host", host, "--config.file", plan, "--only", "lldp_cabling"})
		}
		for _, args := range all {
			code, out, errs := fabricd(args...)
			if code != exitFail || strings.ContainsAny(out+errs, "\x1b\u202e") || !strings.Contains(out, "eth1?[31m") || !strings.Contains(out, "a?[31m") {
				t.Errorf("%v: %d %q %q", args, code, out, errs)
			}
		}
	}
}

// The configuration names a plan of the whole cluster.
func TestCablingFile(t *testing.T) {
	host := heard(t, "leaf-01")
	plan := file(t, "cluster.csv", "gpu-08,eth0,leaf-01,Ethernet0\ngpu-07,eth0,leaf-01,Ethernet4\n")
	c := file(t, "fabricd.yaml", "plan: {cabling_file: "+plan+"}\n")
	if code, out, errs := fabricd("check", "--host", host, "--config.file", c, "--only", "lldp_cabling"); code != exitFail || !strings.Contains(out, "Ethernet4") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	// A recording takes this machine's part of the plan along.
	taken := filepath.Join(t.TempDir(), "taken.txtar")
	if code, _, errs := fabricd("record", "--host", host, "--config.file", c, "--keep-identities", "-o", taken); code != exitOK {
		t.Fatal(code, errs)
	}
	if code, out, errs := fabricd("lldp", "diff", "--host", taken); code != exitFail || !strings.Contains(out, "Ethernet4") {
		t.Errorf("recorded: %d %s%s", code, out, errs)
	}
	others := file(t, "others.yaml", "plan: {cabling_file: "+file(t, "others.csv", "gpu-08,eth0,leaf-01,Ethernet0\n")+"}\n")
	if code, out, errs := fabricd("check", "--host", host, "--config.file", others, "--only", "lldp_cabling"); code != exitUnknown {
		t.Errorf("%d %s%s", code, out, errs)
	}
	twice := file(t, "twice.yaml", "plan: {cabling: [{port: eth0, switch: leaf-09}], cabling_file: "+plan+"}\n")
	if code, _, errs := fabricd("check", "--host", host, "--config.file", twice); code != exitUsage || !strings.Contains(errs, `cluster.csv: port "eth0" has another cable`) {
		t.Errorf("%d %s", code, errs)
	}
	broken := file(t, "broken.yaml", "plan: {cabling_file: "+file(t, "broken.csv", "x\n")+"}\n")
	for _, args := range [][]string{{"check", "--host", host}, {"run", "--config.check"}} {
		if code, _, errs := fabricd(append(args, "--config.file", broken)...); code != exitUsage || !strings.Contains(errs, "broken.csv:1:") {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}

func TestRoutePlan(t *testing.T) {
	b, err := os.ReadFile(heard(t, "leaf-01", "leaf-02"))
	if err != nil {
		t.Fatal(err)
	}
	host := file(t, "routes.txtar", string(b)+`-- route.json --
{"addresses": [{"netdev": "eth0", "prefix": "10.0.0.2/31"}, {"netdev": "eth1", "prefix": "10.0.1.2/24"}, {"netdev": "eth1", "prefix": "fd00::2/64"}]}
`)
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--port", "eth1", "--port", "eth0", "--gateway", "eth1=10.0.1.1"}, exitOK, "ip route replace default via 10.0.1.1 dev eth1 src 10.0.1.2 table 100"},
		{[]string{"--port", "eth1", "--port", "eth0", "--table", "7"}, exitOK, "ip rule add from 10.0.0.2/32 lookup 8 priority 1001"},
		{[]string{"--port", "eth0", "--format", "netplan"}, exitOK, `{to: "0.0.0.0/0", via: "10.0.0.3", from: "10.0.0.2", table: 100}`},
		{nil, exitUnknown, "there are no compute ports"},
		{[]string{"--port", "eth7"}, exitUsage, "no such port"},
		{[]string{"--port", "eth0", "--gateway", "eth1=10.0.0.1"}, exitUsage, "one of the rails"},
		{[]string{"--port", "eth0", "--gateway", "eth0=x"}, exitUsage, "NETDEV=ADDRESS"},
		{[]string{"--port", "eth1", "--gateway", "eth1=10.0.9.1"}, exitUsage, "no next hop"},
		{[]string{"--port", "eth1", "--gateway", "eth1=10.0.1.1", "--gateway", "eth1=10.0.1.3"}, exitUsage, "eth1 already has 10.0.1.1"},
		{[]string{"--port", "eth1", "--gateway", "eth1=10.0.1.255"}, exitUsage, "no next hop"},
		{[]string{"--port", "eth1", "--gateway", "eth1=10.0.1.1", "--gateway", "eth1=fd00::1"}, exitOK, "ip -6 route replace default via fd00::1 dev eth1 src fd00::2 table 100"},
		{[]string{"--port", "eth0", "--priority", "32766"}, exitUsage, "want a whole number from 1 to 32765"},
		{[]string{"--port", "eth0", "--port", "eth1", "--table", "253"}, exitUsage, "the kernel's"},
		{[]string{"--port", "eth0", "--table", "99999999999999999999"}, exitUsage, `--table "99999999999999999999": want a whole number from 1 to 4294967295`},
		{[]string{"--port", "eth0", "--priority", "1e3"}, exitUsage, "whole number"},
	} {
		code, out, errs := fabricd(append([]string{"route", "plan", "--host", host}, test.args...)...)
		if code != test.code || !strings.Contains(out+errs, test.says) {
			t.Errorf("%v: %d, want %d and %q\n%s%s", test.args, code, test.code, test.says, out, errs)
		}
	}
	if code, _, errs := fabricd("route", "plan", "--host", heard(t, "leaf-01"), "--port", "eth0"); code != exitUnknown || !strings.Contains(errs, "route.json") {
		t.Errorf("%d %s", code, errs)
	}
}
