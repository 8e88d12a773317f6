// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fabricd/fabricd/probes"
)

// No plan names a file whose mere reading acts on a device.
func TestPlansAreHarmless(t *testing.T) {
	var check func(b *branch)
	check = func(b *branch) {
		for _, l := range b.leaves {
			if forbidden(l.glob) {
				t.Errorf("a plan asks for %s", l.glob)
			}
		}
		for _, s := range b.subs {
			check(s.branch)
		}
	}
	for _, rows := range [][]ask{functionAsks, netdevAsks, rdmaAsks, sysAsks, procAsks, processAsks} {
		check(newBranch(rows))
	}
	for _, l := range newBranch(functionAsks).leaves {
		for _, name := range []string{"rom", "vpd", "reset", "remove", "resource0", "resource2_wc", "resource0_resize", "pcie_bw"} {
			if slices.Contains(matching(l.glob, []string{name}), name) {
				t.Errorf("%s would read %s", l.glob, name)
			}
		}
	}
}

// What would hang, act or tell too much if it were read is not in the
// recording; a file that refuses is there with its error.
func TestWhatIsRead(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"rom", "vpd", "resource0", "uevent", "link/vpd", "net/ens1/queues/tx-0/byte_queue_limits/remove", "net/ens1/ifalias"} {
		m.write(nic+"/"+name, "DANGER\n")
	}
	if err := syscall.Mkfifo(filepath.Join(m.root, nic, "reset"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.write(nic+"/link/l1_aspm", "1\n")
	m.write("sys/class/dmi/id/product_serial", "DANGER\n")
	m.write("proc/cpuinfo", "processor\t: 0\nbugs\t: DANGER\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\nflags\t\t: fpu hypervisor\n\nprocessor\t: 2\nflags\t\t: fpu\n")
	m.write(nic+"/net/ens1/queues/tx-0/byte_queue_limits/inflight", strings.Repeat("7\n", 40_000))
	m.write("etc/hostname", "gpu-node-17\n")
	m.write(nic+"/net/ens1/phys_port_name", "of-gpu-node-17\n")
	os.Mkdir(filepath.Join(m.root, nic, "device"), 0o700) // a directory where a file is expected
	m.link(nic+"/irq", "/etc/hostname")                   // leads out
	m.link(nic+"/enable", "nowhere")
	r, err := Record(context.Background(), m.host(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := r.body.body.String()
	for _, word := range []string{"DANGER", "resource0", "/rom", "/reset", "irq", "enable", "gpu-node-17", "0x15b3/device"} {
		if strings.Contains(got, word) {
			t.Errorf("%q is in the recording", word)
		}
	}
	for _, word := range []string{"/link/l1_aspm --\n1\n", "processor\t: 1\n\nprocessor\t: 2\nflags\t\t: fpu\n", "/phys_port_name --\nof-host-1\n"} {
		if !strings.Contains(got, word) {
			t.Errorf("%q is not in the recording\n%.3000s", word, got)
		}
	}
	if strings.Count(got, "7\n") > 32<<10 || len(r.LeftOut) != 1 || !strings.HasSuffix(r.LeftOut[0], "inflight: longer than 65536 bytes") {
		t.Errorf("%d lines, left out: %q", strings.Count(got, "7\n"), r.LeftOut)
	}
}

// A suspended function is not woken, but keeps having its files.
func TestSuspended(t *testing.T) {
	m := newMachine(t)
	m.write(nic+"/power/runtime_status", "suspended\n")
	r, err := Record(context.Background(), m.host(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := r.body.body.String()
	if !strings.Contains(got, nic+"/current_link_width.err --\nEAGAIN\n") || strings.Contains(got, nic+"/config.hex") || strings.Contains(got, nic+"/current_link_speed") {
		t.Error(got)
	}
	h, err := probes.Recorded([]byte(got), probes.Options{})
	if err != nil || !h.Inventory().Function("0000:18:00.0").HasLink {
		t.Errorf("the function is PCI Express no more (%v)", err)
	}
	if !strings.Contains(string(r.manifest), `"pci": "2 functions, 1 of them suspended and not woken"`) {
		t.Errorf("%s", r.manifest)
	}
}

// Nothing of an excluded function is opened, nor told.
func TestExcluded(t *testing.T) {
	m := newMachine(t)
	m.write("proc/driver/nvidia/gpus/0000:18:00.0/information", "secret\n")
	m.link("sys/class/infiniband/mlx5_0", "../../"+strings.TrimPrefix(nic, "sys/")+"/infiniband/mlx5_0")
	m.write(nic+"/infiniband/mlx5_0/node_guid", "946d:ae03:00a1:b2c3\n")
	got := text(t, m.host("0000:18:*"), Options{})
	if strings.Contains(got, "18:00.0") || strings.Contains(got, "ens1") || strings.Contains(got, "mlx5_0") || !strings.Contains(got, "0000:00:01.0/vendor") || !strings.Contains(got, "1 excluded") {
		t.Error(got)
	}
	if got := text(t, m.host("*"), Options{}); !strings.Contains(got, "proc/cpuinfo") || strings.Contains(got, "vendor") {
		t.Error(got)
	}
	const recording = "-- sys/class/net/e0 -> ../../devices/pci0000:00/0000:18:00.0/net/e0 --\n-- sys/devices/pci0000:00/0000:18:00.0/net/e0/mtu --\n1500\n" +
		"-- ethtool/e0/driver --\ndriver: x\n-- ethtool/e1/driver --\ndriver: y\n-- dcb/e0.json --\n{}\n-- lldp/e0.hex --\n00\n-- sys/x --\n1\n" +
		"-- gpu.json --\n" + `{"devices": [{"pci_bus_id": "00000000:18:00.0", "uuid": "GPU-1"}, {"pci_bus_id": "00000000:19:00.0", "name": "kept"}]}` + "\n"
	h, err := probes.Recorded([]byte(recording), probes.Options{Exclude: []string{"0000:18:*"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, h, Options{}); strings.Contains(got, "e0") || strings.Contains(got, "GPU-1") || strings.Contains(got, "18:00") || !strings.Contains(got, "driver: y") || !strings.Contains(got, `"kept"`) {
		t.Error(got)
	}
}

// Of the interfaces without hardware those of containers stay out.
func TestStackedInterfaces(t *testing.T) {
	m := newMachine(t)
	for name, lower := range map[string]string{"bond0": "", "vlan7": "bond0", "br0": "vlan7", "docker0": "veth1", "veth1": "", "lo": ""} {
		m.link("sys/class/net/"+name, "../../devices/virtual/net/"+name)
		m.write("sys/devices/virtual/net/"+name+"/mtu", "1500\n")
		if lower != "" {
			m.link("sys/devices/virtual/net/"+name+"/lower_"+lower, "../"+lower)
		}
	}
	m.write("sys/devices/virtual/net/bond0/bonding/slaves", "ens1\n")
	got := text(t, m.host(), Options{})
	for name, want := range map[string]bool{"ens1": true, "bond0": true, "vlan7": true, "br0": true, "docker0": false, "veth1": false, "lo": false} {
		if strings.Contains(got, "-- sys/class/net/"+name+" ->") != want || strings.Contains(got, "/net/"+name+"/") != want {
			t.Errorf("%s is in the recording, or not: want %v", name, want)
		}
	}
}

// Names and contents that the format cannot hold do no harm to the others.
func TestHostile(t *testing.T) {
	m := newMachine(t)
	for i, name := range []string{"a\nb", "a -> b", " a", "a ", "\xff", "a\x01", "-- a --", "a.hex", "a.err", "at", "rm", "…"} {
		m.write(nic+"/net/ens1/statistics/"+name, strings.Repeat("-- sys/x --\n", i+1))
	}
	for _, o := range []Options{{}, {KeepIdentities: true}} {
		got := text(t, m.host(), o)
		h, err := probes.Recorded([]byte(got), probes.Options{})
		if err != nil {
			t.Fatal(err)
		}
		names, err := h.ReadDir(nic + "/net/ens1/statistics")
		if want := []string{" a", "-- a --", "a.err", "a.hex", "at", "rm", "rx_bytes", "…"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%q, %v", names, err)
		}
		if b, err := h.ReadFile(nic + "/net/ens1/statistics/a.err"); string(b) != strings.Repeat("-- sys/x --\n", 9) || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		var m manifest
		if b, err := h.ReadFile("manifest.json"); err != nil || json.Unmarshal(b, &m) != nil || len(m.LeftOut) != 5 || h.Manifest().Files == 0 {
			t.Errorf("%v %q %d", err, m.LeftOut, h.Manifest().Files)
		}
	}
}

func TestCapabilities(t *testing.T) {
	got := parseCapabilities("Name:\tx\nCapInh:\tffff\nCapEff:\t0000050000202001\n")
	if want := []string{"CAP_CHOWN", "CAP_NET_RAW", "CAP_SYS_ADMIN", "CAP_CHECKPOINT_RESTORE", "CAP_42"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Of what software makes an RDMA device is taken with the interface that it
// runs on; of its thousand slots for GIDs those that hold one.
func TestSoftwareRDMA(t *testing.T) {
	m := newMachine(t)
	const port = "sys/devices/virtual/infiniband/rxe0/ports/1/"
	m.link("sys/class/infiniband/rxe0", "../../devices/virtual/infiniband/rxe0")
	m.write("sys/devices/virtual/infiniband/rxe0/parent", "veth0\n")
	m.write(port+"hw_counters/sent_pkts", "7\n")
	for slot, gid := range map[string]string{"0": "0", "1": "fd00", "2": "0", "300": "fd01"} {
		m.write(port+"gids/"+slot, strings.Repeat("0000:", 7)+gid+"\n")
		m.write(port+"gid_attrs/types/"+slot, "RoCE v2\n")
	}
	for _, name := range []string{"veth0", "veth1"} {
		m.link("sys/class/net/"+name, "../../devices/virtual/net/"+name)
		m.write("sys/devices/virtual/net/"+name+"/mtu", "1500\n")
	}
	for _, excluded := range []string{"", "0000:18:00.0"} {
		want := "veth0\n"
		if excluded != "" {
			m.write("sys/devices/virtual/infiniband/rxe0/parent", "ens1\n")
			want = ""
		}
		got := text(t, m.host(excluded), Options{KeepIdentities: true})
		for word, there := range map[string]bool{"/rxe0/parent --\n" + want: true, "sent_pkts --\n7": true, "gids/0 --": true, "gids/1 --\n0000": true, "types/1 --": true,
			"gids/2 --": false, "types/2 --": false, "gids/300": false, "net/veth0/mtu": true, "net/veth1": false} {
			if strings.Contains(got, word) != (there && want != "") {
				t.Errorf("excluded %q: %q is in the recording, or not", excluded, word)
			}
		}
	}
}
