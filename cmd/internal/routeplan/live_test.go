// SPDX-License-Identifier: Apache-2.0

package routeplan

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/fabricd/fabricd/internal/nettest"
	"github.com/fabricd/fabricd/probes"
	"github.com/fabricd/fabricd/probes/route"
)

func run(t *testing.T, script string) string {
	t.Helper()
	c := exec.Command("sh", "-e")
	c.Stdin = strings.NewReader(script)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// sent counts the packets that an interface sent.
func sent(t *testing.T, netdev string) int {
	t.Helper()
	var links []struct {
		Stats struct{ TX struct{ Packets int } } `json:"stats64"`
	}
	if err := json.Unmarshal([]byte(run(t, "ip -j -s link show dev "+netdev)), &links); err != nil || len(links) != 1 {
		t.Fatal(err, links)
	}
	return links[0].Stats.TX.Packets
}

const packets = 20

// takes says how many packets from an address to another leave by each rail.
func takes(t *testing.T, from, to string) (rail0, rail1 int) {
	t.Helper()
	before0, before1 := sent(t, "rail0"), sent(t, "rail1")
	c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, &net.UDPAddr{IP: net.ParseIP(to), Port: 4791})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for n, tries := 0, 0; n < packets && tries < 100*packets; tries++ {
		if _, err := c.Write([]byte("x")); err == nil { // otherwise it tells that nobody listens, and sends nothing
			n++
		}
	}
	return sent(t, "rail0") - before0, sent(t, "rail1") - before1
}

// Two rails to one switch, behind which are other networks: before the plan
// all traffic takes the default route, after it each rail's its own.
func TestTrafficTakesItsRail(t *testing.T) {
	nettest.Enter(t, 0)
	setUp(t, nettest.Elsewhere(t))

	host, err := probes.Live("/", probes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rails := []Rail{{Number: 0, Netdev: "rail0"}, {Number: 1, Netdev: "rail1", Offered: []netip.Addr{netip.MustParseAddr("192.168.0.1"), netip.MustParseAddr("10.0.1.1"), netip.MustParseAddr("fd00:1::1")}}}
	plan := func() (*Plan, string) {
		s, err := route.Get(host)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(rails, s, Default())
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := p.WriteIP(&b); err != nil {
			t.Fatal(err)
		}
		return p, b.String()
	}
	if rail0, rail1 := takes(t, "10.0.1.2", "10.9.9.9"); rail0 < packets || rail1 >= packets {
		t.Fatalf("before the plan: %d packets by rail 0, %d by rail 1", rail0, rail1)
	}
	_, commands := plan()
	if !strings.Contains(commands, "12 of 12 rules and routes are not in force") {
		t.Errorf("%s", commands)
	}
	run(t, commands)
	for _, test := range []struct {
		from, to string
		rail     int
	}{{"10.0.1.2", "10.9.9.9", 1}, {"10.0.0.2", "10.9.9.9", 0}, {"fd00:1::2", "fd09::9", 1}, {"fd00:0::2", "fd09::9", 0}} {
		rail0, rail1 := takes(t, test.from, test.to)
		own, other := rail0, rail1
		if test.rail == 1 {
			own, other = rail1, rail0
		}
		if own < packets || other >= packets/2 {
			t.Errorf("from %s: %d packets by rail 0, %d by rail 1", test.from, rail0, rail1)
		}
	}
	if _, after := plan(); !strings.Contains(after, "All 12 rules and routes are in force.\n") {
		t.Errorf("%s", after)
	}
	run(t, "ip rule add from 10.0.1.2 lookup 100 priority 900\nip route add 10.77.0.0/16 via 10.0.0.1 table 101")
	p, again := plan()
	if missing, _ := p.Missing(); missing != 0 || len(p.Surplus) != 2 || !strings.Contains(again, "ip rule del from 10.0.1.2/32 lookup 100 priority 900") {
		t.Errorf("%s", again)
	}
	run(t, again)
	if _, after := plan(); !strings.Contains(after, "All 12 rules and routes are in force.\n") {
		t.Errorf("%s", after)
	}
	for i, kind := range []string{"blackhole", "unreachable", "prohibit", "throw"} {
		run(t, fmt.Sprintf("ip route add %[1]s 10.%[2]d.0.0/16 table 101\nip -6 route add %[1]s fd%[2]d::/16 table 100", kind, 70+i))
	}
	p, again = plan()
	if missing, _ := p.Missing(); missing != 0 || len(p.Surplus) != 8 || !strings.Contains(again, "\nip route del blackhole 10.70.0.0/16 table 101\n") {
		t.Errorf("%s", again)
	}
	run(t, again)
	if _, after := plan(); !strings.Contains(after, "All 12 rules and routes are in force.\n") {
		t.Errorf("%s", after)
	}
	run(t, "ip rule add from 10.0.1.0/24 prohibit priority 500")
	if _, says := plan(); !strings.Contains(says, "All 12 rules and routes are in force; one that") || !strings.Contains(says, "'from 10.0.1.0/24 prohibit priority 500'") {
		t.Errorf("%s", says)
	}
}

func setUp(t *testing.T, sw int) {
	t.Helper()
	there := fmt.Sprintf("nsenter -t %d -n ", sw)
	script := "ip link set lo up\n" + there + "ip link set lo up\n" + there + "ip addr add 10.9.9.9/32 dev lo\n" + there + "ip addr add fd09::9/128 dev lo\n"
	for i := range 2 {
		script += fmt.Sprintf(`ip link add rail%[1]d type veth peer name leaf%[1]d
ip link set leaf%[1]d netns %[2]d
ip addr add 10.0.%[1]d.2/24 dev rail%[1]d
ip addr add fd00:%[1]d::2/64 dev rail%[1]d nodad
ip link set rail%[1]d up
%[3]sip addr add 10.0.%[1]d.1/24 dev leaf%[1]d
%[3]sip addr add fd00:%[1]d::1/64 dev leaf%[1]d nodad
%[3]sip link set leaf%[1]d up
`, i, sw, there)
	}
	run(t, script+"ip route add default via 10.0.0.1 dev rail0\nip -6 route add default via fd00:0::1 dev rail0\n")
}
