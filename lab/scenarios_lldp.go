// SPDX-License-Identifier: Apache-2.0

package lab

// rail is a port of labnic's whose cable leads through another one to the lab's switch.
const rail = "rail0"

// rails is the server's first quarter with that port and the other one.
func rails() *Tree {
	t := onlyQuarter()
	t.At(firstNIC).With("netdev=" + rail + ",400000")
	t.At(secondNIC).With("netdev=rail1,400000")
	return t
}

// wires are a machine's two interfaces whose other ends the lab holds. They leave VLAN tags in frames.
func wires() []string {
	return []string{"virtio-net-pci,romfile=,ctrl_vlan=off,mac=52:54:00:00:00:20", "virtio-net-pci,romfile=,ctrl_vlan=off,mac=52:54:00:00:00:21"}
}

// lay lays that cable: what the switch sends into eth0 leaves by rail1, at whose other end the rail is.
func lay() Action {
	return Run(`set -e
echo rail1 > ` + labnicFS + rail + `/peer
for i in eth0 rail0 rail1; do ip link set $i up; done
tc qdisc add dev eth0 clsact
tc filter add dev eth0 ingress matchall action mirred egress redirect dev rail1
`)
}

// bond makes the bond that comes with its driver one of eth0 and eth1, of which one is used at a time.
func bond() Action {
	return Run(`set -e
ip link set bond0 type bond mode active-backup miimon 100
for i in eth0 eth1; do ip link set $i down; ip link set $i master bond0; done
ip link set bond0 up
`)
}

// leaf is what a leaf says of a port, with PFC on for some priorities.
func leaf(system, description string, pfc byte) []byte {
	return LLDP(system, "Ethernet12", TLV(4, []byte(description)), PFCTLV(false, pfc))
}

// cabled gives a scenario the rail, its cable, the plan of that, and a daemon with little patience.
func cabled(s Scenario) Scenario {
	s.Tree, s.Daemon, s.Wires = rails(), true, wires()
	s.Drivers = []string{"virtio_pci", "virtio_net", "sch_ingress", "cls_matchall", "act_mirred"}
	s.Packages = []string{"iproute2", "ethtool"}
	s.Config = "plan: {cabling: [{port: " + rail + ", switch: leaf-01, switch_port: Ethernet12}]}\nthresholds: {lldp_cabling: {hold_seconds: 3}, lldp_silent: {silent_seconds: 6}}"
	s.Before = []Action{Run("ethtool --set-priv-flags " + rail + " fw-lldp-agent on")} // which is asked seldom; it lets frames through
	return s
}

// lldpScenarios are those of what is at the other end of cables.
func lldpScenarios() []Scenario {
	// The cable's own port hears nobody: nothing comes from the rail. That links come up under a daemon is
	// a change of carrier, and the end of a planned cable that had none: the daemon shows both for a while.
	healthy := func(wants ...Want) []Want {
		return bareMetal(append(wants, Say("unknown|warn lldp_silent rail1"), Say("nothing|ok|warn|ended rdma_flap rail*"))...)
	}
	const announced = `fabricd_lldp_neighbor_pfc_enabled{netdev="` + rail + `",priority="3"} `
	legs := func(first, second string) []Action {
		return []Action{Announce(0, leaf(first, "", 0)), Announce(1, leaf(second, "", 0))}
	}
	bonded := func(wants ...Want) []Want {
		return bareMetal(append(wants, Say("nothing|ok|warn|ended rdma_flap eth*"))...)
	}
	cut := []Action{Monitor("set_link wire0 off"), Monitor("set_link wire1 off")}
	plugged := []Action{Monitor("set_link wire0 on"), Monitor("set_link wire1 on")}
	return []Scenario{
		cabled(Scenario{
			Name: "lldp", About: "a switch has PFC on where the host has not, and then says nothing more",
			Steps: []Step{
				{Name: "healthy", Do: []Action{lay(), Announce(0, leaf("leaf-01", "etp4", 0))},
					Want:    healthy(Say("ok lldp_silent "+rail, "leaf-01"), Say("ok|ended lldp_cabling "+rail), Say("ok lldp_pfc "+rail, "flow control on none")),
					Metrics: []string{announced + "0"}},
				{Name: "with a VLAN tag", Do: []Action{Announce(0, Tagged(7, 9, leaf("leaf-01", "tagged", 0))),
					Shows("wget -qO- "+daemonURL+"/metrics | grep lldp_neighbor_info", `="tagged"`)},
					Want: healthy(Say("ok lldp_silent "+rail), Say("ok|ended lldp_cabling "+rail), Say("ok lldp_pfc "+rail))},
				{Name: "another PFC", Do: []Action{Announce(0, leaf("leaf-01", "etp4", 1<<3))},
					Want: healthy(Say("fail lldp_pfc "+rail, "the host ignores the switch's pauses on 3"), Say("ok|ended lldp_cabling "+rail)), Metrics: []string{announced + "1"}},
				{Name: "silent", Do: []Action{Announce(0, leaf("leaf-01", "etp4", 0)), Hush(0)},
					Want: healthy(Say("warn lldp_silent "+rail, "fw-lldp-agent off"), Say("ok|ended lldp_pfc "+rail))},
			},
		}),
		cabled(Scenario{
			Name: "lldp-moved", About: "a cable is pulled, and plugged into another switch",
			Steps: []Step{
				{Name: "healthy", Do: []Action{lay(), Announce(0, leaf("leaf-01", "etp4", 0))},
					Want: healthy(Say("ok lldp_silent "+rail, "leaf-01"), Say("ok|ended lldp_cabling "+rail))},
				{Name: "unplugged", Do: []Action{NICKnob(rail, "carrier", "0"), Hush(0), filmed()},
					Want: healthy(Say("nothing|ended lldp_silent "+rail), Say("warn lldp_cabling "+rail, "no link"), Say("nothing|ended lldp_pfc "+rail))},
				{Name: "moved", Do: []Action{NICKnob(rail, "carrier", "1"), Announce(0, leaf("leaf-02", "etp4", 0))},
					Want: healthy(Say("fail lldp_cabling "+rail, "leaf-01 port Ethernet12", "leaf-02"), Say("ok|ended lldp_silent "+rail), Say("ok lldp_many "+rail), Say("ok|ended lldp_pfc "+rail))},
			},
		}),
		{
			Name: "lldp-bond", About: "the cables of a bond are swapped", Daemon: true,
			Wires: wires(), Drivers: []string{"virtio_pci", "virtio_net", "bonding"}, Packages: []string{"iproute2"},
			Config: "plan: {cabling: [{port: eth0, switch: leaf-01}, {port: eth1, switch: leaf-02}]}\nthresholds: {lldp_cabling: {hold_seconds: 3}}",
			Steps: []Step{
				{Name: "healthy", Do: append([]Action{bond()}, legs("leaf-01", "leaf-02")...), Want: bonded(
					Say("ok|ended lldp_cabling eth0"), Say("ok|ended lldp_cabling eth1"), Say("ok lldp_many eth0"), Say("ok lldp_many eth1"),
					Say("ok lldp_silent eth0"), Say("ok lldp_silent eth1"), Say("nothing lldp_silent bond0"))},
				{Name: "unplugged", Do: append(cut, filmed()), Want: bonded(
					Say("nothing|ended lldp_silent eth0"), Say("nothing|ended lldp_silent eth1"),
					Say("warn lldp_cabling eth0", "no link"), Say("warn lldp_cabling eth1", "no link"))},
				{Name: "swapped", Do: append(legs("leaf-02", "leaf-01"), plugged...), Want: bonded(
					Say("fail lldp_cabling eth0", "leaf-02"), Say("fail lldp_cabling eth1", "leaf-01"), Say("ok lldp_many eth0"), Say("ok lldp_many eth1"))},
			},
		},
	}
}
